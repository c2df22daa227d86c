//! How a rank waits: look, spin, yield, park.
//!
//! | stage | for how long | a late message is seen after |
//! |---|---|---|
//! | look | 64 looks at the awaited word | one line transfer |
//! | spin | [`SPIN`] of time, if there are cores enough | one line transfer + a pause |
//! | yield | [`YIELDS`] calls of `sched_yield` | 0.2 to 0.4 us |
//! | park | 100 us, doubling to 10 ms, unless woken | 16 to 45 us |
//!
//! (Latencies measured with a prototype on a two-core EPYC virtual machine.) Budgets
//! are times, not counts: a pause costs 4 ns on one CPU and 50 on another. The
//! spin budget is twice the cost of a wake-up, so that a rank which parks lost
//! at most as much again by spinning; a smaller one is bistable (once one rank
//! parks, its answer is late and the other parks, for ever).
//!
//! Where more ranks run than there are cores, whoever spins keeps the awaited
//! rank off its core, so [`Wait::Auto`] then yields at once.

use crate::sync::Instant;
use crate::sync::diagnostic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How the ranks of a team wait for each other.
///
/// # Examples
/// ```
/// use phalanx::{Team, Wait};
/// let team = Team::builder().ranks(2).wait(Wait::Yield).build()?;
/// team.run(|comm| comm.barrier())?;
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// Spin, then yield, then park; no spinning while more ranks run in this
    /// process than it has cores.
    #[default]
    Auto,
    /// Spin for ever. Only for cores that are exclusively ours; with more
    /// ranks than cores every exchange costs a scheduler tick (milliseconds).
    Spin,
    /// Yield the core from the first failed look on, never park.
    Yield,
    /// Park after the first failed looks: cheapest for others, and slowest.
    Park,
}

/// Spin budget: twice a wake-up (16 to 45 us, table above), rounded.
const SPIN: Duration = Duration::from_micros(80);
/// Yields before parking. 50 yields cost about 25 us where nobody else is
/// runnable, and one hand-over each where somebody is.
const YIELDS: u32 = if cfg!(shuttle) { 2 } else { 50 };
/// Looks between two readings of the clock: 64 x 26 ns = 1.7 us.
const LOOKS: u32 = if cfg!(shuttle) { 1 } else { 64 };
/// The first and the longest park.
const NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// Ranks that are in a run right now, over all teams of the process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Cores that this process may use.
static CORES: AtomicUsize = AtomicUsize::new(1);

/// Raises the number of cores known to be usable.
pub(crate) fn know_cores(n: usize) {
    CORES.fetch_max(n, Ordering::Relaxed);
}

/// The ranks of a run, counted as long as this lives. An RMW: several teams
/// may start at once; it is once a run, and nothing is published by it.
#[derive(Debug)]
pub(crate) struct Crowd(usize);

