//! The page's section on pairs of cores: latency and rates, as pictures and numbers.

use super::collectives::{PLACES, figure};
use super::curves::{size, time};
use super::html::{details, drawing, escape, table};
use super::html_page::trouble;
use super::saved_report::{SavedReport, Section};
use phalanx_bench::matrix::heat::{colour, is_light, position};
use phalanx_bench::table::{cell, distinct, of_key};
use phalanx_model::median;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Units up to which a matrix is a table with colours; larger ones are drawings.
const FEW: usize = 8;
/// Rows of a matrix that are shown as text; the saved data have all.
const ROWS_SHOWN: usize = 240;

/// The section.
pub(crate) fn matrices(run: &SavedReport) -> String {
    let mut out = "<section id=\"matrices\"><h2>Between cores</h2>\n".to_string();
    for (name, heading, caption) in [
        (
            "latency",
            "Latency",
            "Round trip of a flag, ns (median); from the row's processing unit to the column's \
             and back",
        ),
        (
            "bandwidth",
            "Bandwidth",
            "Copies at the largest size, GB/s (10^9 bytes per second): the column's core copies \
             what the row's has written; on the diagonal its own",
        ),
    ] {
        let _ = writeln!(out, "<h3>{heading}</h3>");
        let Some(section) = run.section(name) else {
            out += "<p class=\"warning\">Not measured in this run.</p>\n";
            continue;
        };
        out += &trouble(&section);
        for note in section.result["notes"].as_array().into_iter().flatten() {
            let _ = writeln!(out, "<p>{}.</p>", escape(note.as_str().unwrap_or("")));
        }
        let rows = section.result["rows"].as_array().map_or(&[][..], Vec::as_slice);
        // A matrix of one is no picture.
        if rows.is_empty() {
            continue;
        }
        out += &conditions(section.result);
        if name == "latency" {
            out += &classes(rows);
        }
        let picture = match heat(section.result, name, caption) {
            Some(table) => table,
            None => section.drawing.map_or(String::new(), |svg| drawing(svg, caption)),
        };
        let chart = match name {
            "bandwidth" => figure("rates", "rates by size", RATES, "", " wide"),
            _ => String::new(),
        };
        let _ = writeln!(out, "<div class=\"pictures\">{picture}{chart}</div>");
        out += &pairs(name, rows);
    }
    out + "</section>\n"
}

/// Under the chart of rates.
const RATES: &str = "By the size of a core's buffer, both axes logarithmic. One core at work \
    copies its own buffer or another core's; all cores at once each work on their own or on their \
    neighbour's, and the rate is of all together.";

pub(crate) fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("")
}

/// There and back, or one way.
fn kind(name: &str) -> &str {
    match name {
        "round-trip" => "there and back",
        "one-way" => "one way",
        other => other,
    }
}

/// The level that two units share, in words.
pub(crate) fn shared(level: &str) -> String {
    match level {
        "core" => "core".to_string(),
        "numa" => "memory node".to_string(),
        cache if cache.len() == 2 && cache.starts_with('l') => {
            format!("{} cache", cache.to_uppercase())
        }
        other => other.to_string(),
    }
}

/// Which side touched the page of the flag first.
fn toucher(home: &str) -> &str {
    match home {
        "src" => "sender",
        "dst" => "receiver",
        other => other,
    }
}

