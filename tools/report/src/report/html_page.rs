//! The page: one file that loads nothing else.

use super::collectives::{chart, collectives, crossovers};
use super::curves::curves;
use super::html::{details, drawing, escape, script, warning};
use super::matrices::{matrices, rates_chart};
use super::model_section::{fit_chart, model};
use super::ranks_section::{self, across};
use super::saved_report::{SavedReport, Section};
use super::summary::summary;
use super::traces::{ranks as drawn, traces};
use phalanx_bench::source::count as counted;
use phalanx_bench::table::of_key;
use serde_json::{Value, json};
use std::fmt::Write as _;

const STYLE: &str = include_str!("../../assets/page/report.css");
/// One after the other in one function.
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/page/base.js"),
    include_str!("../../assets/page/charts.js"),
    include_str!("../../assets/page/machine.js"),
    include_str!("../../assets/page/player.js"),
];
const CHARTS: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const CHARTS_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");

/// The page of a run.
pub(crate) fn page(run: &SavedReport) -> String {
    let (all, ranked) = (curves(run), across(run));
    let environment = run.part("environment");
    let text = |name: &str| environment[name].as_str().unwrap_or("unknown").to_string();
    let title = format!("Phalanx on {}", text("cpu"));
    let ranks = run.part("ranks").as_u64().unwrap_or(0);
    let mut body = format!(
        "<header><h1>{}</h1><p>{ranks} ranks, measured {}{}.</p>\n\
         <nav aria-label=\"Sections\"><a href=\"#machine\">Machine</a> <a \
         href=\"#matrices\">Between cores</a> <a href=\"#collectives\">Collectives</a> {}<a \
         href=\"#crossovers\">Fastest algorithms</a> <a href=\"#model\">Model</a> <a \
         href=\"#traces\">Algorithms, step by step</a> <a href=\"#how\">How</a></nav>\n\
         <p class=\"tools\"><button type=\"button\" id=\"save\">Save the data (JSON)</button>\n\
         <button type=\"button\" id=\"print\">Print</button></p></header>\n<main>\n",
        escape(&title),
        escape(&text("date")),
        run.part("seconds").as_f64().map_or(String::new(), |s| format!(" in {s:.0} s")),
        if ranked.is_empty() { "" } else { "<a href=\"#across\">Over ranks</a> " },
    );
    let cores = run.part("machine")["counts"]["allowed_pus"].as_u64().unwrap_or(u64::MAX);
    if ranks > cores {
        body += &warning(&format!(
            "Oversubscribed: {ranks} ranks share {cores} processing units, so times are mostly the \
             system's scheduling, and the model, which gives every rank a core, is expected to be \
             wrong."
        ));
    }
    if let Some(problem) = unbound(run) {
        body += &warning(&format!(
            "Ranks could not be bound to cores ({problem}): the system moves them as it likes, and \
             times say nothing about which cores they are of."
        ));
    }
    if let Some(line) = run.disturbance().line() {
        body += &warning(&format!("{}.", sentence(&line)));
    }
    let (out, all_parts) = run.unmeasured();
    if out > 0 {
        body += &warning(&format!(
            "{out} of {all_parts} parts were not measured, as those before took all of the time: \
             their charts are empty. Measure again when no other program runs, or with more \
             --seconds."
        ));
    }
    if ranks == 1 {
        body += &warning(
            "One core: there is nobody to exchange anything with, so there are no times between \
             cores. The curves are of one rank alone, which calls and copies, and sends nothing.",
        );
    }
    body += &summary(run, &all);
    body += &machine(run, environment);
    body += &matrices(run);
    body += &collectives(&all);
    body += &ranks_section::section(&ranked);
    body += &crossovers(&all);
    body += &model(run, &all);
    body += TRACES;
    body += &how(run);
    body += "</main>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n";

    let charts = json!({
        "across": ranks_section::charts(&ranked),
        "collectives": all.iter().map(chart).collect::<Vec<_>>(),
        "fit": fit_chart(run),
        "rates": rates_chart(run),
        "traces": traces(&drawn(ranks as usize)),
        "plans": plans(run),
    });
    let saved: Value = serde_json::from_str(&run.text()).unwrap_or(Value::Null);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src \
         'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{}</title>\n<style>{CHARTS_STYLE}\n{STYLE}</style></head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"charts\">{}</script>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>{CHARTS}</script>\n<script>\"use strict\";\n(() => \
         {{\n{}\n{TESTED}}})();</script>\n</body></html>\n",
        escape(&title),
        script(&charts),
        script(&saved),
        SCRIPTS.join("\n"),
    )
}

