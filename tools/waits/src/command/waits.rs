//! `phalanx waits`: where the ranks of a recorded run waited, for whom, and the cost.

use super::choice::{Choice, Record, moment};
use crate::record::{EventKind, RankEvents, Run};
use crate::summary::{self, By, RegionRow, Spent, Summary};
use crate::timeline::time;
use crate::{page, perfetto, svg};
use phalanx_cli::failure::Failure;
use phalanx_cli::output::{Format, OutputArgs, unwritable};
use phalanx_cli::prose;
use phalanx_cli::table::{Table, table};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
RECORD: a program writes one if the variable PHALANX_RECORD names a file, or by
  Team::builder().record(FILE); each run is appended.
RUN: the longest of the newest process, of those with several ranks; --run names another, as --list
  counts them.
RUNS: all of them, if there are several, by the line that starts them; times are sums over runs.
DISTURBED: ranks that were on one core, or lost theirs to other programs again and again: times are
  then mostly the system's.
TIME: work is the program's own code; waiting is the time in a call before the awaited rank had
  begun it; transfer is the rest of a call; late start is the time from the caller's start of the
  run until the rank begins it. The states of waiting are Scalasca's: late sender, late receiver,
  wait at barrier, wait at N x N, early reduce, late broadcast, early scan; and wait at end, for the
  last rank of the run.
LATE: the ranks that made others wait, followed through ranks that waited themselves, and the call
  for which they were late: by work before it, or by a transfer in it.
PHASES: what the program names by Comm::phase. imbalance is the longest work over the mean; path is
  the phase's time on the critical path, the most that the run could save in it; balance is what it
  could save, at most, if the phase's work were spread evenly.

