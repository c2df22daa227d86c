//! The words that all communicators of a team share: poison, leaving, and who
//! waits for whom. See `README.md` for the protocols.

use super::cause::Cause;
use super::record::Records;
use crate::error::{Doing, Error, Standing, say};
use crate::sync::diagnostic::{AtomicBool, AtomicU64 as PlainU64, AtomicUsize};
use crate::sync::{AtomicU64, Mutex, Ordering, Site, catch_unwind, consume, publish};
use crate::wait::is_crowded_by;
use crossbeam_utils::CachePadded;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// One rank's words. Written by that rank only; looked at by others only when
/// they have waited for a while.
pub(crate) struct Line {
    /// The run that the rank is in; 0 if it is in none, or has left it.
    /// Looked at by the rank only.
    present: PlainU64,
    /// Whether the rank is preparing a call's plan. For reports.
    preparing: AtomicBool,
    /// Calls under way, on any communicator of the rank, in which user code (a
    /// view, an operator) may be running. Looked at by the rank only.
    depth: AtomicUsize,
    /// The number of the latest run that the rank has left for good.
    left: AtomicU64,
    /// High half: number of the rank's latest long wait. Low half: the rank it
    /// waits for, plus 1; 0 when that wait is over.
    wait: AtomicU64,
    /// What the rank knows about its current wait. High half: its number. Low
    /// half: the number of the wait in which it saw its peer *before* it
    /// looked for what it awaits and did not find it.
    edge: AtomicU64,
}

impl Line {
    /// The run that the rank is in; 0 for none.
    #[inline(always)]
    pub(crate) fn present(&self) -> u64 {
        // Relaxed: only the rank itself uses the word. (Another thread that
        // got hold of its communicator is refused for being another thread.)
        self.present.load(Ordering::Relaxed)
    }

