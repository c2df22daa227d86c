//! The page: one file, nothing to be fetched.

use super::curves::{AS_GOOD, Curves, curves, size, time};
use super::html::{details, drawing, escape, script, table};
use super::run::{Run, Section};
use super::traces::traces;
use crate::source::count as counted;
use serde_json::{Value, json};
use std::fmt::Write as _;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const CHARTS: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const CHARTS_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");

/// Rows of a matrix that are shown as text; the saved data have all.
const ROWS_SHOWN: usize = 240;

/// Sentences about the model that are shown at once.
const SAID: usize = 10;

/// The page of a run.
pub(crate) fn page(run: &Run) -> String {
    let all = curves(run);
    let environment = run.part("environment");
    let text = |name: &str| environment[name].as_str().unwrap_or("unknown").to_string();
    let title = format!("Phalanx on {}", text("cpu"));
    let ranks = run.part("ranks").as_u64().unwrap_or(0);
    let mut body = format!(
        "<header><h1>{}</h1><p>{ranks} ranks, measured {}{}.</p>\n\
         <p class=\"tools\"><button type=\"button\" id=\"save\">Save the data (JSON)</button>\n\
         <button type=\"button\" id=\"print\">Print</button></p>\n\
         <nav aria-label=\"Sections\"><a href=\"#machine\">Machine</a> <a href=\"#matrices\">Between cores</a> \
         <a href=\"#collectives\">Collectives</a> <a href=\"#crossovers\">Who is best</a> <a href=\"#model\">Model</a> \
         <a href=\"#traces\">Algorithms, step by step</a> <a href=\"#modelled\">A larger machine</a> \
         <a href=\"#how\">How</a></nav></header>\n<main>\n",
        escape(&title),
        escape(&text("date")),
        run.part("seconds").as_f64().map_or(String::new(), |s| format!(" in {s:.0} s")),
    );
    body += &machine(run, environment);
    body += &matrices(run);
    body += &collectives(&all);
    body += &crossovers(&all);
    body += &model(run, &all);
    body += TRACES;
    body += &modelled(run.part("modelled"));
    body += &how(run);
    body += "</main>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n";

    let charts = json!({
        "collectives": all.iter().map(chart).collect::<Vec<_>>(),
        "modelled": modelled_chart(run.part("modelled")),
        "traces": traces(),
    });
    let saved: Value = serde_json::from_str(&run.text()).unwrap_or(Value::Null);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{}</title>\n<style>{CHARTS_STYLE}\n{STYLE}</style></head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"charts\">{}</script>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>{CHARTS}</script>\n<script>{SCRIPT}</script>\n</body></html>\n",
        escape(&title),
        script(&charts.to_string()),
        script(&saved.to_string()),
    )
}

