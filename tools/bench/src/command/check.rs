//! `phalanx check`: executes schedules symbolically and reports mistakes.

use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Format, OutputArgs};
use crate::paper::{call, ids};
use crate::programs;
use crate::progress::Progress;
use crate::prose;
use crate::table::{Table, distinct};
use phalanx::check_hazards;
use phalanx::schedule::{Algorithm, Operation, Request, Schedule, cases, check, trace};
use phalanx_model::{Cost, closed_form};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The most ranks in a range: a check walks p times p blocks.
const MOST: usize = 1024;

const ABOUT: &str = "\
PROVED for every call: both ends of every message describe it alike; a sender holds what it sends;
  no rank has more messages under way than its ports; at the end every rank holds what it should,
  from every contributor exactly once (a barrier forgives repeats), in rank order where that is
  promised; no rank writes what a peer may be reading (in the plans of all ranks up to 8, of a few
  above); start-ups and words are those of the closed form; and a reduction, reduce-scatter or
  gather is its broadcast, all-gather or scatter backwards, message by message.

CALLS: every number of ranks in the range that the id serves, all meshes, all roots and distances up
  to 20 ranks and a selection above, several numbers of segments.

COLUMNS (tsv, json): id ranks dims root result. root: of a shift q=DISTANCE; of a chain with
  k=SEGMENTS.

MACHINE: --machine checks what the library promises about the machine that it runs on, in a minute
  or so: all back ends read it alike; masks and cgroups are respected; ranks are bound where the
  placement says, and stay there, or roam in their memories beside other programs, and come back;
  split_by gives the groups of the system's own files; placements for a pattern cost no more than
  those that know nothing of it; mailboxes, windows and halos lie in the memory of the rank that
  they belong to, in teams, parts of them, and threads of the caller's own, and stay there;
  every call is right, with as many ranks as PUs and with twice as many. Each is ok, FAILED or not
  applicable, with the reason; json and tsv: promise result seconds about. The page names the
  machine: attach it to a report of an error. Nothing is measured, but nothing else should use all
  of the processors meanwhile.

Example:
  phalanx check AG-RING RS-RING --ranks 1..64
  phalanx check --machine -o machine.txt";

const COLUMNS: [&str; 5] = ["id", "ranks", "dims", "root", "result"];

/// Run schedules on paper: contents, ports, order, costs, duals; or check this machine
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx check AG-RING --ranks 1..64\n\nMore with --help.")]
pub(crate) struct Check {
    /// Algorithms' ids, such as AG-RING [default: all]
    #[arg(value_name = "ID", value_parser = ids::parse)]
    ids: Vec<Algorithm>,
    /// Numbers of ranks, both ends included
    #[arg(long, value_name = "A..B", default_value = "1..64", value_parser = parse_range)]
    ranks: (usize, usize),
    /// Instead of schedules, check the library's promises about this machine: bindings, groups,
    /// masks, memory, results (more by `phalanx check --machine --help`)
    #[arg(long, conflicts_with_all = ["ids", "ranks"])]
    machine: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// One call, and its fault.
#[derive(Clone, Debug)]
struct CheckRow {
    algorithm: Algorithm,
    request: Request,
    messages: usize,
    wrong: Option<String>,
}

impl Check {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.machine {
            return Err(programs::SOAK.carry_out(std::env::args_os().skip(1)));
        }
        let started = Instant::now();
        let (first, last) = self.ranks;
        let ids = if self.ids.is_empty() { Algorithm::ALL.to_vec() } else { self.ids.clone() };
        let tasks: Vec<(Algorithm, usize)> =
            ids.iter().flat_map(|&id| (first..=last).map(move |p| (id, p))).collect();
        if let Some(&id) = self.ids.iter().find(|&&id| !serves(id, first, last)) {
            let call = Request::new(id.operations()[0], first);
            return Err(match id.schedule(&call) {
                Err(why) => Failure::usage(why),
                Ok(_) => Failure::usage(format!("{id} serves nothing in {first}..{last}")),
            });
        }
        let mut sink = self.output.open()?;
        interrupt::listen();
        let rows = all(&tasks);
        if interrupt::asked() {
            return Err(Failure::Interrupted);
        }
        let wrong = rows.iter().filter(|row| row.wrong.is_some()).count();
        sink.write(&self.written(&ids, &rows, started))?;
        if wrong > 0 {
            return Err(Failure::Checks(format!("{wrong} of {} calls are wrong", rows.len())));
        }
        Ok(())
    }

