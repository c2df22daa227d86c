//! `phalanx waits`: where the ranks of a recorded run waited, for whom, and the cost.

use crate::record::{self, EventKind, RankEvents, Run};
use crate::summary::{self, Spent, Summary};
use crate::timeline::time;
use crate::{page, perfetto, svg};
use phalanx_bench::failure::Failure;
use phalanx_bench::output::{Format, OutputArgs, unwritable};
use phalanx_bench::{MOST_BYTES, file, prose};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
RECORD: a program writes one if the variable PHALANX_RECORD names a file, or by
  Team::builder().record(FILE); each run is appended.
TIME: work is the program's own code; waiting is the time in a call before the awaited rank had
  begun it; transfer is the rest of a call. The states of waiting are Scalasca's: late sender, late
  receiver, wait at barrier, wait at N x N, early reduce, late broadcast, early scan.
LATE: the ranks that made others wait, followed through ranks that waited themselves, and the call
  for which they were late: by work before it, or by a transfer in it.
PHASES: what the program names by Comm::phase. imbalance is the longest work over the mean; path is
  the phase's time on the critical path, the most that the run could save in it; balance is what it
  could save, at most, if the phase's work were spread evenly.

COLUMNS (tsv): table rank state call at phase calls bytes work_ns transfer_ns waiting_ns caused_ns
  path_ns; an empty field has no meaning in its table. json: ranks[] calls[] late[] phases[] path[].

Example:
  PHALANX_RECORD=run.phx ./program
  phalanx waits run.phx
  phalanx waits run.phx --list
  phalanx waits run.phx -o timeline.html
  phalanx waits run.phx --between 12.5..13 -o timeline.svg";

/// Where the ranks of a recorded run waited, and for whom
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx waits run.phx -o timeline.html\n\nMore with --help.")]
pub struct Waits {
    /// The record
    record: PathBuf,
    /// Which run of the record, counted from 1 (default: the longest)
    #[arg(long, value_name = "N")]
    run: Option<usize>,
    /// Only list the runs of the record: number, ranks, length, calls, and how each ended
    #[arg(long, conflicts_with_all = ["run", "perfetto", "between"])]
    list: bool,
    /// Rows of each table of the text (0: all)
    #[arg(long, value_name = "N", default_value_t = 12)]
    rows: usize,
    /// Also write the timeline for Perfetto (ui.perfetto.dev) to this file
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// The milliseconds of the run that a picture shows (default: all)
    #[arg(long, value_name = "BEGIN..END", value_parser = milliseconds)]
    between: Option<(u64, u64)>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Waits {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.list {
            let text = list(&Record::open(&self.record)?, self.output.format)?;
            return self.output.open()?.write(&text);
        }
        let (run, which) = read(&self.record, self.run)?;
        let summary = summary::read(&run);
        if let Some(path) = &self.perfetto {
            let trace = format!("{}\n", perfetto::trace(&run, &summary));
            std::fs::write(path, trace).map_err(|e| unwritable("trace", path, &e))?;
        }
        let ends_in = |end: &str| {
            let extension = self.output.path().and_then(Path::extension);
            extension.is_some_and(|it| it.eq_ignore_ascii_case(end))
        };
        if self.between.is_some() && !ends_in("svg") {
            let what = "--between is for a picture: -o FILE.svg";
            return Err(Failure::Usage(what.to_string()));
        }
        let text = match self.output.format {
            Format::Text if ends_in("html") => {
                page::html(&run, &summary, &text(&run, &summary, which, self.rows))
            }
            Format::Text if ends_in("svg") => svg::svg(&run, &summary, self.shown(summary.length)?),
            Format::Text => text(&run, &summary, which, self.rows),
            Format::Tsv => tsv(&summary),
            Format::Json => format!("{:#}\n", object(&run, &summary, which)),
        };
        self.output.open()?.write(&text)
    }

