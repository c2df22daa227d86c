// The page of `phalanx waits`. A frame costs the width of the window times the logarithm of the
// events: what is narrower than a pixel is summed up before, and found by halving.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);

const unpack = (text) => {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Float64Array(bytes.buffer);
};

const COLOURS = 2 + data.states.length;
const names = ["work", "transfer", ...data.states];

// Rows of `width` numbers; the first two of each are its begin and end.
const table = (text, width) => {
  const all = unpack(text);
  return { all, width, count: all.length / width, at: (row, column) => all[row * width + column] };
};

// The first row that begins after `time`.
const after = ({ all, width, count }, time) => {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle * width] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
};

const tracks = data.tracks.map((track) => {
  const parts = table(track.parts, 3);
  // By colour: the time in all parts before each.
  const sums = Array.from({ length: COLOURS }, () => new Float64Array(parts.count + 1));
  const used = new Set();
  for (let row = 0; row < parts.count; row++) {
    const colour = parts.at(row, 2);
    used.add(colour);
    for (const sum of sums) sum[row + 1] = sum[row];
    sums[colour][row + 1] += parts.at(row, 1) - parts.at(row, 0);
  }
  return { parts, sums, used: [...used].sort(), calls: table(track.calls, 8), waits: table(track.waits, 5), phases: table(track.phases, 4) };
});
const path = table(data.path, 3);

// The time in `colour` up to `time`.
const until = ({ parts, sums }, colour, time) => {
  const row = after(parts, time);
  if (row === 0) return 0;
  const over = parts.at(row - 1, 2) === colour ? Math.max(0, parts.at(row - 1, 1) - time) : 0;
  return sums[colour][row] - over;
};

const short = (value) => String(Number(value.toPrecision(4)));
const time = (ns) => {
  for (const [limit, unit] of [[1e3, "ns"], [1e6, "us"], [1e9, "ms"]]) {
    if (ns < limit) return `${short((ns * 1e3) / limit)} ${unit}`;
  }
  return `${short(ns / 1e9)} s`;
};

const box = $("box"), canvas = $("canvas"), tip = $("tip");
const context = canvas.getContext("2d");
const view = { begin: 0, end: data.length };
const TOP = 22;
let colours, track_height, left, width, frames = 0, slowest = 0;

