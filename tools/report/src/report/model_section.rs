//! The page's section on the model: the fitted t_s and t_w, and every call beside its prediction.

use super::collectives::{figure, place_of};
use super::curves::{Curves, FAR_OFF, size, time};
use super::html::{details, escape, table};
use super::matrices::{shared, text};
use super::saved_report::SavedReport;
use crate::calibrate::fit::{Fit, FitPoint};
use phalanx_bench::table::distinct;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Rows of faults that are shown at once.
const SHOWN: usize = 12;

/// The section.
pub(crate) fn model(run: &SavedReport, all: &[Curves]) -> String {
    let mut out = "<section id=\"model\"><h2>The model beside the measurement</h2>\n".to_string();
    out += &fits(run);
    let predictions = run.part("predictions");
    if let Some(why) = predictions["missing"].as_str() {
        let _ = writeln!(out, "<p class=\"warning\">Nothing is predicted: {}.</p>", escape(why));
    } else {
        out += "<p>The dashed curves are the textbook's model with these rates: an algorithm's \
                steps one after the other, each as long as its slowest message, by the rates of \
                its length; one copy of a rank's own block where there are blocks, or of its \
                vector in a scan that is not fused; and a second exchange of notices for fused \
                paths. No rate is fitted to a collective. The model knows nothing of combining, of \
                who waits for whom, or of caches that several buffers share.</p>\n";
    }
    out += &ratios(all);
    out + "</section>\n"
}

