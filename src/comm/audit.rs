//! The audit at the end of a run, or of a sub-communicator: every message was received, and all
//! ranks made the same calls.

use super::Comm;
use super::diagnose::disagree;
use crate::error::Error;
use crate::shared::{CallRecord, CommState, TeamState};
use crate::sync::diagnostic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::sync::{Arc, panicking};

/// The counts of one rank's calls on a communicator.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Messages posted less messages taken (low half), and collective calls
    /// made (high half).
    sums: AtomicU64,
    /// Over the collective calls that send nothing.
    unsent: AtomicU64,
}

impl Tally {
    /// Takes over the counts of `comm`. Whoever reads it afterwards is told so by other means.
    pub(crate) fn take_from(&self, comm: &Comm) {
        let port = &comm.port;
        let sums = u64::from(port.balance()) | u64::from(port.calls()) << 32;
        // Only if it is news: the caller of the run has the line.
        for (word, value) in [(&self.sums, sums), (&self.unsent, port.unsent())] {
            if word.load(Relaxed) != value {
                word.store(value, Relaxed);
            }
        }
    }

    fn balance(&self) -> u32 {
        self.sums.load(Relaxed) as u32
    }

    fn calls(&self) -> u32 {
        (self.sums.load(Relaxed) >> 32) as u32
    }
}

/// Compares the accounts of all ranks of `shared`. Only while no rank uses it.
pub(crate) fn compare<'a>(
    shared: &CommState,
    tally: impl Fn(usize) -> &'a Tally,
) -> Result<(), Error> {
    let p = shared.size();
    // All is well, as a rule: one look at each account.
    let (made, unsent) = (tally(0).calls(), tally(0).unsent.load(Relaxed));
    let mut balance = tally(0).balance();
    let alike = (1..p).all(|rank| {
        let tally = tally(rank);
        balance = balance.wrapping_add(tally.balance());
        tally.calls() == made && tally.unsent.load(Relaxed) == unsent
    });
    if alike && balance == 0 {
        return Ok(());
    }
    what_differs(shared, &tally)
}

#[cold]
fn what_differs<'a>(shared: &CommState, tally: &dyn Fn(usize) -> &'a Tally) -> Result<(), Error> {
    let p = shared.size();
    let differs = |rank: usize| tally(rank).calls() != tally(0).calls();
    if let Some(rank) = (1..p).find(|&rank| differs(rank)) {
        // The first to have made more calls than another.
        let more = tally(rank).calls().wrapping_sub(tally(0).calls()) as i32;
        let (rank, peer) = if more > 0 { (rank, 0) } else { (0, rank) };
        let made = tally(peer).calls();
        if let Some(error) = more_calls(shared, rank, peer, more.unsigned_abs(), made) {
            return Err(error);
        }
    }
    let unsent = |rank: usize| tally(rank).unsent.load(Relaxed);
    if let Some(rank) = (1..p).find(|&rank| unsent(rank) != unsent(0)) {
        return Err(other_unsent(shared, rank));
    }
    let sum = (0..p).fold(0u32, |sum, rank| sum.wrapping_add(tally(rank).balance()));
    match (sum != 0).then(|| shared.unreceived()).flatten() {
        Some((rank, to, messages)) => {
            let (rank, peer) = (shared.member(rank), shared.member(to));
            let world = shared.world();
            // A message that nobody wanted is the consequence, if the calls differ.
            if let Some(error) = disagree(world, shared.id(), shared.member(0)) {
                return Err(error);
            }
            // As a rule it is a message to that rank. (A collective call may send, too.)
            let is_of_comm = |c: &CallRecord| c.comm == shared.id();
            let sends = |c: &CallRecord| c.call == 0 && c.sig.parameter == "to rank";
            let sends_there = |c: &CallRecord| is_of_comm(c) && sends(c) && c.parameter == Some(to);
            let may_send = |c: &CallRecord| is_of_comm(c) && (c.call != 0 || sends(c));
            let records = world.records(rank);
            let sent =
                records.latest_of_run(&sends_there).or_else(|| records.latest_of_run(&may_send));
            let site = sent.map(|call| call.site());
            let last = world.records(peer).latest_of_run(&|_| true).map(|call| call.site());
            let messages = messages as usize;
            Err(Error::Unreceived { rank, peer, messages, site, last, returned: None })
        }
        None => Ok(()),
    }
}

/// Why run `run` has ended. Only while no rank runs: a disagreement is looked at
/// again, now that all ranks have made the call in question that were going to
/// make it. The rank that noticed it may have known two opinions of which neither was the
/// odd one, and which rank notices is chance; the records are not.
pub(crate) fn final_cause(world: &TeamState, run: u64) -> Error {
    match world.take_cause(run) {
        Some((error, Some(comm))) => disagree(world, comm, NOBODY).unwrap_or(error),
        Some((error, None)) => error,
        None => world.ended_by(run).map_or(Error::Dead, caught),
    }
}