const measure = () => {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  colours = { parts: Array.from({ length: COLOURS }, (_, i) => get(`--c${i}`)), ink: get("--ink"), soft: get("--soft"), line: get("--line"), page: get("--page") };
  const space = Math.max(240, innerHeight * 0.6);
  track_height = Math.max(16, Math.min(64, Math.floor((space - TOP) / tracks.length)));
  const ratio = devicePixelRatio || 1;
  width = box.clientWidth;
  left = width < 600 ? 26 : 56;
  canvas.style.height = `${TOP + tracks.length * track_height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round((TOP + tracks.length * track_height) * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
};

const span = () => view.end - view.begin;
const x_of = (ns) => left + ((ns - view.begin) / span()) * (width - left);
const time_of = (x) => view.begin + ((x - left) / (width - left)) * span();

const axis = () => {
  context.fillStyle = colours.soft;
  context.font = "12px system-ui, sans-serif";
  const wanted = span() / Math.max(2, (width - left) / 110);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= wanted);
  for (let tick = Math.ceil(view.begin / step) * step; tick <= view.end; tick += step) {
    const x = x_of(tick);
    context.fillRect(x, TOP - 5, 1, 5);
    if (x < width - 40) context.fillText(time(tick), x + 3, TOP - 8);
  }
};

const draw_track = (track, rank) => {
  const y = TOP + rank * track_height, strip = track.phases.count && track_height >= 24 ? 6 : 0;
  const [top, height] = [y + 1 + strip, track_height - 3 - strip];
  context.fillStyle = colours.soft;
  context.font = "12px system-ui, sans-serif";
  context.fillText(width < 600 ? rank : `rank ${rank}`, 2, y + track_height / 2 + 4);
  const first = Math.max(0, after(track.parts, view.begin) - 1), end = after(track.parts, view.end);
  if (end - first < width) {
    for (let row = first; row < end; row++) {
      const [from, to] = [Math.max(left, x_of(track.parts.at(row, 0))), Math.min(width, x_of(track.parts.at(row, 1)))];
      context.fillStyle = colours.parts[track.parts.at(row, 2)];
      if (to > from) context.fillRect(from, top, Math.max(to - from, 0.5), height);
    }
  } else {
    let before = track.used.map((colour) => until(track, colour, view.begin));
    for (let x = left; x < width; x++) {
      const to = time_of(x + 1), whole = to - time_of(x);
      let bottom = top + height;
      const now = track.used.map((colour) => until(track, colour, to));
      for (let i = 0; i < track.used.length; i++) {
        const part = ((now[i] - before[i]) / whole) * height;
        if (part <= 0) continue;
        context.fillStyle = colours.parts[track.used[i]];
        context.fillRect(x, bottom - part, 1, part);
        bottom -= part;
      }
      before = now;
    }
  }
  if (!strip) return;
  const last = after(track.phases, view.end);
  let from = Math.max(0, after(track.phases, view.begin) - 1), drawn = -1;
  // One a pixel.
  for (let row = from; row < last;) {
    const a = Math.max(left, x_of(track.phases.at(row, 0))), b = Math.min(width, x_of(track.phases.at(row, 1)));
    if (b > a && b > drawn) {
      context.fillStyle = `hsl(${(track.phases.at(row, 2) * 67) % 360} 50% 55%)`;
      context.fillRect(a, y + 1, Math.max(1, b - a - 1), strip - 1);
      drawn = Math.max(drawn, a + 1);
    }
    row = b - a < 1 ? Math.max(row + 1, after(track.phases, time_of(a + 1)) - 1) : row + 1;
  }
};

// Arrows from the awaited rank to the one that waited, where there are few enough to be seen.
const draw_arrows = () => {
  let count = 0;
  const rows = tracks.map((track) => [Math.max(0, after(track.waits, view.begin) - 1), after(track.waits, view.end)]);
  for (const [first, end] of rows) count += end - first;
  if (count > 400) return 0;
  context.strokeStyle = context.fillStyle = colours.ink;
  tracks.forEach((track, rank) => {
    for (let row = rows[rank][0]; row < rows[rank][1]; row++) {
      const [end, peer, from] = [1, 2, 3].map((column) => track.waits.at(row, column));
      const [x0, x1] = [x_of(from), x_of(end)];
      if (x1 < left || x0 > width || x0 < left) continue;
      const middle = (it) => TOP + it * track_height + track_height / 2;
      const [y0, y1] = [middle(peer), middle(rank)];
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
      const turn = Math.atan2(y1 - y0, x1 - x0);
      context.beginPath();
      context.moveTo(x1, y1);
      for (const side of [2.7, -2.7]) context.lineTo(x1 + 7 * Math.cos(turn + side), y1 + 7 * Math.sin(turn + side));
      context.fill();
    }
  });
  return count;
};

const draw_path = () => {
  context.fillStyle = colours.ink;
  let row = 0;
  // Pieces follow each other in time.
  let [low, high] = [0, path.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (path.at(middle, 2) <= view.begin) low = middle + 1;
    else high = middle;
  }
  for (row = low; row < path.count && path.at(row, 1) < view.end;) {
    const [a, b] = [Math.max(left, x_of(path.at(row, 1))), Math.min(width, x_of(path.at(row, 2)))];
    context.fillRect(a, TOP + (path.at(row, 0) + 1) * track_height - 2, Math.max(1, b - a), 2);
    if (b - a >= 1) row += 1;
    else {
      const next = time_of(a + 1);
      let [from, to] = [row + 1, path.count];
      while (from < to) {
        const middle = (from + to) >> 1;
        if (path.at(middle, 2) <= next) from = middle + 1;
        else to = middle;
      }
      row = from;
    }
  }
};

const state = { arrows: 0 };
const draw = () => {
  const since = performance.now();
  context.fillStyle = colours.page;
  context.fillRect(0, 0, width, TOP + tracks.length * track_height);
  axis();
  tracks.forEach(draw_track);
  draw_path();
  state.arrows = draw_arrows();
  frames += 1;
  slowest = Math.max(slowest, performance.now() - since);
};

let waits_for_frame = false;
const redraw = () => {
  if (waits_for_frame) return;
  waits_for_frame = true;
  requestAnimationFrame(() => {
    waits_for_frame = false;
    draw();
  });
};

const SHORTEST = 50;
const show = (begin, end) => {
  const wanted = Math.min(Math.max(end - begin, SHORTEST), data.length);
  view.begin = Math.min(Math.max(0, begin), data.length - wanted);
  view.end = view.begin + wanted;
  redraw();
};
const zoom = (factor, x) => {
  const at = time_of(x);
  show(at - (at - view.begin) * factor, at + (view.end - at) * factor);
};
const move = (pixels) => {
  const ns = (pixels / (width - left)) * span();
  show(view.begin + ns, view.end + ns);
};

// What is under the pointer.
const under = (x, y) => {
  const rank = Math.floor((y - TOP) / track_height), track = tracks[rank];
  if (!track || x < left) return "";
  const at = time_of(x), near = (span() / (width - left)) * 2;
  const lines = [`rank ${rank}, ${time(at)}`];
  const find = (rows) => {
    const end = after(rows, at + near);
    for (let row = end - 1; row >= Math.max(0, end - 64); row--) if (rows.at(row, 1) >= at - near) return row;
    return -1;
  };
  const phase = find(track.phases), call = find(track.calls), wait = find(track.waits);
  const text = (place) => data.texts[place] ?? "";
  if (phase >= 0) lines.push(`phase ${text(track.phases.at(phase, 2))}`);
  if (call >= 0) {
    const [begin, end, bytes, name, line, detail, algorithm, transport] = Array.from({ length: 8 }, (_, i) => track.calls.at(call, i));
    const of = text(detail) ? ` of ${text(detail)}` : "";
    lines.push(`${text(name)}${of}: ${bytes} B, ${time(end - begin)}`, text(line));
    lines.push([text(algorithm), data.transports[transport]].filter(Boolean).join(", "));
  } else lines.push(names[track.parts.at(Math.max(0, after(track.parts, at) - 1), 2)] ?? "work");
  if (wait >= 0) {
    const [begin, end, peer, from, cause] = Array.from({ length: 5 }, (_, i) => track.waits.at(wait, i));
    lines.push(cause >= 0 ? `${data.states[cause]}: for rank ${peer}, ${time(from - begin)}` : `for rank ${peer}, ${time(end - begin)}: transfer`);
  }
  return lines.join("\n");
};

const tell = (event) => {
  const place = box.getBoundingClientRect();
  const [x, y] = [event.clientX - place.left, event.clientY - place.top];
  const text = under(x, y);
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.max(0, Math.min(x + 12, width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${y + 14}px`;
};

