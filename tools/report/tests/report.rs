//! `phalanx report` from outside, with saved runs: nothing is measured here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SAVED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/report.json");

/// A file that is not JSON.
const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

/// A directory of this test's own.
fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}"));
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn phalanx(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-report"));
    command.arg("report").args(args).stdin(Stdio::null()).output().unwrap()
}

fn refused(args: &[&str]) -> String {
    let out = phalanx(args);
    assert_eq!(out.status.code(), Some(2), "{args:?}");
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn a_saved_run_becomes_the_same_page_again() {
    let dir = scratch("again");
    let (page, copy) = (dir.join("a.html"), dir.join("b.html"));
    let out = phalanx(&["--from", SAVED, "-o", page.to_str().unwrap(), "--json"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let html = fs::read_to_string(&page).unwrap();
    // Beside the page, under its name.
    let saved = dir.join("a.json");
    let value = |path: &Path| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    assert_eq!(value(&saved), value(Path::new(SAVED)));
    let out = phalanx(&["--from", saved.to_str().unwrap(), "-o", copy.to_str().unwrap()]);
    assert!(out.status.success());
    assert_eq!(html, fs::read_to_string(&copy).unwrap());
}

#[test]
fn a_pipe_is_told_where_the_page_is_and_what_it_lacks() {
    let dir = scratch("told");
    let mut run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(SAVED).unwrap()).unwrap();
    let sections = run["sections"].as_array_mut().unwrap();
    let all = sections.len();
    for (i, section) in sections.iter_mut().rev().take(2).enumerate() {
        section["result"] = serde_json::Value::Null;
        section["error"] = format!("not run, as the steps before it took {i} s").into();
    }
    let (file, page) = (dir.join("run.json"), dir.join("page.html"));
    fs::write(&file, run.to_string()).unwrap();
    let out = phalanx(&["--from", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(out.status.success() && out.stdout.is_empty());
    let stderr = String::from_utf8(out.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert_eq!(lines[0], format!("phalanx: the page is '{}'", page.display()));
    let wanted = format!("phalanx: left out (no time was left): 2 of {all} parts: bench -p 4; ");
    assert!(lines[1].starts_with(&wanted), "{stderr}");
}

#[test]
fn the_page_has_everything_and_fetches_nothing() {
    let page = scratch("whole").join("page.html");
    let out = phalanx(&["--from", SAVED, "-o", page.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("<section id=\"summary\" ").count(), 1);
    for id in
        ["machine", "matrices", "collectives", "across", "crossovers", "model", "traces", "how"]
    {
        assert_eq!(html.matches(&format!("<section id=\"{id}\">")).count(), 1, "{id}");
    }
    for word in ["Reading the clock costs", "x the modelled time", "raw exchange", "Copyright (c)"]
    {
        assert!(html.contains(word), "{word}");
    }
    for outside in ["src=\"http", "href=\"http", "<link", "@import", "url(http", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let bytes = html.len();
    assert!(bytes < 3_000_000, "{bytes} bytes");
}

#[test]
fn what_a_file_says_is_text_and_nothing_else() {
    let dir = scratch("script");
    let bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let text = fs::read_to_string(SAVED).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    run["environment"]["cpu"] = bad.into();
    run["placement"]["drawing"] = bad.into();
    run["sections"][0]["error"] = bad.into();
    run["sections"][0]["drawing"] = bad.into();
    let (file, page) = (dir.join("bad.json"), dir.join("bad.html"));
    fs::write(&file, run.to_string()).unwrap();
    let out = phalanx(&["--from", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let html = fs::read_to_string(&page).unwrap();
    assert!(!html.contains("<script>alert") && !html.contains("<img src=x"));
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let dir = scratch("refused");
    let page = dir.join("page.html");
    let text = fs::read_to_string(SAVED).unwrap();
    let mut newer: serde_json::Value = serde_json::from_str(&text).unwrap();
    newer["format"] = 99.into();
    let cases = [
        ("cut.json", text[..text.len() / 2].to_string(), "no whole json file"),
        ("other.json", "{\"command\": \"bench\"}".to_string(), "is of `phalanx bench`"),
        ("newer.json", newer.to_string(), "format 99, of phalanx"),
        ("part.json", text.replacen("\"sections\"", "\"section\"", 1), "no \"sections\""),
    ];
    for (name, text, wanted) in cases {
        let file = dir.join(name);
        fs::write(&file, text).unwrap();
        let said = refused(&["--from", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
        assert!(said.contains(name) && said.contains(wanted), "{said}");
    }
    assert!(refused(&["--from", "/no/such.json"]).contains("/no/such.json"));
    assert!(!page.exists(), "no page of nothing");
}

/// The page of the saved run after `change`.
fn changed(name: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let dir = scratch(name);
    let mut run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(SAVED).unwrap()).unwrap();
    change(&mut run);
    let (file, page) = (dir.join("run.json"), dir.join("page.html"));
    fs::write(&file, run.to_string()).unwrap();
    let out = phalanx(&["--from", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    fs::read_to_string(&page).unwrap()
}

#[test]
fn one_core_is_a_sentence_and_no_empty_picture() {
    let alone = "this machine has one processing unit (PU 0): there is no pair to measure between";
    let html = changed("alone", |run| {
        run["ranks"] = 1.into();
        for section in run["sections"].as_array_mut().unwrap() {
            let command = section["command"].as_str().unwrap().to_string();
            if command.contains(" latency ") {
                section["result"]["rows"] = serde_json::json!([]);
                section["result"]["notes"] = serde_json::json!([alone]);
            } else if command.contains(" calibrate ") {
                section["result"]["levels"] = serde_json::json!([]);
                section["result"]["evidence"]["levels"]["lines"] = serde_json::json!([]);
            }
        }
    });
    assert!(html.contains("One core: there is nobody") && html.contains(alone));
    assert!(html.contains("no pair of cores could be measured"));
    assert!(!html.contains("alt=\"Round trip of a flag"));
}

#[test]
fn what_failed_is_named_where_it_would_stand() {
    let why = "threads cannot be bound to processing units";
    let html = changed("failed", |run| {
        for section in run["sections"].as_array_mut().unwrap() {
            section["result"] = serde_json::Value::Null;
            section["drawing"] = serde_json::Value::Null;
            section["error"] = why.into();
        }
        run["sections"][3]["result"] = serde_json::json!({ "command": "bench", "rows": [] });
        run["predictions"] = serde_json::json!({});
    });
    // Latency, bandwidth, the fit; benchmarks that failed alike are one sentence.
    let page = &html[..html.find("<script").unwrap()];
    assert_eq!(page.matches(why).count(), 4, "{}", page.matches(why).count());
    let run: serde_json::Value = serde_json::from_str(&fs::read_to_string(SAVED).unwrap()).unwrap();
    let sections = run["sections"].as_array().unwrap().iter();
    let benches = sections.filter(|s| s["command"].as_str().unwrap().contains(" bench ")).count();
    assert!(page.contains(&format!("{benches} of these commands: ")));
    assert!(html.contains("Nothing was measured."));
}

#[test]
fn a_run_without_the_newer_parts_is_still_a_page() {
    let html = changed("older", |run| {
        run["placement"].as_object_mut().unwrap().remove("plan");
        let sections = run["sections"].as_array_mut().unwrap();
        sections.retain(|section| !section["command"].as_str().unwrap().contains(" calibrate "));
    });
    assert!(html.contains("\"plans\":[]"));
}

/// Adds rows of another number of ranks: the saved ones of `auto`, with made-up times.
fn on_ranks(run: &mut serde_json::Value, ranks: u64) {
    let sections = run["sections"].as_array().unwrap().iter();
    let rows = sections.filter_map(|s| s["result"]["rows"].as_array()).flatten();
    let auto = rows.filter(|row| row["algorithm"] == "auto" && row["op"] == "all-reduce");
    let rows: Vec<serde_json::Value> = auto
        .map(|row| {
            let mut row = row.clone();
            row["ranks"] = ranks.into();
            row["place"] = "any".into();
            row["ns_median"] = (1000 * ranks).into();
            row
        })
        .collect();
    let section = serde_json::json!({
        "command": format!("phalanx bench -p {ranks}"),
        "result": { "command": "bench", "rows": rows }, "drawing": null, "error": null,
    });
    run["sections"].as_array_mut().unwrap().push(section);
}

#[test]
fn every_number_of_ranks_is_on_the_page_beside_the_model() {
    let html = changed("ranks", |run| {
        let sections = run["sections"].as_array_mut().unwrap();
        sections.retain(|section| !section["command"].as_str().unwrap().contains(" bench -p "));
        [1, 4].iter().for_each(|&ranks| on_ranks(run, ranks));
        let predicted = serde_json::json!({
            "op": "all-reduce", "algorithm": "auto", "ranks": 4, "bytes": 8, "place": "any",
            "ns": 500.0,
        });
        let rows = run["predictions"]["rows"].as_array_mut().unwrap();
        rows.retain(|row| row["ranks"] != 4);
        rows.push(predicted);
    });
    assert_eq!(html.matches("<section id=\"across\">").count(), 1);
    assert!(html.contains("href=\"#across\"") && html.contains("<option value=\"8\">8 B</option>"));
    // Measured 4 us, modelled 500 ns, and no wonder.
    assert!(
        html.contains("8.00 x, wrong") && html.contains("oversubscribed: more ranks than cores")
    );
    assert!(html.contains("nothing is sent"));
}

#[test]
fn more_ranks_than_cores_are_said_to_be() {
    let html = changed("crowded", |run| {
        run["machine"]["counts"]["allowed_pus"] = 1.into();
    });
    assert!(html.contains("Oversubscribed: 2 ranks share 1 processing units"));
}

#[test]
fn ranks_that_could_not_be_bound_are_said_to_be_so() {
    assert!(!changed("bound", |_| ()).contains("could not be bound"));
    let html = changed("unbound", |run| {
        let mut sections = run["sections"].as_array_mut().unwrap().iter_mut();
        let bench = sections.find(|s| s["result"]["binding_problems"].is_array()).unwrap();
        bench["result"]["binding_problems"] = serde_json::json!(["rank 1 is not bound: <no>"]);
    });
    assert!(html.contains("could not be bound to cores (rank 1 is not bound: &lt;no&gt;)"));
}

#[test]
fn wrong_arguments_are_said_before_anything_is_measured() {
    assert!(refused(&["-o", "/no/such/dir/page.html"]).contains("cannot be written"));
    assert!(refused(&["--seconds", "0"]).contains("accepted are 1 to 3600"));
    for (args, wanted) in [
        (&["-p", "0"][..], "accepted are 1 to"),
        (&["-p", "-3"], "accepted are 1 to"),
        (&["-p", "two"], "no number of ranks"),
        (&["--seconds", "1e9"], "accepted are 1 to 3600"),
        (&["--seconds", "nan"], "accepted are 1 to 3600"),
        (&["--seconds", "20", "--quick"], "--quick"),
        (&["--from", SAVED, "-p", "2"], "--from"),
        (&["--from", SAVED, "--quick"], "--from"),
        (&["--from"], "--from"),
        (&["--from", "/dev/null"], "it is no file"),
        (&["--from", TEXT], "no whole json file"),
        (&["--from", SAVED, "-o", "/no/such/dir/page.html"], "cannot be written"),
        (
            &["--from", SAVED, "-o", "page.html", "--json", "/no/such/dir/x.json"],
            "cannot be written",
        ),
        (
            &["--from", SAVED, "-o", "page.html", "--json", "./page.html"],
            "both the page and its data",
        ),
        (&["--from", SAVED, "-o", "page.json", "--json"], "both the page and its data"),
        (&["--jsn", "x"], "--json"),
        (&["report.html"], "report.html"),
    ] {
        let line = refused(args);
        assert!(line.contains(wanted), "{args:?}: {line}");
    }
}
