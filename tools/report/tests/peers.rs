//! `phalanx peers` from outside: it reports missing peers, merges measurements, and leaves no
//! process behind after Ctrl-C.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn phalanx(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx-report"));
    command.args(args.split_whitespace()).stdin(Stdio::null());
    command
}

fn text(out: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&out.stdout), text(&out.stderr))
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("phalanx-peers-test-{}-{name}", std::process::id()))
}

const CANNED: &str = "\
library\toperation\tranks\tbytes\tns_min\tns_median\tgb_s\tplace\tcaches\tsamples
phalanx\tallreduce\t2\t8\t70.0\t90.0\t0.1\tccx\twarm\t9
phalanx\tallreduce\t2\t8\t60.0\t110.0\t0.1\tccx\twarm\t9
phalanx\tallreduce\t2\t1024\t60.0\t300.0\t0.1\tccx\twarm\t9
openmpi-sm\tallreduce\t2\t8\t150.0\t250.0\t0.1\tccx\twarm\t9
mpich\tallreduce_inplace\t2\t8\t150.0\t200.0\t0.1\tccx\twarm\t9
mpich\tallreduce_inplace\t2\t1024\t150.0\t200.0\t0.1\tccx\twarm\t9
";

#[test]
fn rows_that_are_there_are_merged() {
    let (raw, svg) = (file("raw.tsv"), file("plot.svg"));
    std::fs::write(&raw, CANNED).unwrap();
    let args = format!("peers --rounds 0 --raw {} --svg {}", raw.display(), svg.display());
    let out = phalanx(&format!("{args} --format tsv")).output().unwrap();
    let (tsv, stderr) = text(&out);
    assert!(out.status.success(), "{stderr}");
    let header = "op\tranks\tbytes\tplace\tns_ours\truns_ours\tspread_percent_ours\tns_floor\t\
                  ns_openmpi\tns_mpich\tns_openmp\tbest_peer\tratio_best_peer\tratio_floor\t\
                  verdict\tcaches\tns_ci_low_ours\tns_ci_high_ours\tns_ci_low_best_peer\t\
                  ns_ci_high_best_peer\tcores_ours\tcores_best_peer";
    let lines: Vec<&str> = tsv.lines().collect();
    assert_eq!(
        lines,
        [
            header,
            "allreduce\t2\t8\tccx\t100.0\t2\t20.0\t\t250.0\t200.0\t\tmpich (in place)\t0.5\t\twin\t\
             warm\t90.0\t110.0\t200.0\t200.0\t\t",
            "allreduce\t2\t1024\tccx\t300.0\t1\t0.0\t\t\t200.0\t\tmpich (in place)\t1.5\t\tloss\t\
             warm\t300.0\t300.0\t200.0\t200.0\t\t",
        ]
    );
    let plot = std::fs::read_to_string(&svg).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("allreduce"));
    let (markdown, _) = text(&phalanx(&args).output().unwrap());
    assert!(markdown.contains("300/200 = **1.50 LOSS**"), "{markdown}");
    let json = phalanx(&format!("{args} --format json")).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["rows"][1]["verdict"], "loss");
    std::fs::write(&raw, CANNED.replace("\tccx", "\tcxc")).unwrap();
    let out = phalanx(&args).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out).1.contains("no row"), "{}", text(&out).1);
    std::fs::remove_file(raw).unwrap();
    std::fs::remove_file(svg).unwrap();
}

