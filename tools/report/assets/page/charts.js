// Charts (uPlot).

// Colours: by theme, and light on paper. Found by search: every two are apart to people who see red, green or blue badly,
// too, the first five the most (the browser's test computes it). Marks have shapes besides.
const night = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const LIGHT = ["#1f5fbf", "#a03313", "#e85856", "#611d54", "#1e9dc8", "#072c99", "#6c546e", "#9b48fb", "#b3608d", "#812a3b"];
const DARK = ["#7db3ff", "#eee93c", "#7745fa", "#b14984", "#fb817c", "#71fbf6", "#e84306", "#c67ab4", "#ebb432", "#a0e69e"];
// The mark of a curve: corners in units of its size, around 0; none for a disc.
const MARKS = [
  null,
  [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  [[0, -1.3], [1.25, 1], [-1.25, 1]],
  [[0, -1.45], [1.45, 0], [0, 1.45], [-1.45, 0]],
  [[0, 1.3], [1.25, -1], [-1.25, -1]],
];
const MARK = 3; // pixels
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

// Curves that are shown at first: in large charts, in small ones.
const FIRST = { large: 5, small: 3 };
const HIGH = { large: 320, small: 220 };
const charts = [];

// The room for the widest of an axis's numbers.
const pen = document.createElement("canvas").getContext("2d");
const wide = (values, font) => {
  pen.font = font;
  return Math.ceil(Math.max(20, ...(values ?? []).map((value) => pen.measureText(value ?? "").width))) + 12;
};

// The outline of a mark: its corners, or a disc.
const outline = (path, shape, x, y, unit) => {
  const corners = MARKS[shape % MARKS.length];
  if (!corners) path.arc(x, y, 1.1 * unit, 0, 2 * Math.PI);
  else corners.forEach(([dx, dy], i) => path[i ? "lineTo" : "moveTo"](x + dx * unit, y + dy * unit));
  path.closePath();
};

// All marks of a chart; rings are marks that are not filled.
const paint = (u, marks) => {
  const { ctx } = u;
  const unit = MARK * devicePixelRatio;
  ctx.save();
  for (const { column, stroke, shape, ring } of marks) {
    ctx.fillStyle = stroke;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([]);
    u.data[column].forEach((value, i) => {
      if (value === null) return;
      ctx.beginPath();
      outline(ctx, shape, u.valToPos(u.data[0][i], "x", true), u.valToPos(value, "y", true), unit * (ring ? 1.3 : 1));
      if (ring) ctx.stroke();
      else ctx.fill();
    });
  }
  ctx.restore();
};

// A curve's mark in the legend.
const markIcon = (shape) => {
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  icon.setAttribute("viewBox", "-5 -5 10 10");
  const corners = MARKS[shape % MARKS.length];
  const mark = document.createElementNS("http://www.w3.org/2000/svg", corners ? "polygon" : "circle");
  if (corners) mark.setAttribute("points", corners.map(([x, y]) => `${x * MARK},${y * MARK}`).join(" "));
  else mark.setAttribute("r", String(1.1 * MARK));
  icon.append(mark);
  return icon;
};

class Chart {
  constructor(figure, data) {
    this.figure = figure;
    // Of several views of one chart the first.
    this.data = data.views ? { ...data, ...data.views[0] } : data;
    data = this.data;
    this.plot = figure.querySelector(".plot");
    this.read = figure.querySelector(".read");
    const { classList } = figure;
    this.weight = classList.contains("lead") || classList.contains("wide") ? "large" : "small";
    this.first = FIRST[this.weight];
    this.shown = data.curves.map((_, i) => i < this.first);
    this.model = data.curves.some((curve) => curve.model.length > 0);
    this.floor = data.floor.length > 0;
    this.elsewhere = data.curves.some((curve) => curve.elsewhere?.length > 0);
    this.bars = data.sizes.length === 1 && !data.x_unit;
    this.where = data.x_unit ? (x) => `${x} ${x === 1 ? data.x_unit.slice(0, -1) : data.x_unit}` : size;
    this.value = data.unit ? (value) => `${short(value)} ${data.unit}` : time;
    this.unit = make("p", { className: "unit" });
    this.plot.before(this.unit);
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
    const button = (text, kind, pressed, toggle, mark) => {
      const swatch = make("i", { className: kind });
      if (mark !== undefined) swatch.append(markIcon(mark));
      const own = make("button", { type: "button", "aria-pressed": String(pressed) }, swatch, text);
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
      return button(name, name === "auto" ? "" : "thin", this.shown[i], (on) => { this.shown[i] = on; }, this.bars ? undefined : i);
    };
    this.buttons = this.shown.map((shown, i) => shown && curve(i));
    if (this.model) button(data.fitted ?? "model", "dashed", true, (on) => { this.model = on; });
    if (this.floor) button("raw exchange", "dotted", true, (on) => { this.floor = on; });
    if (this.elsewhere) button(data.aside ?? "elsewhere", "ring", true, (on) => { this.elsewhere = on; });
    if (data.curves.length > this.first) {
      const more = make("div", { className: "legend" });
      const rest = make("details", { className: "more" }, make("summary", {}, `${data.curves.length - this.first} more`), more);
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
    this.unit.textContent = this.data.y;
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
    // Of each column of points the shape of its marks, and whether they are rings.
    const marks = [];
    const add = (name, points, stroke, more, mark) => {
      series.push({ label: name, stroke, spanGaps: true, points: { show: false }, ...more });
      columns.push(at(points));
      if (mark) marks.push({ column: columns.length - 1, stroke, ...mark });
    };
    data.curves.forEach((curve, i) => {
      if (!this.shown[i]) return;
      const colour = colours.lines[i % colours.lines.length];
      add(curve.name, curve.points, colour, { width: curve.name === "auto" ? 3.5 : 1.5 }, { shape: i, ring: false });
      if (this.elsewhere && curve.elsewhere?.length) {
        // A faint line says that the rings are of one curve.
        const faint = { width: 1, dash: [1, 5], alpha: 0.6 };
        add(`${curve.name}, ${data.aside ?? "elsewhere"}`, curve.elsewhere, colour, faint, { shape: i, ring: true });
      }
      if (this.model && curve.model.length) {
        add(`${curve.name}, ${data.fitted ?? "modelled"}`, curve.model, colour, { width: 1.2, dash: [6, 5] });
      }
    });
    if (this.floor && data.floor.length) {
      add("raw exchange", data.floor, colours.ink, { width: 1.5, dash: [2, 4] });
    }
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: colours.ink, font, labelFont: font, labelSize: 16, gap: 5, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, width: 1 } };
    this.uplot?.destroy();
    this.uplot = new uPlot(
      {
        width: this.width(),
        height: HIGH[this.weight],
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 8 } },
        scales: {
          x: { time: false, distr: 3, log: 2, range: (u, low, high) => [low / 1.5, high * 1.5] },
          y: { distr: 3, log: 10, range: (u, low, high) => [low / 1.4, high * 1.4] },
        },
        axes: [
          {
            ...axis,
            size: 28,
            label: data.x,
            splits: () => this.splits(),
            filter: (u, splits) => splits,
            values: (u, splits) => splits.map(data.x_unit ? String : size),
          },
          {
            ...axis,
            // Its title stands above the plot: beside it, it would lie on the numbers, or take their room.
            size: (u, values) => wide(values, font),
            splits: (u) => decades(u.scales.y.min, u.scales.y.max),
            filter: (u, splits) => splits,
            values: (u, splits) => splits.map(this.value),
          },
        ],
        series,
        hooks: { setCursor: [(u) => this.tell(u)], draw: [(u) => paint(u, marks)] },
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
    if (!printing && this.uplot && this.uplot.width !== this.width()) this.uplot.setSize({ width: this.width(), height: HIGH[this.weight] });
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
    this.unit.textContent = `${data.y}, from 0 to ${time(most)}; dashed: modelled${floor ? `; dotted: raw exchange, ${time(floor)}` : ""}`;
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
