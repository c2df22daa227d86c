//! `phalanx latency`, `bandwidth` from outside: stable output, saved runs,
//! one core, error messages. No test asserts a speed.

mod common;

#[cfg(target_os = "linux")]
use common::on_one_core;
use common::{complaint, json, keys, scratch, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx");

fn units() -> usize {
    phalanx::machine::Machine::this().unwrap().allowed_pus().len()
}

const LATENCY: [&str; 16] = [
    "src",
    "dst",
    "ns_min",
    "ns_median",
    "ns_p10",
    "ns_p90",
    "samples",
    "place",
    "level",
    "via",
    "kind",
    "home",
    "ns_ci_low",
    "ns_ci_high",
    "outliers",
    "drift",
];

#[test]
fn latency_of_every_pair() {
    let n = units();
    if n < 2 {
        return eprintln!("skipped: one processing unit, no pairs");
    }
    let drawing = scratch("latency.svg");
    let args = ["latency", "--samples", "20", "--home", "both", "--pus", "0-1", "--svg"];
    let run = json(&[&args[..], &[drawing.to_str().unwrap()]].concat());
    let wanted = [
        "command",
        "version",
        "format",
        "date",
        "machine",
        "conditions",
        "pus",
        "groups",
        "columns",
        "notes",
        "rows",
    ];
    assert_eq!(keys(&run), wanted);
    assert_eq!(keys(&run["machine"]), ["cpu", "topology", "source", "emulated"]);
    let rows = run["rows"].as_array().unwrap();
    // Two directions; flags with either home, and the mailbox. A pair with cores that never stayed
    // put is a note.
    assert_eq!(rows.len() + run["notes"].as_array().unwrap().len(), 2 * 3, "{run:#}");
    for row in rows {
        assert_eq!(keys(row)[..16], LATENCY, "{row}");
        let ns = ["ns_min", "ns_p10", "ns_median", "ns_p90"].map(|k| row[k].as_f64().unwrap());
        assert!(ns[0] > 0.0 && ns.is_sorted(), "{row}");
        assert!(row["samples"].as_u64().unwrap() >= 1 && row["kind"] == "round-trip", "{row}");
        let ci = ["ns_ci_low", "ns_ci_high"].map(|k| row[k].as_f64().unwrap());
        assert!(ci[0] <= ns[2] + 0.1 && ns[2] <= ci[1] + 0.1, "{row}");
        assert!(
            ["none", "floor", "steal", "floor+steal"].contains(&row["drift"].as_str().unwrap())
        );
    }
    let conditions = &run["conditions"];
    assert!(conditions["clock_resolution_ns"].as_f64().unwrap() > 0.0, "{conditions}");
    assert!(conditions["clock_overhead_ns"].as_f64().unwrap() > 0.0, "{conditions}");
    assert_eq!(conditions["confidence"], 0.95);
    let drawing_text = std::fs::read_to_string(&drawing).unwrap();
    std::fs::remove_file(&drawing).unwrap();
    assert!(drawing_text.starts_with("<svg") && drawing_text.ends_with("</svg>\n"));

    let table =
        text(&["latency", "--samples", "5", "--via", "flag", "--format", "tsv", "--pus", "0-1"]);
    assert_eq!(table.lines().next().unwrap(), LATENCY.join("\t"));
    assert!(table.lines().skip(1).all(|line| line.split('\t').count() == LATENCY.len()), "{table}");
    let eyes = text(&["latency", "--samples", "5", "--one-way", "--pus", "0-1"]);
    assert!(eyes.starts_with("# phalanx latency: ") && !eyes.contains('\x1b'), "{eyes}");
    assert!(eyes.contains("# clock: ") && eyes.contains("stolen by the host"), "{eyes}");
}

/// One run with all: there and back and one way, by flags on pages of either home and by mailbox.
#[test]
fn all_ways_are_measured_in_one_run() {
    if units() < 2 {
        return eprintln!("skipped: one processing unit, no pairs");
    }
    let run = json(&["latency", "--all", "--samples", "12", "--pus", "0-1"]);
    let rows = run["rows"].as_array().unwrap();
    // A pair that moved all the time, or with clocks that disagree, is a note.
    assert_eq!(rows.len() + run["notes"].as_array().unwrap().len(), 2 * 6, "{run:#}");
    let mut ways: Vec<String> = rows
        .iter()
        .map(|row| ["kind", "via", "home"].map(|key| row[key].as_str().unwrap()).join(" "))
        .collect();
    ways.sort_unstable();
    ways.dedup();
    let wanted = [
        "one-way flag dst",
        "one-way flag src",
        "one-way mailbox library",
        "round-trip flag dst",
        "round-trip flag src",
        "round-trip mailbox library",
    ];
    assert!(ways.iter().all(|way| wanted.contains(&way.as_str())), "{ways:?}");
    if run["notes"].as_array().unwrap().is_empty() {
        assert_eq!(ways, wanted);
    }
    assert!(complaint(&["latency", "--all", "--one-way"]).contains("--one-way"));
}

#[test]
fn bandwidth_by_size() {
    let args = ["bandwidth", "copy", "read", "-b", "16K", "-e", "64K", "-f", "4", "--samples", "5"];
    let run = json(&[&args[..], &["--pus", "0"]].concat());
    let rows = run["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{run:#}");
    for row in rows {
        let (bytes, ns) = (row["bytes"].as_f64().unwrap(), row["ns_median"].as_f64().unwrap());
        let rate = row["gb_s"].as_f64().unwrap();
        assert!((rate - bytes / ns).abs() <= 0.02 * rate, "{row}");
        assert_eq!(
            (&row["src"], &row["dst"], &row["level"]),
            (&0.into(), &0.into(), &"core".into())
        );
    }
    if units() < 2 {
        return eprintln!("skipped: one processing unit, no pairs");
    }
    let table = text(&[&args[..], &["--pus", "0-1", "--format", "tsv"]].concat());
    let header = table.lines().next().unwrap();
    assert!(header.starts_with("src\tdst\tns_min\tns_median\t"), "{header}");
    assert!(header.contains("\tlevel\top\tbytes\tgb_s\tns_ci_low\t"), "{header}");
    // Of all cores at once there are two buffers' bytes.
    for line in table.lines().filter(|line| line.starts_with("all\t")) {
        let cells: Vec<&str> = line.split('\t').collect();
        assert!(["32768", "131072"].contains(&cells[10]), "{line}");
    }
    let eyes = text(&[&args[..], &["--pus", "0-1"]].concat());
    assert!(eyes.contains("GB/s, by bytes of a buffer") && eyes.contains("16K"), "{eyes}");
}

#[cfg(target_os = "linux")]
#[test]
fn one_core_is_said_so() {
    on_one_core(|| {
        let run = json(&["latency"]);
        assert_eq!(run["rows"].as_array().unwrap().len(), 0);
        assert!(run["notes"][0].as_str().unwrap().contains("there is no pair"), "{run:#}");
        let eyes = text(&["latency"]);
        assert!(eyes.contains("one processing unit") && !eyes.contains("medians"), "{eyes}");
        assert_eq!(text(&["latency", "--format", "tsv"]).lines().count(), 1);
        let args = ["bandwidth", "copy", "-b", "16K", "-e", "16K", "--samples", "3"];
        let run = json(&args);
        assert_eq!(run["rows"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn wrong_arguments() {
    for (args, wanted) in [
        (&["latency", "--via", "mialbox"][..], "did you mean mailbox?"),
        (&["latency", "--home", "scr"], "did you mean src?"),
        (&["latency", "--samples", "0"], "accepted are 1 to 1000000"),
        (&["latency", "--pus", "0-"], "0-3,8"),
        (&["latency", "--pus", "9999"], "PU 9999 does not exist"),
        (&["latency", "--places", "1"], "limits of places"),
        (&["latency", "--pus", "0", "--svg", "/no/such/dir/x.svg"], "/no/such/dir/x.svg"),
        (&["bandwidth", "cpoy"], "did you mean copy?"),
        (&["bandwidth", "-b", "4M", "-e", "1M"], "above the largest"),
        (&["bandwidth", "-e", "1024T"], "memory"),
        (&["bandwidth", "-f", "1"], "at least 2"),
        (&["latency", "--svg", env!("CARGO_TARGET_TMPDIR")], "cannot be written: Is a directory"),
        (&["bandwidth", "--svg", env!("CARGO_TARGET_TMPDIR")], "cannot be written: Is a directory"),
    ] {
        let line = complaint(args);
        assert!(line.contains(wanted), "{args:?}: {line}");
    }
}

#[test]
fn help_has_an_example() {
    for command in ["latency", "bandwidth"] {
        for help in ["-h", "--help"] {
            let out = text(&[command, help]);
            assert!(out.contains(&format!("Example:\n  phalanx {command}")), "{out}");
        }
    }
}