/// The matrix of few units as a table with coloured cells; nothing for many.
fn heat(result: &Value, name: &str, caption: &str) -> Option<String> {
    let pus: Vec<u64> = result["pus"].as_array()?.iter().filter_map(Value::as_u64).collect();
    if pus.len() > FEW {
        return None;
    }
    let rows = result["rows"].as_array()?;
    // Rows of all cores at once have the bytes of all.
    let pairs = rows.iter().filter(|row| row["src"].is_u64() && row["dst"].is_u64());
    let largest = pairs.filter_map(|row| row["bytes"].as_u64()).max();
    let value = |src: u64, dst: u64| {
        let own = rows.iter().filter(|row| row["src"] == src && row["dst"] == dst);
        let own = own.filter(|row| match name {
            "latency" => {
                row["via"] == "flag" && row["kind"] == "round-trip" && row["home"] == "src"
            }
            _ => row["op"] == "copy" && row["bytes"].as_u64() == largest,
        });
        let key = if name == "latency" { "ns_median" } else { "gb_s" };
        let all: Vec<f64> = own.filter_map(|row| row[key].as_f64()).collect();
        (!all.is_empty()).then(|| median(&all))
    };
    let cells: Vec<Vec<Option<f64>>> =
        pus.iter().map(|&src| pus.iter().map(|&dst| value(src, dst)).collect()).collect();
    let all = || cells.iter().flatten().flatten().copied();
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let head: String = pus.iter().map(|pu| format!("<th scope=\"col\">{pu}</th>")).collect();
    let mut out = format!(
        "<figure class=\"heat\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{0}\"><table><thead><tr><th scope=\"col\">PU</th>{head}</tr></thead><tbody>",
        escape(caption)
    );
    for (pu, cells) in pus.iter().zip(&cells) {
        let _ = write!(out, "<tr><th scope=\"row\">{pu}</th>");
        for cell in cells {
            let _ = match cell {
                None => write!(out, "<td></td>"),
                Some(value) => {
                    let shade = colour(position(*value, low, high));
                    let [r, g, b] = shade;
                    let ink = if is_light(shade) { "#0d2b45" } else { "#ffffff" };
                    write!(
                        out,
                        "<td style=\"background:#{r:02x}{g:02x}{b:02x};color:{ink}\">{}</td>",
                        if *value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
                    )
                }
            };
        }
        out += "</tr>\n";
    }
    let _ = writeln!(
        out,
        "</tbody></table></div><figcaption>{}</figcaption></figure>",
        escape(caption)
    );
    Some(out)
}

