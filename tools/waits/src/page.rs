//! The timeline as one HTML file, which needs no network: `-o timeline.html`.

use crate::perfetto::{colour, colour_names};
use crate::record::Run;
use crate::summary::Summary;
use crate::wait_state;
use phalanx_cli::markup::{escape, script};
use serde_json::{Value, json};

const STYLE: &str = include_str!("../assets/timeline.css");
const SCRIPT: &str = include_str!("../assets/timeline.js");

/// The page's colour of that number on a light ground: 0 is work, 1 transfer, then the states of
/// waiting.
pub(crate) fn light_colour(number: usize) -> &'static str {
    let named = STYLE.split_once(&format!("--c{number}: ")).map_or("", |(_, rest)| rest);
    named.split(';').next().unwrap_or("")
}

/// Numbers as the page reads them: 8 bytes each, in base 64.
fn packed(numbers: impl Iterator<Item = f64>) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let all = three.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
        let all = all << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = all >> (18 - 6 * digit) & 63;
            out.push(if digit <= three.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}

/// The page.
pub fn html(run: &Run, summary: &Summary, tables: &str) -> String {
    let tracks: Vec<Value> = (0..summary.lines.len())
        .map(|rank| {
            let (line, late) = (&summary.lines[rank], &summary.late[rank]);
            let parts = wait_state::parts(line, late);
            let parts = parts.iter().flat_map(|it| {
                let colour = colour(it.doing, summary, rank);
                [it.begin as f64, it.end as f64, f64::from(colour)]
            });
            let calls = line.calls.iter().flat_map(|it| {
                let texts = [it.name, it.at, it.detail, it.algorithm].map(f64::from);
                let [name, at, detail, algorithm] = texts;
                let transport = f64::from(it.transport as u8);
                let times = [it.begin as f64, it.end as f64, it.bytes as f64];
                let [begin, end, bytes] = times;
                [begin, end, bytes, name, at, detail, algorithm, transport]
            });
            // From the awaited rank's side of each wait to its end.
            let states =
                late.iter().map(|it| (it.wait, it)).collect::<std::collections::HashMap<_, _>>();
            let waits = line.waits.iter().enumerate().flat_map(|(at, it)| {
                let late = states.get(&at);
                let from = late.map_or(it.begin, |late| late.end.min(it.end));
                let peer = late.map_or(it.peer, |late| late.culprit);
                let state = late.map_or(-1.0, |late| f64::from(late.state as u8));
                [it.begin as f64, it.end as f64, peer as f64, from as f64, state]
            });
            let phases = line.phases.iter().flat_map(|it| {
                [it.begin as f64, it.end as f64, f64::from(it.name), f64::from(it.at)]
            });
            json!({
                "parts": packed(parts),
                "calls": packed(calls),
                "waits": packed(waits),
                "phases": packed(phases),
            })
        })
        .collect();
    let path = summary.pieces.iter();
    let path = path.flat_map(|it| [it.rank as f64, it.begin as f64, it.end as f64]);
    let data = json!({
        "length": summary.lines.iter().map(|line| line.ended).max().unwrap_or(1).max(1),
        "texts": run.texts,
        "states": colour_names().skip(2).collect::<Vec<_>>(),
        "transports": ["messages", "all at once", "direct access"],
        "tracks": tracks,
        "path": packed(path),
    });
    let title = format!("{}: {} ranks", run.program, run.ranks.len());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\
         <h1>{title}</h1><p id=\"how\">Wheel or two fingers: zoom. Drag: move. Keys: arrows, \
         + and -, 0 for all.</p>\
         <div id=\"legend\"></div>\
         <div id=\"box\" tabindex=\"0\" role=\"application\" aria-label=\"Timeline\">\
         <canvas id=\"canvas\"></canvas><div id=\"tip\" hidden></div></div>\
         <p id=\"read\" aria-live=\"polite\"></p>\
         <pre tabindex=\"0\">{}</pre>\
         <script id=\"data\" type=\"application/json\">{}</script>\n\
         <script>\"use strict\";(() => {{\n{SCRIPT}\n}})();</script></body></html>\n",
        escape(tables),
        script(&data),
        title = escape(&title),
    )
}
