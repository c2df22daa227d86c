// The animation: the messages of a step, on the network that the algorithm is made for, or on the cores of a machine.

const player = { trace: null, step: 0, timer: 0, view: null, totals: new Map() };
const stage = $("stage");
const tip = $("tip");
const { plans } = all;
const BEAT = 1200; // milliseconds of a step
const NARROW = 620; // pixels
const SCALE = 6; // pixels of a unit at most

const fill = (select, values, kept, name = String) => {
  select.replaceChildren(...values.map((value) => make("option", { value: String(value) }, name(value))));
  select.value = values.map(String).includes(String(kept)) ? kept : values[0];
};
const unique = (values) => [...new Set(values)];
const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

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
  look();
  show(0, false);
}

// The network's drawing.
function networkView(t) {
  const layout = all.traces.layouts[t.layout];
  const radius = t.ranks > 8 ? 4 : 5;
  const nodes = layout.nodes.map(([x, y]) => [x + 8, y + 8]);
  const back = layout.links.map(([a, b]) => {
    const [[x1, y1], [x2, y2]] = [nodes[a], nodes[b]];
    return drawn("line", { x1, y1, x2, y2, class: "link" });
  });
  for (const [x, y] of nodes.slice(t.ranks)) back.push(drawn("rect", { x: x - 1.5, y: y - 1.5, width: 3, height: 3, class: "switch" }));
  const flat = t.layout.startsWith("line") || t.layout.startsWith("leaves");
  return { nodes, back, radius, bend: flat ? 0.4 : 0.16, width: 116, height: 116, crossing: null };
}

