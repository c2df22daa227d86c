// The page of `phalanx report`: what its parts share. Rust puts the files of this directory into one function.

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

// The data.

$("save").addEventListener("click", () => {
  const text = `${JSON.stringify(read("data"), null, 2)}\n`;
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = make("a", { href: url, download: "phalanx-report.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
});
$("print").addEventListener("click", () => print());
