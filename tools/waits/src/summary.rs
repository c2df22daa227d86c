//! A run's timeline in tables: by rank, by call and line, by the lines that made others wait, by
//! phase, and the critical path; and many runs, by the line that starts them.

use crate::critical_path::{self, PathPiece};
use crate::record::{END, Run};
use crate::timeline::{self, RankLine};
use crate::wait_state::{self, Doing, Late, Part, WaitState};
use phalanx_cli::disturbance::{CoreSpan, Disturbance};
use std::collections::BTreeMap;

/// Culprits of culprits that are followed, at most.
const DEEPEST: usize = 16;

/// Time of a rank, or in a phase, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// In the program's own code.
    pub work: u64,
    /// In calls, but for waiting.
    pub transfer: u64,
    /// For ranks that were late.
    pub waiting: u64,
    /// From the caller's start of the run until the rank began it.
    pub late_start: u64,
}

impl Spent {
    fn add_all(&mut self, parts: &[Part]) {
        parts.iter().for_each(|part| self.add(part.doing, part.end - part.begin));
    }

    fn add(&mut self, doing: Doing, time: u64) {
        match doing {
            Doing::Works(_) => self.work = self.work.saturating_add(time),
            Doing::Transfers(_) => self.transfer = self.transfer.saturating_add(time),
            Doing::Waits(_) => self.waiting = self.waiting.saturating_add(time),
            Doing::Starts => self.late_start = self.late_start.saturating_add(time),
        }
    }
}

/// How a rank was late, or spent the time of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// By work before a call.
    Work,
    /// In a call.
    Transfer,
    /// Before it had begun the run.
    LateStart,
}

impl By {
    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            By::Work => "work",
            By::Transfer => "transfer",
            By::LateStart => "late start",
        }
    }
}

/// A rank's row.
#[derive(Clone, Debug)]
pub struct RankRow {
    /// The rank.
    pub rank: usize,
    /// Its time.
    pub spent: Spent,
    /// Events that the ring has forgotten.
    pub lost: u64,
    /// Time that others waited because of this rank, in the end.
    pub caused: u64,
}

/// The row of a line that starts runs of so many ranks.
#[derive(Clone, Debug)]
pub struct RegionRow {
    /// The line; empty for threads of the user's own.
    pub at: String,
    /// By rank, over all runs.
    pub spent: Vec<Spent>,
    /// How many runs.
    pub runs: u64,
    /// Their length, and that of the longest.
    pub total: u64,
    /// See `total`.
    pub longest: u64,
}

/// Many runs.
#[derive(Debug, Default)]
pub struct Regions(BTreeMap<(String, usize), RegionRow>);

impl Regions {
    /// One more.
    pub fn add(&mut self, run: &Run) {
        let lines = timeline::lines(run);
        let late = wait_state::find(run, &lines);
        let (at, ranks) = (run.text(run.at).to_string(), lines.len());
        let row = self.0.entry((at.clone(), ranks)).or_insert_with(|| {
            let spent = vec![Spent::default(); ranks];
            RegionRow { at, spent, runs: 0, total: 0, longest: 0 }
        });
        for ((line, late), spent) in lines.iter().zip(&late).zip(&mut row.spent) {
            spent.add_all(&wait_state::parts(line, late));
        }
        row.runs += 1;
        row.total = row.total.saturating_add(run.length());
        row.longest = row.longest.max(run.length());
    }

    /// The longest in sum first.
    pub fn rows(self) -> Vec<RegionRow> {
        sorted(self.0.into_values().collect(), |row| row.total)
    }
}

/// The use of the ranks' cores beside them.
pub fn disturbance(run: &Run) -> Disturbance {
    let cores: Vec<CoreSpan> = run.ranks.iter().map(|rank| rank.cores).collect();
    Disturbance::of(run.length(), &cores)
}

/// The row of a call, a line and a state of waiting.
#[derive(Clone, Debug)]
pub struct CallRow {
    /// The operation, and its elements.
    pub call: String,
    /// The line.
    pub at: String,
    /// Calls, over all ranks.
    pub calls: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time in them, but for waiting.
    pub transfer: u64,
    /// Time of waiting, by state.
    pub waiting: Vec<(WaitState, u64)>,
    /// The rank that waited longest, and how long.
    pub worst: (usize, u64),
}

impl CallRow {
    /// Of all states.
    pub fn waited(&self) -> u64 {
        self.waiting.iter().map(|(_, time)| time).sum()
    }
}