box.addEventListener("wheel", (event) => {
  event.preventDefault();
  const x = event.clientX - box.getBoundingClientRect().left;
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX);
  else zoom(Math.exp(event.deltaY / 400), x);
}, { passive: false });

const fingers = new Map();
box.addEventListener("pointerdown", (event) => {
  box.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, event.clientX);
  tell(event);
});
box.addEventListener("pointermove", (event) => {
  const old = fingers.get(event.pointerId);
  if (old === undefined) return tell(event);
  const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
  fingers.set(event.pointerId, event.clientX);
  if (other === undefined) return move(old - event.clientX);
  const [before, now] = [Math.abs(old - other), Math.abs(event.clientX - other)];
  const middle = (event.clientX + other) / 2 - box.getBoundingClientRect().left;
  if (before > 4 && now > 4) zoom(before / now, middle);
});
for (const name of ["pointerup", "pointercancel"]) box.addEventListener(name, (event) => fingers.delete(event.pointerId));
box.addEventListener("pointerleave", () => { tip.hidden = true; });
box.addEventListener("keydown", (event) => {
  const middle = (left + width) / 2;
  const acts = {
    ArrowLeft: () => move(-80), ArrowRight: () => move(80), "+": () => zoom(0.6, middle), "=": () => zoom(0.6, middle),
    "-": () => zoom(1 / 0.6, middle), 0: () => show(0, data.length),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
  $("read").textContent = `${time(view.begin)} to ${time(view.end)}`;
});

const used = new Set(tracks.flatMap((track) => track.used));
const explain = (name, fill, height) => {
  const entry = document.createElement("span"), patch = document.createElement("b");
  Object.assign(patch.style, { background: fill, height });
  entry.append(patch, name);
  $("legend").append(entry);
};
names.forEach((name, colour) => {
  if (used.has(colour)) explain(name, `var(--c${colour})`, "");
});
// The marks under a rank's line.
if (path.count > 0) explain("critical path", "var(--ink)", "2px");

addEventListener("resize", () => { measure(); redraw(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { measure(); redraw(); });
measure();
draw();

// For tests.
globalThis.phalanxTimeline = { data, tracks, view, show, under, until, draw, state, x_of, get frames() { return frames; }, get slowest() { return slowest; }, reset() { slowest = 0; } };
