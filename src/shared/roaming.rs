//! Which threads are bound as ranks, and ranks that roam: beside the load of other programs each
//! may run on any core that the team has in the memory of its own core.
//!
//! A rank that is bound to a core beside a busy thread gets a part of that core, while another core
//! of the team may be free: its rank sleeps. Threads that are not bound the system moves there. So
//! a rank that sleeps often in a disturbed process (`wait/lost_time.rs`) widens the masks of all
//! ranks. They get their cores back when the process has stood its trial, by the first of them
//! that waits for a few microseconds, or else when the run ends, by its caller: a rank that takes
//! itself to a core beside a busy thread loses a slice. Only a mask that is the rank's core alone
//! is widened, and only one that is within the widened mask is taken back.

use super::team_state::TeamState;
use crate::fork;
use crate::machine::affinity::{self, BoundForNow, PinError};
use crate::mailbox::{RefusedMemory, collect};
use crate::sorted::Arrange;
use crate::sync::diagnostic::{AtomicBool, AtomicU64, Mutex, Ordering::Relaxed};
use crate::wait::{is_to_return, is_to_roam};
use std::cell::Cell;
use std::ops::DerefMut;

/// Waits of a thread, or sleeps of another number, between two looks at cores.
const RARELY: u32 = 1024;
const SLEEP: u32 = 64;

crate::sync::thread_local! {
    /// Its waits; they wrap.
    static WAITS: Cell<u32> = const { Cell::new(0) };
}

/// See the module documentation.
pub(super) struct Roaming {
    /// By rank: the number of its thread, if that is bound; else 0.
    threads: Box<[AtomicU64]>,
    /// Whether any rank roams.
    is_on: AtomicBool,
    away: Mutex<Vec<AwayRank>>,
    /// The units in the memory of rank 0's core; none where it does not matter on which it runs.
    near_caller: Vec<usize>,
}

/// A rank that roams.
struct AwayRank {
    rank: usize,
    thread: u64,
    unit: usize,
    range: Box<[usize]>,
}

impl Roaming {
    /// Of so many ranks, none of which is bound.
    pub(super) fn new(ranks: usize) -> Result<Self, RefusedMemory> {
        let threads = collect(ranks, |_| AtomicU64::new(0))?;
        let (is_on, away) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        Ok(Roaming { threads, is_on, away, near_caller: Vec::new() })
    }

    pub(super) fn with_caller(self, near_caller: Vec<usize>) -> Self {
        Roaming { near_caller, ..self }
    }

    /// The lock, which no thread holds when another forks.
    fn away(&self) -> (impl DerefMut<Target = Vec<AwayRank>>, fork::Inside) {
        let inside = fork::inside();
        (self.away.lock().unwrap_or_else(|e| e.into_inner()), inside)
    }

    /// All come home, but for the caller of the run unless `caller`.
    #[cold]
    fn end(&self, caller: bool) {
        let (mut away, _inside) = self.away();
        for AwayRank { rank, thread, unit, range } in away.drain(..) {
            if rank > 0 || caller {
                affinity::change(thread, &range, &[unit]);
            }
        }
        self.is_on.store(false, Relaxed);
    }
}

impl TeamState {
    /// Thread `number` is bound as `rank`; 0: none is.
    #[inline(always)]
    pub(crate) fn set_bound(&self, rank: usize, number: u64) {
        self.roaming().threads[rank].store(number, Relaxed);
    }

    /// Where the thread that was bound as `rank` may run if it roams; an error if it has lost its
    /// core.
    pub(crate) fn binding(&self, rank: usize) -> Result<Option<Box<[usize]>>, PinError> {
        let Roaming { threads, .. } = self.roaming();
        // As long as it is held nobody leaves and nobody comes back.
        let (away, _inside) = self.roaming().away();
        if let Some(it) = away.iter().find(|it| it.rank == rank) {
            return Ok(Some(it.range.clone()));
        }
        match (threads[rank].load(Relaxed), self.cores().unit(rank)) {
            (0, _) | (_, None) => Ok(None),
            (number, Some(unit)) => affinity::still_bound(number, unit).map(|()| None),
        }
    }

