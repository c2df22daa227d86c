//! A run's timeline in tables: by rank, by call and line, by the lines that made others wait, by
//! phase, and the critical path.

use crate::critical_path::{self, PathPiece};
use crate::record::Run;
use crate::timeline::{self, RankLine};
use crate::wait_state::{self, Doing, Late, Part, WaitState};
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
}

impl Spent {
    fn add(&mut self, doing: Doing, time: u64) {
        match doing {
            Doing::Works(_) => self.work += time,
            Doing::Transfers(_) => self.transfer += time,
            Doing::Waits(_) => self.waiting += time,
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
    /// Whether it was late by its own work (else by a transfer).
    pub by_work: bool,
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
    /// Whether it is work before the call (else the call itself).
    pub by_work: bool,
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

/// The late rank, and where: rank, call, phase, whether by work.
type Blame = (usize, Option<usize>, Option<u32>, bool);

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
        let began = self.lines[rank].began;
        if begin < began {
            // Its thread came late.
            let first = (!self.lines[rank].calls.is_empty()).then_some(0);
            f((rank, first, None, true), began.min(end) - begin);
        }
        let mut further = Vec::new();
        pieces(&self.parts[rank], &self.phases[rank], (begin, end), |doing, phase, from, to| {
            match doing {
                Doing::Works(call) => f((rank, call, phase, true), to - from),
                Doing::Transfers(call) => f((rank, Some(call), phase, false), to - from),
                Doing::Waits(at) => further.push((at, from, to)),
            }
        });
        for (at, from, to) in further {
            let late = &self.late[rank][at];
            if depth < DEEPEST {
                self.blame(late.culprit, (from, to), depth + 1, f);
            } else {
                f((late.culprit, Some(late.culprit_call), None, true), to - from);
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
        None => ("the end of the run".to_string(), String::new()),
    };

    let mut ranks: Vec<RankRow> = (0..lines.len())
        .map(|rank| {
            let mut spent = Spent::default();
            parts[rank].iter().for_each(|part| spent.add(part.doing, part.end - part.begin));
            RankRow { rank, spent, lost: run.ranks[rank].lost, caused: 0 }
        })
        .collect();

    let calls = calls(run, &lines, &late, &parts);

    // The rank at fault.
    let blamer = Blamer { parts: &parts, phases: &phases, late: &late, lines: &lines };
    /// Rank, call and its line, phase, and whether it worked.
    type Blamed = (usize, String, String, Option<u32>, bool);
    let mut blames: BTreeMap<Blamed, Vec<u64>> = BTreeMap::new();
    for (waiter, late) in late.iter().enumerate() {
        for it in late {
            blamer.blame(it.culprit, (it.begin, it.end), 0, &mut |blame, time| {
                let (rank, call, phase, by_work) = blame;
                ranks[rank].caused += time;
                let (call, at) = site(rank, call);
                let key = (rank, call, at, phase, by_work);
                let row = blames.entry(key).or_insert_with(|| vec![0; lines.len()]);
                row[waiter] += time;
            });
        }
    }
    let culprits = blames.into_iter().map(|((rank, call, at, phase, by_work), times)| CulpritRow {
        rank,
        call,
        at,
        phase: phase.map_or(String::new(), |it| run.text(it).to_string()),
        by_work,
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
    let mut path: BTreeMap<(usize, String, String, Option<u32>, bool), u64> = BTreeMap::new();
    for piece in &found {
        let (rank, span) = (piece.rank, (piece.begin, piece.end));
        pieces(&parts[rank], &phases[rank], span, |doing, phase, from, to| {
            by_phase.entry(phase).or_insert_with(|| row(phase)).on_path += to - from;
            let (call, by_work) = match doing {
                Doing::Works(call) => (call, true),
                Doing::Transfers(call) => (Some(call), false),
                Doing::Waits(at) => (lines[rank].waits[late[rank][at].wait].call, false),
            };
            let (call, at) = site(rank, call);
            *path.entry((rank, call, at, phase, by_work)).or_default() += to - from;
        });
    }
    let path = path.into_iter().map(|((rank, call, at, phase, by_work), time)| PathRow {
        rank,
        call,
        at,
        phase: phase.map_or(String::new(), |it| run.text(it).to_string()),
        by_work,
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
