//! `phalanx bench` from outside: tables, exit codes, error messages.

use phalanx::schedule::Operation;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

const HEADER: &str = "op\talgorithm\ttype\tredop\tranks\tbytes\tcount\titerations\tns_min\t\
                      ns_median\tns_p99\tns_max\talgbw_gb_s\tbusbw_gb_s\twrong\tmodel_ns\tplace\t\
                      floor_ns\tfloor_ratio\tns_ci_low\tns_ci_high\toutliers\trounds\t\
                      spread_percent\tdropped\tdrift\tcalls_per_iteration\tmodel_by\tcaches\tcores";

fn phalanx(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
    let command = command.args(args.split_whitespace()).stdin(Stdio::null());
    // A profile of this machine would change the choice.
    command.env("PHALANX_PROFILE", "").output().unwrap()
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
        assert_eq!(row.len(), 30, "{row:?}");
        assert_eq!(row[14], "0", "wrong elements: {row:?}");
        let ns: Vec<f64> = row[8..12].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(ns[0] > 0.0 && ns.is_sorted(), "{row:?}");
        let ci: Vec<f64> = row[19..21].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(ns[0] <= ci[0] && ci[0] <= ns[1] && ns[1] <= ci[1] && ci[1] <= ns[3], "{row:?}");
        assert!(["smt", "ccx", "far", "any"].contains(&row[16].as_str()), "{row:?}");
    }
    rows
}

#[test]
fn every_operation_is_right() {
    for (p, sizes) in [(1, 3), (2, 3), (3, 3), (5, 3)] {
        let rows = rows(&format!("bench -p {p} -b 64 -e 1K -f 4 -n 3 -w 1"));
        assert_eq!(rows.len(), (Operation::ALL.len() - 1) * sizes + 1, "{p} ranks");
        assert!(rows.iter().all(|row| row[4] == p.to_string() && row[7] == "3"));
    }
}