    /// The nanoseconds of a run of that length that a picture shows.
    fn shown(&self, length: u64) -> Result<(u64, u64), Failure> {
        let length = length.max(1);
        let (begin, end) = self.between.unwrap_or((0, length));
        if begin >= length {
            let what = format!("--between: the run has {}", time(length));
            return Err(Failure::Usage(what));
        }
        Ok((begin, end.min(length)))
    }
}

/// Two numbers of milliseconds, in nanoseconds.
fn milliseconds(text: &str) -> Result<(u64, u64), String> {
    let wrong = || "two numbers of milliseconds, as 12.5..13".to_string();
    let (begin, end) = text.split_once("..").ok_or_else(wrong)?;
    let ns = |text: &str| {
        let ms: f64 = text.parse().ok()?;
        (0.0..1e12).contains(&ms).then_some((ms * 1e6) as u64)
    };
    let (Some(begin), Some(end)) = (ns(begin), ns(end)) else { return Err(wrong()) };
    if begin < end { Ok((begin, end)) } else { Err("the end comes after the beginning".into()) }
}

/// A file of runs.
struct Record<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
    /// The runs that are whole.
    sections: Vec<Range<usize>>,
}

impl<'a> Record<'a> {
    /// Says which runs are left out.
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let wrong = |e: String| Record::wrong(path, &e);
        let bytes = file::read(path, MOST_BYTES).map_err(wrong)?;
        let record::Sections { whole: sections, cut } = record::sections(&bytes).map_err(wrong)?;
        cut.iter().for_each(|what| prose::say(what));
        Ok(Record { path, bytes, sections })
    }

    fn wrong(path: &Path, what: &str) -> Failure {
        Failure::Usage(format!("the record '{}' cannot be read: {what}", path.display()))
    }

    /// Run `number`, counted from 1.
    fn run(&self, number: usize) -> Result<Run, Failure> {
        let run = record::run(&self.bytes[self.sections[number - 1].clone()]);
        run.map_err(|e| Record::wrong(self.path, &format!("run {number}: {e}")))
    }
}

/// The runs of a record, a line each.
fn list(record: &Record<'_>, format: Format) -> Result<String, Failure> {
    let runs = (1..=record.sections.len()).map(|number| Ok((number, record.run(number)?)));
    let runs: Vec<(usize, Run)> = runs.collect::<Result<_, Failure>>()?;
    let calls = |run: &Run| -> usize {
        let of =
            |rank: &RankEvents| rank.events.iter().filter(|it| it.kind == EventKind::Call).count();
        run.ranks.iter().map(of).sum()
    };
    let ended = |run: &Run| match run.outcome.lines().next() {
        None => "well".to_string(),
        Some(first) => first.replace(char::is_control, " "),
    };
    const HEAD: [&str; 5] = ["run", "ranks", "length_ns", "calls", "ended"];
    let cells = |(number, run): &(usize, Run), length: String| {
        let (ranks, calls) = (run.ranks.len(), calls(run));
        vec![number.to_string(), ranks.to_string(), length, calls.to_string(), ended(run)]
    };
    Ok(match format {
        Format::Text => {
            let rows: Vec<_> = runs.iter().map(|it| cells(it, time(it.1.length()))).collect();
            let mut out = String::new();
            table(&mut out, &["run", "ranks", "length", "calls", "ended"], 0, &rows);
            out
        }
        Format::Tsv => {
            let rows = runs.iter().map(|it| cells(it, it.1.length().to_string()).join("\t"));
            [HEAD.join("\t")].into_iter().chain(rows).map(|line| line + "\n").collect()
        }
        Format::Json => {
            let row = |(number, run): &(usize, Run)| {
                json!({
                    "run": number, "ranks": run.ranks.len(), "length_ns": run.length(),
                    "calls": calls(run), "ended": ended(run),
                })
            };
            format!("{:#}\n", json!({ "runs": runs.iter().map(row).collect::<Vec<_>>() }))
        }
    })
}