    fn written(&self, ids: &[Algorithm], rows: &[CheckRow], started: Instant) -> String {
        match self.output.format {
            Format::Tsv => table(rows.iter()).tsv(),
            Format::Json => {
                let object = |(row, mut object): (&CheckRow, Value)| {
                    let op = row.request.operation;
                    object["root"] = json!(op.is_rooted().then_some(row.request.root));
                    object["operation"] = json!(op.name());
                    object["shift"] = json!((op == Operation::Shift).then_some(row.request.shift));
                    object["segments"] = json!(row.request.segments);
                    object["messages"] = json!(row.messages);
                    object
                };
                let object = json!({
                    "command": "check",
                    "ranks": [self.ranks.0, self.ranks.1],
                    "calls": rows.len(),
                    "wrong": rows.iter().filter(|row| row.wrong.is_some()).count(),
                    "seconds": (started.elapsed().as_secs_f64() * 1e3).round() / 1e3,
                    "rows": rows.iter().zip(table(rows.iter()).objects()).map(object)
                        .collect::<Vec<_>>(),
                });
                format!("{object:#}\n")
            }
            Format::Text => {
                let mut out = summary(ids, rows);
                let wrong: Vec<&CheckRow> = rows.iter().filter(|row| row.wrong.is_some()).collect();
                if !wrong.is_empty() {
                    out += "\n";
                    out += &table(wrong.iter().copied()).text();
                }
                let seconds = started.elapsed().as_secs_f64();
                let (a, b) = self.ranks;
                out += &format!(
                    "# {} calls on {a} to {b} ranks, {} wrong, {seconds:.1} s\n",
                    rows.len(),
                    wrong.len()
                );
                out
            }
        }
    }
}

fn serves(id: Algorithm, first: usize, last: usize) -> bool {
    (first..=last).any(|p| id.schedule(&Request::new(id.operations()[0], p)).is_ok())
}

/// One line for each id.
fn summary(ids: &[Algorithm], rows: &[CheckRow]) -> String {
    let line = |&id: &Algorithm| {
        let mine: Vec<&CheckRow> = rows.iter().filter(|row| row.algorithm == id).collect();
        let messages: usize = mine.iter().map(|row| row.messages).sum();
        let wrong = mine.iter().filter(|row| row.wrong.is_some()).count();
        let result = if wrong == 0 { "ok".to_string() } else { format!("{wrong} wrong") };
        let most = mine.iter().map(|row| row.request.ranks).max().unwrap_or(0);
        vec![json!(id.id()), json!(mine.len()), json!(most), json!(messages), json!(result)]
    };
    let rows = ids.iter().map(line).filter(|line| line[1] != json!(0)).collect();
    Table { columns: &["id", "calls", "most_ranks", "messages", "result"], rows }.text()
}

fn table<'a>(rows: impl Iterator<Item = &'a CheckRow>) -> Table<'static> {
    Table { columns: &COLUMNS, rows: rows.map(cells).collect() }
}

fn cells(row: &CheckRow) -> Vec<Value> {
    let request = &row.request;
    let mut root = Vec::new();
    if request.operation.is_rooted() {
        root.push(request.root.to_string());
    }
    if request.operation == Operation::Shift {
        root.push(format!("q={}", request.shift));
    }
    if let Some(segments) = request.segments {
        root.push(format!("k={segments}"));
    }
    let dims = call::mesh(row.algorithm, request).map(|dims| dims.to_string());
    vec![
        json!(row.algorithm.id()),
        json!(request.ranks),
        json!(dims.unwrap_or_default()),
        json!(root.join(" ")),
        json!(row.wrong.as_deref().unwrap_or("ok")),
    ]
}

