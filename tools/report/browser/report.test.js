// Opens the page of `phalanx report` from the disk and uses it, as people do.
// node report.test.js DIRECTORY: with report.html in it; screenshots go there, too.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const directory = resolve(process.argv[2]);
const page_url = pathToFileURL(join(directory, "report.html")).href;
const profile = mkdtempSync(join(tmpdir(), "phalanx-browser-"));
const SIZES = { telephone: [390, 844], desktop: [1280, 900] };

const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  acceptDownloads: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

// Parts of a colour, and the contrast of two (WCAG 2.1).
const parts = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
const light = (colour) => {
  const [r, g, b] = parts(colour).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);

const tests = {
  async "charts have all their points, and are painted"(page) {
    const found = await page.evaluate(() => phalanxReport.charts.map((chart) => ({
      title: chart.data.title,
      bars: chart.bars,
      unit: chart.data.unit ?? "time",
      ranks: chart.data.x_unit === "ranks",
      wanted: chart.data.curves.filter((_, i) => chart.shown[i]).flatMap((curve) => [
        [curve.name, curve.points.length],
        ...(curve.elsewhere?.length && !chart.bars ? [[`${curve.name}, ${chart.data.aside ?? "elsewhere"}`, curve.elsewhere.length]] : []),
      ]),
      drawn: chart.bars
        ? chart.plot.querySelectorAll(".bar b").length
        : chart.uplot.series.slice(1).map((own, i) => [own.label, chart.uplot.data[i + 1].filter((ns) => ns !== null).length]),
      labels: chart.bars ? [chart.unit.textContent] : [chart.uplot.axes[0].label, chart.unit.textContent],
      painted: chart.bars || (() => {
        const canvas = chart.plot.querySelector("canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.some((byte) => byte !== 0);
      })(),
    })));
    const operations = JSON.parse(await page.locator("#charts").textContent()).collectives.length;
    // Over sizes and over ranks; and the fit of messages, the rates.
    const over = found.filter((chart) => chart.ranks).length;
    assert.equal(found.length, operations + over + 2);
    // A run may have one number of ranks.
    assert.ok(over === operations || over === 0, String(over));
    assert.equal(operations, 3);
    for (const chart of found) {
      assert.ok(chart.painted, chart.title);
      assert.ok(chart.wanted.length > 0, chart.title);
      if (chart.bars) {
        assert.equal(chart.drawn, chart.wanted.length, chart.title);
        assert.match(chart.labels[0], /(ns|us|ms)/);
        continue;
      }
      const drawn = new Map(chart.drawn);
      for (const [name, points] of chart.wanted) assert.equal(drawn.get(name), points, `${chart.title} ${name}`);
      assert.match(chart.labels[0], chart.ranks ? /^Ranks$/ : /^Size of /);
      assert.match(chart.labels[1], chart.unit === "time" ? /^Time of / : /^Rate/);
    }
    const ticks = await page.evaluate(() => phalanxReport.charts.filter((c) => !c.bars).map((c) => c.uplot.axes[1]._values));
    for (const values of ticks) {
      assert.ok(values.filter(Boolean).length >= 2, String(values));
      assert.ok(values.filter(Boolean).every((value) => /^[\d.]+ (ns|us|ms|s|GB\/s)$/.test(value)), String(values));
    }
    const sizes = await page.evaluate(() => phalanxReport.charts.filter((c) => !c.bars).map((c) => c.uplot.axes[0]._values));
    for (const values of sizes) assert.ok(values.every((value) => /^[\d.]+( (B|KiB|MiB|GiB))?$/.test(value)), String(values));
  },

  async "curves can be shown and hidden, and read by keyboard"(page) {
    const chart = page.locator("#collectives .chart").first();
    const count = () => page.evaluate(() => phalanxReport.charts.find((c) => c.data.title === "all-reduce").uplot.series.length);
    const before = await count();
    const button = chart.locator(".legend button").first();
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    await button.focus();
    await page.keyboard.press("Enter");
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    assert.ok((await count()) < before);
    await page.keyboard.press("Space");
    assert.equal(await count(), before);
    await chart.locator(".plot").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await chart.locator(".read").textContent(), /^8 B: .*\d (ns|us)/);
    // The others are there, too, behind the first ones.
    const more = chart.locator("details.more");
    await more.locator("summary").click();
    const shown = await count();
    await more.locator("button").first().click();
    assert.ok((await count()) > shown);
  },

  async "over ranks: another size, more ranks than cores, one rank alone"(page) {
    const view = () => page.evaluate(() => {
      const { data, uplot, unit } = phalanxReport.charts.find((c) => c.data.title === "all-reduce over ranks");
      return { label: unit.textContent, ranks: uplot.data[0], wanted: data.sizes, lines: uplot.series.slice(1).map((own) => own.label), y: uplot.data.slice(1) };
    });
    if (!(await page.locator("#across").count())) return console.log("SKIPPED: the saved run has one number of ranks");
    const small = await view();
    assert.equal(small.label, "Time of one call of 8 B");
    assert.deepEqual(small.ranks, small.wanted);
    assert.ok(small.ranks.length > 2 && small.ranks[0] === 1, String(small.ranks));
    assert.deepEqual(small.lines, ["auto", "auto, oversubscribed", "auto, modelled"]);
    // Measured on every number of ranks, once; modelled from two on.
    small.ranks.forEach((_, i) => assert.ok((small.y[0][i] === null) !== (small.y[1][i] === null)));
    assert.equal(small.y[2][0], null);
    assert.ok(small.y[2].slice(1).every((ns) => ns > 0), String(small.y[2]));
    await page.selectOption("#across-size", { label: "512 KiB" });
    const large = await view();
    assert.equal(large.label, "Time of one call of 512 KiB");
    assert.ok(large.y[2].at(-1) > small.y[2].at(-1));
    const chart = page.locator("[data-chart='across-all-reduce']");
    await chart.locator(".plot").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await chart.locator(".read").textContent(), /^1 rank: auto /);
    await page.keyboard.press("ArrowRight");
    assert.match(await chart.locator(".read").textContent(), /^2 ranks: .*modelled/);
    assert.match(await page.locator("#across").textContent(), /oversubscribed: more ranks than cores/);
  },

  async "the animation steps, plays, and goes back"(page) {
    const now = () => page.locator("#now").textContent();
    const messages = () => page.locator("#stage .message").count();
    await page.selectOption("#operation", "all-gather");
    await page.selectOption("#algorithm", "AG-RING");
    await page.selectOption("#ranks", "8");
    assert.match(await now(), /Before the first of 7 steps/);
    assert.equal(await messages(), 0);
    assert.ok(await page.locator("#back").isDisabled());
    await page.click("#next");
    assert.match(await now(), /Step 1 of 7: 8 messages/);
    assert.equal(await messages(), 8);
    await page.click("#next");
    assert.match(await now(), /Step 2 of 7/);
    await page.click("#back");
    assert.match(await now(), /Step 1 of 7/);
    await page.locator("#step").fill("7");
    assert.match(await now(), /Step 7 of 7/);
    assert.ok(await page.locator("#next").isDisabled());
    await page.locator("#step").fill("5");
    await page.click("#play");
    assert.equal(await page.locator("#play").textContent(), "Pause");
    await page.waitForFunction(() => phalanxReport.player.step === 7, null, { timeout: 20000 });
    await page.waitForFunction(() => document.getElementById("play").textContent === "Play");
    await page.locator("#step").fill("0");
    await page.click("#play");
    await page.click("#play");
    const held = await now();
    await page.waitForTimeout(1500);
    assert.equal(await now(), held, "a pause holds the step");
    // Every algorithm can be chosen and drawn to its end.
    const drawn = await page.evaluate(() => {
      const change = (id, value) => {
        const select = document.getElementById(id);
        select.value = value;
        select.dispatchEvent(new Event("change"));
      };
      const values = (id) => [...document.getElementById(id).options].map((option) => option.value);
      let algorithms = 0;
      for (const operation of values("operation")) {
        change("operation", operation);
        for (const algorithm of values("algorithm")) {
          change("algorithm", algorithm);
          const { trace } = phalanxReport.player;
          if (trace.id !== algorithm || trace.op !== operation) return `${operation} ${algorithm}: ${trace.id}`;
          document.getElementById("step").value = trace.steps;
          document.getElementById("step").dispatchEvent(new Event("input"));
          const own = trace.messages.filter((message) => message[0] === trace.steps).length;
          if (document.querySelectorAll("#stage .message").length !== own) return `${algorithm}: messages`;
          algorithms += 1;
        }
      }
      return algorithms;
    });
    assert.ok(drawn > 100, String(drawn));
  },

  async "messages go between the cores of a machine, by the level where they meet"(page) {
    await page.selectOption("#operation", "all-reduce");
    await page.selectOption("#algorithm", "AR-HCUBE");
    await page.selectOption("#ranks", "16");
    const now = () => page.locator("#now").textContent();
    const grounds = await page.locator("#ground option").allTextContents();
    assert.equal(grounds.length, 2, String(grounds));
    assert.match(grounds[1], /^This machine/);
    assert.ok(await page.locator("#placed").isDisabled());
    await page.locator("#step").fill("1");
    // Two packages, so scattered neighbours cross the machine.
    await page.selectOption("#ground", "0");
    await page.selectOption("#placed", "scatter");
    assert.match(await now(), /Step 1 of 4: 16 messages/, "the step stays");
    assert.equal(await page.locator("#stage .message").count(), 16);
    assert.equal(await page.locator("#stage .rank").count(), 16);
    assert.match(await page.locator("#where").textContent(), /16 ranks on 16 cores, placed scatter/);
    const crossing = await page.evaluate(() => {
      const { trace, view } = phalanxReport.player;
      return trace.messages.filter((m) => m[0] === 1).map((m) => view.crossing(m[1], m[2]).meet);
    });
    assert.ok(crossing.every((meet) => meet === "machine"), String(crossing));
    assert.match(await page.locator("#crossed").textContent(), /machine: 16 now, \d+ in all/);
    assert.equal(await page.locator("#stage .message.at-machine").count(), 16);
    const hue = () => page.locator("#stage .message .way").first().evaluate((way) => getComputedStyle(way).stroke);
    const far = await hue();
    // Every arrow ends at the circles of its ranks, which lie within boxes of cores, without overlapping.
    const drawing = () => page.evaluate(() => {
      const { view } = phalanxReport.player;
      const boxes = [...document.querySelectorAll("#stage .core.used")].map((box) => ["x", "y", "width", "height"].map((key) => Number(box.getAttribute(key))));
      const inside = ([x, y]) => boxes.some(([left, top, width, height]) => x > left && x < left + width && y > top && y < top + height);
      const near = Math.min(...view.nodes.flatMap((a, i) => view.nodes.slice(0, i).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1]))));
      return { inside: view.nodes.every(inside), near, radius: view.radius, width: document.getElementById("stage").getBoundingClientRect().width };
    });
    const check = async () => {
      const { inside, near, radius, width } = await drawing();
      assert.ok(inside && near > 2 * radius, `${inside} ${near}`);
      assert.ok(width > 200 && width <= page.viewportSize().width, String(width));
    };
    await check();
    await page.selectOption("#placed", "compact");
    assert.match(await page.locator("#where").textContent(), /the rest of the machine has no ranks/);
    assert.notEqual(await hue(), far, "near messages have another colour");
    await check();
    // What a message says, by keyboard, and that the drawing's keys step.
    await page.locator("#stage .message").first().focus();
    assert.match(await page.locator("#tip").textContent(), /^Step 1: rank \d+ to rank \d+\nPU \d+ to PU \d+, which meet in the L3\nblocks .+\n.+ words$/);
    await page.keyboard.press("ArrowRight");
    assert.match(await now(), /Step 2 of 4/);
    await page.keyboard.press("End");
    assert.match(await now(), /Step 4 of 4/);
    await page.keyboard.press("Home");
    assert.match(await now(), /Before the first/);
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#play").textContent(), "Pause");
    await page.waitForFunction(() => phalanxReport.player.step >= 2, null, { timeout: 20000 });
    await page.keyboard.press("Space");
    assert.equal(await page.locator("#play").textContent(), "Play");
    // Fewer cores than ranks.
    await page.selectOption("#placed", "random");
    await check();
    assert.equal(await page.locator("#stage .core.used").count(), 8);
    assert.match(await page.locator("#where").textContent(), /16 ranks on 8 cores/);
    // Every placement of every number of ranks, for every network.
    const wrong = await page.evaluate(() => {
      const { traces, plans } = JSON.parse(document.getElementById("charts").textContent);
      const wrong = [];
      for (const t of traces.all) {
        for (const plan of plans) {
          for (const [name, own] of Object.entries(plan.places)) {
            const cores = own[t.layout] ?? own[t.ranks];
            if (cores?.length !== t.ranks || cores.some((core) => !plan.cores[core])) wrong.push(`${t.id} ${t.ranks} ${name}`);
          }
        }
      }
      return wrong;
    });
    assert.deepEqual(wrong, []);
  },

  async "a message says what it carries, to the mouse and to the keyboard"(page) {
    await page.selectOption("#operation", "all-gather");
    await page.selectOption("#algorithm", "AG-HCUBE");
    await page.selectOption("#ranks", "8");
    await page.locator("#step").fill("2");
    const tip = page.locator("#tip");
    const message = page.locator("#stage .message").first();
    assert.ok(await tip.isHidden());
    await page.locator("#stage").scrollIntoViewIfNeeded();
    await message.focus();
    assert.ok(await tip.isVisible());
    const wanted = /^Step 2: rank \d+ to rank \d+\nblocks \d+,\d+\n16 words$/;
    assert.match(await tip.textContent(), wanted);
    await page.keyboard.press("Escape");
    assert.ok(await tip.isHidden());
    await page.locator("#next").focus();
    const at = await message.locator(".hit").evaluate((path) => {
      const point = path.getPointAtLength(path.getTotalLength() / 2);
      const { x, y } = new DOMPoint(point.x, point.y).matrixTransform(path.getScreenCTM());
      return [x, y];
    });
    await page.mouse.move(...at);
    assert.ok(await tip.isVisible());
    assert.match(await tip.textContent(), wanted);
    const box = await tip.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= page.viewportSize().width);
    await page.mouse.move(2, 2);
    assert.ok(await tip.isHidden());
    assert.equal(await message.getAttribute("aria-label"), (await message.getAttribute("aria-label")).replace(/\n/g, " "));
  },

  async "the data can be saved, and are what was measured"(page) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
    assert.equal(download.suggestedFilename(), "phalanx-report.json");
    const saved = JSON.parse(readFileSync(await download.path(), "utf8"));
    const fixture = new URL("../tests/data/report.json", import.meta.url);
    assert.deepEqual(saved, JSON.parse(readFileSync(fixture, "utf8")));
  },

  async "all that has a function has a name"(page) {
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, select, input, img, [tabindex='0']")]
        .filter((node) => !(node.textContent.trim() || node.getAttribute("aria-label") || node.alt || node.labels?.length))
        .map((node) => node.outerHTML.slice(0, 90)));
    assert.deepEqual(nameless, []);
  },

  async "drawings are shown"(page) {
    const sizes = await page.locator("figure.drawing img").evaluateAll((all) => all.map((img) => [img.complete, img.naturalWidth]));
    assert.equal(sizes.length, 1, "placement");
    for (const [complete, width] of sizes) assert.ok(complete && width > 100, String([complete, width]));
    // The matrices of few cores are tables, whose cells have colours and can be read.
    const cells = await page.locator("#matrices .heat").evaluateAll((all) => all.map((heat) =>
      [...heat.querySelectorAll("td:not(:empty)")].map((cell) => [Number(cell.textContent), getComputedStyle(cell).color, getComputedStyle(cell).backgroundColor])));
    assert.equal(cells.length, 2, "latency, bandwidth");
    for (const [value, ink, paper] of cells.flat()) {
      assert.ok(value > 0, String(value));
      assert.ok(contrast(ink, paper) >= 3, `${ink} on ${paper}`);
    }
    assert.ok(cells.flat().length >= 5);
  },

  async "the page begins with what it says"(page) {
    const tiles = page.locator("main > :first-child .tiles > div");
    assert.deepEqual(await tiles.locator("dt").allTextContents(), ["Machine", "Barrier", "All-reduce", "Bandwidth"]);
    const values = await tiles.locator("b").allTextContents();
    const forms = [/^\d+ cores?$/, /^[\d.]+ (ns|us)$/, /^[\d.]+ (ns|us)$/, /^[\d.]+ GB\/s$/];
    forms.forEach((form, i) => assert.match(values[i], form));
    assert.match(await page.locator("#summary .label").textContent(), /^[A-Z].* short calls .*\.$/);
    // Without scrolling.
    const box = await page.locator("#summary").boundingBox();
    assert.ok(box.y + box.height <= page.viewportSize().height, `${box.y} ${box.height}`);
  },

  async "what weighs more is larger, and no axis is written over"(page) {
    const charts = await page.evaluate(() => phalanxReport.charts.map((chart) => {
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = "12px system-ui, sans-serif";
      const plot = chart.plot.getBoundingClientRect();
      const numbers = chart.bars ? [] : chart.uplot.axes[1]._values.filter(Boolean);
      return {
        title: chart.data.title,
        room: chart.bars ? 0 : chart.uplot.axes[1]._size,
        widest: Math.max(0, ...numbers.map((text) => pen.measureText(text).width)),
        label: chart.bars ? null : chart.uplot.axes[1].label,
        above: chart.unit.getBoundingClientRect().bottom <= plot.top + 0.5,
        area: plot.width * plot.height,
      };
    }));
    for (const { title, room, widest, label, above } of charts) {
      assert.ok(room === 0 || room >= widest + 8, `${title}: ${room} for ${widest}`);
      assert.ok(above && !label, title);
    }
    const area = (title) => charts.find((chart) => chart.title === title).area;
    const ratio = area("all-reduce") / area("scan");
    // A telephone has one column, in which only the height differs.
    assert.ok(ratio > (page.viewportSize().width > 800 ? 2.5 : 1.3), String(ratio));
    assert.equal(await page.locator("#collectives .chart h3").first().textContent(), "all-reduce");
    const borders = await page.locator(".legend button").evaluateAll((all) => all.map((own) => getComputedStyle(own).borderTopWidth));
    assert.ok(borders.length > 15 && borders.every((width) => width === "0px"));
  },

  async "curves are told apart without colours, and colours by the colour-blind"(page) {
    const { palettes, marks } = await page.evaluate(() => ({
      palettes: phalanxReport.palettes,
      marks: [...document.querySelectorAll("#collectives .chart")]
        .map((chart) => [...chart.querySelectorAll(":scope > .legend button svg")].map((icon) => icon.innerHTML)),
    }));
    for (const own of marks) assert.equal(new Set(own).size, own.length, "each shown curve has a mark of its own");
    assert.ok(marks.some((own) => own.length === 5));
    // Distances in OKLab, to everybody and as seen without one kind of cones (Machado, Oliveira and Fernandes 2009).
    const eyes = [
      [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
      [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
      [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
      [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    ];
    const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, x, i) => sum + x * vector[i], 0));
    const seen = (hex, eye) => {
      const linear = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      const cones = times(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]],
        times(eye, linear).map((c) => Math.max(0, c)),
      );
      return times(
        [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]],
        cones.map(Math.cbrt),
      );
    };
    const apart = (a, b) => Math.min(...eyes.map((eye) => {
      const [one, other] = [seen(a, eye), seen(b, eye)];
      return Math.hypot(...one.map((x, i) => x - other[i]));
    }));
    for (const [name, lines] of Object.entries(palettes)) {
      assert.equal(lines.length, 10);
      lines.forEach((a, i) => lines.slice(0, i).forEach((b, j) => {
        const least = Math.max(i, j) < 5 ? 0.14 : 0.07;
        assert.ok(apart(a, b) >= least, `${name}: ${a} and ${b}: ${apart(a, b).toFixed(3)}`);
      }));
    }
    assert.ok(apart("#c2410c", "#b91c1c") < 0.05, "two reds are not told apart");
  },

  async "terms are explained where they stand"(page) {
    const text = async (id) => (await page.locator(id).textContent()).replace(/\s+/g, " ");
    const matrices = await text("#matrices");
    for (const wanted of ["L3 cache", "there and back", "sender", "ccx two cores of one cache", "a cache line that one core writes"]) {
      assert.ok(matrices.includes(wanted), wanted);
    }
    assert.ok(!/\b(src|dst)\b/.test(await page.locator("#matrices > .scroll").first().textContent()));
    assert.match(await text("#collectives"), /ccx two cores of one cache/);
    assert.doesNotMatch(await text("body"), /Who is best/);
  },
};