#[test]
fn every_form_of_an_operation_is_right() {
    let forms = "all-gather-varied all-to-all-varied reduce-scatter-varied scatter-varied \
                 gather-varied all-to-all-neighbors";
    for p in [2, 3, 5] {
        let rows = rows(&format!("bench {forms} -p {p} --sizes 64,40K -n 3 -w 1"));
        let names: Vec<&str> = rows.iter().step_by(2).map(|row| row[0].as_str()).collect();
        assert_eq!(names, forms.split_whitespace().collect::<Vec<_>>(), "{p} ranks");
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
fn operators_are_right() {
    for redop in ["sum", "prod", "min", "max"] {
        let rows = rows(&format!("bench -p 3 -r {redop} -b 72 -e 72 -n 2 --root all"));
        assert_eq!(rows.len(), Operation::ALL.len(), "{redop}");
    }
}

#[test]
fn what_is_asked_for_is_what_is_measured() {
    let row = &rows("bench all-reduce -p 2 -b 64 -e 64 -n 4 -r max -a AR-RING")[0];
    assert_eq!(row[..8], ["all-reduce", "AR-RING", "f64", "max", "2", "64", "8", "4"]);
    assert_eq!((row[15].as_str(), row[27].as_str()), ("", "none"), "without a profile");
    // Without operations: those of the algorithm.
    let rows_of = |args: &str| rows(args).iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(rows_of("bench -p 2 -a AG-RING -b 64 -e 64 -n 2"), ["all-gather"]);
    assert_eq!(rows_of("bench -p 2 -b 64 -e 64 -n 2 --in-place").len(), 7);
    let mesh = &rows("bench broadcast -p 6 --dims 3x2 --root 4 -b 64 -e 64 -n 2 --wait yield")[0];
    assert_eq!(mesh[1], "BC-MESH");
    rows("bench shift -p 3 --shift -2 -b 64 -e 64 -n 2 --placement compact");
}

#[test]
fn a_place_needs_a_core_for_each_rank() {
    for args in ["bench all-reduce -p 1", "bench barrier -p 9 --wait yield"] {
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 9) {
            eprintln!("skipped: 9 ranks have a core each here");
            continue;
        }
        let row = &rows(&format!("{args} -e 8 -n 3"))[0];
        assert_eq!((row[16].as_str(), row[17].as_str(), row[18].as_str()), ("any", "", ""));
        assert!(!row[25].contains("place") && row[24] == "0", "{row:?}");
    }
}

#[test]
fn rounds_calls_and_buffers_are_as_asked_for() {
    let row = &rows("bench scan -p 2 -b 64 -e 64 -n 12 --rounds 3 --calls 7")[0];
    assert_eq!((row[7].as_str(), row[26].as_str()), ("12", "7"));
    assert!(row[22].parse::<usize>().unwrap() >= 3, "{row:?}");
    let cores: f64 = row[29].parse().unwrap_or(1.0);
    assert!(cores > 0.0 && cores <= 2.1, "{row:?}");
    // In place, and out of place: both are right.
    for op in ["broadcast", "reduce", "all-reduce", "scan", "exclusive-scan", "shift"] {
        rows(&format!("bench {op} -p 3 -b 8 -e 4K -n 4 --out-of-place --root all"));
    }
    let by_place = rows("bench barrier -p 2 --by-place --time 50");
    let places: Vec<&str> = by_place.iter().map(|row| row[16].as_str()).collect();
    let mut unique = places.clone();
    unique.dedup();
    assert_eq!(places, unique);
    // Every exchange is below a second, so that all of them are at one place.
    let row = &rows("bench barrier -p 2 -n 10 --places 1e9,2e9")[0];
    assert!(row[16] == "smt" || row[16] == "any", "{row:?}");
}

#[test]
fn without_checks_nothing_is_said_of_them() {
    let out = phalanx("bench scan -p 2 -e 8 -n 2 --no-check --format tsv");
    let stdout = String::from_utf8(out.stdout).unwrap();
    assert_eq!(stdout.lines().nth(1).unwrap().split('\t').nth(14), Some(""));
}

#[test]
fn the_caches_are_a_column() {
    let caches = |args: &str| -> Vec<String> {
        rows(&format!("bench all-to-all -p 2 -n 3 {args}"))
            .into_iter()
            .map(|r| r[28].clone())
            .collect()
    };
    assert_eq!(caches("--sizes 64"), ["warm"]);
    assert_eq!(caches("--sizes 64,40K --caches both"), ["warm", "cold", "warm", "cold"]);
    let out = phalanx("bench scan -p 2 --sizes 8 -n 3 --caches cold");
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("\n# caches cold: each rank's buffers are thrown out of all"), "{text}");
    let lines = table("bench scan -p 2 --sizes 8 -n 3 --caches both");
    assert_eq!((lines[0][1].as_str(), lines[2][1].as_str()), ("caches", "cold"), "{lines:?}");
}

/// The program's answers to these lines on its standard input, and its exit code.
fn turns(p: usize, lines: &str) -> (Vec<String>, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
    let args = format!("bench --turns --no-check -p {p}");
    command.args(args.split_whitespace()).env("PHALANX_PROFILE", "");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let answers = String::from_utf8(out.stdout).unwrap();
    (answers.lines().map(String::from).collect(), out.status.code())
}

#[test]
fn slices_are_measured_as_they_are_asked_for() {
    let rows =
        ["all-gather 8 warm", "all-gather.b2b 8 cold", "barrier 0 warm", "all-gather.b2b 64K warm"];
    let rows = rows.map(|row| row.replace("64K", "65536"));
    let asked = rows.iter().map(|row| format!("row {row} 1\n")).collect::<String>();
    let (answers, code) = turns(2, &format!("place\n{asked}row nothing 8 warm 1\nend\nplace\n"));
    assert_eq!(code, Some(0), "{answers:?}");
    // One line for each, and none behind the end.
    assert_eq!(answers.len(), 2 + rows.len() + 1, "{answers:?}");
    assert!(answers[0] == "ready" && answers[1].starts_with("place "), "{answers:?}");
    for (row, answer) in rows.iter().zip(&answers[2..]).take(3) {
        let is_slice = answer.starts_with(&format!("slice {row} "));
        // The cores may move at any time.
        assert!(is_slice || *answer == format!("moved {row}"), "{answers:?}");
    }
    // 64 KiB have no calls back to back.
    assert_eq!(answers[5..], ["absent all-gather.b2b 65536 warm", "absent nothing 8 warm"]);
    let (answers, code) = turns(2, "hello\n");
    assert_eq!((answers, code), (vec!["ready".to_string()], Some(2)));
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
    assert!(rows[0]["ns_median"].is_number());
    assert!(rows.iter().all(|row| row["model_by"] == "none" && row["model_ns"].is_null()));
    assert_eq!((&object["wrong"], &object["ranks"]), (&0.into(), &2.into()));
    assert!(object["machine"]["source"].is_string());
}

