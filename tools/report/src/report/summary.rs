//! The head of the page, to be read in ten seconds: the machine, two times and a rate, and one
//! sentence on their limit.

use super::curves::{Curves, size, time};
use super::html::escape;
use super::saved_report::SavedReport;
use phalanx_bench::source::count;
use phalanx_model::median;
use serde_json::Value;
use std::fmt::Write as _;

/// A call of this many raw exchanges a step is still made of exchanges.
const EXCHANGES: f64 = 2.0;

/// A number with its meaning.
struct Tile {
    name: &'static str,
    value: String,
    about: String,
}

/// The section.
pub(crate) fn summary(run: &SavedReport, all: &[Curves]) -> String {
    let tiles = [machine(run), barrier(run, all), all_reduce(all), bandwidth(run)];
    let mut out =
        "<section id=\"summary\" aria-label=\"Summary\">\n<dl class=\"tiles\">".to_string();
    for Tile { name, value, about } in tiles {
        let _ = writeln!(
            out,
            "<div><dt>{name}</dt><dd><b>{}</b> <span>{}</span></dd></div>",
            escape(&value),
            escape(&about)
        );
    }
    out += "</dl>\n";
    if let Some(limit) = limit(run, all) {
        let _ = writeln!(out, "<p class=\"label\">{}.</p>", escape(&limit));
    }
    out + "</section>\n"
}

fn missing(name: &'static str) -> Tile {
    Tile { name, value: "-".to_string(), about: "not measured in this run".to_string() }
}

fn machine(run: &SavedReport) -> Tile {
    let counts = &run.part("machine")["counts"];
    let number = |key: &str| counts[key].as_u64().unwrap_or(0) as usize;
    let environment = run.part("environment");
    let mut about = environment["cpu"].as_str().unwrap_or("unknown processor").to_string();
    if environment["emulated"].is_string() {
        about += ", emulated: its times mean nothing";
    } else if environment["virtual_machine"] == true {
        about += ", virtual machine";
    }
    let nodes = number("numa_nodes");
    if nodes > 1 {
        about += &format!(", {nodes} memory nodes");
    }
    Tile { name: "Machine", value: count(number("cores"), "core"), about }
}

/// Bytes and time of the automatic choice, at every size.
fn automatic<'a>(all: &'a [Curves], op: &str) -> Option<(&'a Curves, &'a [(u64, f64)])> {
    let own = all.iter().find(|own| own.op == op)?;
    let auto = own.curves.iter().find(|curve| curve.algorithm == "auto")?;
    (!auto.points.is_empty()).then_some((own, auto.points.as_slice()))
}

/// The raw exchange around the automatic choice at the smallest size.
fn floor(own: &Curves) -> Option<f64> {
    let auto = own.rows.iter().filter(|row| row.algorithm == "auto" && row.place == own.place);
    auto.min_by_key(|row| row.bytes)?.floor
}

fn barrier(run: &SavedReport, all: &[Curves]) -> Tile {
    let name = "Barrier";
    let Some((own, points)) = automatic(all, "barrier") else { return missing(name) };
    let ns = points[0].1;
    let ranks = run.part("ranks").as_u64().unwrap_or(0) as usize;
    let mut about = count(ranks, "rank");
    if let Some(floor) = floor(own) {
        let ratio = ns / floor;
        about += &format!("; {ratio:.1} x the raw exchange of two flags ({})", time(floor));
    }
    Tile { name, value: time(ns), about }
}

fn all_reduce(all: &[Curves]) -> Tile {
    let name = "All-reduce";
    let Some((_, points)) = automatic(all, "all-reduce") else { return missing(name) };
    let ((least, short), (most, long)) = (points[0], points[points.len() - 1]);
    let about = match most == least {
        true => format!("of {}", size(least)),
        false => format!("of {}; {} takes {}", size(least), size(most), time(long)),
    };
    Tile { name, value: time(short), about }
}

/// Bytes per ns at which a core copies the largest buffer, median: another core's, or its own; and
/// the bytes.
fn copies(run: &SavedReport, others: bool) -> Option<(f64, u64)> {
    let section = run.section("bandwidth")?;
    let rows = section.result["rows"].as_array()?;
    let is_own = |row: &&Value| {
        let pair = row["src"].is_u64() && row["dst"].is_u64();
        row["op"] == "copy" && pair && (row["src"] != row["dst"]) == others
    };
    let most = rows.iter().filter(is_own).filter_map(|row| row["bytes"].as_u64()).max()?;
    let largest = rows.iter().filter(is_own).filter(|row| row["bytes"] == most);
    let rates: Vec<f64> = largest.filter_map(|row| row["gb_s"].as_f64()).collect();
    (!rates.is_empty()).then(|| (median(&rates), most))
}

