//! `phalanx model`, run as users run it.

use serde_json::Value;
use std::process::{Command, Output};

fn phalanx(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-report"));
    command.args(args).output().expect("the tool runs")
}

fn json(args: &[&str]) -> Value {
    let out = phalanx(args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("json")
}

fn error(args: &[&str]) -> (Option<i32>, String) {
    let out = phalanx(args);
    (out.status.code(), String::from_utf8_lossy(&out.stderr).trim().to_string())
}

#[test]
fn published_curves_are_as_stated() {
    let all = json(&["model", "validate", "--format", "json"]);
    assert_eq!(all["rows"].as_array().unwrap().len(), 51 + 432);
    let points = all["rows"].as_array().unwrap().iter();
    let v1: Vec<f64> = points
        .filter(|p| p["curve"] == "V1" && p["ranks"].as_u64() >= Some(8))
        .map(|p| p["error"].as_f64().unwrap())
        .collect();
    assert!(v1.len() == 8 && v1.iter().all(|e| e.abs() <= 0.2), "{v1:?}");
}

#[test]
fn algorithms_are_ranked_on_a_machine_of_the_table() {
    let all = json(&[
        "model",
        "barrier",
        "-p",
        "128",
        "--machine",
        "epyc-7742-2s-nps4",
        "--format",
        "json",
    ]);
    assert_eq!(all["modelled"], true);
    let rows = all["rows"].as_array().unwrap();
    let mut ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["BAR-ANY", "BAR-AR", "BAR-HIER", "BAR-RADIX"]);
    let ns: Vec<f64> = rows.iter().map(|r| r["ns"].as_f64().unwrap()).collect();
    assert!(ns.is_sorted() && ns[0] > 1e3, "{ns:?}");
    // Without levels everything is as far as the mean: the dissemination is as good as doubling.
    let flat = json(&[
        "model",
        "barrier",
        "-p",
        "128",
        "--machine",
        "epyc-7742-2s-nps4",
        "--without",
        "levels,spread",
        "--format",
        "json",
    ]);
    let rows = flat["rows"].as_array().unwrap();
    let of = |id| &rows.iter().find(|row| row["id"] == id).unwrap()["ns"];
    assert_eq!(of("BAR-ANY"), of("BAR-AR"));
}

/// The median hand-offs make a time that may lie below all times with hand-offs that spread.
#[test]
fn a_time_that_is_not_between_its_percentiles_is_explained() {
    let args = ["model", "all-reduce", "-p", "64", "--machine", "epyc-7742-2s-nps4", "--format"];
    let of = |format: &'static str| [&args[..], &[format]].concat();
    let rows = json(&of("json"))["rows"].as_array().unwrap().clone();
    let ns = |row: &Value, key: &str| row[key].as_f64().unwrap();
    let is_outside =
        |row: &&Value| !(ns(row, "ns_p10")..=ns(row, "ns_p90")).contains(&ns(row, "ns"));
    let outside = rows.iter().filter(is_outside).count();
    assert!(outside > 0, "nothing to explain: {rows:?}");
    let text = String::from_utf8(phalanx(&of("text")).stdout).unwrap();
    let wanted = format!("# In {outside} of these ns is not between ns_p10 and ns_p90: ");
    assert!(text.contains(&wanted), "{text}");
    // Without percentiles there is nothing to say.
    let text = phalanx(&[&of("text")[..], &["--without", "spread"]].concat()).stdout;
    assert!(!String::from_utf8(text).unwrap().contains("is not between"));
}

/// One line for each size, of ranks that nothing was fitted to as well.
#[test]
fn collectives_are_predicted_for_any_number_of_ranks() {
    for (machine, library, p) in
        [("epyc-2x64", "mpich", "127"), ("grace", "openmpi", "36"), ("grace", "ext_mpi", "283")]
    {
        for operation in ["allreduce", "bcast", "reduce"] {
            let of = ["--library", library, "--operation", operation, "-p", p, "--format", "tsv"];
            let out = phalanx(&[&["model", "predict", "--machine", machine][..], &of].concat());
            let text = String::from_utf8(out.stdout).unwrap();
            let rows: Vec<(u64, f64)> = text
                .lines()
                .map(|line| line.split_once('\t').unwrap())
                .map(|(bytes, us)| (bytes.parse().unwrap(), us.parse().unwrap()))
                .collect();
            let sizes: Vec<u64> = (3..27).map(|i| 1 << i).collect();
            assert_eq!(rows.iter().map(|r| r.0).collect::<Vec<_>>(), sizes);
            let factor = rows[23].1 / rows[0].1;
            assert!(rows[0].1 > 0.1 && factor > 1000.0, "{machine} {library} {operation}: {text}");
        }
    }
}