    /// Keeps the calling thread, which is that of `rank`, in the memory of its core until the value
    /// is dropped: for a thread that touches pages first. Rank 0 needs it: the caller of a run is
    /// bound in its first run, and the system may have moved it since. Does nothing for others, if
    /// it is bound now, or is to run anywhere, or if the machine has one memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_near(&self, rank: usize) -> Option<BoundForNow> {
        let Roaming { threads, near_caller, .. } = self.roaming();
        let is_needed = rank == 0
            && !near_caller.is_empty()
            && threads[0].load(Relaxed) != affinity::thread_number();
        is_needed.then(|| BoundForNow::among(near_caller).ok()).flatten()
    }

    /// Lets all ranks roam, if that helps the calling one, which is about to sleep.
    #[inline]
    pub(super) fn perhaps_roam(&self) {
        if is_to_roam() && !self.roaming().is_on.load(Relaxed) {
            self.roam();
        }
    }

    /// Lets all ranks roam that are bound.
    #[cold]
    pub(crate) fn roam(&self) {
        let (mut away, _inside) = self.roaming().away();
        if self.roaming().is_on.swap(true, Relaxed) {
            return;
        }
        let leave = |rank: usize| {
            let thread = self.roaming().threads[rank].load(Relaxed);
            let (unit, range) = (self.cores().unit(rank)?, self.cores().range(rank));
            let is_useful = thread != 0 && range.len() > 1;
            let leaves = is_useful && affinity::change(thread, &[unit], &range);
            leaves.then_some(AwayRank { rank, thread, unit, range })
        };
        away.extend((0..self.ranks()).filter_map(leave));
    }

    /// Ends the roaming if the process is neither disturbed nor on trial.
    #[inline(always)]
    pub(super) fn perhaps_return(&self) {
        if self.roaming().is_on.load(Relaxed) && is_to_return() {
            self.roaming().end(true);
        }
    }

    /// `rank`, the calling one, waits long, or is about to sleep: now and then it binds itself
    /// again, if it has lost its core for a while (a cpuset that shrank and grew, a processor that
    /// was offline), and looks whether there are fewer cores than ranks.
    #[inline(always)]
    pub(super) fn perhaps_look_at_cores(&self, rank: usize, sleeps: bool) {
        let before = WAITS.get();
        let waits = before.wrapping_add(if sleeps { SLEEP } else { 1 });
        WAITS.set(waits);
        if waits / RARELY != before / RARELY {
            self.bind_again(rank);
            self.count_units(rank, (waits / RARELY) as usize % self.ranks());
        }
    }

    /// Finds out whether the ranks have fewer units than they are, as `rank`, the calling one, or
    /// `other` may have lost its own.
    #[cold]
    #[inline(never)]
    fn count_units(&self, rank: usize, other: usize) {
        let (cores, ranks) = (self.cores(), self.ranks());
        // A child of a fork has it from its parent.
        self.thread(rank).inspect(|it| it.number.store(affinity::thread_number(), Relaxed));
        let mask = |it| affinity::mask_of(self.thread(it)?.number.load(Relaxed)).ok();
        let has_own = |it, mask: &[usize]| cores.unit(it).is_some_and(|own| mask.contains(&own));
        let is_free = |it, mask: &[usize]| mask.len() >= ranks || has_own(it, mask);
        let has_room = |it| cfg!(shuttle) || mask(it).is_none_or(|mask| is_free(it, &mask));
        cores.follow(|has_shrunk| {
            let is_news = has_shrunk || !has_room(rank) || !has_room(other);
            // The others have room wherever these are, or no thread.
            let narrow = || (0..ranks).filter_map(mask).filter(|mask| mask.len() < ranks);
            let masks: Vec<_> = is_news.then(narrow)?.collect();
            let mut units = masks.concat();
            units.arrange();
            units.dedup();
            Some(units.len() < masks.len())
        });
    }

    #[cold]
    #[inline(never)]
    fn bind_again(&self, rank: usize) {
        // As long as it is held nobody leaves and nobody comes back.
        let (away, _inside) = self.roaming().away();
        let is_bound = self.roaming().threads[rank].load(Relaxed) == affinity::thread_number();
        if let Some(unit) = self.cores().unit(rank)
            && is_bound
            && away.iter().all(|it| it.rank != rank)
        {
            affinity::bind_again(unit);
        }
    }

    /// Ends the roaming, as the run is over; for rank 0, too, if `caller`.
    #[inline(always)]
    pub(crate) fn end_roaming(&self, caller: bool) {
        if self.roaming().is_on.load(Relaxed) {
            self.roaming().end(caller);
        }
    }
}