fn machine(run: &Run, environment: &Value) -> String {
    let names = [
        ("cpu", "Processor"),
        ("architecture", "Architecture"),
        ("kernel", "Kernel"),
        ("governor", "Frequency governor"),
        ("boost", "Boost"),
        ("virtual_machine", "Virtual machine"),
        ("affinity", "Processors that may be used"),
        ("load_1_min", "Load before (1 min)"),
        ("version", "Phalanx"),
        ("commit", "Commit"),
        ("build", "Build"),
        ("date", "Date (UTC)"),
    ];
    let mut out =
        "<section id=\"machine\"><h2>Machine and placement</h2>\n<dl class=\"facts\">".to_string();
    for (key, name) in names {
        let value = match &environment[key] {
            Value::Null => "not known here".to_string(),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_string(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    }
    let counts = &run.part("machine")["counts"];
    let count = |key: &str, what: &str| counted(counts[key].as_u64().unwrap_or(0) as usize, what);
    let _ = writeln!(
        out,
        "<div><dt>Shape</dt><dd>{}, {}, {}, {}</dd></div></dl>",
        count("packages", "package"),
        count("numa_nodes", "memory node"),
        count("cores", "core"),
        count("pus", "processing unit")
    );
    if environment["build"] == "debug" {
        out += "<p class=\"warning\">The tool was built without optimisation: all times are too long.</p>\n";
    }
    let placement = run.part("placement");
    if let Some(svg) = placement["drawing"].as_str() {
        let caption = format!(
            "The cores, and the ranks that the automatic placement puts on them for a {}",
            placement["topology"].as_str().unwrap_or("ring")
        );
        out += &drawing(svg, &caption);
    }
    out + "</section>\n"
}

fn matrices(run: &Run) -> String {
    let mut out = "<section id=\"matrices\"><h2>Between cores</h2>\n".to_string();
    let own = |name: &'static str| {
        run.sections().find(move |s| s.command.split_whitespace().nth(1) == Some(name))
    };
    for (name, heading, caption) in [
        ("latency", "Latency", "Round trip of a flag between processing units, ns (median)"),
        (
            "bandwidth",
            "Bandwidth",
            "Rate at which one core copies what another has written, GB/s, largest size",
        ),
    ] {
        let _ = writeln!(out, "<h3>{heading}</h3>");
        let Some(section) = own(name) else {
            out += "<p class=\"warning\">Not measured in this run.</p>\n";
            continue;
        };
        out += &trouble(&section);
        if let Some(svg) = section.drawing {
            out += &drawing(svg, caption);
        }
        for note in section.result["notes"].as_array().into_iter().flatten() {
            let _ = writeln!(out, "<p>{}</p>", escape(note.as_str().unwrap_or("")));
        }
        out += &pairs(name, &section);
    }
    out + "</section>\n"
}

/// The rows of a matrix as text.
fn pairs(name: &str, section: &Section<'_>) -> String {
    let rows = section.result["rows"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.is_empty() {
        return String::new();
    }
    let cell = |row: &Value, key: &str| match &row[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let ns = |row: &Value, key: &str| row[key].as_f64().map_or(String::new(), time);
    let latency = name == "latency";
    let head: &[&str] = match latency {
        true => &["from", "to", "by", "place", "least", "median", "90 % below"],
        false => &["from", "to", "what", "place", "size", "median", "GB/s"],
    };
    let line = |row: &Value| {
        let mut line = vec![cell(row, "src"), cell(row, "dst")];
        line.push(cell(row, if latency { "via" } else { "op" }));
        line.push(cell(row, "place"));
        match latency {
            true => line.extend(["ns_min", "ns_median", "ns_p90"].map(|key| ns(row, key))),
            false => line.extend([
                row["bytes"].as_u64().map_or(String::new(), size),
                ns(row, "ns_median"),
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
    details("The numbers", &(table(&format!("{name}, all pairs"), head, 4, &lines) + &rest))
}

/// What went wrong with a section.
fn trouble(section: &Section<'_>) -> String {
    section.error.map_or(String::new(), |why| {
        format!(
            "<p class=\"warning\"><code>{}</code> did not go well: {}.</p>\n",
            escape(section.command),
            escape(why.trim_end_matches('.'))
        )
    })
}

fn collectives(all: &[Curves]) -> String {
    let mut out = "<section id=\"collectives\"><h2>Collectives: measured, modelled, and the raw exchange</h2>\n\
        <p>Time of one call over the bytes of a rank's larger buffer, both axes logarithmic. Thick: what the library \
        chooses by itself (<code>auto</code>). Thin: one algorithm each. Dashed, of the same colour: what the model says of \
        that algorithm. Dotted: the raw exchange of two flags between the same cores at the same time, the least that \
        anything can cost. The buttons show and hide.</p>\n<div class=\"charts\">\n"
        .to_string();
    for (number, own) in all.iter().enumerate() {
        let _ = writeln!(
            out,
            "<figure class=\"chart\" data-chart=\"{number}\"><h3>{}</h3><div class=\"plot\"></div>\
             <p class=\"read\" aria-live=\"polite\"></p><div class=\"legend\" role=\"group\" aria-label=\"Curves of {0}\"></div>",
            escape(&own.op)
        );
        let mut note = format!("Cores at: {}.", own.place);
        if own.elsewhere > 0 {
            let _ = write!(
                note,
                " The host moved the cores meanwhile: {} more points were measured elsewhere, and are in the data only.",
                own.elsewhere
            );
        }
        let _ = writeln!(out, "<figcaption>{}</figcaption>", escape(&note));
        out += &details("The numbers", &numbers(own));
        out += "</figure>\n";
    }
    if all.is_empty() {
        out += "<p class=\"warning\">Nothing was measured.</p>\n";
    }
    out + "</div></section>\n"
}

fn numbers(own: &Curves) -> String {
    let mut rows = Vec::new();
    for curve in &own.curves {
        for &(bytes, ns) in &curve.points {
            let at = |points: &[(u64, f64)]| {
                points.iter().find(|p| p.0 == bytes).map_or(String::new(), |p| time(p.1))
            };
            rows.push(vec![
                curve.algorithm.clone(),
                size(bytes),
                time(ns),
                at(&curve.model),
                at(&own.floor),
            ]);
        }
    }
    let head = ["algorithm", "size", "measured", "modelled", "raw exchange"];
    table(&format!("{}: medians", own.op), &head, 1, &rows)
}

fn crossovers(all: &[Curves]) -> String {
    let mut rows = Vec::new();
    for own in all {
        for best in own.best() {
            let sizes = match (best.from, best.to) {
                (0, _) => "-".to_string(),
                (from, to) if from == to => size(from),
                (from, to) => format!("{} to {}", size(from), size(to)),
            };
            let (next, longer) =
                best.next.map_or((String::new(), String::new()), |(name, ratio)| {
                    (
                        name,
                        if ratio <= AS_GOOD {
                            "as good".to_string()
                        } else {
                            format!("{:.0} %", (ratio - 1.0) * 100.0)
                        },
                    )
                });
            rows.push(vec![own.op.clone(), sizes, best.algorithm, next, time(best.ns), longer]);
        }
    }
    let head = [
        "operation",
        "measured sizes",
        "best algorithm",
        "next",
        "time at the first size",
        "next takes longer by",
    ];
    format!(
        "<section id=\"crossovers\"><h2>Who is best from which size</h2>\n\
         <p>Among the algorithms by name; sizes in between were not measured. Within 5 % of the best is as good: a range goes on as long as its algorithm is.</p>\n{}</section>\n",
        table("The fastest algorithm by size", &head, 4, &rows)
    )
}

fn model(run: &Run, all: &[Curves]) -> String {
    let predictions = run.part("predictions");
    let costs = &predictions["costs"];
    let name = costs["name"].as_str().unwrap_or("none");
    let mut out = format!(
        "<section id=\"model\"><h2>The model beside the measurement</h2>\n<p>Costs of: {}{}.</p>\n",
        escape(name),
        match costs["same_shape"].as_bool() {
            Some(false) =>
                ", the most similar published machine; this one is not in the table, so a constant factor is to be expected",
            _ => "",
        }
    );
    if let Some(why) = predictions["missing"].as_str() {
        let _ = writeln!(out, "<p class=\"warning\">Nothing is predicted: {}.</p>", escape(why));
    }
    let mut rows = Vec::new();
    let mut said = Vec::new();
    let (mut logs, mut points) = (0.0, 0.0);
    for own in all {
        for curve in &own.curves {
            let errors = curve.errors();
            if errors.is_empty() {
                continue;
            }
            let mean = errors.iter().map(|e| e.1.ln()).sum::<f64>() / errors.len() as f64;
            logs += mean * errors.len() as f64;
            points += errors.len() as f64;
            let least = errors.iter().map(|e| e.1).fold(f64::INFINITY, f64::min);
            let most = errors.iter().map(|e| e.1).fold(0.0, f64::max);
            rows.push(vec![
                own.op.clone(),
                curve.algorithm.clone(),
                format!("{least:.2}"),
                format!("{:.2}", mean.exp()),
                format!("{most:.2}"),
            ]);
        }
        said.extend(own.complaints());
    }
    let head = ["operation", "algorithm", "least", "mean", "most"];
    if said.is_empty() && !rows.is_empty() {
        out += "<p>Nowhere is the model wrong by more than 2 x.</p>\n";
    } else if !said.is_empty() {
        let _ = writeln!(
            out,
            "<p>Over all points the calls take {:.2} x the modelled time (geometric mean). The model is wrong by more than 2 x for {} of {} algorithms:</p>",
            (logs / points.max(1.0)).exp(),
            said.len(),
            rows.len()
        );
        let items = |said: &[String]| {
            let items = said.iter().map(|sentence| format!("<li>{}</li>\n", escape(sentence)));
            format!("<ul class=\"wrong\">\n{}</ul>\n", items.collect::<String>())
        };
        let (first, rest) = said.split_at(said.len().min(SAID));
        out += &items(first);
        if !rest.is_empty() {
            out += &details(&format!("{} more", rest.len()), &items(rest));
        }
    }
    if !rows.is_empty() {
        let caption = "Measured time over modelled time, over all sizes (mean: geometric)";
        out += &details("All ratios", &table(caption, &head, 2, &rows));
    }
    out + "</section>\n"
}

const TRACES: &str = "<section id=\"traces\"><h2>Algorithms, step by step</h2>\n\
<p>Every algorithm of the catalogue, on the network it is made for. The vector, or each block where there are p, has as many words \
as there are ranks; roots are rank 0, shifts go by 3. Point at a message or reach it with the tabulator key to see what it carries.</p>\n\
<div class=\"player\"><p class=\"tools\">\
<label>Operation <select id=\"operation\"></select></label> <label>Algorithm <select id=\"algorithm\"></select></label> \
<label>Ranks <select id=\"ranks\"></select></label></p>\n\
<p id=\"about\"></p>\n<div class=\"stage\"><svg id=\"stage\" viewBox=\"0 0 116 116\" role=\"group\" aria-label=\"Messages of the step\"></svg></div>\n\
<p class=\"tools\"><button type=\"button\" id=\"back\">Previous</button> <button type=\"button\" id=\"play\" aria-pressed=\"false\">Play</button> \
<button type=\"button\" id=\"next\">Next</button> <label class=\"range\">Step <input type=\"range\" id=\"step\" min=\"0\" value=\"0\"></label></p>\n\
<p id=\"now\" role=\"status\"></p>\n<div id=\"messages\"></div></div></section>\n";

fn modelled(part: &Value) -> String {
    let name = part["name"].as_str().unwrap_or("none");
    let ranks = part["ranks"].as_u64().unwrap_or(0);
    let mut out = format!(
        "<section id=\"modelled\"><h2>Modelled: {}, {ranks} ranks</h2>\n<p class=\"label\"><strong>Modelled, not measured.</strong> \
         Every rank has a clock, every message is a hand-off at the published time of the level where the two cores meet.</p>\n",
        escape(name)
    );
    if let Some(svg) = part["drawing"].as_str() {
        let caption = format!("Modelled machine: {name}, with {ranks} ranks placed for a ring");
        out += &drawing(svg, &caption);
    }
    out += "<figure class=\"chart wide\" data-chart=\"modelled\"><h3>all-reduce, modelled</h3><div class=\"plot\"></div>\
            <p class=\"read\" aria-live=\"polite\"></p><div class=\"legend\" role=\"group\" aria-label=\"Modelled curves\"></div>\
            <figcaption>Modelled time of one all-reduce over the bytes of the vector; the algorithms that are best \
            somewhere, or come near.</figcaption>\n";
    let mut rows = Vec::new();
    for curve in part["curves"].as_array().into_iter().flatten() {
        for point in curve["points"].as_array().into_iter().flatten() {
            let name = curve["algorithm"].as_str().unwrap_or("").to_string();
            let (bytes, ns) = (point[0].as_u64().unwrap_or(0), point[1].as_f64().unwrap_or(0.0));
            rows.push(vec![name, size(bytes), time(ns)]);
        }
    }
    out += &details(
        "The numbers",
        &table("all-reduce, modelled", &["algorithm", "size", "modelled"], 1, &rows),
    );
    out + "</figure></section>\n"
}

fn how(run: &Run) -> String {
    let mut out = "<section id=\"how\"><h2>How</h2>\n<p>Each section is what one of these commands printed; ranks are pinned, \
        inputs are rewritten before every call, all results are checked, and only samples between two equal raw exchanges \
        count (<code>phalanx bench --help</code>).</p>\n"
        .to_string();
    let mut lines = String::new();
    for section in run.sections() {
        let _ = writeln!(lines, "<li><code>{}</code></li>", escape(section.command));
    }
    out += &details("Commands", &format!("<ol>{lines}</ol>\n"));
    run.sections().filter(|s| s.command.contains(" bench ")).for_each(|s| out += &trouble(&s));
    out += &details(
        "Licence of the chart library (uPlot)",
        &format!("<pre>{}</pre>\n", escape(CHARTS_LICENCE)),
    );
    out + "</section>\n"
}

/// What the script draws of one operation.
fn chart(own: &Curves) -> Value {
    let curves: Vec<Value> = own
        .curves
        .iter()
        .map(|c| json!({ "name": c.algorithm, "points": c.points, "model": c.model }))
        .collect();
    json!({ "title": own.op, "floor": own.floor, "curves": curves, "sizes": own.sizes() })
}

fn modelled_chart(part: &Value) -> Value {
    let curves: Vec<Value> = part["curves"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| json!({ "name": c["algorithm"], "points": c["points"], "model": [] }))
        .collect();
    let points = curves.iter().flat_map(|c| c["points"].as_array().cloned().unwrap_or_default());
    let mut sizes: Vec<u64> = points.filter_map(|point| point[0].as_u64()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    json!({ "title": "all-reduce, modelled", "floor": [], "curves": curves, "sizes": sizes })
}