/// The worth of the times: the clock, and the parts that moved.
fn conditions(result: &Value) -> String {
    let Some(said) = result["conditions"]["said"].as_str() else { return String::new() };
    let rows = result["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let moved =
        rows.iter().filter(|row| row["drift"].as_str().is_some_and(|d| d != "none")).count();
    let moved = match moved {
        0 => "Nothing moved meanwhile.".to_string(),
        n => format!("During {n} of {} rows something moved; the numbers say what.", rows.len()),
    };
    format!("<p>{}. {moved}</p>\n", escape(&said.replacen("clock", "Clock", 1)))
}

/// Pairs that are alike, as one line each.
fn classes(rows: &[Value]) -> String {
    let key = |row: &Value| {
        ["level", "kind", "via", "home", "place"].map(|name| text(row, name).to_string())
    };
    let mut classes: Vec<([String; 5], Vec<&Value>)> = Vec::new();
    rows.iter().for_each(|row| of_key(&mut classes, key(row)).push(row));
    let line = |(own, alike): &([String; 5], Vec<&Value>)| {
        let middle = |name: &str| {
            let all: Vec<f64> = alike.iter().filter_map(|row| row[name].as_f64()).collect();
            if all.is_empty() { String::new() } else { time(median(&all)) }
        };
        let mut line = own.to_vec();
        line[0] = shared(&own[0]);
        line[1] = kind(&own[1]).to_string();
        line[3] = toucher(&own[3]).to_string();
        line.push(alike.len().to_string());
        line.extend(["ns_min", "ns_p10", "ns_median", "ns_p90"].map(middle));
        line
    };
    let head = [
        "common",
        "way",
        "by",
        "page first touched by",
        "place",
        "pairs",
        "least",
        "10 % below",
        "median",
        "90 % below",
    ];
    let lines: Vec<Vec<String>> = classes.iter().map(line).collect();
    let words = "<p>Common: the innermost thing that the two cores share. Way: there and back, or \
        one way by the clocks of both. By: a flag, a cache line that one core writes and the other \
        waits for (the hardware's time), or a mailbox, the library's send and recv of 8 bytes. A \
        page of memory lies near the core that first touched it. ";
    let table = table("Times by what the two cores share (medians of the pairs)", &head, 5, &lines);
    format!("{table}{words}{PLACES}</p>\n")
}

/// All rows as text.
fn pairs(name: &str, rows: &[Value]) -> String {
    let cell = |row: &Value, key: &str| cell(&row[key]);
    let ns = |row: &Value, key: &str| row[key].as_f64().map_or(String::new(), time);
    let latency = name == "latency";
    let head: &[&str] = match latency {
        true => &[
            "from",
            "to",
            "by",
            "place",
            "moved",
            "way",
            "first touched by",
            "least",
            "median",
            "95 % interval",
            "90 % below",
            "outliers",
        ],
        false => {
            &["from", "to", "what", "place", "moved", "size", "median", "95 % interval", "GB/s"]
        }
    };
    let line = |row: &Value| {
        let mut line = vec![cell(row, "src"), cell(row, "dst")];
        line.push(cell(row, if latency { "via" } else { "op" }));
        line.push(cell(row, "place"));
        let moved = cell(row, "drift");
        line.push(if moved == "none" { String::new() } else { moved });
        let ends = ["ns_ci_low", "ns_ci_high"].map(|key| ns(row, key));
        let interval = if ends[0].is_empty() { String::new() } else { ends.join(" to ") };
        match latency {
            true => line.extend([
                kind(text(row, "kind")).to_string(),
                toucher(text(row, "home")).to_string(),
                ns(row, "ns_min"),
                ns(row, "ns_median"),
                interval,
                ns(row, "ns_p90"),
                match cell(row, "outliers") {
                    none if none.is_empty() => none,
                    n => format!("{n} of {}", cell(row, "samples")),
                },
            ]),
            false => line.extend([
                row["bytes"].as_u64().map_or(String::new(), size),
                ns(row, "ns_median"),
                interval,
                cell(row, "gb_s"),
            ]),
        }
        line
    };
    let lines: Vec<Vec<String>> = rows.iter().take(ROWS_SHOWN).map(line).collect();
    let rest = match rows.len().saturating_sub(ROWS_SHOWN) {
        0 => String::new(),
        n => format!("<p>{n} more are in the saved data.</p>\n"),
    };
    details(
        "The numbers",
        &(table(&format!("{name}, all pairs"), head, if latency { 7 } else { 5 }, &lines) + &rest),
    )
}

/// The data that the script draws of the rates: copies first, as messages are.
pub(crate) fn rates_chart(run: &SavedReport) -> Value {
    let section: Option<Section<'_>> = run.section("bandwidth");
    let result = section.map_or(&Value::Null, |section| section.result);
    let rows = result["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let units = result["pus"].as_array().map_or(1, Vec::len).max(1) as u64;
    let name = |row: &Value| {
        let all = row["src"] == "all";
        let whose = match text(row, "level") {
            "local" if all => "all cores, each its own".to_string(),
            "ring" if all => "all cores, each its neighbour's".to_string(),
            _ if row["src"] == row["dst"] => "its own".to_string(),
            level => format!("another core's (same {})", shared(level)),
        };
        format!("{} {whose}", text(row, "op"))
    };
    // Of all together where all were at it.
    let bytes = |row: &Value| {
        let bytes = row["bytes"].as_u64()?;
        Some(if row["src"] == "all" { bytes / units } else { bytes })
    };
    type Rates = Vec<(u64, Vec<f64>)>;
    let mut curves: Vec<(String, Rates)> = Vec::new();
    for row in rows {
        let (Some(bytes), Some(rate)) = (bytes(row), row["gb_s"].as_f64().filter(|r| *r > 0.0))
        else {
            continue;
        };
        of_key(of_key(&mut curves, name(row)), bytes).push(rate);
    }
    curves.sort_by_key(|(name, _)| !name.starts_with("copy"));
    let sizes = distinct(curves.iter().flat_map(|(_, points)| points).map(|p| p.0));
    let curves: Vec<Value> = curves
        .into_iter()
        .map(|(name, points)| {
            let middle = |(bytes, rates): (u64, Vec<f64>)| (bytes, median(&rates));
            let points: Vec<(u64, f64)> = points.into_iter().map(middle).collect();
            json!({ "name": name, "points": points, "model": [] })
        })
        .collect();
    json!({
        "title": "rates by size",
        "x": "Size of a core's buffer",
        "y": "Rate",
        "unit": "GB/s",
        "floor": [],
        "curves": curves,
        "sizes": sizes,
    })
}
