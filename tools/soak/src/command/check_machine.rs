//! `phalanx check --machine`: the library's promises about a machine, checked on this one, as a
//! page that can be attached to a report.

use crate::promises::{COUNT, ExpectedMachine, Kept, Promise, check_all};
use phalanx::MAX_RANKS;
use phalanx::machine::Machine;
use phalanx_bench::failure::{Failure, one_line};
use phalanx_bench::interrupt;
use phalanx_bench::measure::conditions::now;
use phalanx_bench::measure::emulation;
use phalanx_bench::output::{Format, OutputArgs};
use phalanx_bench::progress::Progress;
use phalanx_bench::prose;
use phalanx_bench::source::summary;
use phalanx_bench::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const COLUMNS: [&str; 4] = ["promise", "result", "seconds", "about"];

const ABOUT: &str = "\
CHECKED: in a minute or so, all back ends read the machine alike; masks and cgroups are respected;
  ranks are bound where the placement says, and stay there, or roam in their memories beside other
  programs, and come back; split_by gives the groups of the system's own files; placements for a
  pattern cost no more than those that know nothing of it; mailboxes, windows and halos lie in the
  memory of the rank that they belong to, in teams, parts of them, and threads of the caller's own,
  and stay there; so do the parts of distributed arrays, and each memory has its copy of a mirrored
  one, in huge pages or not; every call is right, with as many ranks as PUs and with twice as many.
  Each is ok, FAILED or not applicable, with the reason; json and tsv: promise result seconds about.
  The page names the machine: attach it to a report of an error. Nothing is measured, but nothing
  else should use all of the processors meanwhile.

Example:
  phalanx check --machine -o machine.txt";

/// Check the library's promises about this machine
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx check --machine -o machine.txt\n\nMore with --help.")]
pub(crate) struct CheckMachine {
    /// Instead of schedules, check the library's promises about this machine: bindings, groups,
    /// masks, memory, results
    #[arg(long, required = true)]
    machine: bool,
    /// The machine must be like this, such as "numa=4,4 allowed=0-7 memories=2 cheaper=ring": the
    /// PUs of each group of a level, those that may be used, the memories, the placements that cost
    /// less than identity
    #[arg(long, value_name = "FACTS")]
    expect: Option<ExpectedMachine>,
    /// The most ranks of a team [default: twice the PUs that may be used]
    #[arg(long, value_name = "N", value_parser = parse_most)]
    #[arg(allow_negative_numbers = true)]
    most: Option<usize>,
    /// A rank that waits longer in one call hangs
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true, default_value = "60")]
    seconds: u64,
    #[command(flatten)]
    output: OutputArgs,
}

impl CheckMachine {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let output = &self.output;
        let machine = Machine::this().map_err(Failure::run)?;
        let mut sink = output.open()?;
        interrupt::listen();
        let mut progress = Progress::new(COUNT);
        let expected = self.expect.clone().unwrap_or_default();
        let (most, deadline) = (self.most.unwrap_or(MAX_RANKS), Duration::from_secs(self.seconds));
        let rows = check_all(&machine, &expected, most, deadline, |name| progress.step(name));
        progress.clear();
        let broken = rows.iter().filter(|row| row.result.is_err()).count();
        sink.write(&match output.format {
            Format::Text => text(&machine, &rows),
            Format::Tsv => table(&rows).tsv(),
            Format::Json => format!("{:#}\n", object(&machine, &rows)),
        })?;
        match broken {
            0 => Ok(()),
            _ => Err(Failure::Checks(format!("{broken} of {COUNT} promises are broken here"))),
        }
    }
}

/// "ok", "FAILED" or "not applicable", and why.
fn outcome(row: &Promise) -> (&'static str, &str) {
    match &row.result {
        Ok(Kept::Holds(what)) => ("ok", what),
        Ok(Kept::NotHere(why)) => ("not applicable", why),
        Err(what) => ("FAILED", what),
    }
}

fn table(rows: &[Promise]) -> Table<'static> {
    let cells = |row: &Promise| {
        let (result, about) = outcome(row);
        let seconds = (row.seconds * 10.0).round() / 10.0;
        vec![json!(row.name), json!(result), json!(seconds), json!(one_line(about))]
    };
    Table { columns: &COLUMNS, rows: rows.iter().map(cells).collect() }
}

fn kernel() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match text.trim() {
        "" => "unknown system".to_string(),
        release => format!("Linux {release}"),
    }
}