// What the messages are drawn on.
function look() {
  const t = player.trace;
  const plan = plans[Number($("ground").value)];
  $("placed").disabled = !plan;
  player.narrow = $("player").clientWidth < NARROW;
  player.totals = new Map();
  const { on } = all.traces.layouts[t.layout];
  if (plan) {
    const placement = $("placed").value;
    const own = plan.places[placement];
    player.view = machineView(plan, own[t.layout] ?? own[t.ranks], player.narrow ? 0.75 : 1.9);
    const { view } = player;
    for (const message of t.messages) {
      const { level, meet } = view.crossing(message[1], message[2]);
      const total = player.totals.get(level) ?? { meet, all: 0 };
      total.all += 1;
      player.totals.set(level, total);
    }
    const shared = t.ranks > view.used ? `, ${Math.ceil(t.ranks / view.used)} on a core` : "";
    const rest = view.whole ? "" : ` Shown is ${view.root}; the rest of the machine has no ranks.`;
    $("where").textContent = `${plan.title}: ${count(t.ranks, "rank")} on ${count(view.used, "core")}${shared}, placed ${placement === "for the network" ? `for ${on}` : placement}.${rest}`;
  } else {
    player.view = networkView(t);
    $("where").textContent = `On ${on}.`;
  }
  const { width, height } = player.view;
  stage.setAttribute("viewBox", `0 0 ${width.toFixed(1)} ${height.toFixed(1)}`);
  stage.style.maxWidth = `${Math.round(width * SCALE)}px`;
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

function arrowHead(kind) {
  const head = drawn("marker", { id: `head-${kind}`, viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 4, markerHeight: 4, markerUnits: "userSpaceOnUse", orient: "auto" });
  head.append(drawn("path", { d: "M0 0L6 3L0 6z", class: `head ${kind}` }));
  return head;
}

function show(step, moving) {
  const { trace: t, view } = player;
  player.step = Math.min(t.steps, Math.max(0, step));
  const own = t.messages.filter((message) => message[0] === player.step);
  const kinds = own.map(([, src, dst]) => (view.crossing ? hue(view.crossing(src, dst).level) : "plain"));
  const messages = own.map(([at, src, dst, blocks, words], i) => {
    const { path, middle } = way(view.nodes[src], view.nodes[dst], view.radius, view.bend);
    const met = view.crossing?.(src, dst);
    const where = met ? `PU ${view.pu(src)} to PU ${view.pu(dst)}, which meet in the ${met.meet}\n` : "";
    const text = `Step ${at}: rank ${src} to rank ${dst}\n${where}blocks ${blocks}\n${words} words`;
    const group = drawn("g", { class: `message ${kinds[i]}`, tabindex: 0, role: "img", "aria-label": text.replaceAll("\n", ", ") });
    group.append(drawn("path", { d: path, class: "hit" }), drawn("path", { d: path, class: "way", pathLength: 1, "marker-end": `url(#head-${kinds[i]})` }));
    if (own.length <= 16 && blocks.length <= 9 && !(met && blocks === "*")) group.append(drawn("text", { x: middle[0], y: middle[1] }, blocks));
    const open = () => hint(group, text);
    group.addEventListener("mouseenter", open);
    group.addEventListener("focus", open);
    group.addEventListener("mouseleave", hide);
    group.addEventListener("blur", hide);
    return group;
  });
  const ranks = view.nodes.slice(0, t.ranks).map(([x, y], i) => {
    const group = drawn("g", { class: "rank" });
    group.append(drawn("circle", { cx: x, cy: y, r: view.radius }), drawn("text", { x, y }, String(i)));
    return group;
  });
  hide();
  stage.classList.toggle("moving", moving);
  stage.replaceChildren(...unique(kinds).map(arrowHead), ...view.back, ...messages, ...ranks);
  $("step").value = player.step;
  $("back").disabled = player.step === 0;
  $("next").disabled = player.step === t.steps;
  $("now").textContent = player.step === 0
    ? `Before the first of ${count(t.steps, "step")}.`
    : `Step ${player.step} of ${t.steps}: ${count(own.length, "message")}.`;
  crossed(own);
  list(own);
}

// How many messages meet at which level, in this step and in all.
function crossed(own) {
  const { view, totals } = player;
  const items = [...totals].map(([level, total]) => {
    const now = own.filter(([, src, dst]) => view.crossing(src, dst).level === level).length;
    return make("span", { className: hue(level) }, make("i"), `${total.meet}: ${now} now, ${total.all} in all`);
  });
  $("crossed").hidden = !items.length;
  $("crossed").replaceChildren("Messages that meet in the ", ...items);
}

function list(own) {
  const head = make("tr", {}, ...["step", "from", "to", "blocks", "words"].map((name) => make("th", { scope: "col" }, name)));
  const lines = own.map((message) => make("tr", {}, ...message.map((cell) => make("td", {}, String(cell)))));
  const table = make("table", {}, make("caption", {}, "Messages of this step"), make("thead", {}, head), make("tbody", {}, ...lines));
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
fill($("ranks"), [8], 8);
fill($("ground"), [-1, ...plans.keys()], -1, (i) => plans[i]?.title ?? "its network");
fill($("placed"), Object.keys(plans[0]?.places ?? { "for the network": 0 }), "for the network");
for (const id of ["operation", "algorithm", "ranks"]) $(id).addEventListener("change", choose);
// The step stays: to compare.
for (const id of ["ground", "placed"]) $(id).addEventListener("change", () => { stop(); look(); show(player.step, false); });
$("back").addEventListener("click", () => go(player.step - 1));
$("next").addEventListener("click", () => go(player.step + 1));
$("play").addEventListener("click", play);
$("step").addEventListener("input", () => go(Number($("step").value)));
$("drawn").addEventListener("keydown", (e) => {
  const to = { ArrowLeft: player.step - 1, ArrowRight: player.step + 1, Home: 0, End: player.trace.steps }[e.key];
  if (e.key === " ") { e.preventDefault(); play(); }
  else if (to !== undefined) { e.preventDefault(); go(to); $("drawn").focus(); }
});
addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
addEventListener("scroll", follow, { passive: true });
new ResizeObserver(() => {
  if (player.narrow === $("player").clientWidth < NARROW) return;
  look();
  show(player.step, false);
}).observe($("player"));
choose();
show(1, false);