/// `--statistics` shows the counts of the row's calls.
#[test]
fn the_statistics_are_of_the_calls_of_the_row() {
    let args = "bench all-reduce barrier -p 2 --sizes 64 -n 3 -w 1 --statistics";
    let out = phalanx(&format!("{args} --format json"));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let object: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    for (row, method) in object["rows"].as_array().unwrap().iter().zip(["all_reduce", "barrier"]) {
        let of_methods = row["statistics"].as_array().unwrap();
        let [it] = &of_methods[..] else { panic!("{row}") };
        assert_eq!(it["operation"], method);
        let number = |name: &str| it[name].as_u64().unwrap();
        // Three samples, and a warm one in each of as many rounds; the check of a barrier is a
        // barrier. There may be more rounds.
        let in_a_sample = row["calls_per_iteration"].as_u64().unwrap();
        let of_a_sample = 2 * (in_a_sample + u64::from(method == "barrier"));
        let samples = number("calls") / of_a_sample;
        assert!(number("calls") % of_a_sample == 0 && samples >= 6, "{row}");
        let bytes = if method == "barrier" { 0 } else { 64 };
        assert_eq!(number("call_bytes"), bytes * number("calls"), "{row}");
        assert!(number("waits") > 0 && number("waited_ns") >= number("waits"), "{row}");
    }
    let tsv = String::from_utf8(phalanx(&format!("{args} --format tsv")).stdout).unwrap();
    let mut lines = tsv.lines();
    let header = format!("{HEADER}\tcalls\tcall_bytes\twaits\twaited_ns");
    assert_eq!(lines.next(), Some(&header[..]));
    assert!(lines.all(|line| line.split('\t').count() == header.split('\t').count()), "{tsv}");
    let text = String::from_utf8(phalanx(args).stdout).unwrap();
    assert!(text.contains("\n#   all_reduce: ") && text.contains("\n#   barrier: "), "{text}");
    // Nothing of it without the switch: `rows` compares the header.
    rows("bench barrier -p 2 -n 3");
}

