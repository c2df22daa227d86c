//! `phalanx waits`: its three forms, the page and the trace, of a record;
//! and what it says of files that are no records.

#[path = "../../bench/tests/common/mod.rs"]
mod common;

use common::{complaint, json, keys, scratch, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx-waits");

/// The record of two runs of two ranks.
fn record() -> String {
    let file = scratch("waits.phx");
    let _ = std::fs::remove_file(&file);
    let team = phalanx::Team::builder().ranks(2).record(&file).build().unwrap();
    for _ in 0..2 {
        let calls = |comm: &mut phalanx::Comm| {
            (0..20).for_each(|_| comm.all_reduce(&mut [1.0; 8], phalanx::op::Sum));
        };
        team.run(calls).unwrap();
    }
    drop(team);
    file.to_str().unwrap().to_string()
}

#[test]
fn a_record_is_read_in_all_forms() {
    let file = record();
    let said = text(&["waits", &file]);
    for heading in ["RANKS", "CALLS", "CRITICAL PATH", " 2 ranks, "] {
        assert!(said.contains(heading), "{said}");
    }
    // Which of them is the longest depends on the machine's load.
    let runs = json(&["waits", &file])["runs"].as_u64().unwrap();
    let of_run = |run: u64| text(&["waits", &file, "--run", &run.to_string()]);
    assert!((1..=runs).any(|run| of_run(run).contains("all_reduce of ")), "{said}");
    let found = json(&["waits", &file]);
    let wanted = ["regions", "ranks", "calls", "late", "phases", "path", "disturbed"];
    assert!(wanted.iter().all(|key| keys(&found).contains(key)), "{found}");
    assert_eq!(found["ranks"].as_array().unwrap().len(), 2);
    let spent = |rank: usize, key: &str| found["ranks"][rank][key].as_u64().unwrap();
    assert!(spent(0, "work_ns") + spent(0, "transfer_ns") + spent(0, "waiting_ns") > 0);
    let tsv = text(&["waits", &file, "--format", "tsv"]);
    assert!(tsv.starts_with("table\trank\tstate\t"));
    assert!(tsv.lines().all(|line| line.split('\t').count() == 14), "{tsv}");

    let (page, trace) = (scratch("waits.html"), scratch("waits.json"));
    let (page, trace) = (page.to_str().unwrap(), trace.to_str().unwrap());
    assert_eq!(text(&["waits", &file, "-o", page, "--perfetto", trace]), "");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("http"));
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 10);
    assert!(complaint(&["waits", &file, "--run", "0"]).contains("the record has runs 1 to "));
    // All runs, a line each.
    let listed = text(&["waits", &file, "--list"]);
    assert_eq!(listed.lines().count() as u64, runs + 1, "{listed}");
    assert!(listed.lines().skip(1).all(|line| line.ends_with("well")), "{listed}");
    let tsv = text(&["waits", &file, "--list", "--format", "tsv"]);
    assert!(
        tsv.starts_with("run\tranks\tlength_ns\tcalls\tended\tbegan\tprocess\tat\n1\t2\t"),
        "{tsv}"
    );
    let found = json(&["waits", &file, "--list"]);
    assert_eq!(found["runs"].as_array().unwrap().len() as u64, runs);

    let picture = scratch("waits.svg");
    let picture = picture.to_str().unwrap();
    for part in [&[][..], &["--between", "0..0.5"]] {
        assert_eq!(text(&[&["waits", &file, "-o", picture], part].concat()), "");
        let drawn = std::fs::read_to_string(picture).unwrap();
        assert!(drawn.starts_with("<svg") && drawn.contains(">critical path<"), "{drawn}");
    }
    let wrong = |part: &[&str]| complaint(&[&["waits", &file, "--between"], part].concat());
    assert!(wrong(&["0..1"]).contains("--between is for a picture: -o FILE.svg"));
    assert!(wrong(&["3..2", "-o", picture]).contains("the end comes after the beginning"));
    assert!(wrong(&["1e9..2e9", "-o", picture]).contains("the run has "));
}

#[test]
fn what_is_no_record_is_refused_in_one_line() {
    let said = complaint(&["waits", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert!(said.contains("does not begin as the record of a run does"), "{said}");
    assert!(complaint(&["waits", "no-such-record.phx"]).contains("No such file"));
}