/// With a capital.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

/// For the console, and for tests.
const TESTED: &str = "globalThis.phalanxReport = { charts, player, palettes: { LIGHT, DARK } };\n";

/// The machine that algorithms can be drawn on.
fn plans(run: &SavedReport) -> Vec<Value> {
    let cpu = run.part("environment")["cpu"].as_str().unwrap_or("unknown");
    let mut plan = run.part("placement")["plan"].clone();
    let Some(own) = plan.as_object_mut() else { return Vec::new() };
    own.insert("title".to_string(), json!(format!("This machine ({cpu})")));
    vec![plan]
}

fn machine(run: &SavedReport, environment: &Value) -> String {
    let names = [
        ("cpu", "Processor"),
        ("architecture", "Architecture"),
        ("kernel", "Kernel"),
        ("governor", "Frequency governor"),
        ("boost", "Boost"),
        ("virtual_machine", "Virtual machine"),
        ("affinity", "Processors that may be used"),
        ("quota", "Time of the processors that may be used"),
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
    if let Some(name) = environment["emulated"].as_str() {
        out += &warning(&format!(
            "An emulated machine ({name}): no time or rate on this page says anything about \
             hardware."
        ));
    }
    if environment["build"] == "debug" {
        out += &warning("The tool was built without optimisation: all times are too long.");
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

/// The failures of many: each reason once.
fn troubles<'a>(sections: impl Iterator<Item = Section<'a>>) -> String {
    let mut reasons: Vec<(&str, Vec<Section<'_>>)> = Vec::new();
    for section in sections {
        let Some(why) = section.error else { continue };
        of_key(&mut reasons, why).push(section);
    }
    let said = |(why, all): &(&str, Vec<Section<'_>>)| match all.as_slice() {
        [one] => trouble(one),
        many => {
            let list: String = many
                .iter()
                .map(|s| format!("<li><code>{}</code></li>\n", escape(s.command)))
                .collect();
            let why = escape(why.trim_end_matches('.'));
            format!(
                "<div class=\"warning\">{} of these commands: {why}.\n{}</div>\n",
                many.len(),
                details("Which", &format!("<ul>{list}</ul>\n"))
            )
        }
    };
    reasons.iter().map(said).collect()
}

/// The failure of a section.
pub(crate) fn trouble(section: &Section<'_>) -> String {
    section.error.map_or(String::new(), |why| {
        format!(
            "<p class=\"warning\"><code>{}</code> did not go well: {}.</p>\n",
            escape(section.command),
            escape(why.trim_end_matches('.'))
        )
    })
}

const TRACES: &str = "<section id=\"traces\"><h2>Algorithms, step by step</h2>\n\
<p>Every algorithm of the catalogue, drawn on the network that it is made for, or on a machine's \
cores: there an arrow has the colour of what its two cores share. The vector, or each block where \
there are several, has as many words as there are ranks; roots are rank 0, shifts go by 3, groups \
are four ranks in a row. Point at a message, or reach it with the tabulator key, to see what it \
carries. In the drawing, left and right arrow step, space plays.</p>\n\
<div class=\"player\" id=\"player\"><p class=\"tools\">\
<label>Operation <select id=\"operation\"></select></label> <label>Algorithm <select \
id=\"algorithm\"></select></label> <label>Ranks <select id=\"ranks\"></select></label> \
<label>Drawn on <select id=\"ground\"></select></label> <label>Placed <select \
id=\"placed\"></select></label></p>\n\
<p id=\"about\"></p>\n\
<p id=\"where\"></p>\n<div class=\"stage\" id=\"drawn\" tabindex=\"0\" role=\"region\" \
aria-label=\"The drawing: left and right arrow step, space plays\">\
<svg id=\"stage\" viewBox=\"0 0 116 116\" role=\"group\" aria-label=\"Messages of the \
step\"></svg></div>\n\
<p id=\"crossed\" class=\"crossed\" hidden></p>\n\
<p class=\"tools\"><button type=\"button\" id=\"back\">Previous</button> <button type=\"button\" \
id=\"play\" aria-pressed=\"false\">Play</button> <button type=\"button\" id=\"next\">Next</button> \
<label class=\"range\">Step <input type=\"range\" id=\"step\" min=\"0\" value=\"0\"></label></p>\n\
<p id=\"now\" role=\"status\"></p>\n<div id=\"messages\"></div></div></section>\n";

/// The first rank that stood where it was not meant to.
fn unbound(run: &SavedReport) -> Option<&str> {
    run.sections().find_map(|s| s.result["binding_problems"][0].as_str())
}

fn how(run: &SavedReport) -> String {
    let mut out =
        "<section id=\"how\"><h2>How</h2>\n<p>Each section is what one of these commands \
        printed; ranks are pinned where the system lets them be, inputs are rewritten before every \
        call, all results are checked, and only samples between two equal raw exchanges count \
        (<code>phalanx bench --help</code>).</p>\n"
            .to_string();
    out += &accuracy(run);
    let mut lines = String::new();
    for section in run.sections() {
        let _ = writeln!(lines, "<li><code>{}</code></li>", escape(section.command));
    }
    out += &details("Commands", &format!("<ol>{lines}</ol>\n"));
    out += &troubles(run.sections().filter(|s| s.command.contains(" bench ")));
    out += &details(
        "Licence of the chart library (uPlot)",
        &format!("<pre>{}</pre>\n", escape(CHARTS_LICENCE)),
    );
    out + "</section>\n"
}

/// The clock, the time that was stolen, and how much moved: of all commands that say so.
fn accuracy(run: &SavedReport) -> String {
    let all = || run.sections().filter(|s| s.result.is_object());
    let said = |s: &Section<'_>, name: &str| {
        let result = s.result;
        let parts = [result, &result["conditions"], &result["evidence"]];
        parts.into_iter().find_map(|part| part[name].as_f64())
    };
    let range = |name: &str| {
        let found = || all().filter_map(|s| said(&s, name));
        Some((found().reduce(f64::min)?, found().reduce(f64::max)?))
    };
    let mut out = String::new();
    if let (Some(reading), Some(step)) = (range("clock_overhead_ns"), range("clock_resolution_ns"))
    {
        let of = |(low, high): (f64, f64)| match high - low < 0.5 {
            true => format!("{low:.0} ns"),
            false => format!("{low:.0} to {high:.0} ns"),
        };
        let _ = write!(
            out,
            "<p>Reading the clock costs {}, taken off; its steps are {}.",
            of(reading),
            of(step)
        );
        let stolen: Vec<f64> = all().filter_map(|s| said(&s, "stolen_ms")).collect();
        if !stolen.is_empty() {
            let sum: f64 = stolen.iter().sum();
            let _ = write!(out, " The host took {sum:.0} ms from all cores meanwhile.");
        }
        let rows = || all().filter_map(|s| s.result["rows"].as_array()).flatten();
        let moved = rows().filter(|r| r["drift"].as_str().is_some_and(|d| d != "none")).count();
        let _ = writeln!(
            out,
            " During {moved} of {} rows the raw exchange, the place of the cores, or the time \
             that we had moved.</p>",
            rows().count()
        );
    }
    out
}