/// The run that is asked for, its number in the file, and how many there are.
fn read(path: &Path, wanted: Option<usize>) -> Result<(Run, (usize, usize)), Failure> {
    let record = Record::open(path)?;
    let count = record.sections.len();
    if let Some(number) = wanted {
        if !(1..=count).contains(&number) {
            return Err(Failure::Usage(format!(
                "--run {number}: the record has runs 1 to {count}"
            )));
        }
        return Ok((record.run(number)?, (number, count)));
    }
    let mut longest: Option<(Run, usize)> = None;
    for number in 1..=count {
        let run = record.run(number)?;
        if longest.as_ref().is_none_or(|(best, _)| run.length() > best.length()) {
            longest = Some((run, number));
        }
    }
    let (run, number) = longest.ok_or_else(|| Record::wrong(path, "it has no run"))?;
    Ok((run, (number, count)))
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Columns as wide as their longest cell; the first `left` of them begin at the left.
fn table(out: &mut String, head: &[&str], left: usize, rows: &[Vec<String>]) {
    let wide = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let all: Vec<usize> = (0..head.len()).map(wide).collect();
    let head = head.iter().map(|it| (*it).to_string()).collect::<Vec<_>>();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            // A phase may be called anything.
            let cell = cell.replace(char::is_control, " ");
            let (wide, gap) = (all[column], if column > 0 { "  " } else { "" });
            let _ = match column < left {
                true => write!(line, "{gap}{cell:<wide$}"),
                false => write!(line, "{gap}{cell:>wide$}"),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The tables, for eyes.
fn text(run: &Run, summary: &Summary, (number, count): (usize, usize), most: usize) -> String {
    let mut out = String::new();
    let most = if most == 0 { usize::MAX } else { most };
    let ranks = run.ranks.len();
    let _ = writeln!(
        out,
        "run {number} of {count}{}: {ranks} ranks, {}, {}",
        if count > 1 { " (--list shows all)" } else { "" },
        time(summary.length),
        if run.outcome.is_empty() { "ended well" } else { "failed" }
    );
    if let Some(first) = run.outcome.lines().next() {
        let _ = writeln!(out, "{first}");
    }
    let lost: u64 = summary.ranks.iter().map(|row| row.lost).sum();
    if lost > 0 {
        let _ = writeln!(
            out,
            "{lost} events were lost, the oldest ones: what was before them counts as work \
             (record more by PHALANX_RECORD_EVENTS)"
        );
    }
    let _ = writeln!(out, "\nRANKS");
    let rows: Vec<Vec<String>> = summary
        .ranks
        .iter()
        .map(|row| {
            let Spent { work, transfer, waiting } = row.spent;
            let all = work + transfer + waiting;
            vec![
                row.rank.to_string(),
                time(work),
                time(transfer),
                time(waiting),
                percent(waiting, all),
                time(row.caused),
            ]
        })
        .collect();
    let head = ["rank", "work", "transfer", "waiting", "of its time", "made others wait"];
    table(&mut out, &head, 1, &rows);

    let _ = writeln!(out, "\nCALLS");
    let rows: Vec<Vec<String>> = summary
        .calls
        .iter()
        .take(most)
        .map(|row| {
            let state = row.waiting.iter().max_by_key(|it| it.1);
            let (rank, worst) = row.worst;
            let worst =
                if worst > 0 { format!("rank {rank}: {}", time(worst)) } else { "-".into() };
            vec![
                row.call.clone(),
                row.at.clone(),
                state.map_or("-", |it| it.0.name()).to_string(),
                row.calls.to_string(),
                row.bytes.to_string(),
                time(row.transfer),
                time(row.waited()),
                worst,
            ]
        })
        .collect();
    let head = ["call", "at", "waiting by", "calls", "bytes", "transfer", "waiting", "waited most"];
    table(&mut out, &head, 3, &rows);
    more(&mut out, summary.calls.len(), most);

    if !summary.culprits.is_empty() {
        let _ = writeln!(out, "\nLATE: the ranks that made others wait");
        let rows: Vec<Vec<String>> = summary
            .culprits
            .iter()
            .take(most)
            .map(|row| {
                let waiters: Vec<String> =
                    row.waiting.iter().take(4).map(|it| it.0.to_string()).collect();
                let etc = if row.waiting.len() > 4 { ", .." } else { "" };
                vec![
                    row.rank.to_string(),
                    if row.by_work { "work before" } else { "transfer in" }.to_string(),
                    row.call.clone(),
                    row.at.clone(),
                    if row.phase.is_empty() { "-".into() } else { row.phase.clone() },
                    format!("{}{etc}", waiters.join(", ")),
                    time(row.caused),
                ]
            })
            .collect();
        let head = ["rank", "by", "call", "at", "phase", "waited for it", "waiting"];
        table(&mut out, &head, 6, &rows);
        more(&mut out, summary.culprits.len(), most);
    }

    if summary.phases.iter().any(|row| !row.name.is_empty()) {
        let _ = writeln!(out, "\nPHASES");
        let rows: Vec<Vec<String>> = summary
            .phases
            .iter()
            .take(most)
            .map(|row| {
                let (rank, longest) = row.longest();
                let waiting: u64 = row.spent.iter().map(|it| it.waiting).sum();
                vec![
                    if row.name.is_empty() { "(none)".into() } else { row.name.clone() },
                    time(row.mean()),
                    format!("rank {rank}: {}", time(longest)),
                    format!("{:.2}", row.imbalance()),
                    time(waiting),
                    time(row.on_path),
                    time(row.balance_saves()),
                ]
            })
            .collect();
        let head = ["phase", "mean work", "most work", "imbalance", "waiting", "path", "balance"];
        table(&mut out, &head, 1, &rows);
        more(&mut out, summary.phases.len(), most);
    }

    let _ = writeln!(out, "\nCRITICAL PATH");
    let rows: Vec<Vec<String>> = summary
        .path
        .iter()
        .take(most)
        .map(|row| {
            vec![
                row.rank.to_string(),
                if row.by_work { "work before" } else { "call" }.to_string(),
                row.call.clone(),
                row.at.clone(),
                if row.phase.is_empty() { "-".into() } else { row.phase.clone() },
                time(row.time),
                percent(row.time, summary.length),
            ]
        })
        .collect();
    table(&mut out, &["rank", "what", "call", "at", "phase", "time", "of the run"], 5, &rows);
    more(&mut out, summary.path.len(), most);
    out
}

/// Says that a table is cut off.
fn more(out: &mut String, rows: usize, most: usize) {
    if rows > most {
        let _ = writeln!(out, "(and {} more: --rows 0)", rows - most);
    }
}

/// One table for programs.
fn tsv(summary: &Summary) -> String {
    let mut out = "table\trank\tstate\tcall\tat\tphase\tcalls\tbytes\twork_ns\ttransfer_ns\t\
                   waiting_ns\tcaused_ns\tpath_ns\n"
        .to_string();
    let mut row = |cells: [String; 13]| {
        let cells = cells.map(|cell| cell.replace(char::is_control, " "));
        let _ = writeln!(out, "{}", cells.join("\t"));
    };
    let no = String::new;
    for it in &summary.ranks {
        let (rank, caused) = (it.rank.to_string(), it.caused.to_string());
        let [work, transfer, waiting] =
            [it.spent.work, it.spent.transfer, it.spent.waiting].map(|time| time.to_string());
        let cells = [no(), no(), no(), no(), no(), no(), work, transfer, waiting, caused, no()];
        let [a, b, c, d, e, f, g, h, i, j, k] = cells;
        row(["rank".into(), rank, a, b, c, d, e, f, g, h, i, j, k]);
    }
    for it in &summary.calls {
        let (calls, bytes) = (it.calls.to_string(), it.bytes.to_string());
        let (call, at) = (it.call.clone(), it.at.clone());
        row([
            "call".into(),
            no(),
            no(),
            call.clone(),
            at.clone(),
            no(),
            calls,
            bytes,
            no(),
            it.transfer.to_string(),
            it.waited().to_string(),
            no(),
            no(),
        ]);
        for (state, time) in &it.waiting {
            let (call, at, state) = (call.clone(), at.clone(), state.name().to_string());
            let time = time.to_string();
            let table = "wait".into();
            row([table, no(), state, call, at, no(), no(), no(), no(), no(), time, no(), no()]);
        }
    }
    for it in &summary.culprits {
        let (rank, by) = (it.rank.to_string(), if it.by_work { "work" } else { "transfer" });
        let (call, at, phase) = (it.call.clone(), it.at.clone(), it.phase.clone());
        let (by, caused) = (by.to_string(), it.caused.to_string());
        row(["late".into(), rank, by, call, at, phase, no(), no(), no(), no(), no(), caused, no()]);
    }
    for it in &summary.phases {
        for (rank, spent) in it.spent.iter().enumerate() {
            let [work, transfer, waiting] =
                [spent.work, spent.transfer, spent.waiting].map(|time| time.to_string());
            row([
                "phase".into(),
                rank.to_string(),
                no(),
                no(),
                no(),
                it.name.clone(),
                no(),
                no(),
                work,
                transfer,
                waiting,
                no(),
                it.on_path.to_string(),
            ]);
        }
    }
    for it in &summary.path {
        let (rank, by) = (it.rank.to_string(), if it.by_work { "work" } else { "transfer" });
        let (call, at, phase) = (it.call.clone(), it.at.clone(), it.phase.clone());
        let (by, time) = (by.to_string(), it.time.to_string());
        row(["path".into(), rank, by, call, at, phase, no(), no(), no(), no(), no(), no(), time]);
    }
    out
}

/// All tables as one object.
fn object(run: &Run, summary: &Summary, (number, count): (usize, usize)) -> Value {
    let spent = |it: &Spent| {
        let (work, transfer) = (it.work, it.transfer);
        json!({ "work_ns": work, "transfer_ns": transfer, "waiting_ns": it.waiting })
    };
    let by = |by_work: bool| if by_work { "work" } else { "transfer" };
    json!({
        "command": "waits",
        "program": run.program,
        "run": number,
        "runs": count,
        "outcome": run.outcome,
        "length_ns": summary.length,
        "ranks": summary.ranks.iter().map(|it| json!({
            "rank": it.rank,
            "work_ns": it.spent.work,
            "transfer_ns": it.spent.transfer,
            "waiting_ns": it.spent.waiting,
            "caused_ns": it.caused,
            "lost_events": it.lost,
        })).collect::<Vec<_>>(),
        "calls": summary.calls.iter().map(|it| json!({
            "call": it.call,
            "at": it.at,
            "calls": it.calls,
            "bytes": it.bytes,
            "transfer_ns": it.transfer,
            "waiting_ns": it.waited(),
            "states": it.waiting.iter().map(|(state, time)| json!({
                "state": state.name(),
                "waiting_ns": time,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "late": summary.culprits.iter().map(|it| json!({
            "rank": it.rank,
            "by": by(it.by_work),
            "call": it.call,
            "at": it.at,
            "phase": it.phase,
            "caused_ns": it.caused,
            "waiting": it.waiting.iter().map(|(rank, time)| json!({
                "rank": rank,
                "waiting_ns": time,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "phases": summary.phases.iter().map(|it| json!({
            "phase": it.name,
            "imbalance": it.imbalance(),
            "path_ns": it.on_path,
            "balance_saves_ns": it.balance_saves(),
            "ranks": it.spent.iter().map(spent).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "path": summary.path.iter().map(|it| json!({
            "rank": it.rank,
            "by": by(it.by_work),
            "call": it.call,
            "at": it.at,
            "phase": it.phase,
            "path_ns": it.time,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn a_part_of_a_run_is_two_numbers_in_order() {
        assert_eq!(milliseconds("12.5..13"), Ok((12_500_000, 13_000_000)));
        assert_eq!(milliseconds("0..0.001"), Ok((0, 1_000)));
        for wrong in ["12", "..", "1..", "a..2", "-1..2", "1..nan", "2..1", "1..1", "0..1e99"] {
            assert!(milliseconds(wrong).is_err(), "{wrong}");
        }
    }
}
