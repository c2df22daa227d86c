//! `phalanx soak` finds the faults that it looks for: a run that leaves nothing behind passes, a
//! run that loses two hundred bytes in every script fails, and so does a slow one. A failure tells
//! the command that repeats it. Its load runs in the scheduler group that was asked for, and never
//! outlives it.
//!
//! Programs of their own: the count is the process's, and other tests allocate, too.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Three teams and a part of a fourth. The time is a bound for a machine that does other things.
fn soak(more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phalanx-soak"))
        .args(["soak", "-p", "2", "--seed", "5", "--runs", "125", "--seconds", "100000"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn nothing_is_left_behind() {
    let output = soak(&["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &table["rows"][0];
    assert_eq!((&row["ranks"], &row["runs"]), (&2.into(), &125.into()));
    assert!(row["faults"].as_u64() > Some(0) && row["failed_runs"].as_u64() > Some(0), "{row}");
    let [first, last] = ["heap_first", "heap_last"].map(|name| row[name].as_i64().unwrap());
    assert!(last <= first + 4096, "{row}");
}

#[test]
fn a_small_leak_is_found() {
    let output = soak(&["--leak", "200"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the heap has grown from") && text.contains("seed 5"), "{text}");
}

/// The command that a failure tells, as arguments.
fn told(text: &str) -> Vec<String> {
    let command = text.rsplit_once("again with: phalanx ").expect(text).1;
    command.lines().next().unwrap().split_whitespace().map(str::to_string).collect()
}

/// Its last line: the failure.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    text.lines().last().unwrap().to_string()
}

#[test]
fn a_crawl_is_found() {
    // 10 ms a call, where the old waiting took 2 to 7 beside busy threads: 640 ms or more for the
    // calls of a script of short ones, which take 1 to 30 at a `std::sync::Barrier`.
    let line = last_line(&soak(&["--crawl", "10000"]));
    assert!(
        line.contains("a run crawls") && line.contains("the fastest of 10 took longer"),
        "{line}"
    );
    let again =
        Command::new(env!("CARGO_BIN_EXE_phalanx-soak")).args(told(&line)).output().unwrap();
    assert!(last_line(&again).contains("a run crawls"), "{line}");
}

#[test]
fn a_failure_tells_the_command_that_makes_it_again() {
    // The first team's 4th and 40th run, the run on own threads after it and after a team that
    // yields, and a run of a further team.
    for seed in ["8", "44", "45", "50", "127"] {
        let line = last_line(&soak(&["--wrong", seed]));
        assert!(line.contains(&format!("taken for wrong; seed {seed}, run ")), "{line}");
        assert_eq!(line.contains("on own threads"), ["45", "50"].contains(&seed), "{line}");
        let again = Command::new(env!("CARGO_BIN_EXE_phalanx-soak"))
            .args(told(&line))
            .args(["--wrong", seed])
            .output()
            .unwrap();
        // The same run of the same team, which waits and counts in the same way.
        assert_eq!(last_line(&again), line);
    }
}

#[test]
fn wrong_loads_are_told() {
    for (args, wanted) in [
        (["--load", "65"], "'65' is no number of busy processes; 0 to 64 are"),
        (["--load", "some"], "'some' is no number of busy processes"),
        (["--load-group", "smae"], "did you mean same? accepted are same, other"),
    ] {
        let output = soak(&args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}

/// A process as `/proc` shows it.
#[derive(Debug)]
struct Process {
    id: u32,
    parent: u32,
    session: u32,
    /// Clock ticks of work.
    ticks: u64,
}

impl Process {
    /// Nothing if it has gone, or has ended and waits to be buried.
    fn read(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name, in parentheses, may have anything in it.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |i: usize| fields[i].parse::<u64>().ok();
        let is_busy = fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?.contains("busy");
        (!matches!(fields[0], "Z" | "X") && is_busy).then_some(())?;
        Some(Process {
            id,
            parent: number(1)? as u32,
            session: number(3)? as u32,
            ticks: number(11)? + number(12)?,
        })
    }

    /// The busy processes of `parent`.
    fn load_of(parent: u32) -> Vec<Self> {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(Process::read).filter(|process| process.parent == parent).collect()
    }
}

/// Looks until there is something to see; in vain for a time that no machine needs.
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}: not within two minutes");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A soak beside two busy processes, and those.
fn loaded(group: &str, more: &[&str]) -> (Child, Vec<Process>) {
    let soak = Command::new(env!("CARGO_BIN_EXE_phalanx-soak"))
        .args(["soak", "-p", "2", "--load", "2", "--load-group", group])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let load = until("the load", || {
        let load = Process::load_of(soak.id());
        // Each works, and has had the time to move to its group.
        (load.len() == 2 && load.iter().all(|process| process.ticks > 5)).then_some(load)
    });
    (soak, load)
}

fn is_gone(load: &[Process]) {
    until("the end of the load", || {
        load.iter().all(|process| Process::read(process.id).is_none()).then_some(())
    });
}

#[test]
fn the_load_is_there_and_goes_with_the_soak() {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let session: u32 = after_name.split_whitespace().nth(3).unwrap().parse().unwrap();
    for group in ["same", "other"] {
        let (mut soak, load) = loaded(group, &["--seconds", "2"]);
        for process in &load {
            assert_eq!(process.session == session, group == "same", "{process:?} of {session}");
        }
        // However it ends: whether its runs were quick enough is not asked here.
        soak.wait().unwrap();
        is_gone(&load);
    }
}

#[test]
fn the_load_goes_when_the_soak_is_killed() {
    for group in ["same", "other"] {
        let (mut soak, load) = loaded(group, &["--seconds", "1000"]);
        soak.kill().unwrap();
        soak.wait().unwrap();
        is_gone(&load);
    }
}