/// The row of a rank and a line before which, or in which, it was late.
#[derive(Clone, Debug)]
pub struct CulpritRow {
    /// The rank.
    pub rank: usize,
    /// The call for which it was late.
    pub call: String,
    /// Its line.
    pub at: String,
    /// The phase in which it was late; empty for none.
    pub phase: String,
    /// How it was late.
    pub by: By,
    /// How long others waited for this, over all ranks.
    pub caused: u64,
    /// Which ranks waited, and how long.
    pub waiting: Vec<(usize, u64)>,
}

/// A phase's row. Time in a phase inside another counts for the inner one only.
#[derive(Clone, Debug)]
pub struct PhaseRow {
    /// The name; empty for calls in no phase.
    pub name: String,
    /// By rank.
    pub spent: Vec<Spent>,
    /// Its time on the critical path: the time that it would save, at most, if it took no time.
    pub on_path: u64,
}

impl PhaseRow {
    /// The longest work of a rank, and which one.
    pub fn longest(&self) -> (usize, u64) {
        let work = self.spent.iter().map(|it| it.work).enumerate();
        work.max_by_key(|it| it.1).unwrap_or((0, 0))
    }

    /// The mean work of a rank.
    pub fn mean(&self) -> u64 {
        let sum: u64 = self.spent.iter().map(|it| it.work).sum();
        sum / (self.spent.len() as u64).max(1)
    }

    /// The longest work over the mean: 1 if all have the same.
    pub fn imbalance(&self) -> f64 {
        if self.mean() == 0 { 1.0 } else { self.longest().1 as f64 / self.mean() as f64 }
    }

    /// The time that the run would save, at most, if the phase's work were spread evenly.
    pub fn balance_saves(&self) -> u64 {
        (self.longest().1 - self.mean()).min(self.on_path)
    }
}

/// A row of the critical path: time on a rank before, or in, a call.
#[derive(Clone, Debug)]
pub struct PathRow {
    /// The rank.
    pub rank: usize,
    /// The call.
    pub call: String,
    /// Its line.
    pub at: String,
    /// The phase; empty for none.
    pub phase: String,
    /// Work before the call, the call itself, or a late start.
    pub by: By,
    /// How long.
    pub time: u64,
}

/// A run, read.
#[derive(Debug)]
pub struct Summary {
    /// The run's length in nanoseconds.
    pub length: u64,
    /// The ranks.
    pub lines: Vec<RankLine>,
    /// The waits.
    pub late: Vec<Vec<Late>>,
    /// See [`RankRow`].
    pub ranks: Vec<RankRow>,
    /// The longest waiting first.
    pub calls: Vec<CallRow>,
    /// The longest first.
    pub culprits: Vec<CulpritRow>,
    /// The longest on the path first.
    pub phases: Vec<PhaseRow>,
    /// The longest first.
    pub path: Vec<PathRow>,
    /// The path itself.
    pub pieces: Vec<PathPiece>,
}

/// Which phase, the innermost, a rank is in from each moment on.
fn innermost(line: &RankLine) -> Vec<(u64, Option<u32>)> {
    let mut changes = vec![(0, None)];
    let mut open: Vec<(u64, u32)> = Vec::new();
    let close = |open: &mut Vec<(u64, u32)>, changes: &mut Vec<_>, until: u64| {
        while let Some((end, _)) = open.last().copied().filter(|(end, _)| *end <= until) {
            open.pop();
            changes.push((end, open.last().map(|it| it.1)));
        }
    };
    for phase in &line.phases {
        close(&mut open, &mut changes, phase.begin);
        // One that a panic has left open ends with the one around it.
        let end = open.last().map_or(phase.end, |it| phase.end.min(it.0));
        open.push((end, phase.name));
        changes.push((phase.begin, Some(phase.name)));
    }
    close(&mut open, &mut changes, u64::MAX);
    changes
}

/// Calls `f` with each piece of `begin..end` that is of one part and in one phase.
fn pieces(
    parts: &[Part],
    phases: &[(u64, Option<u32>)],
    (begin, end): (u64, u64),
    mut f: impl FnMut(Doing, Option<u32>, u64, u64),
) {
    let first = parts.partition_point(|part| part.end <= begin);
    for part in parts[first..].iter().take_while(|part| part.begin < end) {
        let (mut from, to) = (part.begin.max(begin), part.end.min(end));
        let mut at = phases.partition_point(|it| it.0 <= from).max(1) - 1;
        while from < to {
            let until = phases.get(at + 1).map_or(to, |it| it.0.min(to));
            if until > from {
                f(part.doing, phases[at].1, from, until);
            }
            from = from.max(until);
            at += 1;
        }
    }
}

