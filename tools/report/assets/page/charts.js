// Charts (uPlot).

// Colours: by theme, and light on paper.
const night = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const LIGHT = ["#1f5fbf", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0e7490", "#8a5a00", "#be185d", "#4d7c0f", "#475569"];
const DARK = ["#7db3ff", "#ff9e64", "#6ee79b", "#c9a2ff", "#ff8a8a", "#67d9ee", "#f0c75e", "#ff8ec7", "#b6e36b", "#b4c0cf"];
const theme = () =>
  night.matches && !printing
    ? { ink: "#c9d4de", grid: "#2d3843", lines: DARK }
    : { ink: "#33414e", grid: "#e1e6eb", lines: LIGHT };

// Round times between two: powers of ten, and steps between them where there are few.
const decades = (low, high) => {
  const within = (factors) => {
    const found = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      found.push(...factors.map((factor) => factor * power).filter((at) => at >= low && at <= high));
    }
    return found;
  };
  const tens = within([1]);
  return tens.length > 2 ? tens : within([1, 2, 5]);
};

// Charts.

const FIRST = 5; // curves that are shown at first
const charts = [];

class Chart {
  constructor(figure, data) {
    this.figure = figure;
    // Of several views of one chart the first.
    this.data = data.views ? { ...data, ...data.views[0] } : data;
    data = this.data;
    this.plot = figure.querySelector(".plot");
    this.read = figure.querySelector(".read");
    this.shown = data.curves.map((_, i) => i < FIRST);
    this.model = data.curves.some((curve) => curve.model.length > 0);
    this.floor = data.floor.length > 0;
    this.elsewhere = data.curves.some((curve) => curve.elsewhere?.length > 0);
    this.bars = data.sizes.length === 1 && !data.x_unit;
    this.where = data.x_unit ? (x) => `${x} ${x === 1 ? data.x_unit.slice(0, -1) : data.x_unit}` : size;
    this.value = data.unit ? (value) => `${short(value)} ${data.unit}` : time;
    this.legend();
    this.draw();
    if (this.bars) return;
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", `${data.title}: ${data.y} over ${data.x}; left and right arrow read the points`);
    this.plot.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.fit()).observe(this.plot);
  }

  legend() {
    let box = this.figure.querySelector(".legend");
    const { data } = this;
    const button = (text, kind, pressed, toggle) => {
      const own = make("button", { type: "button", "aria-pressed": String(pressed) }, make("i", { className: kind }), text);
      own.addEventListener("click", () => {
        const on = own.getAttribute("aria-pressed") !== "true";
        own.setAttribute("aria-pressed", String(on));
        toggle(on);
        this.draw();
      });
      box.append(own);
      return own;
    };
    const curve = (i) => {
      const { name } = data.curves[i];
      return button(name, name === "auto" ? "" : "thin", this.shown[i], (on) => { this.shown[i] = on; });
    };
    this.buttons = this.shown.map((shown, i) => shown && curve(i));
    if (this.model) button(data.fitted ?? "model", "dashed", true, (on) => { this.model = on; });
    if (this.floor) button("raw exchange", "dotted", true, (on) => { this.floor = on; });
    if (this.elsewhere) button(data.aside ?? "elsewhere", "ring", true, (on) => { this.elsewhere = on; });
    if (data.curves.length > FIRST) {
      const more = make("div", { className: "legend" });
      const rest = make("details", { className: "more" }, make("summary", {}, `${data.curves.length - FIRST} more`), more);
      box.after(rest);
      box = more;
      this.shown.forEach((shown, i) => { this.buttons[i] ||= curve(i); });
    }
  }

  // Another view of the same chart; what is shown stays.
  view(bytes) {
    const view = this.data.views?.find((own) => own.bytes === bytes);
    if (!view) return;
    this.data = { ...this.data, ...view };
    this.draw();
  }

  draw() {
    const colours = theme();
    this.buttons.forEach((own, i) => own.style.setProperty("--swatch", colours.lines[i % colours.lines.length]));
    if (this.bars) this.drawBars(colours);
    else this.drawLines(colours);
  }

  drawLines(colours) {
    const { data } = this;
    const at = (points) => {
      const by = new Map(points);
      return data.sizes.map((bytes) => by.get(bytes) ?? null);
    };
    const series = [{}];
    const columns = [data.sizes];
    const add = (name, points, stroke, more) => {
      series.push({ label: name, stroke, spanGaps: true, points: { show: true, size: 5, stroke, fill: stroke }, ...more });
      columns.push(at(points));
    };
    data.curves.forEach((curve, i) => {
      if (!this.shown[i]) return;
      const colour = colours.lines[i % colours.lines.length];
      add(curve.name, curve.points, colour, { width: curve.name === "auto" ? 3.5 : 1.5 });
      if (this.elsewhere && curve.elsewhere?.length) {
        add(`${curve.name}, ${data.aside ?? "elsewhere"}`, curve.elsewhere, colour, {
          width: 0, paths: () => null, points: { show: true, size: 8, width: 1.5, stroke: colour, fill: "transparent" },
        });
      }
      if (this.model && curve.model.length) {
        add(`${curve.name}, ${data.fitted ?? "modelled"}`, curve.model, colour, { width: 1.2, dash: [6, 5], points: { show: false } });
      }
    });
    if (this.floor && data.floor.length) {
      add("raw exchange", data.floor, colours.ink, { width: 1.5, dash: [2, 4], points: { show: false } });
    }
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: colours.ink, font, labelFont: font, labelSize: 20, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1 } };
    this.uplot?.destroy();
    this.uplot = new uPlot(
      {
        width: this.width(),
        height: 300,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 8 } },
        scales: {
          x: { time: false, distr: 3, log: 2, range: (u, low, high) => [low / 1.5, high * 1.5] },
          y: { distr: 3, log: 10, range: (u, low, high) => [low / 1.4, high * 1.4] },
        },
        axes: [
          {
            ...axis,
            size: 30,
            label: data.x,
            splits: () => this.splits(),
            filter: (u, splits) => splits,
            values: (u, splits) => splits.map(data.x_unit ? String : size),
          },
          {
            ...axis,
            label: data.y,
            size: 64,
            splits: (u) => decades(u.scales.y.min, u.scales.y.max),
            filter: (u, splits) => splits,
            values: (u, splits) => splits.map(this.value),
          },
        ],
        series,
        hooks: { setCursor: [(u) => this.tell(u)] },
      },
      columns,
      this.plot,
    );
  }

  // As many sizes as there is room for.
  splits() {
    const { sizes } = this.data;
    // The axis is logarithmic, from a third below the first to half above the last.
    const pixels = (this.width() - 90) / Math.log((sizes.at(-1) / sizes[0]) * 2.25);
    let last = 0;
    return sizes.filter((bytes) => {
      const fits = !last || Math.log(bytes / last) * pixels >= 56;
      if (fits) last = bytes;
      return fits;
    });
  }

  width() {
    if (printing) return this.figure.classList.contains("wide") ? 640 : 310;
    return Math.max(240, Math.floor(this.plot.clientWidth));
  }

  fit() {
    if (!printing && this.uplot && this.uplot.width !== this.width()) this.uplot.setSize({ width: this.width(), height: 300 });
  }

  tell(u) {
    const i = u.cursor.idx;
    if (i === null || i === undefined) {
      this.read.textContent = "";
      return;
    }
    const { where } = this;
    const values = u.series.slice(1)
      .map((own, j) => [own.label, u.data[j + 1][i]])
      .filter(([, value]) => value !== null)
      .map(([label, value]) => `${label} ${this.value(value)}`);
    this.read.textContent = `${where(u.data[0][i])}: ${values.join("; ")}`;
  }

  key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const last = this.data.sizes.length - 1;
    this.at = Math.min(last, Math.max(0, (this.at ?? (step > 0 ? -1 : last + 1)) + step));
    this.uplot.setCursor({ left: this.uplot.valToPos(this.data.sizes[this.at], "x"), top: 20 });
  }

  drawBars(colours) {
    const { data } = this;
    const first = (points) => (points.length ? points[0][1] : null);
    const rows = data.curves.map((curve, i) => ({ curve, i, ns: first(curve.points), model: first(curve.model) }))
      .filter((row) => this.shown[row.i]);
    const floor = this.floor ? first(data.floor) : null;
    const most = 1.08 * Math.max(1, floor ?? 0, ...rows.map((row) => Math.max(row.ns, this.model ? row.model ?? 0 : 0)));
    const share = (ns) => `${(100 * ns) / most}%`;
    const box = make("div", { className: "bars" });
    box.append(make("span", { className: "unit" }, `${data.y}, from 0 to ${time(most)}; dashed: modelled${floor ? `; dotted: raw exchange, ${time(floor)}` : ""}`));
    for (const { curve, i, ns, model } of rows) {
      const full = make("b");
      full.style.width = share(ns);
      full.style.background = colours.lines[i % colours.lines.length];
      const bar = make("div", { className: "bar" }, full);
      const mark = (kind, at) => {
        const own = make(kind);
        own.style.left = share(at);
        bar.append(own);
      };
      if (this.model && model) mark("u", model);
      if (floor) mark("s", floor);
      box.append(make("span", {}, curve.name), bar, make("span", {}, time(ns)));
    }
    this.plot.replaceChildren(box);
  }
}

for (const figure of document.querySelectorAll(".chart")) {
  const which = figure.dataset.chart;
  const data = all[which] ?? all.across[which] ?? all.collectives[Number(which)];
  if (data && (data.views ?? data.sizes).length) charts.push(new Chart(figure, data));
}
$("across-size")?.addEventListener("change", (e) => {
  charts.filter((chart) => chart.data.views).forEach((chart) => chart.view(Number(e.target.value)));
});
const redraw = () => charts.forEach((chart) => chart.draw());
night.addEventListener("change", redraw);
addEventListener("beforeprint", () => { printing = true; redraw(); });
addEventListener("afterprint", () => { printing = false; redraw(); });