/// Measured over modelled.
fn ratios(all: &[Curves]) -> String {
    let mut rows = Vec::new();
    let mut logs = Vec::new();
    for own in all {
        for curve in &own.curves {
            let ratios: Vec<f64> = curve.errors().iter().map(|e| e.1).collect();
            if ratios.is_empty() {
                continue;
            }
            let (least, most) =
                ratios.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &r| (a.min(r), b.max(r)));
            let mut row = vec![own.op.clone(), curve.algorithm.clone()];
            row.extend([least, mean(&ratios), most].map(|ratio| format!("{ratio:.2}")));
            rows.push(row);
            logs.extend(ratios);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let within = logs.iter().filter(|r| (1.0 / FAR_OFF..=FAR_OFF).contains(*r)).count();
    let mut wrong: Vec<_> = all.iter().flat_map(Curves::wrong).collect();
    // The worst first.
    wrong.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    let mut out = format!(
        "<p>The calls take {:.2} x the modelled time (geometric mean); {within} of {} points are \
         within {FAR_OFF} x. {}</p>\n",
        mean(&logs),
        logs.len(),
        match wrong.len() {
            0 => "Nowhere is the model wrong by more.".to_string(),
            n => format!(
                "The model is wrong by more than {FAR_OFF} x somewhere for {n} of {} algorithms:",
                rows.len()
            ),
        }
    );
    let lines: Vec<Vec<String>> = wrong
        .iter()
        .map(|w| {
            let at = if w.bytes == 0 { "-".to_string() } else { size(w.bytes) };
            vec![
                w.op.clone(),
                w.algorithm.clone(),
                at,
                time(w.measured),
                time(w.measured / w.ratio),
                format!("{:.2} x", w.ratio),
                format!("{} of {}", w.sizes[0], w.sizes[1]),
            ]
        })
        .collect();
    let head = [
        "operation",
        "algorithm",
        "worst at",
        "measured",
        "modelled",
        "measured / modelled",
        "sizes so wrong",
    ];
    let worst = |lines: &[Vec<String>]| table("Where the model is wrong", &head, 2, lines);
    let (first, rest) = lines.split_at(lines.len().min(SHOWN));
    if !first.is_empty() {
        out += &worst(first);
    }
    if !rest.is_empty() {
        out += &details(&format!("{} more", rest.len()), &worst(rest));
    }
    let head = ["operation", "algorithm", "least", "mean", "most"];
    let caption = "Measured time over modelled time, over all sizes (mean: geometric)";
    out + &details("All ratios", &table(caption, &head, 2, &rows))
}

fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

/// The lines through messages between two cores.
fn fits(run: &SavedReport) -> String {
    let Some(section) = run.section("calibrate") else { return String::new() };
    let mut out = super::html_page::trouble(&section);
    let rates = run.fitted(|result| &result["levels"]);
    let lines = lines(run);
    if rates.is_empty() {
        return out + "<p>No t_s and t_w: no pair of cores could be measured.</p>\n";
    }
    let pair = |value: &Value, unit: f64, digits: usize| {
        let at = |i: usize| value[i].as_f64().unwrap_or(0.0) * unit;
        format!("{:.digits$} to {:.digits$}", at(0), at(1))
    };
    let rows: Vec<Vec<String>> = rates
        .iter()
        .map(|rate| {
            let line = lines
                .iter()
                .find(|l| l["level"] == rate["level"] && l["place"] == rate["place"])
                .copied()
                .unwrap_or(&Value::Null);
            vec![
                shared(text(rate, "level")),
                text(rate, "place").to_string(),
                number(&rate["t_s_ns"], 1.0, 0),
                pair(&rate["t_s_ci"], 1.0, 0),
                number(&rate["t_w_ns_per_byte"], 1024.0, 1),
                pair(&rate["t_w_ci"], 1024.0, 1),
                number(&line["rms_error"], 100.0, 0),
                number(&line["worst_factor"], 1.0, 1),
            ]
        })
        .collect();
    let head = [
        "level",
        "place",
        "t_s, ns",
        "95 % bounds",
        "t_w, ns per KiB",
        "95 % bounds",
        "error, %",
        "off by, at worst",
    ];
    out += "<p>A message of m bytes takes t_s + t_w m: fitted here to messages between two cores, \
            by level, by least squares of the relative errors.</p>\n";
    out += &table("Start-up time t_s and time per KiB t_w", &head, 2, &rows);
    out += &pieces(&rates);
    // All lines, which may be of several fits.
    let points = lines.iter().flat_map(|line| line["points"].as_array().into_iter().flatten());
    let points = points.filter_map(|p| {
        Some(FitPoint { bytes: p["bytes"].as_u64()? as usize, ns: p["ns_median"].as_f64()? })
    });
    let flat = Fit::of(&points.collect::<Vec<_>>());
    if let (true, Some(flat)) = (rows.len() > 1, flat) {
        let _ = writeln!(
            out,
            "<p>One line for all of these, the flat model (t_s {:.0} ns, t_w {:.1} ns per KiB), \
             has an error of {:.0} % and is off by {:.1} x at worst.</p>",
            flat.t_s,
            flat.t_w * 1024.0,
            flat.rms() * 100.0,
            flat.worst_factor()
        );
    }
    let mut residuals = Vec::new();
    for line in &lines {
        for point in line["points"].as_array().into_iter().flatten() {
            let ns = |key: &str| point[key].as_f64().map_or(String::new(), time);
            residuals.push(vec![
                label(line),
                size(point["bytes"].as_u64().unwrap_or(0)),
                ns("ns_median"),
                ns("fitted_ns"),
                point["residual"]
                    .as_f64()
                    .map_or(String::new(), |r| format!("{:+.0} %", r * 100.0)),
            ]);
        }
    }
    let head = ["level and place", "size", "measured", "fitted", "residual"];
    let more = details("The residuals", &table("Messages beside the line", &head, 1, &residuals));
    let places = lines.iter().filter_map(|line| line["place"].as_str());
    let places = distinct(places.filter(|place| *place != "any").map(place_of));
    let mut note = "Messages from one core to another, and the line through them.".to_string();
    if !places.is_empty() {
        let _ = write!(note, " Places: {}.", places.join("; "));
    }
    out + &figure("fit", "messages between two cores", &note, &more, " wide")
}

/// A number in this unit, if it is one.
fn number(value: &Value, unit: f64, digits: usize) -> String {
    value.as_f64().map_or(String::new(), |x| format!("{:.digits$}", x * unit))
}

/// The rates by the length of a message.
fn pieces(rates: &[&Value]) -> String {
    let rows = rates.iter().flat_map(|rate| {
        let own = rate["pieces"].as_array().map_or(&[][..], Vec::as_slice);
        let row = |(i, piece): (usize, &Value)| {
            let from = piece["from_bytes"].as_u64().unwrap_or(0);
            let to = own.get(i + 1).and_then(|next| next["from_bytes"].as_u64());
            vec![
                shared(text(rate, "level")),
                text(rate, "place").to_string(),
                to.map_or(format!("from {from} B"), |to| format!("{from} to {} B", to - 1)),
                number(&piece["t_s_ns"], 1.0, 0),
                number(&piece["t_w_ns_per_byte"], 1024.0, 1),
            ]
        };
        own.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["level", "place", "messages", "t_s, ns", "t_w, ns per KiB"];
    "<p>The same by the length of a message, which the model goes by: up to 96 bytes travel in the \
     mailbox's slot, up to 1024 are copied by their sender, longer ones are handed over by their \
     address; from where two lines fit much better than one, messages outgrow the caches.</p>\n"
        .to_string()
        + &table("t_s and t_w by the length of a message", &head, 3, &rows)
}

fn lines(run: &SavedReport) -> Vec<&Value> {
    run.fitted(|result| &result["evidence"]["levels"]["lines"])
}

/// "L3 cache, ccx"
fn label(line: &Value) -> String {
    let level = shared(text(line, "level"));
    match text(line, "place") {
        "any" => level,
        place => format!("{level}, {place}"),
    }
}

/// The data that the script draws of the fits.
pub(crate) fn fit_chart(run: &SavedReport) -> Value {
    let lines = lines(run);
    let points = |line: &Value, key: &str| -> Vec<(u64, f64)> {
        let points = line["points"].as_array().into_iter().flatten();
        points
            .filter_map(|p| Some((p["bytes"].as_u64()?, p[key].as_f64().filter(|ns| *ns > 0.0)?)))
            .collect()
    };
    let curves: Vec<Value> = lines
        .iter()
        .map(|line| {
            json!({
                "name": label(line),
                "points": points(line, "ns_median"),
                "model": points(line, "fitted_ns"),
            })
        })
        .collect();
    let measured = lines.iter().flat_map(|line| points(line, "ns_median"));
    let sizes = distinct(measured.map(|point| point.0));
    json!({
        "title": "messages between two cores",
        "x": "Size of the message",
        "y": "Time of one message",
        "fitted": "fitted line",
        "floor": [],
        "curves": curves,
        "sizes": sizes,
    })
}
