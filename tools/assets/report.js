// The page of `phalanx report`: charts (uPlot), the animation of algorithms, saving the data.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const read = (id) => JSON.parse($(id).textContent);
  const all = read("charts");

  const make = (name, properties = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in node && key !== "role") node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };

  // Units.
  const short = (value) => String(Number(value.toPrecision(3)));
  const time = (ns) => {
    for (const [limit, unit] of [[1e3, "ns"], [1e6, "us"], [1e9, "ms"]]) {
      if (ns < limit) return `${short((ns * 1e3) / limit)} ${unit}`;
    }
    return `${short(ns / 1e9)} s`;
  };
  const size = (bytes) => {
    for (const [unit, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
      if (bytes >= unit) return `${short(bytes / unit)} ${name}`;
    }
    return `${bytes} B`;
  };

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
      this.data = data;
      this.plot = figure.querySelector(".plot");
      this.read = figure.querySelector(".read");
      this.shown = data.curves.map((_, i) => i < FIRST);
      this.model = data.curves.some((curve) => curve.model.length > 0);
      this.floor = data.floor.length > 0;
      this.bars = data.sizes.length === 1;
      this.legend();
      this.draw();
      if (this.bars) return;
      this.plot.tabIndex = 0;
      this.plot.setAttribute("role", "img");
      this.plot.setAttribute("aria-label", `${data.title}: time over size; left and right arrow read the points`);
      this.plot.addEventListener("keydown", (e) => this.key(e));
      new ResizeObserver(() => this.fit()).observe(this.plot);
    }

    legend() {
      const box = this.figure.querySelector(".legend");
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
      this.buttons = data.curves.map((curve, i) =>
        button(curve.name, curve.name === "auto" ? "" : "thin", this.shown[i], (on) => { this.shown[i] = on; }));
      if (this.model) button("model", "dashed", true, (on) => { this.model = on; });
      if (this.floor) button("raw exchange", "dotted", true, (on) => { this.floor = on; });
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
        if (this.model && curve.model.length) {
          add(`${curve.name}, modelled`, curve.model, colour, { width: 1.2, dash: [6, 5], points: { show: false } });
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
              label: data.title.includes("modelled") ? "Size of the vector, bytes" : "Size of a rank's larger buffer, bytes",
              splits: () => this.splits(),
              filter: (u, splits) => splits,
              values: (u, splits) => splits.map(size),
            },
            {
              ...axis,
              label: "Time of one call",
              size: 64,
              splits: (u) => decades(u.scales.y.min, u.scales.y.max),
              filter: (u, splits) => splits,
              values: (u, splits) => splits.map(time),
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
      const every = Math.ceil(sizes.length / Math.max(2, Math.floor((this.width() - 90) / 62)));
      return sizes.filter((_, i) => i % every === 0);
    }

    width() {
      return printing ? 340 : Math.max(240, Math.floor(this.plot.clientWidth));
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
      const values = u.series.slice(1)
        .map((own, j) => [own.label, u.data[j + 1][i]])
        .filter(([, ns]) => ns !== null)
        .map(([label, ns]) => `${label} ${time(ns)}`);
      this.read.textContent = `${size(u.data[0][i])}: ${values.join("; ")}`;
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
      box.append(make("span", { className: "unit" }, `Time of one call, from 0 to ${time(most)}; dashed: modelled${floor ? `; dotted: raw exchange, ${time(floor)}` : ""}`));
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
    const data = which === "modelled" ? all.modelled : all.collectives[Number(which)];
    if (data && data.sizes.length) charts.push(new Chart(figure, data));
  }
  const redraw = () => charts.forEach((chart) => chart.draw());
  night.addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });

  // The animation.

  const SVG = "http://www.w3.org/2000/svg";
  const drawn = (name, attributes = {}, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const player = { trace: null, step: 0, timer: 0 };
  const stage = $("stage");
  const tip = $("tip");
  const BEAT = 1200; // milliseconds of a step
  const place = ([x, y]) => [x + 8, y + 8];

  const fill = (select, values, kept) => {
    select.replaceChildren(...values.map((value) => make("option", { value }, String(value))));
    select.value = values.map(String).includes(String(kept)) ? kept : values[0];
  };
  const unique = (values) => [...new Set(values)];

  function choose() {
    const { all: traces } = all.traces;
    const own = traces.filter((t) => t.op === $("operation").value);
    fill($("algorithm"), unique(own.map((t) => t.id)), $("algorithm").value);
    const same = own.filter((t) => t.id === $("algorithm").value);
    fill($("ranks"), same.map((t) => t.ranks), $("ranks").value);
    player.trace = same.find((t) => String(t.ranks) === $("ranks").value);
    const t = player.trace;
    $("about").textContent = `${t.id}: ${t.about}. Needs ${t.needs}; ${t.source}.`;
    $("step").max = t.steps;
    stop();
    show(0, false);
  }

  // A message's way, bent so that two directions do not lie on each other, and ending before the circle.
  function way([x1, y1], [x2, y2], radius, bend) {
    const [dx, dy] = [x2 - x1, y2 - y1];
    const length = Math.hypot(dx, dy) || 1;
    const [mx, my] = [(x1 + x2) / 2 + dy * bend, (y1 + y2) / 2 - dx * bend];
    const cut = (x, y) => {
      const far = Math.hypot(mx - x, my - y) || length;
      return [x + ((mx - x) / far) * (radius + 0.8), y + ((my - y) / far) * (radius + 0.8)];
    };
    const [[ax, ay], [bx, by]] = [cut(x1, y1), cut(x2, y2)];
    const middle = [(ax + 2 * mx + bx) / 4, (ay + 2 * my + by) / 4];
    return { path: `M${ax.toFixed(2)} ${ay.toFixed(2)}Q${mx.toFixed(2)} ${my.toFixed(2)} ${bx.toFixed(2)} ${by.toFixed(2)}`, middle };
  }

  function show(step, moving) {
    const t = player.trace;
    player.step = Math.min(t.steps, Math.max(0, step));
    const layout = all.traces.layouts[t.layout];
    const radius = t.ranks > 8 ? 4 : 5;
    const flat = t.layout.startsWith("line") || t.layout.startsWith("leaves");
    const head = drawn("marker", { id: "head", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 4, markerHeight: 4, markerUnits: "userSpaceOnUse", orient: "auto" });
    head.append(drawn("path", { d: "M0 0L6 3L0 6z", class: "head" }));
    const parts = [head];
    for (const [a, b] of layout.links) {
      const [[x1, y1], [x2, y2]] = [place(layout.nodes[a]), place(layout.nodes[b])];
      parts.push(drawn("line", { x1, y1, x2, y2, class: "link" }));
    }
    layout.nodes.forEach((node, i) => {
      const [x, y] = place(node);
      if (i >= t.ranks) {
        parts.push(drawn("rect", { x: x - 1.5, y: y - 1.5, width: 3, height: 3, class: "switch" }));
        return;
      }
      const group = drawn("g", { class: "rank" });
      group.append(drawn("circle", { cx: x, cy: y, r: radius }), drawn("text", { x, y }, String(i)));
      parts.push(group);
    });
    const own = t.messages.filter((message) => message[0] === player.step);
    for (const [at, src, dst, blocks, words] of own) {
      const { path, middle } = way(place(layout.nodes[src]), place(layout.nodes[dst]), radius, flat ? 0.4 : 0.16);
      const text = `Step ${at}: rank ${src} to rank ${dst}\nblocks ${blocks}\n${words} words`;
      const group = drawn("g", { class: "message", tabindex: 0, role: "img", "aria-label": text.replaceAll("\n", ", ") });
      group.append(drawn("path", { d: path, class: "hit" }), drawn("path", { d: path, class: "way", pathLength: 1, "marker-end": "url(#head)" }));
      if (own.length <= 16 && blocks.length <= 9) group.append(drawn("text", { x: middle[0], y: middle[1] }, blocks));
      const open = () => hint(group, text);
      group.addEventListener("mouseenter", open);
      group.addEventListener("focus", open);
      group.addEventListener("mouseleave", hide);
      group.addEventListener("blur", hide);
      parts.push(group);
    }
    hide();
    stage.classList.toggle("moving", moving);
    stage.replaceChildren(...parts);
    $("step").value = player.step;
    $("back").disabled = player.step === 0;
    $("next").disabled = player.step === t.steps;
    $("now").textContent = player.step === 0
      ? `Before the first of ${t.steps} steps.`
      : `Step ${player.step} of ${t.steps}: ${own.length} message${own.length === 1 ? "" : "s"}.`;
    list(own);
  }

  function list(own) {
    const head = make("tr", {}, ...["step", "src", "dst", "blocks", "words"].map((name) => make("th", { scope: "col" }, name)));
    const rows = own.map((message) => make("tr", {}, ...message.map((cell) => make("td", {}, String(cell)))));
    const table = make("table", {}, make("caption", {}, "Messages of this step"), make("thead", {}, head), make("tbody", {}, ...rows));
    const box = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Messages of this step" }, table);
    const open = $("messages").querySelector("details")?.open ?? false;
    $("messages").replaceChildren(make("details", { open }, make("summary", {}, "The step's messages as a table"), box));
  }

  let hinted = null;
  function hint(near, text) {
    hinted = near;
    tip.textContent = text;
    tip.hidden = false;
    follow();
  }
  // Beside its message, also when the page moves: reaching one by keyboard may scroll.
  function follow() {
    if (tip.hidden) return;
    const at = hinted.getBoundingClientRect();
    const left = Math.min(innerWidth - tip.offsetWidth - 8, Math.max(8, at.left + at.width / 2 - tip.offsetWidth / 2));
    const above = at.top - tip.offsetHeight - 6;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : Math.min(innerHeight - tip.offsetHeight - 4, at.bottom + 6)}px`;
  }
  function hide() { tip.hidden = true; }

  function stop() {
    clearInterval(player.timer);
    player.timer = 0;
    $("play").textContent = "Play";
    $("play").setAttribute("aria-pressed", "false");
  }
  function play() {
    if (player.timer) return stop();
    $("play").textContent = "Pause";
    $("play").setAttribute("aria-pressed", "true");
    const on = () => {
      show(player.step + 1, true);
      if (player.step === player.trace.steps) stop();
    };
    player.timer = setInterval(on, BEAT);
    if (player.step === player.trace.steps) show(0, false);
    else on();
  }
  const go = (step) => { stop(); show(step, step > player.step); };

  fill($("operation"), unique(all.traces.all.map((t) => t.op)), "all-gather");
  fill($("algorithm"), ["AG-HCUBE"], "AG-HCUBE");
  for (const id of ["operation", "algorithm", "ranks"]) $(id).addEventListener("change", choose);
  $("back").addEventListener("click", () => go(player.step - 1));
  $("next").addEventListener("click", () => go(player.step + 1));
  $("play").addEventListener("click", play);
  $("step").addEventListener("input", () => go(Number($("step").value)));
  stage.addEventListener("keydown", (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (by) { e.preventDefault(); go(player.step + by); }
  });
  addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  addEventListener("scroll", follow, { passive: true });
  choose();
  show(1, false);

  // The data.

  $("save").addEventListener("click", () => {
    const text = `${JSON.stringify(read("data"), null, 2)}\n`;
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const link = make("a", { href: url, download: "phalanx-report.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
  $("print").addEventListener("click", () => print());

  // For the console, and for tests.
  globalThis.phalanxReport = { charts, player };
})();