/// The system's treatment of pages and threads, as far as it tells: each with its name.
fn settings(machine: &Machine) -> Vec<(&'static str, String)> {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
    // "always [madvise] never"
    let huge = file("/sys/kernel/mm/transparent_hugepage/enabled");
    let chosen = huge.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    // Those that have a set of processors: version 2's, and version 1's cpuset.
    let groups = file("/proc/self/cgroup");
    let cgroup = groups.lines().filter(|line| line.starts_with("0:") || line.contains("cpuset"));
    let all = [
        ("numa_balancing", file("/proc/sys/kernel/numa_balancing")),
        ("huge pages", chosen.map_or(String::new(), |(word, _)| word.to_string())),
        ("smt", file("/sys/devices/system/cpu/smt/control")),
        ("isolated PUs", file("/sys/devices/system/cpu/isolated")),
        ("offline PUs", file("/sys/devices/system/cpu/offline")),
        ("cgroup", cgroup.collect::<Vec<_>>().join(" ")),
        ("quota", machine.quota().map_or(String::new(), ToString::to_string)),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// In a sentence, how it went.
fn verdict(rows: &[Promise]) -> String {
    let count = |wanted: &str| rows.iter().filter(|row| outcome(row).0 == wanted).count();
    let (kept, broken, none) = (count("ok"), count("FAILED"), count("not applicable"));
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    let nothing = match none {
        0 => String::new(),
        _ => format!(", {none} not applicable here"),
    };
    match broken {
        0 => format!("ALL KEPT: {kept} hold{nothing}; {seconds:.1} s"),
        _ => format!("{broken} BROKEN, {kept} hold{nothing}; {seconds:.1} s"),
    }
}

/// One page.
fn text(machine: &Machine, rows: &[Promise]) -> String {
    let cpu = phalanx_bench::bench::run_conditions::cpu();
    let settings: Vec<String> =
        settings(machine).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let heads = [
        format!("# phalanx {} check --machine, {}", env!("CARGO_PKG_VERSION"), now()),
        format!("# {}", verdict(rows)),
        format!("# {cpu}, {}, {}", emulation::described(), kernel()),
        format!("# {}", settings.join("; ")),
    ];
    let mut out = String::new();
    heads.iter().for_each(|head| out += &format!("{}\n", prose::folded(head)));
    out += "\n";
    out += &phalanx_bench::machine_page(machine);
    out += "\n";
    for row in rows {
        let (result, about) = outcome(row);
        let line = format!("{result}: {} ({:.1} s): {about}", row.name, row.seconds);
        out += &format!("{}\n", prose::folded(&line));
    }
    if rows.iter().any(|row| row.result.is_err()) {
        out += "\n# A promise that is broken is an error of the library's: please report it, with \
                this page.\n";
    }
    out
}

fn object(machine: &Machine, rows: &[Promise]) -> Value {
    json!({
        "command": "check",
        "version": env!("CARGO_PKG_VERSION"),
        "date": now(),
        "cpu": phalanx_bench::bench::run_conditions::cpu(),
        "kernel": kernel(),
        "settings": settings(machine).into_iter().collect::<BTreeMap<_, _>>(),
        "hypervisor": emulation::described(),
        "emulated": emulation::emulator(),
        "summary": summary(machine),
        "machine": phalanx_bench::machine_object(machine),
        "broken": rows.iter().filter(|row| row.result.is_err()).count(),
        "promises": table(rows).objects(),
    })
}

fn parse_most(text: &str) -> Result<usize, String> {
    let most = text.parse().ok().filter(|n| (1..=MAX_RANKS).contains(n));
    most.ok_or_else(|| format!("'{text}' is no number of ranks; accepted are 1 to {MAX_RANKS}"))
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|n| (1..=3600).contains(n));
    seconds.ok_or_else(|| format!("'{text}' is no time; accepted are 1 to 3600 seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_how_each_promise_went() {
        let machine = Machine::from_synthetic("pack:2 [numa] core:2 pu:1").unwrap();
        let row = |name, result| Promise { name, result, seconds: 0.5 };
        let rows = [
            row("a", Ok(Kept::Holds("4 ranks".to_string()))),
            row("b", Ok(Kept::NotHere("one memory".to_string()))),
            row("c", Err("PU 3 is lost".to_string())),
        ];
        let page = text(&machine, &rows);
        assert!(page.contains("\n# 1 BROKEN, 1 hold, 1 not applicable here; 1.5 s\n"), "{page}");
        assert!(page.contains("FAILED: c (0.5 s): PU 3 is lost"), "{page}");
        assert!(page.contains("not applicable: b (0.5 s): one memory"), "{page}");
        assert!(page.contains("NUMA node 1: memory of unknown size"), "{page}");
        assert!(page.ends_with("please report it, with this page.\n"), "{page}");
        assert!(text(&machine, &rows[..2]).contains("\n# ALL KEPT: 1 hold, 1 not"));
        assert_eq!(object(&machine, &rows)["broken"], 1);
        assert_eq!(object(&machine, &rows)["promises"][2]["result"], "FAILED");
    }
}
