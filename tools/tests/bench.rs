//! The binary from outside: its tables, its exit codes, its complaints.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

const HEADER: &str = "op\talgorithm\ttype\tredop\tranks\tbytes\tcount\titerations\tns_min\tns_median\t\
                      ns_p99\tns_max\talgbw_gb_s\tbusbw_gb_s\twrong\tmodel_ns";

fn phalanx(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
    command.args(args.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

/// The rows of a tsv table that must come out well.
fn rows(args: &str) -> Vec<Vec<String>> {
    let out = phalanx(&format!("{args} --format tsv"));
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args}: {stderr}");
    let stdout = String::from_utf8(out.stdout).unwrap();
    let mut lines = stdout.lines();
    assert_eq!(lines.next(), Some(HEADER));
    let rows: Vec<Vec<String>> =
        lines.map(|line| line.split('\t').map(String::from).collect()).collect();
    for row in &rows {
        assert_eq!(row.len(), 16, "{row:?}");
        assert_eq!(row[14], "0", "wrong elements: {row:?}");
        let ns: Vec<f64> = row[8..12].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(ns[0] > 0.0 && ns.is_sorted(), "{row:?}");
    }
    rows
}

#[test]
fn every_operation_is_right() {
    for (p, sizes) in [(1, 3), (2, 3), (3, 3), (5, 3)] {
        let rows = rows(&format!("bench -p {p} -b 64 -e 1K -f 4 -n 3 -w 1"));
        assert_eq!(rows.len(), 11 * sizes + 1, "{p} ranks");
        assert!(rows.iter().all(|row| row[4] == p.to_string() && row[7] == "3"));
    }
}

#[test]
fn every_algorithm_is_right() {
    for p in [2, 3, 4, 6] {
        let rows = rows(&format!("bench -p {p} -a all -b 200 -e 200 -n 2 -w 0"));
        assert!(rows.len() > 50, "{p} ranks");
        assert!(rows.iter().any(|row| row[1] == "AR-FUSED"));
        assert_eq!(rows.iter().any(|row| row[1] == "AG-HCUBE"), p != 3 && p != 6);
    }
}

#[test]
fn types_and_operators_are_right() {
    for (ty, redop) in [
        ("i8", "prod"),
        ("u8", "sum"),
        ("i16", "min"),
        ("u16", "bxor"),
        ("i32", "lxor"),
        ("u32", "band"),
        ("u64", "bit-or"),
        ("i64", "and"),
        ("i32", "lor"),
        ("f32", "prod"),
        ("f64", "max"),
    ] {
        let rows = rows(&format!("bench -p 3 -t {ty} -r {redop} -b 72 -e 72 -n 2 --root all"));
        assert_eq!(rows.len(), 12, "{ty} {redop}");
    }
}

#[test]
fn what_is_asked_for_is_what_is_measured() {
    let row = &rows("bench all-reduce -p 2 -b 64 -e 64 -n 4 -t f32 -r max -a AR-RING")[0];
    assert_eq!(row[..8], ["all-reduce", "AR-RING", "f32", "max", "2", "64", "16", "4"]);
    assert_eq!(row[15], "");
    // Without operations: those of the algorithm.
    let rows_of = |args: &str| rows(args).iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(rows_of("bench -p 2 -a AG-RING -b 64 -e 64 -n 2"), ["all-gather"]);
    assert_eq!(rows_of("bench -p 2 -b 64 -e 64 -n 2 --in-place").len(), 7);
    let mesh = &rows("bench broadcast -p 6 --dims 3x2 --root 4 -b 64 -e 64 -n 2 --wait yield")[0];
    assert_eq!(mesh[1], "BC-MESH");
    rows("bench shift -p 3 --shift -2 -b 64 -e 64 -n 2 --placement compact");
}

#[test]
fn without_checks_nothing_is_said_of_them() {
    let out = phalanx("bench scan -p 2 -e 8 -n 2 --no-check --format tsv");
    let stdout = String::from_utf8(out.stdout).unwrap();
    assert_eq!(stdout.lines().nth(1).unwrap().split('\t').nth(14), Some(""));
}

#[test]
fn the_number_of_samples_fits_the_time() {
    let row = &rows("bench barrier -p 2")[0];
    assert!(row[7].parse::<usize>().unwrap() >= 5, "{row:?}");
}

#[test]
fn json_is_one_object() {
    let out = phalanx("bench all-gather barrier -p 2 -b 8 -e 64 -n 3 --format json");
    assert!(out.status.success());
    let object: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let rows = object["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for name in HEADER.split('\t') {
        assert!(rows.iter().all(|row| row.get(name).is_some()), "{name}");
    }
    assert_eq!(rows[0]["op"], "all-gather");
    assert!(rows[0]["ns_median"].is_number() && rows[0]["model_ns"].is_null());
    assert_eq!((&object["wrong"], &object["ranks"]), (&0.into(), &2.into()));
    assert!(object["machine"]["source"].is_string());
}

#[test]
fn text_says_where_it_was_measured() {
    let out = phalanx("bench reduce -p 2 -b 8 -e 64 -n 3");
    let text = String::from_utf8(out.stdout).unwrap();
    for wanted in ["topology from ", "2 ranks, placement auto, on PUs ", "# 2 rows, 0 wrong, "] {
        assert!(text.contains(wanted), "{text}");
    }
    // Progress is for terminals.
    assert!(out.stderr.is_empty());
}

#[test]
fn wrong_arguments_get_one_line() {
    for (args, wanted) in [
        ("", "accepted are bench"),
        ("bnch", "bench"),
        ("bench -p 0", "1 to 1024"),
        ("bench -p 1025", "1 to 1024"),
        ("bench -p -1", "1 to 1024"),
        ("bench -p two", "1 to 1024"),
        ("bench all-redcue", "did you mean all-reduce?"),
        ("bench -e 4Q", "K, M, G"),
        ("bench -b 0", "at least 1 byte"),
        ("bench -b 1M -e 1K", "smallest size 1M is above the largest 1K"),
        ("bench -p 2 -e 1024T", "memory"),
        ("bench -f 1", "at least 2"),
        ("bench -n 0", "at least 1 sample"),
        ("bench -t f46", "did you mean f64?"),
        ("bench -r summ", "did you mean sum?"),
        ("bench -t f32 -r band", "sum, prod, min and max"),
        ("bench --root 2 -p 2", "0 to 1"),
        ("bench --root first", "all"),
        ("bench --dims 2x2 -p 3", "4 ranks, not 3"),
        ("bench --dims 2by2 -p 4", "rows x columns"),
        ("bench -a AG-RNG", "did you mean AG-RING?"),
        ("bench -a AG-HCUBE -p 3", "AG-ANY serves any number"),
        ("bench broadcast -a AG-RING -p 2", "not for broadcast"),
        ("bench all-gather --in-place", "two buffers"),
        ("bench --placement scater", "did you mean scatter?"),
        ("bench --placement mesh:2x3 -p 2", "mesh:2x3"),
        ("bench --wait spim", "did you mean spin?"),
        ("bench --format tvs", "did you mean tsv?"),
        ("bench --fromat tsv", "--format"),
        ("bench barrier -p 2 -o /no/such/directory/file", "cannot be written"),
    ] {
        let out = phalanx(args);
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args}: {stderr}");
        assert!(out.stdout.is_empty(), "{args}");
        assert!(stderr.contains(wanted), "{args}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args}: {stderr}");
    }
}

#[test]
fn help_has_an_example() {
    for args in ["--help", "bench --help"] {
        let out = phalanx(args);
        assert!(out.status.success());
        assert!(String::from_utf8_lossy(&out.stdout).contains("phalanx bench all-reduce"));
    }
}

#[test]
fn a_file_takes_the_table() {
    let path = std::env::temp_dir().join(format!("phalanx-bench-{}.tsv", std::process::id()));
    let args = format!("bench barrier -p 2 -n 3 --format tsv -o {}", path.display());
    let out = phalanx(&args);
    let table = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(out.status.success() && out.stdout.is_empty());
    assert_eq!(table.lines().count(), 2);
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(["bench", "-p", "2", "-e", "64", "-n", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_what_there_is() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(["bench", "-p", "2", "-n", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    stdout.read_line(&mut text).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    stdout.read_to_string(&mut text).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    assert!(text.lines().any(|line| line.starts_with("broadcast ")), "{text}");
    assert!(text.trim_end().ends_with("interrupted"), "{text}");
    assert_eq!(String::from_utf8_lossy(&out.stderr), "phalanx: interrupted\n");
}
