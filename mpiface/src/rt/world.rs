//! What the ranks share; waiting; and the verdict that nobody can go on.
//!
//! A blocked rank's request can be completed by another rank's call only: nothing works in the
//! background. So if every rank either has left or is blocked, and none of the awaited conditions
//! holds, then none ever will: a circle of sends, a message that nobody sends, a rank that left.
//! This is exact, with any source too, and needs no deadline. The ranks' standings are read twice,
//! with the number of their changes: if no number changed in between, all were blocked at one
//! instant.
//!
//! Waiting looks, yields, then naps until the rank that completes it wakes it; a wake can be
//! missed, so naps are short. (To be replaced by the library's own waiting: see the package's
//! README.)

use super::comm::Shared;
use super::error::{Site, end};
use super::p2p::Queue;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What a blocked rank waits for.
pub trait Condition: Send + Sync {
    /// Whether it has come true.
    fn holds(&self) -> bool;
    /// What is awaited, in words.
    fn describe(&self) -> String;
}

enum State {
    Running,
    Blocked(Arc<dyn Condition>, Site),
    /// Why it makes no more calls, and the last that it made.
    Left(String, Site),
}

struct Standing {
    state: State,
    /// How often the state changed.
    changes: u64,
}

/// One rank, as the others see it.
pub struct Slot {
    /// The messages and receives that wait for this rank.
    pub queue: Mutex<Queue>,
    standing: Mutex<Standing>,
    thread: OnceLock<Thread>,
    /// A hint that it naps: if it is missed, the nap ends by itself.
    naps: AtomicBool,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

/// What the ranks of a run share.
#[derive(Debug)]
pub struct World {
    /// The ranks.
    pub slots: Vec<Slot>,
    /// All ranks' communicator, and each rank's own.
    pub whole: Arc<Shared>,
    is_crowded: bool,
    contexts: AtomicU32,
    judge: Mutex<()>,
    start: Instant,
}

/// A lock whose holder may have panicked: then the process ends anyway.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// A world of `ranks` ranks.
    pub fn new(ranks: usize) -> World {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let slots = (0..ranks).map(|_| Slot {
            queue: Mutex::default(),
            standing: Mutex::new(Standing { state: State::Running, changes: 0 }),
            thread: OnceLock::new(),
            naps: AtomicBool::new(false),
        });
        World {
            slots: slots.collect(),
            whole: Arc::new(Shared::new(0, (0..ranks).collect())),
            is_crowded: ranks > cores,
            contexts: AtomicU32::new(1),
            judge: Mutex::new(()),
            start: Instant::now(),
        }
    }

    /// A number that no other communicator has.
    pub fn next_context(&self) -> u32 {
        // A counter: nothing is published by it.
        self.contexts.fetch_add(1, Ordering::Relaxed)
    }

    /// Seconds since the run began.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Whether ranks outnumber cores.
    pub fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// The calling thread is this rank's.
    pub fn enter(&self, rank: usize) {
        let _ = self.slots[rank].thread.set(thread::current());
    }

    /// Whether the calling thread is this rank's first.
    pub fn is_on(&self, rank: usize) -> bool {
        self.slots[rank].thread.get().is_some_and(|it| it.id() == thread::current().id())
    }

    /// The rank makes no more calls after its last.
    pub fn leave(&self, rank: usize, why: String, last: Site) {
        self.stand(rank, State::Left(why, last));
    }

    /// A rank that has left will make calls again: a team's, before the others may miss it.
    pub fn come_back(&self, rank: usize) {
        self.stand(rank, State::Running);
    }

    /// Ends a rank's nap.
    pub fn wake(&self, rank: usize) {
        let slot = &self.slots[rank];
        // A hint; the nap is timed.
        if slot.naps.load(Ordering::Relaxed)
            && let Some(thread) = slot.thread.get()
        {
            thread.unpark();
        }
    }

    fn stand(&self, rank: usize, state: State) {
        let mut standing = lock(&self.slots[rank].standing);
        standing.state = state;
        standing.changes += 1;
    }

    /// Waits until `holds`; `condition` is the same for others to look at, made only for a long
    /// wait.
    pub fn wait(
        &self,
        rank: usize,
        site: Site,
        holds: impl Fn() -> bool,
        condition: impl FnOnce() -> Arc<dyn Condition>,
    ) {
        const LONGEST: Duration = Duration::from_millis(1);
        let looks = if self.is_crowded { 50 } else { 2000 };
        for _ in 0..looks {
            if holds() {
                return;
            }
            std::hint::spin_loop();
        }
        let begin = Instant::now();
        while begin.elapsed() < LONGEST {
            for _ in 0..8 {
                if holds() {
                    return;
                }
                thread::yield_now();
            }
        }
        self.stand(rank, State::Blocked(condition(), site));
        // SAFETY: the address of this thread's errno, valid as long as the thread.
        let errno = unsafe { *libc::__errno_location() };
        let naps = &self.slots[rank].naps;
        let mut nap = Duration::from_micros(50);
        let mut judged = Instant::now();
        // A hint: pairs with nothing.
        naps.store(true, Ordering::Relaxed);
        while !holds() {
            thread::park_timeout(nap);
            nap = (nap * 2).min(LONGEST);
            if judged.elapsed() > Duration::from_millis(50) {
                self.judge();
                judged = Instant::now();
            }
        }
        naps.store(false, Ordering::Relaxed);
        // SAFETY: as above. A program may look at its errno after a call of MPI.
        unsafe { *libc::__errno_location() = errno };
        self.stand(rank, State::Running);
    }

    /// Ends the run if nobody can go on.
    fn judge(&self) {
        let Ok(_one) = self.judge.try_lock() else { return };
        let Some(first) = self.stuck() else { return };
        if self.stuck() != Some(first) {
            return;
        }
        let mut text = String::from("phalanx: no rank can go on:");
        for (rank, slot) in self.slots.iter().enumerate() {
            let line = match &lock(&slot.standing).state {
                State::Running => return,
                State::Blocked(condition, site) => {
                    format!("waits in {}: {}", site.describe(), condition.describe())
                }
                State::Left(why, last) if last.address == 0 => format!("has left: {why}"),
                State::Left(why, last) => format!("has left: {why}; last: {}", last.describe()),
            };
            text.push_str(&format!("\n  rank {rank} {line}"));
        }
        end(1, &text)
    }

    /// The numbers of changes, if all have left or are blocked without hope.
    fn stuck(&self) -> Option<Vec<u64>> {
        let mut changes = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let standing = lock(&slot.standing);
            match &standing.state {
                State::Running => return None,
                State::Blocked(condition, _) if condition.holds() => return None,
                State::Blocked(..) | State::Left(..) => changes.push(standing.changes),
            }
        }
        Some(changes)
    }
}