/// The late rank, and where: rank, call, phase, and how.
type Blame = (usize, Option<usize>, Option<u32>, By);

struct Blamer<'a> {
    parts: &'a [Vec<Part>],
    phases: &'a [Vec<(u64, Option<u32>)>],
    late: &'a [Vec<Late>],
    lines: &'a [RankLine],
}

impl Blamer<'_> {
    /// Says of the work of `rank` from `begin` to `end`, while another waited for it, whose fault
    /// it was in the end.
    fn blame(
        &self,
        rank: usize,
        (begin, end): (u64, u64),
        depth: usize,
        f: &mut dyn FnMut(Blame, u64),
    ) {
        let began = self.lines[rank].dispatched;
        let first = (!self.lines[rank].calls.is_empty()).then_some(0);
        if begin < began {
            // Its thread came late.
            f((rank, first, None, By::Work), began.min(end) - begin);
        }
        let mut further = Vec::new();
        pieces(&self.parts[rank], &self.phases[rank], (begin, end), |doing, phase, from, to| {
            match doing {
                Doing::Starts => f((rank, first, None, By::LateStart), to - from),
                Doing::Works(call) => f((rank, call, phase, By::Work), to - from),
                Doing::Transfers(call) => f((rank, Some(call), phase, By::Transfer), to - from),
                Doing::Waits(at) => further.push((at, from, to)),
            }
        });
        for (at, from, to) in further {
            let late = &self.late[rank][at];
            if depth < DEEPEST {
                self.blame(late.culprit, (from, to), depth + 1, f);
            } else {
                f((late.culprit, Some(late.culprit_call), None, By::Work), to - from);
            }
        }
    }
}

/// The order of a table: the greatest first.
fn sorted<T>(mut rows: Vec<T>, by: impl Fn(&T) -> u64) -> Vec<T> {
    rows.sort_by_key(|row| std::cmp::Reverse(by(row)));
    rows
}

/// Reads a run.
pub fn read(run: &Run) -> Summary {
    let lines = timeline::lines(run);
    let late = wait_state::find(run, &lines);
    let both = || lines.iter().zip(&late);
    let parts: Vec<Vec<Part>> = both().map(|(line, late)| wait_state::parts(line, late)).collect();
    let phases: Vec<_> = lines.iter().map(innermost).collect();
    let what = |rank: usize, call: usize| {
        let call = &lines[rank].calls[call];
        let detail = run.text(call.detail);
        let of = if detail.is_empty() { String::new() } else { format!(" of {detail}") };
        (format!("{}{of}", run.text(call.name)), run.text(call.at).to_string())
    };
    let site = |rank: usize, call: Option<usize>| match call {
        Some(call) => what(rank, call),
        None => (END.to_string(), String::new()),
    };

    let mut ranks: Vec<RankRow> = (0..lines.len())
        .map(|rank| {
            let mut spent = Spent::default();
            spent.add_all(&parts[rank]);
            RankRow { rank, spent, lost: run.ranks[rank].lost, caused: 0 }
        })
        .collect();

    let calls = calls(run, &lines, &late, &parts);

    // The rank at fault.
    let blamer = Blamer { parts: &parts, phases: &phases, late: &late, lines: &lines };
    /// Rank, call and its line, phase, and how it was late.
    type Blamed = (usize, String, String, Option<u32>, By);
    let mut blames: BTreeMap<Blamed, Vec<u64>> = BTreeMap::new();
    for (waiter, late) in late.iter().enumerate() {
        for it in late {
            blamer.blame(it.culprit, (it.begin, it.end), 0, &mut |blame, time| {
                let (rank, call, phase, by) = blame;
                ranks[rank].caused += time;
                let (call, at) = site(rank, call);
                let key = (rank, call, at, phase, by);
                let row = blames.entry(key).or_insert_with(|| vec![0; lines.len()]);
                row[waiter] += time;
            });
        }
    }
    let culprits = blames.into_iter().map(|((rank, call, at, phase, by), times)| CulpritRow {
        rank,
        call,
        at,
        phase: phase.map_or(String::new(), |it| run.text(it).to_string()),
        by,
        caused: times.iter().sum(),
        waiting: times.into_iter().enumerate().filter(|it| it.1 > 0).collect(),
    });
    let culprits = sorted(culprits.collect(), |row: &CulpritRow| row.caused);

    // Phases and the path.
    let mut by_phase: BTreeMap<Option<u32>, PhaseRow> = BTreeMap::new();
    let row = |phase: Option<u32>| PhaseRow {
        name: phase.map_or(String::new(), |it| run.text(it).to_string()),
        spent: vec![Spent::default(); lines.len()],
        on_path: 0,
    };
    for (rank, line) in lines.iter().enumerate() {
        let whole = (line.began, line.ended);
        pieces(&parts[rank], &phases[rank], whole, |doing, phase, from, to| {
            let row = by_phase.entry(phase).or_insert_with(|| row(phase));
            row.spent[rank].add(doing, to - from);
        });
    }
    let found = critical_path::find(&lines, &late);
    let mut path: BTreeMap<(usize, String, String, Option<u32>, By), u64> = BTreeMap::new();
    for piece in &found {
        let (rank, span) = (piece.rank, (piece.begin, piece.end));
        pieces(&parts[rank], &phases[rank], span, |doing, phase, from, to| {
            by_phase.entry(phase).or_insert_with(|| row(phase)).on_path += to - from;
            let first = (!lines[rank].calls.is_empty()).then_some(0);
            let (call, by) = match doing {
                Doing::Starts => (first, By::LateStart),
                Doing::Works(call) => (call, By::Work),
                Doing::Transfers(call) => (Some(call), By::Transfer),
                Doing::Waits(at) => (lines[rank].waits[late[rank][at].wait].call, By::Transfer),
            };
            let (call, at) = site(rank, call);
            *path.entry((rank, call, at, phase, by)).or_default() += to - from;
        });
    }
    let path = path.into_iter().map(|((rank, call, at, phase, by), time)| PathRow {
        rank,
        call,
        at,
        phase: phase.map_or(String::new(), |it| run.text(it).to_string()),
        by,
        time,
    });
    let path = sorted(path.collect(), |row: &PathRow| row.time);
    let phases = sorted(by_phase.into_values().collect(), |row: &PhaseRow| row.on_path);
    Summary {
        length: run.length(),
        lines,
        late,
        ranks,
        calls,
        culprits,
        phases,
        path,
        pieces: found,
    }
}