#[test]
fn missing_peers_are_said() {
    let empty = file("empty");
    std::fs::create_dir(&empty).unwrap();
    let args = "peers barrier --quick --rounds 1 --slice 1 --limit 5";
    let out = phalanx(args).env("PATH", &empty).output().unwrap();
    std::fs::remove_dir(&empty).unwrap();
    let (stdout, stderr) = text(&out);
    assert!(out.status.success(), "{stderr}");
    for wanted in [
        "without floor: no gcc or clang or cc found; needs a C compiler",
        "without openmp-gcc: no gcc found; needs gcc with libgomp",
        "without openmp-clang: no clang found; needs clang with libomp-dev",
        "without openmpi: no mpicc.openmpi and mpirun.openmpi found; needs Open MPI",
        "without mpich: no mpicc.mpich and mpirun.mpich found; needs MPICH",
    ] {
        assert!(stderr.contains(wanted) && stdout.contains(wanted), "{stderr}\n{stdout}");
    }
    assert_eq!(stdout.contains("DEBUG BUILD"), cfg!(debug_assertions), "{stdout}");
    // Ours is there all the same.
    assert!(stdout.contains("| barrier |"), "{stdout}");
}

#[test]
fn what_this_machine_has_takes_part() {
    let raw = file("live.tsv");
    let args = format!(
        "peers allreduce --quick --sizes 64,64K --caches both --rounds 1 --slice 1 --limit 20 \
         --format tsv --raw {}",
        raw.display()
    );
    let out = phalanx(&args).output().unwrap();
    let (stdout, stderr) = text(&out);
    assert!(out.status.success(), "{stderr}");
    assert!(stdout.lines().count() >= 2, "{stdout}{stderr}");
    let rows = std::fs::read_to_string(&raw).unwrap();
    std::fs::remove_file(raw).unwrap();
    let has = |library: &str, caches: &str| {
        rows.lines().any(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            cells[0].starts_with(library) && cells.get(8) == Some(&caches)
        })
    };
    for caches in ["warm", "cold"] {
        assert!(has("phalanx", caches), "{caches}: {rows}");
    }
    for peer in ["floor", "openmp-gcc", "openmpi", "mpich"] {
        let said = stderr.contains(&format!("without {peer}")) || stderr.contains(" ranks: ");
        if !has(peer, "warm") {
            // Not there, or without a row in the time that it had; either is said.
            eprintln!("skipped: {peer} took no part here: {stderr}");
            assert!(said, "{peer} is missing in silence: {rows}");
        }
    }
}

#[test]
fn wrong_arguments_get_one_line() {
    for (args, wanted) in [
        ("peers alreduce", "did you mean allreduce?"),
        ("peers -p 1", "2 to 64"),
        ("peers --seek ccxx", "did you mean ccx?"),
        ("peers --seek nera", "unknown place 'nera'; accepted are"),
        ("peers --sizes 4Q", "K, M, G"),
        ("peers --caches wram", "did you mean warm?"),
        ("peers --slice 0", "more than 0"),
        ("peers --limit=-1", "more than 0"),
        ("peers --mpi no-such-directory", "has no bin/mpicc"),
        ("peers --ours no-such-directory", "has no bin/phalanx-mpicc"),
    ] {
        let out = phalanx(args).output().unwrap();
        let (_, stderr) = text(&out);
        assert_eq!(out.status.code(), Some(2), "{args}: {stderr}");
        assert!(stderr.contains(wanted) && stderr.lines().count() == 1, "{args}: {stderr}");
    }
}

/// The processes with command lines that have `mark`.
#[cfg(target_os = "linux")]
fn marked(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark)).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_nobody_behind() {
    use std::time::{Duration, Instant};
    // All wait for a place that does not exist for as long as they may.
    let mark = format!("0.{}1", std::process::id());
    let args = format!("peers barrier --quick --seek smt --limit 600 --places 0,{mark}");
    let mut child = phalanx(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let soon = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let asked = Instant::now();
        while !is_so() {
            assert!(asked.elapsed() < Duration::from_secs(120), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // One is the command, the other the one of ours that takes turns.
    soon("a program is started", &mut || marked(&mark).len() > 1);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    soon("it ends", &mut || child.try_wait().unwrap().is_some());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", text(&out).1);
    soon("nobody is left", &mut || marked(&mark).is_empty());
}