/// Does the tasks on all cores, and gives the rows in the order of the tasks.
fn all(tasks: &[(Algorithm, usize)]) -> Vec<CheckRow> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<CheckRow>)>> = Mutex::new(Vec::with_capacity(tasks.len()));
    let progress = Mutex::new(Progress::new(tasks.len()));
    let work = || {
        while !interrupt::asked() {
            // Ordering: only the counter itself is shared.
            let i = next.fetch_add(1, Ordering::Relaxed);
            // The largest numbers of ranks first, so that no core is late.
            let Some(&(id, p)) = tasks.len().checked_sub(i + 1).and_then(|i| tasks.get(i)) else {
                return;
            };
            if let Ok(mut progress) = progress.lock() {
                progress.step(&format!("{id} {p} ranks"));
            }
            let rows = cases(id, p).into_iter().map(|request| judged(id, request)).collect();
            if let Ok(mut done) = done.lock() {
                done.push((tasks.len() - i, rows));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(16));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().flat_map(|(_, rows)| rows).collect()
}

fn judged(algorithm: Algorithm, request: Request) -> CheckRow {
    let (messages, wrong) = match judge(algorithm, &request) {
        Ok(messages) => (messages, None),
        Err(what) => (0, Some(what)),
    };
    CheckRow { algorithm, request, messages, wrong }
}

/// The number of messages, or the fault.
fn judge(algorithm: Algorithm, request: &Request) -> Result<usize, String> {
    let schedule = algorithm.schedule(request).map_err(|e| e.to_string())?;
    let report = check(&schedule).map_err(|e| e.to_string())?;
    for rank in looked_at(request) {
        // One element more than parts, so that their lengths differ.
        check_hazards(&schedule, rank, request.ranks + 1).map_err(|e| e.to_string())?;
    }
    let form = closed_form(algorithm, request).map_err(|e| e.to_string())?;
    let counted = Cost::of(&schedule);
    if !form.holds(&counted) {
        return Err(format!("costs {} t_s + {} t_w m, not {form}", counted.ts, counted.tw));
    }
    match dual(algorithm) {
        Some((of, operation)) => {
            let mut other = request.clone();
            other.operation = operation;
            let forward = of.schedule(&other).map_err(|e| e.to_string())?;
            if backwards(&forward, &schedule) {
                Ok(report.messages)
            } else {
                Err(format!("not {of} backwards"))
            }
        }
        None => Ok(report.messages),
    }
}

/// The ranks with plans that are looked through for hazards: all of up to eight, else the first,
/// the last, the one in the middle, and the root's neighbours.
fn looked_at(request: &Request) -> Vec<usize> {
    let (p, root) = (request.ranks, request.root);
    if p <= 8 {
        return (0..p).collect();
    }
    distinct([0, 1, p / 2, p - 1, root, (root + 1) % p, (root + p - 1) % p])
}

/// The algorithm of which this one is the dual: with messages and steps turned
/// round.
fn dual(algorithm: Algorithm) -> Option<(Algorithm, Operation)> {
    let forward = match algorithm.id() {
        // Its ranks come in another order, which keeps the operands in order.
        "RED-NAIVE" => return None,
        // The root has its own vector already, which a reduction needs there.
        "RED-FUSED" => return None,
        "RS-HCUBE-ASC" => "AG-HCUBE-DESC".to_string(),
        "RED-HCUBE" => "BC-HCUBE-SRC".to_string(),
        id => {
            let pairs = [("RED-", "BC-"), ("RS-", "AG-"), ("GA-", "SC-")];
            let (rest, with) =
                pairs.iter().find_map(|(from, to)| Some((id.strip_prefix(from)?, *to)))?;
            format!("{with}{rest}")
        }
    };
    let forward: Algorithm = forward.parse().ok()?;
    Some((forward, forward.operations()[0]))
}

/// Whether two schedules have the same messages, in reverse.
fn backwards(forward: &Schedule, back: &Schedule) -> bool {
    type Line = (usize, usize, usize, Vec<phalanx::schedule::BlockRange>);
    let steps = forward.steps();
    if steps != back.steps() {
        return false;
    }
    let mut turned: Vec<Line> =
        trace(forward).map(|m| (steps + 1 - m.step, m.dst, m.src, m.blocks)).collect();
    turned.sort_unstable();
    let mut lines: Vec<Line> = trace(back).map(|m| (m.step, m.src, m.dst, m.blocks)).collect();
    lines.sort_unstable();
    turned == lines
}

fn parse_range(text: &str) -> Result<(usize, usize), String> {
    let wrong =
        || format!("'{text}' is no range of ranks; accepted are 1..64 or 8, from 1 to {MOST}");
    let (a, b) = match text.split_once("..") {
        Some((a, b)) => (a, b.strip_prefix('=').unwrap_or(b)),
        None => (text, text),
    };
    let number = |s: &str| s.trim().parse::<usize>().ok().filter(|n| (1..=MOST).contains(n));
    let (a, b) = (number(a).ok_or_else(wrong)?, number(b).ok_or_else(wrong)?);
    if a <= b { Ok((a, b)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_call_is_named() {
        let request = Request::new(Operation::Reduce, 8).root(3);
        let mut row = judged(Algorithm::RED_RING, request);
        assert_eq!(row.wrong, None);
        row.wrong = Some("not BC-RING backwards".to_string());
        let rows = table(std::iter::once(&row)).tsv();
        assert_eq!(rows.lines().nth(1), Some("RED-RING\t8\t\t3\tnot BC-RING backwards"));
        assert!(summary(&[Algorithm::RED_RING], &[row]).contains("1 wrong"));
    }

    #[test]
    fn duals_are_told_apart() {
        let schedule = |a: Algorithm| a.schedule(&Request::new(a.operations()[0], 8)).unwrap();
        let (ring, cube) = (schedule(Algorithm::AG_RING), schedule(Algorithm::AG_HCUBE));
        assert!(backwards(&ring, &schedule(Algorithm::RS_RING)));
        assert!(backwards(&cube, &schedule(Algorithm::RS_HCUBE)));
        assert!(!backwards(&cube, &schedule(Algorithm::RS_HCUBE_ASC)));
        assert!(!backwards(&ring, &schedule(Algorithm::RS_LINEAR_NN)));
        let found = Algorithm::ALL.iter().filter(|&&a| dual(a).is_some()).count();
        assert!(found >= 30, "{found}");
    }

    #[test]
    fn ranges_are_read() {
        assert_eq!(parse_range("1..64"), Ok((1, 64)));
        assert_eq!(parse_range("3..=5"), Ok((3, 5)));
        assert_eq!(parse_range("8"), Ok((8, 8)));
        for text in ["", "..", "0..3", "5..3", "1..9999", "a..b"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }
}