let failed = 0;
const check = async (name, test) => {
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || said.push(`request of ${request.url()}`));
  try {
    page.setDefaultTimeout(20000);
    await test(page);
    assert.deepEqual(said, [], "the console is silent, and nothing is fetched");
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
  await page.close();
};

for (const [name, test] of Object.entries(tests)) {
  for (const [device, [width, height]] of Object.entries(SIZES)) {
    await check(`${name} (${device})`, async (page) => {
      await page.setViewportSize({ width, height });
      await page.goto(page_url);
      await test(page);
    });
  }
}

for (const [device, [width, height]] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    await check(`${device}, ${colorScheme}: it fits, and can be read`, async (page) => {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await page.goto(page_url);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} pixels on ${width}`);
      // Text that sits on something see-through is on what is behind it.
      const pairs = await page.evaluate(() => {
        const behind = (node) => {
          for (let at = node; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!/, 0\)$/.test(colour) && colour !== "transparent") return colour;
          }
          return "rgb(255, 255, 255)";
        };
        return ["body", "h2", "p", "figcaption", "a", "button", "select", "th", "td", "dt", "dd", "caption", "summary", ".read", ".unit", ".tiles b", ".tiles span", ".legend button"]
          .map((name) => [name, document.querySelector(name)])
          .filter(([, node]) => node)
          .map(([name, node]) => [name, getComputedStyle(node).color, behind(node)]);
      });
      assert.ok(pairs.length > 10);
      for (const [name, ink, paper] of pairs) {
        assert.ok(contrast(ink, paper) >= 4.5, `${name}: ${ink} on ${paper}: ${contrast(ink, paper).toFixed(2)}`);
      }
      const dark = light(pairs[0][2]) < 0.2;
      assert.equal(dark, colorScheme === "dark");
      const marks = await page.evaluate(() => {
        const way = document.querySelector("#stage .way");
        const lines = phalanxReport.charts.filter((c) => !c.bars).flatMap((c) => c.uplot.series.slice(1).map((s) => s._stroke));
        // Levels, whose colours are those of arrows.
        const levels = ["core", "l2", "l3", "group", "numa", "package", "machine"].map((level) => {
          const own = document.createElement("i");
          own.className = `at-${level}`;
          own.style.color = "var(--hue)";
          document.getElementById("player").append(own);
          return getComputedStyle(own).color;
        });
        return [getComputedStyle(way).stroke, ...levels, ...lines.filter((s) => /^#/.test(s)).map((hex) =>
          `rgb(${[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(", ")})`)];
      });
      assert.ok(marks.length > 20);
      for (const colour of marks) assert.ok(contrast(colour, pairs[0][2]) >= 3, `${colour} on ${pairs[0][2]}`);
      await page.screenshot({ path: join(directory, `${device}-${colorScheme}.png`), fullPage: true });
    });
  }
}

await check("paper: buttons are gone, all is black on white", async (page) => {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  await page.goto(page_url);
  const shown = await page.evaluate(() =>
    [...document.querySelectorAll("#save, #print, #play, #back, #next, nav, select, input")]
      .filter((node) => node.getClientRects().length > 0).map((node) => node.id || node.tagName));
  assert.deepEqual(shown, []);
  const [ink, paper] = await page.evaluate(() => {
    const style = getComputedStyle(document.body);
    return [style.color, style.backgroundColor];
  });
  assert.ok(light(paper) > 0.95 && contrast(ink, paper) > 15, `${ink} on ${paper}`);
  await page.emulateMedia({ colorScheme: "dark", media: null });
  // Chart colours follow when the page is really printed.
  const during = page.evaluate(() => new Promise((done) => {
    addEventListener("afterprint", () => done("no"), { once: true });
    addEventListener("beforeprint", () => done(phalanxReport.charts.find((c) => !c.bars).uplot.axes[0].stroke()), { once: true });
  }));
  await page.pdf({ path: join(directory, "report.pdf"), printBackground: false });
  assert.equal(await during, "#33414e");
});

await context.close();
rmSync(profile, { recursive: true, force: true });
console.log(failed ? `${failed} failed` : "all ok");
process.exit(failed ? 1 : 0);