fn bandwidth(run: &SavedReport) -> Tile {
    let name = "Bandwidth";
    let own = copies(run, false);
    match copies(run, true) {
        Some((rate, bytes)) => {
            let mut about = format!("one core copies {} that another wrote", size(bytes));
            if let Some((rate, _)) = own {
                about += &format!("; its own: {rate:.1}");
            }
            Tile { name, value: format!("{rate:.1} GB/s"), about }
        }
        None => match own {
            Some((rate, bytes)) => Tile {
                name,
                value: format!("{rate:.1} GB/s"),
                about: format!("a core copies {} of its own", size(bytes)),
            },
            None => missing(name),
        },
    }
}

/// The limit of short calls and long ones, in a sentence without its full stop.
fn limit(run: &SavedReport, all: &[Curves]) -> Option<String> {
    let ranks = run.part("ranks").as_u64().unwrap_or(0);
    let cores = run.part("machine")["counts"]["allowed_pus"].as_u64().unwrap_or(u64::MAX);
    if ranks > cores {
        return Some("Ranks share cores here, so the system's scheduling limits all times".into());
    }
    if ranks < 2 {
        return Some("One rank sends nothing: a call and a core's own memory limit it".into());
    }
    let (own, points) = automatic(all, "all-reduce")?;
    let ((least, short), (most, long)) = (points[0], points[points.len() - 1]);
    let ratio = short / floor(own)?;
    let steps = f64::from(u64::BITS - (ranks - 1).leading_zeros());
    let few = match ratio <= EXCHANGES * steps {
        true => "The way between the cores limits short calls",
        false => "Short calls take longer than the way between the cores explains",
    };
    let mut said =
        format!("{few} (an all-reduce of {} takes {ratio:.1} x one raw exchange)", size(least));
    if let (Some((copy, _)), true) = (copies(run, true), most > least) {
        let rate = most as f64 / long;
        // As fast as half of a copy: a vector is read and written.
        said += match 2.0 * rate >= copy {
            true => ", memory limits long ones",
            false => ", long ones do not reach the rate of memory",
        };
        said += &format!(" ({} go at {rate:.1} GB/s)", size(most));
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::super::curves::curves;
    use super::*;
    use serde_json::json;

    fn run(ranks: u64, short: f64, long: f64) -> SavedReport {
        let row = |op: &str, bytes: u64, ns: f64| {
            json!({
                "op": op, "algorithm": "auto", "ranks": ranks, "bytes": bytes, "ns_median": ns,
                "floor_ns": 50.0, "place": "ccx",
            })
        };
        let rows = [
            row("barrier", 0, 60.0),
            row("all-reduce", 8, short),
            row("all-reduce", 4 << 20, long),
        ];
        let copy = |dst: u64, bytes: u64, rate: f64| {
            let op = "copy";
            json!({ "op": op, "src": 0, "dst": dst, "bytes": bytes, "gb_s": rate })
        };
        let copies = [copy(1, 1 << 10, 90.0), copy(1, 8 << 20, 10.0), copy(0, 8 << 20, 12.0)];
        SavedReport::new(json!({
            "ranks": ranks,
            "environment": { "cpu": "Some <CPU>", "virtual_machine": true },
            "machine": { "counts": { "cores": 2, "allowed_pus": 2, "numa_nodes": 1 } },
            "sections": [
                { "command": "phalanx bench", "result": { "command": "bench", "rows": rows } },
                { "command": "phalanx bandwidth -e 8M", "result": { "rows": copies } },
            ],
        }))
    }

    fn said(run: &SavedReport) -> String {
        summary(run, &curves(run))
    }

    #[test]
    fn four_numbers_and_a_sentence() {
        let html = said(&run(2, 75.0, 400_000.0));
        for wanted in [
            "<b>2 cores</b> <span>Some &lt;CPU&gt;, virtual machine</span>",
            "<b>60.0 ns</b> <span>2 ranks; 1.2 x the raw exchange of two flags (50.0 ns)</span>",
            "<b>75.0 ns</b> <span>of 8 B; 4 MiB takes 400 us</span>",
            "<b>10.0 GB/s</b> <span>one core copies 8 MiB that another wrote; its own: 12.0</span>",
            "The way between the cores limits short calls (an all-reduce of 8 B takes 1.5 x one \
             raw exchange), memory limits long ones (4 MiB go at 10.5 GB/s).",
        ] {
            assert!(html.contains(wanted), "{wanted}: {html}");
        }
    }

    #[test]
    fn the_sentence_says_what_was_measured() {
        assert!(said(&run(2, 150.0, 4e5)).contains("longer than the way between the cores"));
        assert!(
            said(&run(2, 75.0, 4e6)).contains("do not reach the rate of memory (4 MiB go at 1")
        );
        assert!(said(&run(4, 75.0, 4e5)).contains("Ranks share cores here"));
        assert!(said(&run(1, 75.0, 4e5)).contains("One rank sends nothing"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let empty = SavedReport::new(json!({ "ranks": 2, "sections": [] }));
        let html = said(&empty);
        assert_eq!(html.matches("not measured in this run").count(), 3, "{html}");
        assert!(!html.contains("class=\"label\""));
    }
}
