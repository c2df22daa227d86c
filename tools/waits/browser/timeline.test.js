// Opens the page of `phalanx waits` from the disk and uses it, as people do.
// node timeline.test.js DIRECTORY: with timeline.html in it; screenshots go there, too.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// The report's, which `.ci/browser` installs.
const require = createRequire(new URL("../../report/browser/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const directory = resolve(process.argv[2]);
const url = pathToFileURL(join(directory, "timeline.html")).href;
const profile = mkdtempSync(join(tmpdir(), "phalanx-timeline-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const view = (page) => page.evaluate(() => ({ ...phalanxTimeline.view }));

// A wait of rank 0 for a late rank, and what is around it.
const late = (page) => page.evaluate(() => {
  const { data, tracks: [{ waits }] } = phalanxTimeline;
  const end = data.states.indexOf("wait at end");
  for (let row = waits.count - 1; row >= 0; row--) {
    if (waits.at(row, 4) >= 0 && waits.at(row, 4) !== end && waits.at(row, 3) - waits.at(row, 0) > 500) return [0, 1, 2, 3, 4].map((column) => waits.at(row, column));
  }
  return null;
});

const tests = {
  async "all events are there, and the whole is painted"(page) {
    const found = await page.evaluate(() => {
      const canvas = document.querySelector("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      const { tracks } = phalanxTimeline;
      return { colours: seen.size, tracks: tracks.length, events: tracks.reduce((sum, track) => sum + track.calls.count + track.waits.count + track.phases.count, 0) };
    });
    console.log(`  ${found.events} events on ${found.tracks} tracks`);
    assert.equal(found.tracks, 4);
    assert.ok(found.events > 900_000, String(found.events));
    assert.ok(found.colours > 5, String(found.colours));
    const legend = await page.locator("#legend").textContent();
    for (const name of ["work", "transfer", "late sender", "wait at N x N", "critical path"]) assert.ok(legend.includes(name), legend);
  },

  async "what a pixel shows adds up to all of its time"(page) {
    const wrong = await page.evaluate(() => {
      const { tracks, until } = phalanxTimeline;
      let worst = 0;
      for (const track of tracks) {
        const [begin, end] = [track.parts.at(0, 0), track.parts.at(track.parts.count - 1, 1)];
        for (let i = 0; i < 1000; i++) {
          const at = begin + ((end - begin) * i) / 1000;
          const sum = track.used.reduce((all, colour) => all + until(track, colour, at), 0);
          worst = Math.max(worst, Math.abs(sum - (at - begin)));
        }
      }
      return worst;
    });
    assert.ok(wrong < 1, `${wrong} ns`);
  },

  async "wheel, drag, keys and two fingers move and zoom it"(page) {
    const box = await page.locator("#box").boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    const whole = await view(page);
    await page.mouse.wheel(0, -800);
    await frame(page);
    const near = await view(page);
    assert.ok(near.end - near.begin < (whole.end - whole.begin) / 4, JSON.stringify(near));
    await page.mouse.down();
    await page.mouse.move(x - 100, y);
    await page.mouse.up();
    await frame(page);
    const moved = await view(page);
    assert.ok(moved.begin > near.begin, JSON.stringify(moved));
    assert.ok(Math.abs(moved.end - moved.begin - (near.end - near.begin)) < 1);
    await page.locator("#box").focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("+");
    await frame(page);
    assert.ok((await view(page)).end - (await view(page)).begin < moved.end - moved.begin);
    assert.match(await page.locator("#read").textContent(), / to .*(ns|us|ms|s)$/);
    await page.keyboard.press("0");
    await frame(page);
    assert.deepEqual(await view(page), whole);
  },

  async "near by there are arrows, and hovering names call, line and bytes"(page) {
    const wait = await late(page);
    assert.ok(wait, "no late rank");
    const [begin, end, peer] = wait;
    await page.evaluate(([begin, end]) => phalanxTimeline.show(begin - 2 * (end - begin), end + 2 * (end - begin)), [begin, end]);
    await frame(page);
    assert.ok((await page.evaluate(() => phalanxTimeline.state.arrows)) > 0);
    const box = await page.locator("#box").boundingBox();
    const x = await page.evaluate((at) => phalanxTimeline.x_of(at), (begin + wait[3]) / 2);
    await page.mouse.move(box.x + x, box.y + 36);
    const text = await page.locator("#tip").textContent();
    assert.match(text, /^rank 0, /);
    assert.match(text, /(exchange|all_reduce) of \w+( with sum)?: \d+ B, /);
    assert.match(text, /many_events\.rs:\d+:\d+/);
    assert.match(text, new RegExp(`(late sender|wait at N x N): for rank ${peer}, `));
    assert.match(text, /phase (exchange|sum)/);
  },

  async "a frame looks at few events, however many it shows"(page) {
    const found = await page.evaluate(async () => {
      const { data, tracks, show } = phalanxTimeline;
      let looks = 0;
      for (const table of tracks.flatMap((track) => [track.parts, track.waits, track.phases, track.calls])) {
        const { at } = table;
        table.at = (row, column) => {
          looks += 1;
          return at(row, column);
        };
      }
      const next = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const before = phalanxTimeline.frames;
      phalanxTimeline.reset();
      let most = 0;
      for (let i = 0; i < 100; i++) {
        const span = data.length * 0.88 ** i;
        const begin = Math.max(0, (data.length - span) * 0.37);
        looks = 0;
        show(begin, begin + span);
        await next();
        most = Math.max(most, looks);
      }
      return { most, ms: phalanxTimeline.slowest, frames: phalanxTimeline.frames - before, pixels: innerWidth * tracks.length };
    });
    console.log(`  at most ${found.most} looks a frame; the slowest took ${found.ms.toFixed(1)} ms here`);
    assert.ok(found.frames >= 100, String(found.frames));
    assert.ok(found.most > 0 && found.most < 60 * found.pixels, JSON.stringify(found));
  },

  async "nothing comes from a network, and the page is as wide as the window"(page) {
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (await page.evaluate(() => innerWidth)));
    assert.equal(await page.evaluate(() => performance.getEntriesByType("resource").length), 0);
  },
};

let failed = 0;
for (const [name, [width, height]] of Object.entries({ desktop: [1280, 900], telephone: [390, 844] })) {
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewportSize({ width, height });
  await page.goto(url);
  for (const [test, run] of Object.entries(tests)) {
    try {
      await page.evaluate(() => phalanxTimeline.show(0, phalanxTimeline.data.length));
      await frame(page);
      await run(page);
      assert.deepEqual(errors, []);
      console.log(`ok ${name}: ${test}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}: ${test}\n${error.stack}`);
    }
  }
  await page.screenshot({ path: join(directory, `timeline-${name}.png`) });
  await page.close();
}
await context.close();
rmSync(profile, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