impl Crowd {
    pub(crate) fn enter(ranks: usize) -> Self {
        RUNNING.fetch_add(ranks, Ordering::Relaxed);
        Crowd(ranks)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        RUNNING.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Whether spinning would keep another rank of this process from its core, with
/// `more` ranks that are not counted yet.
pub(crate) fn is_crowded_by(more: usize) -> bool {
    RUNNING.load(Ordering::Relaxed) + more > CORES.load(Ordering::Relaxed)
}

/// One wait, after the first looks have failed.
pub(crate) struct Patience {
    wait: Wait,
    since: Option<Instant>,
    looks: u32,
    yields: u32,
    nap: Duration,
    /// When the long stage began, if somebody asks how long it lasts.
    #[cfg(not(loom))]
    long_since: Option<Instant>,
}

/// What to do before the next look.
pub(crate) enum Pause {
    /// Nothing: the pause is over.
    Look,
    /// Park for at most this long.
    Nap(Duration),
}

impl Patience {
    pub(crate) fn new(wait: Wait) -> Self {
        Patience {
            wait,
            since: None,
            looks: 0,
            yields: 0,
            nap: NAP,
            #[cfg(not(loom))]
            long_since: None,
        }
    }

    /// How often to look before the next pause. At first about as long as an
    /// answer takes between distant cores: a pause is as long as an exchange
    /// between near ones. The crowd is not asked: who starts a run writes to its
    /// line.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn looks(&self) -> u32 {
        let at_first = self.looks == 0 && self.yields == 0;
        match self.wait {
            Wait::Auto | Wait::Spin if at_first => 16 * LOOKS,
            _ => 1,
        }
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn looks(&self) -> u32 {
        1
    }

    /// Whether this wait has outlasted the spinning stage.
    pub(crate) fn is_long(&self) -> bool {
        self.yields > 0 || self.looks > 4 * LOOKS
    }

    /// Whether this wait has lasted for `limit`. Without a limit, and before the
    /// long stage, no clock is looked at; while spinning, once in [`LOOKS`].
    #[cfg(not(loom))]
    pub(crate) fn is_over(&mut self, limit: Option<Duration>) -> bool {
        let Some(limit) = limit else { return false };
        self.is_long()
            && (self.yields > 0 || self.looks.is_multiple_of(LOOKS))
            && self.long_since.get_or_insert_with(Instant::now).elapsed() >= limit
    }

    /// Under loom time does not pass: any wait that may end by a limit does,
    /// as soon as it is long.
    #[cfg(loom)]
    pub(crate) fn is_over(&mut self, limit: Option<Duration>) -> bool {
        limit.is_some() && self.is_long()
    }

    /// Pauses a little, or asks the caller to park.
    #[cfg(not(loom))]
    pub(crate) fn pause(&mut self) -> Pause {
        let spin = match self.wait {
            Wait::Spin => true,
            Wait::Auto => self.yields == 0 && self.spin_left(),
            Wait::Yield | Wait::Park => false,
        };
        if spin {
            self.looks = self.looks.saturating_add(1);
            crate::sync::spin_loop();
            return Pause::Look;
        }
        let yields = match self.wait {
            Wait::Auto => YIELDS,
            Wait::Park => 0,
            _ => u32::MAX,
        };
        if self.yields < yields {
            self.yields += 1;
            crate::sync::yield_now();
            return Pause::Look;
        }
        let nap = self.nap;
        self.nap = (nap * 2).min(LONGEST_NAP);
        self.yields = self.yields.max(1);
        Pause::Nap(nap)
    }

    /// Under loom time does not pass: every pause is a yield, but for whoever
    /// wants to park.
    #[cfg(loom)]
    pub(crate) fn pause(&mut self) -> Pause {
        self.yields += 1;
        if self.wait == Wait::Park {
            return Pause::Nap(self.nap);
        }
        crate::sync::yield_now();
        Pause::Look
    }

    /// Asked before every pause; looks at the clock, and at the crowd, once in
    /// [`LOOKS`]. (Who starts a run writes to the crowd's line.)
    #[cfg(not(loom))]
    fn spin_left(&mut self) -> bool {
        if !self.looks.is_multiple_of(LOOKS) {
            return true;
        }
        !is_crowded_by(0) && self.since.get_or_insert_with(Instant::now).elapsed() < SPIN
    }
}

/// The bed of one parked thread, and what wakes it.
///
/// Waking from a nap is by hint: the waker loads a plain `asleep` word after its
/// publishing store, so a wake can be missed (store and load are not ordered);
/// naps are therefore timed. Ordering them would cost a full fence, 15 to
/// 20 ns, on every message.
#[cfg(not(any(loom, shuttle)))]
mod bed {
    use crossbeam_utils::sync::{Parker, Unparker};
    use std::time::Duration;

    pub(crate) struct Bed(Parker);
    pub(crate) struct Alarm(Unparker);

    pub(crate) fn make() -> (Bed, Alarm) {
        let parker = Parker::new();
        let alarm = Alarm(parker.unparker().clone());
        (Bed(parker), alarm)
    }

    impl Bed {
        pub(crate) fn nap(&self, longest: Duration) {
            self.0.park_timeout(longest);
        }

        /// Sleeps until the alarm rings, or has rung since the last sleep.
        pub(crate) fn sleep(&self) {
            self.0.park();
        }
    }

    impl Alarm {
        pub(crate) fn ring(&self) {
            self.0.unpark();
        }
    }
}

#[cfg(shuttle)]
mod bed {
    pub(crate) use checker::threads::{Bed, Ring as Alarm, bed as make};
}

/// A nap ends by itself, so it is a yield. A sleep is for an alarm only; where
/// none can come, it panics. (Not loom's condition variable: its report of a
/// deadlock cannot be caught, and the models must fail on purpose.)
#[cfg(loom)]
mod bed {
    use crate::sync::{Arc, AtomicU32, Ordering, yield_now};
    use std::time::Duration;

    pub(crate) struct Bed(Arc<AtomicU32>);
    pub(crate) struct Alarm(Arc<AtomicU32>);

    /// A thread that yields is not run again before all others have yielded,
    /// too, or ended. No model's other threads do anything new after having
    /// yielded so often.
    const FOR_EVER: usize = 50;

    pub(crate) fn make() -> (Bed, Alarm) {
        let rung = Arc::new(AtomicU32::new(0));
        (Bed(rung.clone()), Alarm(rung))
    }

    impl Bed {
        pub(crate) fn nap(&self, _longest: Duration) {
            yield_now();
        }

        pub(crate) fn sleep(&self) {
            for _ in 0..FOR_EVER {
                if self.0.load(Ordering::Acquire) != 0 {
                    self.0.swap(0, Ordering::AcqRel);
                    return;
                }
                yield_now();
            }
            panic!("a wake-up was lost: asleep for ever");
        }
    }

    impl Alarm {
        pub(crate) fn ring(&self) {
            self.0.swap(1, Ordering::AcqRel);
        }
    }
}

pub(crate) use bed::{Alarm, Bed, make as make_bed};