#[test]
fn what_cannot_be_predicted_is_refused_in_words() {
    let predict = |more: &[&str]| error(&[&["model", "predict"][..], more].concat());
    let grace = ["--machine", "grace", "--library", "mpich", "--operation", "bcast"];
    let cases: [(&[&str], &str); 6] = [
        (&[], "predict needs --machine: epyc-2x64, grace"),
        (&["--machine", "graze"], "did you mean grace?"),
        (&["--machine", "grace"], "predict needs --library: mpich, openmpi, ext_mpi, phalanx"),
        (&[&grace[..4], &["--operation", "scan"]].concat(), "scan"),
        (&[&grace[..], &["-p", "289"]].concat(), "-p 289: the model gives every rank a core"),
        (
            &["--machine", "epyc-2x64", "--library", "openmpi", "--operation", "bcast"],
            "the published build is erratic",
        ),
    ];
    for (args, wanted) in cases {
        let (code, line) = predict(args);
        assert!(code == Some(2) && line.contains(wanted), "{args:?}: {line}");
    }
}

#[test]
fn wrong_arguments_say_what_is_accepted() {
    let (code, line) = error(&["model", "barrier", "--machine", "epyc-9654"]);
    assert_eq!(code, Some(2));
    assert!(line.contains("the nearest is 'epyc-9654-2s-nps4'"), "{line}");
    let (code, line) = error(&["model", "barrier", "--machine", "foo"]);
    assert_eq!(code, Some(2));
    assert!(line.contains("no machine 'foo'") && !line.contains("nearest"), "{line}");
    let (code, line) = error(&["model", "barier"]);
    assert_eq!((code, line.contains("did you mean barrier?")), (Some(2), true), "{line}");
    let (code, line) = error(&["model", "barrier", "--without", "level"]);
    assert_eq!((code, line.contains("did you mean levels?")), (Some(2), true), "{line}");
    let (code, line) = error(&["model", "barrier", "-p", "4", "--machine", "xeon-8468-2s-snc4"]);
    assert_eq!(code, Some(2));
    assert!(line.contains("no hand-off is known between cores of the same machine"), "{line}");
    // A machine with a level that the costs say nothing of.
    let packages = "pack:2 [numa] l3:1 core:4 pu:1";
    let (code, line) =
        error(&["model", "barrier", "-p", "8", "--machine", "graviton3", "--synthetic", packages]);
    assert_eq!(code, Some(2));
    assert!(
        line.contains("graviton3: no hand-off is known between cores of the same machine"),
        "{line}"
    );
    let (code, line) = error(&["model", "barrier", "-m", "-8"]);
    assert_eq!(code, Some(2), "{line}");
    // Minutes of work are refused, with how much it would be.
    let many = "pack:8 [numa] l3:16 core:128 pu:1";
    let (code, line) = error(&["model", "AG-RING", "-p", "16384", "--synthetic", many]);
    assert_eq!(code, Some(2));
    assert!(
        line.contains("AG-RING, 16384 ranks: about 268 million messages: at most 67"),
        "{line}"
    );
    // More ranks than cores; sizes that are none; a machine that is almost one.
    let small = "pack:1 core:4 pu:1";
    let (code, line) = error(&["model", "barrier", "-p", "8", "--synthetic", small]);
    assert_eq!((code, line.is_empty()), (Some(2), false), "{line}");
    for junk in ["junk", "1e999", "-1", "NaN", ""] {
        let (code, line) = error(&["model", "all-reduce", "-m", junk]);
        assert_eq!((code, line.is_empty()), (Some(2), false), "{junk}: {line}");
    }
    let (code, line) = error(&["model", "barrier", "-p", "4", "--synthetic", "pack:2 core:x"]);
    assert_eq!((code, line.is_empty()), (Some(2), false), "{line}");
    let (code, line) = error(&["model", "scale", "-p", "5000"]);
    assert_eq!((code, line.is_empty()), (Some(2), false), "{line}");
    let (code, line) = error(&["model", "barrier", "-p", "0"]);
    assert_eq!(code, Some(2), "{line}");
    let (code, line) = error(&["model"]);
    assert_eq!(code, Some(2), "{line}");
}