COLUMNS (tsv): table rank state call at phase calls bytes work_ns transfer_ns waiting_ns caused_ns
  path_ns late_start_ns; an empty field has no meaning in its table. json: disturbed{} regions[]
  ranks[] calls[] late[] phases[] path[].

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
    /// Which run of the record, counted from 1 (default: the newest process's longest)
    #[arg(long, value_name = "N")]
    run: Option<usize>,
    /// Only list the runs of the record: number, time of day, process, ranks, length, calls, line,
    /// and how each ended
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
    ///
    /// # Errors
    /// If the record or an output cannot be used.
    pub fn run(&self) -> Result<(), Failure> {
        if self.list {
            let text = list(&Record::open(&self.record)?, self.output.format)?;
            return self.output.open()?.write(&text);
        }
        let choice = Choice::read(&self.record, self.run)?;
        let run = &choice.run;
        let summary = summary::read(run);
        if let Some(path) = &self.perfetto {
            let trace = format!("{}\n", perfetto::trace(run, &summary));
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
                page::html(run, &summary, &text(&choice, &summary, self.rows))
            }
            Format::Text if ends_in("svg") => svg::svg(run, &summary, self.shown(summary.length)?),
            Format::Text => text(&choice, &summary, self.rows),
            Format::Tsv => tsv(&object(&choice, &summary)),
            Format::Json => format!("{:#}\n", object(&choice, &summary)),
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
    let row = |(number, run): &(usize, Run)| {
        vec![
            json!(number),
            json!(run.ranks.len()),
            json!(run.length()),
            json!(calls(run)),
            json!(ended(run)),
            json!(moment(run.unix)),
            json!(run.process.1),
            json!(run.text(run.at)),
        ]
    };
    let columns = &["run", "ranks", "length_ns", "calls", "ended", "began", "process", "at"];
    let table = Table { columns, rows: runs.iter().map(row).collect() };
    Ok(match format {
        Format::Text => {
            let row = |((_, run), mut cells): (&(usize, Run), Vec<Value>)| {
                cells[2] = json!(time(run.length()));
                // What may be long comes last.
                cells[1..].rotate_right(3);
                cells
            };
            let columns =
                &["run", "began (UTC)", "process", "at", "ranks", "length", "calls", "ended"];
            Table { columns, rows: runs.iter().zip(table.rows).map(row).collect() }.text()
        }
        Format::Tsv => table.tsv(),
        Format::Json => format!("{:#}\n", json!({ "runs": table.objects() })),
    })
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// The tables, for eyes.
fn text(choice: &Choice, summary: &Summary, most: usize) -> String {
    let mut out = String::new();
    let most = if most == 0 { usize::MAX } else { most };
    let Choice { run, number, count, runs, .. } = choice;
    let ranks = run.ranks.len();
    let _ = writeln!(
        out,
        "run {number} of {count}{}: {}, {}, {}",
        if *count > 1 { " (--list shows all)" } else { "" },
        if ranks == 1 { "1 rank".to_string() } else { format!("{ranks} ranks") },
        time(summary.length),
        if run.outcome.is_empty() { "ended well" } else { "failed" }
    );
    if let Some(first) = run.outcome.lines().next() {
        let _ = writeln!(out, "{first}");
    }
    if ranks == 1 && !choice.regions.is_empty() {
        let _ = writeln!(out, "the newest process has no run of several ranks");
    }
    if let Some(line) = choice.disturbance.line() {
        let _ = writeln!(out, "{}", prose::folded(&line));
    }
    let lost: u64 = summary.ranks.iter().map(|row| row.lost).sum();
    if lost > 0 {
        let _ = writeln!(
            out,
            "{lost} events were lost, the oldest ones: what was before them counts as work \
             (record more by PHALANX_RECORD_EVENTS)"
        );
    }
    if !choice.regions.is_empty() {
        let _ = writeln!(
            out,
            "\nRUNS: {runs} of the newest process, by the line that starts them; below, the longest"
        );
        regions(&mut out, &choice.regions, most);
        let _ = writeln!(out, "\nRANKS of run {number}");
    } else {
        let _ = writeln!(out, "\nRANKS");
    }
    let head =
        ["rank", "work", "transfer", "waiting", "of its time", "late start", "made others wait"];
    listed(&mut out, (&head, 1), &summary.ranks, usize::MAX, |row| {
        let Spent { work, transfer, waiting, late_start } = row.spent;
        let all = work + transfer + waiting + late_start;
        vec![
            row.rank.to_string(),
            time(work),
            time(transfer),
            time(waiting),
            percent(waiting, all),
            time(late_start),
            time(row.caused),
        ]
    });

    let _ = writeln!(out, "\nCALLS");
    let head = ["call", "at", "waiting by", "calls", "bytes", "transfer", "waiting", "waited most"];
    listed(&mut out, (&head, 3), &summary.calls, most, |row| {
        let state = row.waiting.iter().max_by_key(|it| it.1);
        let (rank, worst) = row.worst;
        let worst = if worst > 0 { format!("rank {rank}: {}", time(worst)) } else { "-".into() };
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
    });

    let or_dash = |text: &String| if text.is_empty() { "-".into() } else { text.clone() };
    if !summary.culprits.is_empty() {
        let _ = writeln!(out, "\nLATE: the ranks that made others wait");
        let head = ["rank", "by", "call", "at", "phase", "waited for it", "waiting"];
        listed(&mut out, (&head, 6), &summary.culprits, most, |row| {
            let waiters: Vec<String> =
                row.waiting.iter().take(4).map(|it| it.0.to_string()).collect();
            let etc = if row.waiting.len() > 4 { ", .." } else { "" };
            vec![
                row.rank.to_string(),
                match row.by {
                    By::Work => "work before",
                    By::Transfer => "transfer in",
                    By::LateStart => "late start",
                }
                .to_string(),
                row.call.clone(),
                row.at.clone(),
                or_dash(&row.phase),
                format!("{}{etc}", waiters.join(", ")),
                time(row.caused),
            ]
        });
    }

    if summary.phases.iter().any(|row| !row.name.is_empty()) {
        let _ = writeln!(out, "\nPHASES");
        let head = ["phase", "mean work", "most work", "imbalance", "waiting", "path", "balance"];
        listed(&mut out, (&head, 1), &summary.phases, most, |row| {
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
        });
    }

    let _ = writeln!(out, "\nCRITICAL PATH");
    let head = ["rank", "what", "call", "at", "phase", "time", "of the run"];
    listed(&mut out, (&head, 5), &summary.path, most, |row| {
        vec![
            row.rank.to_string(),
            match row.by {
                By::Work => "work before",
                By::Transfer => "call",
                By::LateStart => "late start",
            }
            .to_string(),
            row.call.clone(),
            row.at.clone(),
            or_dash(&row.phase),
            time(row.time),
            percent(row.time, summary.length),
        ]
    });
    out
}

/// Writes the rows of the first `most`, and says if those are not all. The table has these names of
/// columns, of which the first few are text.
fn listed<T>(
    out: &mut String,
    (head, left): (&[&str], usize),
    all: &[T],
    most: usize,
    cells: impl Fn(&T) -> Vec<String>,
) {
    let rows: Vec<_> = all.iter().take(most).map(cells).collect();
    *out += &table(head, left, &rows);
    more(out, all.len(), most);
}

/// Ranks of a line that are shown, if not all are wanted: those with most of work and late start.
const RANKS: usize = 8;

/// The runs by line, a row each rank.
fn regions(out: &mut String, all: &[RegionRow], most: usize) {
    let mut rows = Vec::new();
    for row in all.iter().take(most) {
        let mut ranks: Vec<usize> = (0..row.spent.len()).collect();
        if most < usize::MAX && ranks.len() > RANKS {
            ranks.sort_by_key(|rank| {
                let spent = &row.spent[*rank];
                std::cmp::Reverse(spent.work.saturating_add(spent.late_start))
            });
            ranks.truncate(RANKS);
        }
        for (place, rank) in ranks.into_iter().enumerate() {
            let Spent { work, transfer, waiting, late_start } = row.spent[rank];
            let mut cells = match place {
                0 => vec![
                    if row.at.is_empty() { "-".into() } else { row.at.clone() },
                    row.runs.to_string(),
                    time(row.total),
                    time(row.total / row.runs.max(1)),
                ],
                _ => vec![String::new(); 4],
            };
            cells.push(rank.to_string());
            cells.extend([work, transfer, waiting, late_start].map(time));
            rows.push(cells);
        }
    }
    let head = ["at", "runs", "total", "mean", "rank", "work", "transfer", "waiting", "late start"];
    *out += &table(&head, 1, &rows);
    more(out, all.len(), most);
}

/// Says that a table is cut off.
fn more(out: &mut String, rows: usize, most: usize) {
    if rows > most {
        let _ = writeln!(out, "(and {} more: --rows 0)", rows - most);
    }
}

/// One table for programs: a row for each entry of the lists of `all`.
fn tsv(all: &Value) -> String {
    const COLUMNS: [&str; 14] = [
        "table",
        "rank",
        "state",
        "call",
        "at",
        "phase",
        "calls",
        "bytes",
        "work_ns",
        "transfer_ns",
        "waiting_ns",
        "caused_ns",
        "path_ns",
        "late_start_ns",
    ];
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let mut rows = Vec::new();
    // A row has its own cells, and some of the entry that it is in.
    let mut row = |table: &str, own: &Value, of: &Value, shared: &[&str]| {
        let cell = |column: &&str| {
            let name = match *column {
                "table" => return json!(table),
                "state" if own["state"].is_null() => "by",
                "calls" if table == "region" => "runs",
                column => column,
            };
            let from = if shared.contains(column) { of } else { own };
            match &from[name] {
                Value::String(text) => json!(text.replace(char::is_control, " ")),
                cell => cell.clone(),
            }
        };
        rows.push(COLUMNS.iter().map(cell).collect());
    };
    for region in list(&all["regions"]) {
        for rank in list(&region["ranks"]) {
            row("region", &rank, &region, &["at", "calls"]);
        }
    }
    list(&all["ranks"]).iter().for_each(|rank| row("rank", rank, rank, &[]));
    for call in list(&all["calls"]) {
        row("call", &call, &call, &[]);
        for wait in list(&call["states"]) {
            row("wait", &wait, &call, &["call", "at"]);
        }
    }
    list(&all["late"]).iter().for_each(|late| row("late", late, late, &[]));
    for phase in list(&all["phases"]) {
        for rank in list(&phase["ranks"]) {
            row("phase", &rank, &phase, &["phase", "path_ns"]);
        }
    }
    list(&all["path"]).iter().for_each(|piece| row("path", piece, piece, &[]));
    Table { columns: &COLUMNS, rows }.tsv()
}

/// All tables as one object.
fn object(choice: &Choice, summary: &Summary) -> Value {
    let Choice { run, number, count, disturbance, .. } = choice;
    let spent = |(rank, it): (usize, &Spent)| {
        let Spent { work, transfer, waiting, late_start } = it;
        json!({
            "rank": rank, "work_ns": work, "transfer_ns": transfer, "waiting_ns": waiting,
            "late_start_ns": late_start,
        })
    };
    json!({
        "command": "waits",
        "program": run.program,
        "run": number,
        "runs": count,
        "outcome": run.outcome,
        "length_ns": summary.length,
        "at": run.text(run.at),
        "began": moment(run.unix),
        "process": run.process.1,
        "disturbed": disturbance.json(),
        "regions": choice.regions.iter().map(|it| json!({
            "at": it.at,
            "runs": it.runs,
            "total_ns": it.total,
            "mean_ns": it.total / it.runs.max(1),
            "longest_ns": it.longest,
            "ranks": it.spent.iter().enumerate().map(spent).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "ranks": summary.ranks.iter().map(|it| json!({
            "rank": it.rank,
            "work_ns": it.spent.work,
            "transfer_ns": it.spent.transfer,
            "waiting_ns": it.spent.waiting,
            "late_start_ns": it.spent.late_start,
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
            "by": it.by.name(),
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
            "ranks": it.spent.iter().enumerate().map(spent).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "path": summary.path.iter().map(|it| json!({
            "rank": it.rank,
            "by": it.by.name(),
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