fn calls(run: &Run, lines: &[RankLine], late: &[Vec<Late>], parts: &[Vec<Part>]) -> Vec<CallRow> {
    struct Sums {
        calls: u64,
        bytes: u64,
        transfer: u64,
        waiting: BTreeMap<WaitState, u64>,
        by_rank: Vec<u64>,
    }
    let new = || Sums {
        calls: 0,
        bytes: 0,
        transfer: 0,
        waiting: BTreeMap::new(),
        by_rank: vec![0; lines.len()],
    };
    let mut rows: BTreeMap<(u32, u32, u32), Sums> = BTreeMap::new();
    for (rank, line) in lines.iter().enumerate() {
        let key = |at: usize| {
            let call = &line.calls[at];
            (call.name, call.detail, call.at)
        };
        for (at, call) in line.calls.iter().enumerate() {
            let row = rows.entry(key(at)).or_insert_with(new);
            row.calls += 1;
            row.bytes = row.bytes.saturating_add(call.bytes);
        }
        for part in &parts[rank] {
            if let Doing::Transfers(at) = part.doing {
                rows.entry(key(at)).or_insert_with(new).transfer += part.end - part.begin;
            }
        }
        for it in &late[rank] {
            let Some(at) = line.waits[it.wait].call else { continue };
            let row = rows.entry(key(at)).or_insert_with(new);
            *row.waiting.entry(it.state).or_default() += it.end - it.begin;
            row.by_rank[rank] += it.end - it.begin;
        }
    }
    let rows = rows.into_iter().map(|((name, detail, at), sums)| {
        let detail = run.text(detail);
        let of = if detail.is_empty() { String::new() } else { format!(" of {detail}") };
        let worst = sums.by_rank.iter().copied().enumerate().max_by_key(|it| it.1);
        CallRow {
            call: format!("{}{of}", run.text(name)),
            at: run.text(at).to_string(),
            calls: sums.calls,
            bytes: sums.bytes,
            transfer: sums.transfer,
            waiting: sums.waiting.into_iter().collect(),
            worst: worst.unwrap_or((0, 0)),
        }
    });
    sorted(rows.collect(), |row: &CallRow| row.waited().saturating_add(row.transfer))
}
