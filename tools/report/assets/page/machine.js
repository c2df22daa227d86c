// A machine as a drawing: rooms (what cores share) in rooms, cores in them, ranks on the cores that have any. Laid out here,
// as the page is wide or narrow; cores without ranks are small, and rooms around all ranks are left out.

const SVG = "http://www.w3.org/2000/svg";
const drawn = (name, attributes = {}, text) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};

// Sizes in units of the drawing.
const CHIP = 5; // the radius of a rank
const PITCH = 18; // the room that a rank takes
const IDLE = 5; // the side of a core without ranks
const GAP = 4;
const TITLE = 6; // a room's name
const LETTER = 1.9; // the width of a letter of it

// What cores share has a colour: by the level at which they meet.
const HUES = { pu: "core", core: "core", l1: "core", l2: "l2", l3: "l3", l4: "l3", l5: "l3", die: "group", group: "group", numa: "numa", package: "package" };
const hue = (level) => `at-${HUES[level] ?? "machine"}`;

// Things in rows, so that all together are about `aspect` times as wide as high; `least` is as wide as it will be anyway.
function rows(things, aspect, least) {
  const tried = things.map((_, i) => {
    const columns = i + 1;
    const lines = [];
    for (let at = 0; at < things.length; at += columns) lines.push(things.slice(at, at + columns));
    const wide = (line) => line.reduce((sum, thing) => sum + thing.width + GAP, -GAP);
    const high = (line) => Math.max(...line.map((thing) => thing.height));
    const width = Math.max(...lines.map(wide));
    const height = lines.reduce((sum, line) => sum + high(line) + GAP, -GAP);
    // Full rows look better.
    const ragged = things.length % columns ? 0.2 : 0;
    return { lines, high, width, height, bad: Math.abs(Math.log(Math.max(width, least) / height / aspect)) + ragged };
  });
  return tried.reduce((best, one) => (one.bad < best.bad ? one : best));
}

// The drawing of `plan` with rank r on the core places[r]: the ranks' places, and what is behind them.
function machineView(plan, places, aspect) {
  const back = [];
  const nodes = [];
  const on = new Map();
  places.forEach((core, rank) => on.set(core, [...(on.get(core) ?? []), rank]));
  const box = (x, y, width, height, kind) => back.push(drawn("rect", { x, y, width, height, rx: 1.2, class: kind }));

  const coreThing = (core) => {
    const ranks = on.get(core) ?? [];
    const { pus, usable } = plan.cores[core];
    if (!ranks.length) {
      const draw = (x, y) => box(x, y, IDLE, IDLE, usable ? "core" : "core off");
      return { width: IDLE, height: IDLE, draw };
    }
    const columns = Math.ceil(Math.sqrt(ranks.length));
    const width = columns * PITCH;
    const height = Math.ceil(ranks.length / columns) * PITCH + 3;
    const draw = (x, y) => {
      box(x, y, width, height, "core used");
      back.push(drawn("text", { x: x + width / 2, y: y + height - 2.2, class: "pu" }, `PU ${pus.slice(0, 2).join(", ")}`));
      ranks.forEach((rank, i) => {
        nodes[rank] = [x + ((i % columns) + 0.5) * PITCH, y + (Math.floor(i / columns) + 0.5) * PITCH];
      });
    };
    return { width, height, draw };
  };

  const roomThing = (at, depth) => {
    const { from, to, name } = plan.rooms[at];
    const children = plan.rooms.map((_, i) => i).filter((i) => plan.rooms[i].parent === at);
    const inner = children.map((child) => roomThing(child, depth + 1));
    const own = [];
    for (let core = from; core < to; core += 1) {
      if (!children.some((child) => core >= plan.rooms[child].from && core < plan.rooms[child].to)) own.push(coreThing(core));
    }
    const blocks = [own, inner].filter((things) => things.length).map((things) => rows(things, aspect, name.length * LETTER));
    const width = Math.max(name.length * LETTER, ...blocks.map((block) => block.width)) + 2 * GAP;
    const height = blocks.reduce((sum, block) => sum + block.height + GAP, TITLE);
    const draw = (x, y) => {
      box(x, y, width, height, depth % 2 ? "room odd" : "room");
      back.push(drawn("text", { x: x + 2, y: y + 3.4, class: "name" }, name));
      let top = y + TITLE;
      for (const block of blocks) {
        for (const line of block.lines) {
          let left = x + (width - block.width) / 2;
          for (const thing of line) {
            thing.draw(left, top);
            left += thing.width + GAP;
          }
          top += block.high(line) + GAP;
        }
      }
    };
    return { width, height, draw };
  };

  // The innermost room that has all ranks, and for each pair the innermost one that has both.
  const meet = (...cores) => {
    const has = (room) => cores.every((core) => core >= room.from && core < room.to);
    return plan.rooms.reduce((found, room, i) => (has(room) && room.to - room.from <= plan.rooms[found].to - plan.rooms[found].from ? i : found), 0);
  };
  const root = meet(...places);
  const thing = roomThing(root, 0);
  const margin = 1;
  thing.draw(margin, margin);
  const crossing = (src, dst) => {
    const [a, b] = [places[src], places[dst]];
    if (a === b) return { level: "core", meet: "core", name: `core ${a}` };
    return plan.rooms[meet(a, b)];
  };
  return {
    nodes,
    back,
    radius: CHIP,
    bend: 0.16,
    width: thing.width + 2 * margin,
    height: thing.height + 2 * margin,
    crossing,
    pu: (rank) => plan.cores[places[rank]].pus[0],
    whole: root === 0,
    root: plan.rooms[root].name,
    used: on.size,
  };
}
