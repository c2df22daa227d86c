//! Runs the program with random arguments taken from its own help: it must end soon, with exit code
//! 0, 1 or 2, and print an error as one line without a panic.
//!
//! `PHALANX_FUZZ=50 cargo test -p phalanx-bench --test arguments` tries 50 times as many, others
//! each time.

mod common;
#[path = "../../../tests/common/dice.rs"]
mod dice;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_phalanx");

/// Longer than anything asked for here takes, on a busy machine.
const LONGEST: Duration = Duration::from_secs(120);

/// The arguments that make a command right, and keep it short where it would do its full work.
const COMMANDS: [(&str, &[&str]); 10] = [
    ("bench", &["-n", "1", "-w", "0", "-e", "64"]),
    ("trace", &["AG-RING", "-p", "4"]),
    ("cost", &["AG-RING", "-p", "4"]),
    ("check", &["--ranks", "1..3"]),
    ("machine", &[]),
    ("place", &["-p", "4", "--topology", "ring"]),
    ("soak", &["--seconds", "1", "--runs", "2"]),
    ("latency", &["--samples", "1", "--pus", "0"]),
    ("bandwidth", &["--samples", "1", "-e", "16K"]),
    ("report", &["--from", "report.json"]),
];

/// A saved report; its first section is a run of `latency`.
const SAVED: &str = include_str!("../../report/tests/data/report.json");

/// Good and bad ones for every argument; no number of ranks between 9 and the most.
const VALUES: [&str; 74] = [
    "",
    " ",
    "-",
    "--",
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "-1",
    "-9223372036854775808",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1025",
    "65537",
    "1e9",
    "0.5",
    "-0.0",
    "nan",
    "inf",
    "1/3",
    "1/0",
    "2x2",
    "2x4",
    "0x4",
    "1x1x1x1x1x1x1x1",
    "4294967296x4294967296",
    "2x",
    "x",
    "1..3",
    "3..1",
    "..",
    "0..0",
    "1..99999999999999999999",
    "64",
    "64K",
    "4Q",
    "K",
    "99999999T",
    "all",
    "auto",
    "ring",
    "mesh",
    "mesh:2x2",
    "mesh:",
    "torus",
    "hypercube",
    "tree",
    "linear",
    "list:0",
    "list:0,0,0",
    "list:",
    "random:7",
    "random:",
    "unpinned",
    "AG-RING",
    "bc-hcube",
    "AG-HCUBE-",
    "TX-HCUBE-XOR",
    "all-reduce",
    "barrier",
    "f64",
    "sum",
    "text",
    "json",
    "tsv",
    "pack:2 [numa] l3:2 core:2 pu:1",
    "pack:2 core:99999999999",
    "/no/such/file",
    "/dev/null",
    "\u{fffd}\u{1f980}",
];

/// The commands with programs that are there: `cargo test --workspace` builds them beside this
/// test's.
fn commands() -> Vec<(&'static str, &'static [&'static str])> {
    let is_there = |&(command, _): &(&str, &[&str])| {
        let program = match command {
            "soak" => "phalanx-soak",
            "report" => "phalanx-report",
            _ => return true,
        };
        let there = common::beside(program).is_some();
        if !there {
            eprintln!("SKIPPED: {command}, as {program} is not built");
        }
        there
    };
    COMMANDS.into_iter().filter(is_there).collect()
}

struct Outcome {
    code: Option<i32>,
    stderr: String,
}

fn phalanx(dir: &std::path::Path, args: &[String]) -> Outcome {
    let file = dir.join("stderr");
    let mut child = Command::new(PROGRAM)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&file).unwrap())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LONGEST {
            child.kill().unwrap();
            panic!("does not end: phalanx {args:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let stderr = std::fs::read(&file).unwrap();
    Outcome { code: status.code(), stderr: String::from_utf8_lossy(&stderr).into_owned() }
}

/// The flags that a command's help names.
fn flags(command: &str) -> Vec<String> {
    let help = Command::new(PROGRAM).args([command, "--help"]).output().unwrap();
    assert!(help.status.success(), "{command}");
    let text = String::from_utf8(help.stdout).unwrap();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut flags: Vec<String> = text
        .lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .flat_map(|line| line.split_whitespace().take(2))
        .map(|word| word.trim_end_matches(|c| !is_letter(c)).to_string())
        .filter(|word| word.starts_with('-') && word.len() > 1)
        .collect();
    flags.sort();
    flags.dedup();
    // A report is a page, whatever the data.
    let own = if command == "report" { "--from" } else { "--format" };
    assert!(flags.iter().any(|f| f == own) && flags.len() > 3, "{command}: {flags:?}");
    flags
}

#[test]
fn random_arguments() {
    let scale: u64 = std::env::var("PHALANX_FUZZ").map_or(1, |n| n.parse().expect("a number"));
    let mut random = dice::Dice(if scale == 1 {
        1
    } else {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.expect("after 1970").as_nanos() as u64
    });
    let seed = random.0;
    let dir = format!("arguments-{}", std::process::id());
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(dir);
    std::fs::create_dir_all(&dir).unwrap();
    let saved: serde_json::Value = serde_json::from_str(SAVED).unwrap();
    std::fs::write(dir.join("report.json"), SAVED).unwrap();
    std::fs::write(dir.join("run.json"), saved["sections"][0]["result"].to_string()).unwrap();
    let commands = commands();
    let flags: Vec<_> = commands.iter().map(|(command, _)| flags(command)).collect();
    let mut codes: BTreeMap<(&str, i32), usize> = BTreeMap::new();
    for _ in 0..300 * scale {
        let which = random.below(commands.len());
        let (command, short) = commands[which];
        let mut args: Vec<String> = vec![command.to_string()];
        args.extend(short.iter().map(ToString::to_string));
        for _ in 0..random.below(5) {
            if random.below(4) > 0 {
                let flag = &flags[which][random.below(flags[which].len())];
                args.push(flag.clone());
            }
            if random.below(4) > 0 {
                args.push(random.of(&VALUES).to_string());
            }
        }
        // Now and then something else goes wrong.
        match random.below(12) {
            0 => drop(args.remove(random.below(args.len()))),
            1 => args.insert(random.below(args.len()), random.of(&VALUES).to_string()),
            _ => (),
        }
        let Outcome { code, stderr } = phalanx(&dir, &args);
        let said = format!("phalanx {args:?} (seed {seed}): {code:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{said}");
        let code = code.unwrap_or_else(|| panic!("killed: {said}"));
        assert!([0, 1, 2].contains(&code), "{said}");
        if code == 2 {
            assert!(stderr.starts_with("phalanx: ") && stderr.lines().count() == 1, "{said}");
        }
        *codes.entry((command, code)).or_default() += 1;
    }
    std::fs::remove_dir_all(&dir).unwrap();
    // Neither all right nor all wrong: otherwise not much was tried.
    println!("{codes:?}");
    for code in [0, 2] {
        let n: usize = codes.iter().filter(|(key, _)| key.1 == code).map(|(_, n)| n).sum();
        assert!(n >= 20, "exit code {code}: {n} times only: {codes:?}");
    }
}