/// A profile's rates are the model's, and the first line of a table says so.
#[test]
fn the_model_goes_by_the_profile() {
    let machine = phalanx::machine::Machine::this().unwrap();
    if machine.cores().len() < 2 {
        return eprintln!("skipped: one core, no message");
    }
    let mut profile = phalanx::tuning::Profile::of(&machine, "test");
    let levels = ["core", "l2", "l3", "group", "numa", "package", "machine"];
    let all = levels.iter().flat_map(|l| ["smt", "ccx", "far", "any"].map(|p| (*l, p)));
    for (level, place) in all {
        let rates = phalanx::tuning::LevelRates {
            level: level.into(),
            place: place.into(),
            t_s_ns: 1000.0,
            t_s_ci: [1000.0; 2],
            t_w_ns_per_byte: 2.0,
            t_w_ci: [2.0; 2],
            samples: 1,
            pieces: Vec::new(),
        };
        profile = profile.with_level(rates).unwrap();
    }
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{}-model.json", std::process::id()));
    std::fs::write(&path, profile.to_json()).unwrap();
    let run = |format: &str, more: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
        command.args(["bench", "broadcast", "-p", "2", "-a", "BC-ANY", "-b", "80", "-e", "80"]);
        command.args(["-n", "3", "--format", format]).env("PHALANX_PROFILE", &path);
        command.args(more.split_whitespace());
        let out = command.stdin(Stdio::null()).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let table = run("tsv", "");
    let row: Vec<&str> = table.lines().nth(1).unwrap().split('\t').collect();
    // One message of 80 bytes.
    assert_eq!((row[15], row[27]), ("1160.0", "profile"), "{table}");
    assert!(run("text", "--wide").contains("# model: the textbook's, by profile '"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn text_says_where_it_was_measured() {
    let out = phalanx("bench reduce -p 2 -b 8 -e 64 -n 3 --wide");
    let text = String::from_utf8(out.stdout).unwrap();
    for wanted in ["topology from ", "2 ranks, placement auto, on PUs ", "# 2 rows, 0 wrong, "] {
        assert!(text.contains(wanted), "{text}");
    }
    // Progress is for terminals.
    assert!(out.stderr.is_empty());
}

/// The lines of a text that are no comments, as words; the header without its blanks.
fn table(args: &str) -> Vec<Vec<String>> {
    let out = phalanx(args);
    assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.lines().all(|line| line.len() <= 100) || args.contains("--wide"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(String::from).collect()).collect()
}

#[test]
fn text_is_short_unless_it_is_to_be_wide() {
    let lines = table("bench reduce barrier -p 2 -b 8 -e 64 -n 3");
    let head = "operation bytes median ns model ns GB/s floor ns x floor";
    assert_eq!(lines[0].join(" "), head);
    let firsts: Vec<&str> = lines[1..].iter().map(|line| line[0].as_str()).collect();
    assert_eq!(firsts, ["reduce", "reduce", "barrier"]);
    // The last word of some: moved, or apart.
    assert!(lines[1..].iter().all(|line| [7, 8].contains(&line.len())), "{lines:?}");
    assert_eq!(lines[1][1], "8");
    assert!(lines[1][2].parse::<f64>().unwrap() > 0.0 && lines[1][3] == "-", "{lines:?}");
    // An algorithm that was asked for is named; so is each place.
    let lines = table("bench reduce -p 2 -b 8 -e 8 -n 3 -a RED-RING --by-place");
    assert_eq!(lines[0][..3], ["operation", "algorithm", "place"]);
    assert_eq!(lines[1][1], "RED-RING");
    let wide = table("bench reduce -p 2 -b 8 -e 8 -n 3 --wide");
    for unit in ["algbw", "busbw", "p99", "model", "drift"] {
        assert!(wide[0].iter().any(|word| word == unit), "{wide:?}");
    }
    assert!(wide[1].len() >= 19, "{wide:?}");
    // tsv is wide anyway.
    let tsv = phalanx("bench barrier -p 2 -n 3 --format tsv --wide");
    assert!(String::from_utf8_lossy(&tsv.stdout).starts_with(HEADER));
}

#[test]
fn wrong_arguments_get_one_line() {
    for (args, wanted) in [
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
        ("bench --caches cool", "accepted are warm, cold, both"),
        ("bench all-to-all-neighbors -p 1", "one rank has no neighbours"),
        ("bench all-to-all-neighbors -p 2 -a all", "has no algorithms"),
        ("bench --rounds 0", "1 to 1000"),
        ("bench --calls 0", "1 to 1024"),
        ("bench --time -1", "ms"),
        ("bench --places 130,40", "two times in ns"),
        ("bench --in-place --out-of-place", "cannot be used with"),
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
fn the_name_alone_asks_for_help() {
    let (alone, help) = (phalanx(""), phalanx("-h"));
    assert!(alone.status.success() && alone.stderr.is_empty());
    assert_eq!(alone.stdout, help.stdout);
    assert!(String::from_utf8_lossy(&alone.stdout).contains("  bench "));
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

/// What a command prints that gets a Ctrl-C a moment after its first line, and on the standard
/// error. When it returns the process is gone, and with it every thread.
#[cfg(unix)]
fn interrupted(args: &str) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(args.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    stdout.read_line(&mut text).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    stdout.read_to_string(&mut text).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    (text, String::from_utf8(out.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_what_there_is() {
    let (text, stderr) = interrupted("bench -p 2 -n 1000000000");
    assert!(text.lines().any(|line| line.starts_with("broadcast ")), "{text}");
    assert!(text.trim_end().ends_with("interrupted"), "{text}");
    assert_eq!(stderr, "phalanx: interrupted\n");
}

/// Also where ranks share cores and spin: everybody leaves the current sample.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_crowded_run() {
    let what = "bench all-reduce -p 5 -b 1M -n 1000000000 --format tsv --wait yield";
    let (text, _) = interrupted(what);
    assert!(text.starts_with("op\t"), "{text}");
    assert!(text.lines().skip(1).all(|line| line.split('\t').nth(14) == Some("0")), "{text}");
}
