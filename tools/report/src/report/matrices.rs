//! The page's section on pairs of cores: latency and rates, as pictures and numbers.

use super::collectives::figure;
use super::curves::{size, time};
use super::html::{details, drawing, escape, table};
use super::html_page::trouble;
use super::saved_report::{SavedReport, Section};
use phalanx_model::median;
use serde_json::{Value, json};
use std::fmt::Write as _;

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
            "GB/s (10^9 bytes per second) at the largest size: the column's core copies what the \
             row's has written; on the diagonal its own",
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
        let picture = section.drawing.map_or(String::new(), |svg| drawing(svg, caption));
        let chart = match name {
            "bandwidth" => figure("rates", "rates by size", RATES, "", ""),
            _ => String::new(),
        };
        let _ = writeln!(out, "<div class=\"pictures\">{picture}{chart}</div>");
        out += &pairs(name, rows);
    }
    out + "</section>\n"
}

/// Under the chart of rates.
const RATES: &str = "By the size of a core's buffer, both axes logarithmic: what one core has of \
    its own (own) and of another's, by what the two share; all cores at once, each on its own \
    buffer or on its successor's, all together.";

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
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

/// What the times are worth: the clock, and what moved.
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
    let mut keys: Vec<[String; 5]> = Vec::new();
    for row in rows {
        if !keys.contains(&key(row)) {
            keys.push(key(row));
        }
    }
    let line = |own: &[String; 5]| {
        let alike: Vec<&Value> = rows.iter().filter(|row| key(row) == *own).collect();
        let middle = |name: &str| {
            let all: Vec<f64> = alike.iter().filter_map(|row| row[name].as_f64()).collect();
            if all.is_empty() { String::new() } else { time(median(&all)) }
        };
        let mut line = own.to_vec();
        line[1] = kind(&own[1]).to_string();
        line.push(alike.len().to_string());
        line.extend(["ns_min", "ns_p10", "ns_median", "ns_p90"].map(middle));
        line
    };
    let head = [
        "share",
        "way",
        "by",
        "first touched by",
        "place",
        "pairs",
        "least",
        "10 % below",
        "median",
        "90 % below",
    ];
    let lines: Vec<Vec<String>> = keys.iter().map(line).collect();
    table("Times by what the two cores share (medians of the pairs)", &head, 5, &lines)
}

/// All rows as text.
fn pairs(name: &str, rows: &[Value]) -> String {
    let cell = |row: &Value, key: &str| match &row[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
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
        // Runs of old did not say.
        let moved = cell(row, "drift");
        line.push(if moved == "none" { String::new() } else { moved });
        let ends = ["ns_ci_low", "ns_ci_high"].map(|key| ns(row, key));
        let interval = if ends[0].is_empty() { String::new() } else { ends.join(" to ") };
        match latency {
            true => line.extend([
                kind(text(row, "kind")).to_string(),
                cell(row, "home"),
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

/// What the script draws of the rates: copies first, as messages are.
pub(crate) fn rates_chart(run: &SavedReport) -> Value {
    let section: Option<Section<'_>> = run.section("bandwidth");
    let result = section.map_or(&Value::Null, |section| section.result);
    let rows = result["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let units = result["pus"].as_array().map_or(1, Vec::len).max(1) as u64;
    let name = |row: &Value| {
        let all = row["src"] == "all";
        let whose = match text(row, "level") {
            "local" if all => "all cores, own".to_string(),
            "ring" if all => "all cores, next one's".to_string(),
            _ if row["src"] == row["dst"] => "own".to_string(),
            level => level.to_string(),
        };
        format!("{}: {whose}", text(row, "op"))
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
        let name = name(row);
        let at = curves.iter().position(|(own, _)| *own == name).unwrap_or_else(|| {
            curves.push((name, Vec::new()));
            curves.len() - 1
        });
        match curves[at].1.iter_mut().find(|(own, _)| *own == bytes) {
            Some((_, rates)) => rates.push(rate),
            None => curves[at].1.push((bytes, vec![rate])),
        }
    }
    curves.sort_by_key(|(name, _)| !name.starts_with("copy"));
    let mut sizes: Vec<u64> = curves.iter().flat_map(|(_, points)| points).map(|p| p.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
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