/// The cause that rank `rank` never gives: a panic of the user's code in one of its calls, which
/// has not reached the closure's end.
pub(super) fn caught(rank: usize) -> Error {
    let what = "its closure has caught what a call of its own threw, and kept the cause";
    Error::panicked(rank, Box::new(what))
}

/// No rank: of two opinions with equally many votes, that of the lowest rank is
/// the expected one.
const NOBODY: usize = usize::MAX;

/// Rank `rank` of `shared` has made `more` collective calls more than `peer`,
/// which has made `made` so far. A call
/// that needs no messages (a shift by 0) can be missing without anybody having
/// waited for it; later calls would begin with ranks out of step.
fn more_calls(shared: &CommState, rank: usize, peer: usize, more: u32, made: u32) -> Option<Error> {
    let (rank, peer) = (shared.member(rank), shared.member(peer));
    if let Some(error) = disagree(shared.world(), shared.id(), rank) {
        return Some(error);
    }
    let records = |rank: usize| shared.world().records(rank);
    let is_of_comm = |c: &CallRecord| c.comm == shared.id() && c.call != 0;
    // The first that the other did not make, if it is still on record.
    let first = |c: &CallRecord| is_of_comm(c) && c.call as u32 == made.wrapping_add(1);
    let of_comm = |rank: usize| records(rank).latest_of_run(&is_of_comm);
    let mut there = of_comm(peer);
    let (here, ago) = match records(rank).latest_of_run(&first).or_else(|| of_comm(rank)) {
        Some(call) => (call, ""),
        None => {
            let any = |rank: usize| records(rank).latest_of_run(&|_| true);
            there = there.or_else(|| any(peer));
            (any(rank)?, ", longer ago than is on record (named are the latest calls)")
        }
    };
    let (here, there) = (here.site(), there.map(|call| call.site()));
    let than = match there {
        Some(_) if ago.is_empty() => ", whose last is named",
        Some(_) => "",
        None => ", which made none in this run",
    };
    let what = format!(
        "rank {rank} made {more} collective call(s) more than rank {peer}{than}, \
         and nobody waited in any{ago}"
    );
    Some(Error::Mismatch { rank, here, peer, there, what })
}

/// Rank `rank` of `shared` has made another call than rank 0 where both sent
/// nothing.
fn other_unsent(shared: &CommState, rank: usize) -> Error {
    let (first, rank) = (shared.member(0), shared.member(rank));
    if let Some(error) = disagree(shared.world(), shared.id(), first) {
        return error;
    }
    let latest = |rank: usize| {
        let records = shared.world().records(rank);
        let of_comm = records.latest_of_run(&|c| c.comm == shared.id());
        of_comm.or_else(|| records.latest_of_run(&|_| true)).map(|call| call.site())
    };
    let what = "of their calls that send nothing (shifts by 0) one differs, longer ago than is on \
                record; named are the latest calls";
    match latest(first) {
        Some(here) => Error::Mismatch {
            rank: first,
            here,
            peer: rank,
            there: latest(rank),
            what: what.into(),
        },
        None => Error::Dead,
    }
}

/// Compares the accounts of a sub-communicator once its last rank has dropped
/// it, and ends its run if they do not agree. (A team's own communicator lives
/// on; `run` compares it at the end of each run.)
pub(super) struct Audit {
    shared: Arc<CommState>,
    run: u64,
    tallies: Box<[Tally]>,
    /// Somebody has lost its communicator in a failure, which is then the cause that is
    /// to be reported.
    failed: AtomicBool,
}

impl Audit {
    pub(super) fn new(shared: Arc<CommState>, run: u64) -> Self {
        let tallies = (0..shared.size()).map(|_| Tally::default()).collect();
        Audit { shared, run, tallies, failed: AtomicBool::new(false) }
    }

    /// `comm` is about to be dropped.
    pub(super) fn compare(&self, comm: &Comm) {
        if comm.port.is_dead() || panicking() {
            // Relaxed: the drop of this rank's `Arc` publishes it.
            self.failed.store(true, Relaxed);
        }
        self.tallies[comm.port.rank()].take_from(comm);
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        let world = self.shared.world();
        if self.failed.load(Relaxed) || world.is_poisoned(self.run) {
            return;
        }
        if let Err(error) = compare(&self.shared, |rank| &self.tallies[rank]) {
            // Whoever dropped it last; the world's ranks are all equally good.
            drop(world.poison(self.run, self.shared.member(0), Some(error)));
        }
    }
}