    /// The rank begins a call in which user code may run.
    #[inline(always)]
    pub(crate) fn go_in(&self) {
        // Relaxed, and no RMW: only the rank itself uses the word.
        self.depth.store(self.depth.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The rank ends such a call.
    #[inline(always)]
    pub(crate) fn come_out(&self) {
        self.depth.store(self.depth.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

/// Drops a cause that nobody wants, or anything else that may hold a panic's
/// payload, whose own `Drop` may panic.
pub(crate) fn discard<T>(cause: T) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
        std::mem::forget(second);
    }
}

/// See the module documentation.
pub(crate) struct World {
    /// The number of the current run; written between runs.
    /// In a line of its own: ranks look at the rest when a run begins.
    run: CachePadded<AtomicU64>,
    /// The number of the latest run that was poisoned.
    poison: AtomicU64,
    /// Whether ranks outnumbered cores when the run began; written between
    /// runs, so that all ranks of a run see the same.
    crowded: AtomicBool,
    /// Why, and of which run.
    cause: Mutex<Option<Cause>>,
    lines: Box<[CachePadded<Line>]>,
    records: Box<[Records]>,
    /// What counters begin from; other than 0 only in tests.
    start: u32,
    /// How long a rank may wait for another; never written once there are ranks.
    deadline: Option<Duration>,
}

impl World {
    pub(crate) fn new(ranks: usize) -> Self {
        let word = || AtomicU64::new(0);
        let line = || Line {
            present: PlainU64::new(0),
            preparing: AtomicBool::new(false),
            depth: AtomicUsize::new(0),
            left: word(),
            wait: word(),
            edge: word(),
        };
        World {
            run: CachePadded::new(AtomicU64::new(0)),
            poison: AtomicU64::new(0),
            crowded: AtomicBool::new(false),
            cause: Mutex::new(None),
            lines: (0..ranks).map(|_| CachePadded::new(line())).collect(),
            records: (0..ranks).map(|_| Records::default()).collect(),
            start: 0,
            deadline: None,
        }
    }

    /// The same with a limit to every wait.
    pub(crate) fn with_deadline(self, deadline: Option<Duration>) -> Self {
        World { deadline, ..self }
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The same with all counters that wrap beginning from `start`: those of
    /// waits here, those of messages and calls in its communicators.
    pub(crate) fn counting_from(self, start: u32) -> Self {
        for line in &self.lines {
            // Relaxed: nobody else has the world yet.
            line.wait.store(u64::from(start) << 32, Ordering::Relaxed);
            // Of the wait before the first: an edge of wait 0 would be believed.
            line.edge.store(u64::from(start) << 32, Ordering::Relaxed);
        }
        World { start, ..self }
    }

    /// What counters begin from.
    pub(crate) fn start(&self) -> u32 {
        self.start
    }

    pub(crate) fn ranks(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn records(&self, rank: usize) -> &Records {
        &self.records[rank]
    }

    /// `rank`'s own words.
    #[inline(always)]
    pub(crate) fn line(&self, rank: usize) -> &Line {
        &self.lines[rank]
    }

    /// `rank` takes part in run `run` from now on.
    pub(crate) fn join(&self, rank: usize, run: u64) {
        self.lines[rank].present.store(run, Ordering::Relaxed);
    }

    /// Whether ranks outnumbered cores when the run began: the same answer on
    /// every rank.
    pub(crate) fn is_crowded(&self) -> bool {
        // Relaxed: the dispatch of the run publishes it.
        self.crowded.load(Ordering::Relaxed)
    }

    /// Begins the next run, of `ranks` ranks that are not in the crowd yet, and
    /// returns its number. Only while no rank runs.
    pub(crate) fn begin(&self, ranks: usize) -> u64 {
        // Only if it is news: the ranks of the run before may still have the line.
        let crowded = is_crowded_by(ranks);
        if crowded != self.is_crowded() {
            self.crowded.store(crowded, Ordering::Relaxed);
        }
        // Relaxed: the dispatch of the run publishes it.
        let run = self.run.load(Ordering::Relaxed) + 1;
        self.run.store(run, Ordering::Relaxed);
        run
    }

    /// The number of the current run.
    #[inline(always)]
    pub(crate) fn run(&self) -> u64 {
        self.run.load(Ordering::Relaxed)
    }

    /// Ends run `run` for everybody, unless it is over already (a stashed
    /// communicator is used): then the next one must not suffer. `by` is the
    /// rank that says so. Of several causes that of the first such rank stays,
    /// else the first that is given; one that does not stay is given back
    /// (dropping it may run the user's code, that of a panic's payload).
    pub(crate) fn poison(&self, run: u64, by: usize, cause: Option<Error>) -> Option<Error> {
        // The lock orders those who poison: a store for an old run cannot come
        // after one for the present run.
        let mut slot = self.cause.lock().unwrap_or_else(|e| e.into_inner());
        if run != self.run() {
            return cause;
        }
        let (rest, old) = Cause::note(&mut slot, run, by, cause);
        // Ordering: pairs with the load in `is_poisoned`, though nothing relies
        // on it (`Site::Poison`). Several ranks may store here, all of them
        // the same value.
        self.poison.store(run, publish(Site::Poison));
        drop(slot);
        // Nobody has asked for it. Whoever calls this may owe others its memory,
        // and must not unwind here.
        discard(old);
        rest
    }

    /// The cause that `by` has given for the end of run `run` is a disagreement
    /// on communicator `comm`: more may be known of it when all have ended.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn suspect(&self, run: u64, by: usize, comm: u64) {
        let mut slot = self.cause.lock().unwrap_or_else(|e| e.into_inner());
        Cause::suspect(&mut slot, run, by, comm);
    }

    pub(crate) fn is_poisoned(&self, run: u64) -> bool {
        // Ordering: pairs with the store in `poison`.
        self.poison.load(consume(Site::Poison)) == run
    }

    /// Ends run `run` because `rank` has waited for `peer` for as long as the
    /// deadline allows. The report is made, and said, here and now: before the
    /// rank quiesces, which a rank that is stuck in its own code may keep it
    /// in, and while the others still are where they were.
    #[cold]
    pub(crate) fn give_up(&self, rank: usize, peer: usize, run: u64) {
        let standings = (0..self.ranks()).map(|rank| self.standing(rank, run)).collect();
        let limit = self.deadline.unwrap_or_default();
        let error = Error::deadline(rank, peer, limit, standings);
        let report = error.to_string();
        if self.poison(run, rank, Some(error)).is_none() {
            say(&report);
        }
    }

    fn standing(&self, rank: usize, run: u64) -> Standing {
        let doing = match self.wait_of(rank) {
            Some((_, peer)) => Doing::WaitsFor(peer),
            None if self.has_left(rank, run) => Doing::Returned,
            None if self.lines[rank].preparing.load(Ordering::Relaxed) => Doing::Prepares,
            None => Doing::Computes,
        };
        let calls = self.records[rank].newest_first();
        Standing { rank, doing, calls: calls.iter().map(super::Call::site).collect() }
    }

    /// `rank` begins, or ends, to prepare a call's plan.
    pub(crate) fn set_preparing(&self, rank: usize, preparing: bool) {
        // Relaxed: reports only.
        self.lines[rank].preparing.store(preparing, Ordering::Relaxed);
    }

    /// What the cause of the poisoning of run `run` is so far.
    #[cfg_attr(loom, allow(dead_code))] // For jobs on several nodes.
    pub(crate) fn cause(&self, run: u64) -> Option<String> {
        Cause::text(&self.cause.lock().unwrap_or_else(|e| e.into_inner()), run)
    }

    /// Takes the cause of the poisoning of run `run`, and the communicator whose
    /// ranks disagree, if that is the cause.
    pub(crate) fn take_cause(&self, run: u64) -> Option<(Error, Option<u64>)> {
        let mut slot = self.cause.lock().unwrap_or_else(|e| e.into_inner());
        Cause::take(&mut slot, run)
    }

    /// Declares that `rank` touches nobody's memory any more in run `run`.
    pub(crate) fn leave(&self, rank: usize, run: u64) {
        if self.lines[rank].present() == run {
            self.join(rank, 0);
        }
        // Ordering: pairs with the load in `has_left`; all reads and writes of
        // foreign memory come before.
        self.lines[rank].left.store(run, publish(Site::Left));
    }

    /// Whether `rank` is inside user code of a call.
    pub(crate) fn is_inside(&self, rank: usize) -> bool {
        self.lines[rank].depth.load(Ordering::Relaxed) != 0
    }

    #[inline(always)]
    pub(crate) fn has_left(&self, rank: usize, run: u64) -> bool {
        // Ordering: pairs with the store in `leave`.
        self.lines[rank].left.load(consume(Site::Left)) == run
    }

    /// `rank` begins a long wait for `peer`; returns the wait's number.
    pub(crate) fn begin_wait(&self, rank: usize, peer: usize) -> u32 {
        let word = &self.lines[rank].wait;
        let number = ((word.load(Ordering::Relaxed) >> 32) as u32).wrapping_add(1);
        // Ordering: whoever sees this wait also sees everything that the rank
        // sent before it; pairs with the load in `wait_of`.
        word.store(u64::from(number) << 32 | (peer as u64 + 1), publish(Site::Waiting));
        number
    }

    pub(crate) fn end_wait(&self, rank: usize) {
        let word = &self.lines[rank].wait;
        // Relaxed: the number stays, so that nobody takes an old edge for a
        // new one; that the wait is over publishes nothing.
        word.store(word.load(Ordering::Relaxed) >> 32 << 32, Ordering::Relaxed);
    }

    /// The number of `rank`'s current long wait and whom it is for.
    pub(crate) fn wait_of(&self, rank: usize) -> Option<(u32, usize)> {
        // Ordering: pairs with the store in `begin_wait`.
        let word = self.lines[rank].wait.load(consume(Site::Waiting));
        match word as u32 {
            0 => None,
            peer => Some(((word >> 32) as u32, peer as usize - 1)),
        }
    }

    /// `rank`, in its wait `number`, saw its peer in the peer's wait
    /// `peer_number` and after that found nothing: as long as both waits last,
    /// nothing will come.
    pub(crate) fn confirm(&self, rank: usize, number: u32, peer_number: u32) {
        let edge = u64::from(number) << 32 | u64::from(peer_number);
        self.lines[rank].edge.store(edge, Ordering::Relaxed);
    }

    /// The circle of ranks waiting for each other that `rank` belongs to, if
    /// every rank on it has confirmed its part.
    pub(crate) fn circle(&self, rank: usize) -> Option<Vec<(usize, usize)>> {
        let mut circle = Vec::new();
        let (first, _) = self.wait_of(rank)?;
        let mut at = rank;
        let mut number = first;
        loop {
            let (n, peer) = self.wait_of(at)?;
            // Relaxed: an edge is a statement about two numbered waits, true
            // for as long as both last, whenever it is read.
            let edge = self.lines[at].edge.load(Ordering::Relaxed);
            let peer_number = edge as u32;
            if n != number || (edge >> 32) as u32 != n {
                return None;
            }
            let (peer_now, _) = self.wait_of(peer)?;
            if peer_now != peer_number {
                return None;
            }
            circle.push((at, peer));
            if peer == rank {
                return (peer_number == first).then_some(circle);
            }
            if circle.len() > self.lines.len() {
                return None;
            }
            (at, number) = (peer, peer_number);
        }
    }
}
