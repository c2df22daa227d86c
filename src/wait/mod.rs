//! The one home of waiting: its stages, their budgets, and the state that decides between them.
//!
//! **While every rank has a core** (`TeamState::is_crowded_now` says no), or the policy is
//! [`Wait::Spin`]:
//!
//! | stage | for how long | a late message is seen after |
//! |---|---|---|
//! | look | 1000 looks at the awaited word (1 to 2 us) | one line transfer |
//! | spin | 80 us | one line transfer + a pause |
//! | yield | 50 calls of `sched_yield` | 0.2 to 0.4 us |
//! | sleep | 10 ms, unless woken | 16 to 45 us |
//!
//! Nobody misses a wake ([`Mark`]); sleeps are timed all the same, for what has no wake: a peer
//! that leaves or waits in a circle, a deadline. Where the system refuses heavy fences, a wake may
//! be missed, and naps last from 100 us to 10 ms. While the process is *disturbed*, as its ranks
//! lose time to others (`lost_time.rs`), they spin for 15 us, or not at all after long waits, and
//! do not yield. A rank whose waits have all lasted lately spins for 5 us in 32 of 33, and does
//! not yield.
//!
//! Budgets are times, not counts: a pause costs 4 ns on one CPU and 50 on another. The spin budget
//! is twice the cost of a wake-up, so that a rank which naps lost at most as much again by
//! spinning; a smaller one is bistable (once one rank naps, its answer is late and the other naps,
//! for ever).
//!
//! **Where ranks outnumber cores** a spinning rank keeps the awaited one off its core:
//!
//! | stage | for how long | |
//! |---|---|---|
//! | look | 64 looks | |
//! | yield | 50 calls, and 250 us from then on | each is timed |
//! | sleep | 10 ms, unless woken | by [`Events`] and [`Berth`] |
//!
//! (the first four yields come before the wait is announced; at a started call, whose looks are
//! long, after four looks), and without the yields while a mode is on: yields have been slow lately
//! ([`mode`]).
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | the stages, as [`Backoff`] goes through them |
//! | `mode.rs` | whether to sleep rather than to yield |
//! | `events.rs` | sleeping until everybody has shown something: one wake a core |
//! | `berth.rs` | sleeping until one rank, or the last of all, has sent something |
//! | `mark.rs` | which ranks may sleep, without a fence in those that wake them |
//! | `asymmetric_fence.rs` | a fence that costs nothing, and its counterpart |
//! | `cores.rs` | which ranks share a core, and which of them sleep |
//! | `lock.rs` | a lock for a few instructions |
//! | `word.rs`, `system.rs` | a word to sleep on; the system calls |
//! | `lost_time.rs` | how long to spin, by the time that was lost lately |
//! | `spent.rs` | how long a wait has lasted, without the stops of its process |
//! | `slice.rs` | the slice of a thread that sleeps often |
//! | `question.rs` | a closure behind a pointer |
//! | `debts.rs` | settings that are given back at the end of a run |
//!
//! Workers between two runs sleep in a [`Sleeper`]: `team/dispatch.rs`.

mod asymmetric_fence;
mod berth;
mod cores;
mod debts;
mod events;
mod lock;
#[cfg(not(any(loom, shuttle)))]
mod lost_time;
mod mark;
#[cfg(not(loom))]
mod mode;
mod question;
#[cfg(not(loom))]
mod slice;
mod spent;
#[cfg(not(any(loom, shuttle)))]
mod system;
mod word;

#[cfg(loom)]
pub(crate) use asymmetric_fence::{heavy_fence, light_fence};
pub(crate) use berth::{Awaited, Berth};
pub(crate) use cores::{Cores, has_woken_neighbour};
pub(crate) use debts::give_back;
pub(crate) use events::{Events, SleepLevel};
pub use lock::Lock;
pub(crate) use lost_time::{add_up as add_up_lost_time, asleep};
pub(crate) use lost_time::{is_disturbed, looks_little};
#[cfg(not(loom))]
pub(crate) use lost_time::{is_to_return, is_to_roam};
pub(crate) use mark::Mark;
pub(crate) use question::Question;
pub(crate) use spent::Spent;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use system::{sleep_shared, usage, wake_shared};
#[cfg(loom)]
pub(crate) use word::Word;

use crate::sync::Instant;
use crate::sync::diagnostic::{AtomicUsize, Ordering};
use std::time::Duration;

/// In the checkers' hands no time is lost.
#[cfg(any(loom, shuttle))]
#[cfg_attr(loom, allow(dead_code))] // Loom has no clock.
mod lost_time {
    pub(crate) fn asleep(sleep: impl FnOnce() -> bool) {
        sleep();
    }

    pub(crate) fn add_up() {}

    pub(crate) fn is_disturbed() -> bool {
        false
    }

    pub(crate) fn looks_little() -> bool {
        false
    }

    pub(crate) fn is_to_roam() -> bool {
        false
    }

    pub(crate) fn is_to_return() -> bool {
        true
    }

    pub(super) fn spin(_learns: bool) -> std::time::Duration {
        super::SPIN
    }

    pub(super) fn note_wait(_since: crate::sync::Instant, _has_slept: bool) {}
}

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

/// Spin budget: twice a wake-up (16 to 45 us), rounded.
const SPIN: Duration = Duration::from_micros(80);
/// Yields before napping. 50 yields cost about 25 us where nobody else is runnable, and one
/// hand-over each where another thread is.
const YIELDS: u32 = if cfg!(shuttle) { 2 } else { 50 };
/// How long crowded ranks go on yielding after that. A count alone is bistable: once some sleep,
/// 50 yields last 20 us, less than a wake on another core, and all go on sleeping.
#[cfg(not(loom))]
const YIELDING: Duration = Duration::from_micros(250);
/// Looks between two readings of the clock: 64 x 26 ns = 1.7 us.
const LOOKS: u32 = if cfg!(shuttle) { 1 } else { 64 };
/// The first and the longest nap.
const NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_millis(10);
/// How long a rank that has its core for itself spins for another core before it sleeps: as long as
/// a wake takes there. From 5 to 50 it makes no difference; longer costs 10 to 25 % beside 8 busy
/// threads.
#[cfg(not(loom))]
const SPIN_ALONE: Duration = Duration::from_micros(50);

/// Ranks that are in a run right now, over all teams of the process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// The most cores that this process may use, as was known: a fact that stays. Teams that are made
/// where there are fewer know that themselves ([`Cores`]).
static CORES: AtomicUsize = AtomicUsize::new(1);

/// Raises the number of cores known to be usable. For tests: if `PHALANX_TEST_SLEEP` is set, there
/// are none, so that all ranks are crowded, and all modes are on.
pub(crate) fn know_cores(n: usize) {
    #[cfg(not(loom))]
    if std::env::var_os("PHALANX_TEST_SLEEP").is_some() {
        CORES.store(0, Ordering::Relaxed);
        return mode::force();
    }
    #[cfg(not(loom))]
    let _inside = (crate::fork::inside(), mode::begin());
    asymmetric_fence::prepare();
    CORES.fetch_max(n, Ordering::Relaxed);
}

/// The ranks of a run, counted as long as this lives. An RMW: several teams
/// may start at once; it is once a run, and nothing is published by it.
#[derive(Debug)]
pub(crate) struct RankCount {
    ranks: usize,
    /// In a child of a fork they are not counted.
    #[cfg(not(loom))]
    generation: u64,
}

impl RankCount {
    pub(crate) fn enter(ranks: usize) -> Self {
        RUNNING.fetch_add(ranks, Ordering::Relaxed);
        RankCount {
            ranks,
            #[cfg(not(loom))]
            generation: crate::fork::generation(),
        }
    }
}

impl Drop for RankCount {
    fn drop(&mut self) {
        #[cfg(not(loom))]
        if self.generation != crate::fork::generation() {
            return;
        }
        RUNNING.fetch_sub(self.ranks, Ordering::Relaxed);
    }
}

/// In a child of a fork: the ranks of its parent are not there.
#[cfg(not(loom))]
pub(crate) fn forget_ranks() {
    RUNNING.store(0, Ordering::Relaxed);
}

/// Whether spinning would keep another rank of this process from its core, with
/// `more` ranks that are not counted yet.
pub(crate) fn is_oversubscribed_by(more: usize) -> bool {
    RUNNING.load(Ordering::Relaxed) + more > CORES.load(Ordering::Relaxed)
}

/// Whether ranks wait as beside the load of other programs.
#[cfg(not(loom))]
pub(crate) fn is_beside_load() -> bool {
    is_disturbed() || mode::is_on(Occasion::Together)
}

/// Whether the ranks of no other team than one of `ranks` ranks are running.
#[cfg(not(loom))]
fn is_only(ranks: usize) -> bool {
    RUNNING.load(Ordering::Relaxed) <= ranks
}

/// Gives the core to another thread, as the first stage of a crowded rank's wait does; not where
/// ranks sleep rather than yield. Whether it did.
#[cfg(not(loom))]
pub(crate) fn give_way(occasion: Occasion) -> bool {
    let may_yield = !mode::is_on(occasion);
    if may_yield {
        mode::yield_timed();
    }
    may_yield
}

/// One wait, after the first looks have failed.
pub(crate) struct Backoff {
    wait: Wait,
    /// What is waited for, where ranks outnumber cores.
    crowded: Option<Occasion>,
    since: Option<Instant>,
    /// How long to spin.
    #[cfg(not(loom))]
    budget: Duration,
    looks: u32,
    yields: u32,
    nap: Duration,
    /// Whether what this wait takes says how long to spin, and it heeds that.
    learns: bool,
    /// Whether this wait has spun alone on its core.
    #[cfg(not(loom))]
    has_spun: bool,
    /// When the long stage began, if somebody asks how long it lasts; and for its limit.
    #[cfg(not(any(loom, shuttle)))]
    long_since: Option<Instant>,
    #[cfg(not(loom))]
    spent: Option<Spent>,
    /// Whether this wait has slept.
    has_napped: bool,
    /// Whether [`stalls`](Backoff::stalls) has said so.
    #[cfg(not(any(loom, shuttle)))]
    has_stalled: bool,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Occasion {
    /// Everybody, at the gates or on the boards: one wake a core.
    Together,
    /// One rank: a wake each.
    Pair,
}

/// What to do before the next look.
pub(crate) enum Pause {
    /// Nothing: the pause is over.
    Look,
    /// Sleep for at most this long.
    Nap(Duration),
}

impl Backoff {
    /// `crowded`: ranks outnumber cores, and this is waited for.
    pub(crate) fn new(wait: Wait, crowded: Option<Occasion>) -> Self {
        Backoff {
            wait,
            crowded,
            since: None,
            #[cfg(not(loom))]
            budget: SPIN,
            looks: 0,
            yields: 0,
            nap: NAP,
            learns: false,
            #[cfg(not(loom))]
            has_spun: false,
            #[cfg(not(any(loom, shuttle)))]
            long_since: None,
            #[cfg(not(loom))]
            spent: None,
            has_napped: false,
            #[cfg(not(any(loom, shuttle)))]
            has_stalled: false,
        }
    }

    /// This wait, of a rank for others: it learns how long to spin.
    pub(crate) fn learning(self) -> Self {
        Backoff { learns: true, ..self }
    }

    /// How often to look before the next pause. At first about as long as an
    /// answer takes between distant cores: a pause is as long as an exchange
    /// between near ones. The crowd is not asked: who starts a run writes to its
    /// line.
    pub(crate) fn looks(&self) -> u32 {
        let at_first = self.looks == 0 && self.yields == 0 && !cfg!(any(loom, shuttle));
        match self.wait {
            Wait::Auto | Wait::Spin if at_first => 16 * LOOKS,
            _ => 1,
        }
    }

    /// Whether this wait has outlasted the spinning stage.
    pub(crate) fn is_long(&self) -> bool {
        self.yields > 0 || self.looks > 4 * LOOKS
    }

    /// The wait is over. Whether it has slept, or was to.
    pub(crate) fn end(self) -> bool {
        #[cfg(not(loom))]
        if let Some(since) = self.since
            && self.learns
        {
            lost_time::note_wait(since, self.has_napped);
        }
        self.has_napped
    }

    /// Whether this wait has lasted for `limit`, but for stops of the process. Without a limit, and
    /// before the long stage, no clock is looked at; while spinning, once in [`LOOKS`].
    #[cfg(not(loom))]
    pub(crate) fn is_over(&mut self, limit: Option<Duration>) -> bool {
        let Some(limit) = limit else { return false };
        self.is_long()
            && (self.yields > 0 || self.looks.is_multiple_of(LOOKS))
            && self.spent.get_or_insert_with(Spent::new).time() >= limit
    }

    /// Under loom time does not pass: any wait that may end by a limit does,
    /// as soon as it is long.
    #[cfg(loom)]
    pub(crate) fn is_over(&mut self, limit: Option<Duration>) -> bool {
        limit.is_some() && self.is_long()
    }

    /// Whether this wait has just lasted for `limit`: true once. Every wait asks this, so the clock
    /// is looked at where that costs nothing: by a wait that sleeps, or once in [`LOOKS`] pauses of
    /// one that never does.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn stalls(&mut self, limit: Option<Duration>) -> bool {
        let Some(limit) = limit else { return false };
        let is_late = self.yields > 0 || self.wait == Wait::Spin;
        let is_due =
            || self.has_napped || self.looks.wrapping_add(self.yields).is_multiple_of(LOOKS);
        if !is_late || self.has_stalled || !is_due() {
            return false;
        }
        self.has_stalled = self.long_since.get_or_insert_with(Instant::now).elapsed() >= limit;
        self.has_stalled
    }

    /// Checkers have no time to lose, and what is said of a wait publishes nothing.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn stalls(&mut self, _limit: Option<Duration>) -> bool {
        false
    }

    /// Pauses a little, or asks the caller to sleep.
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
        match (self.wait, self.crowded) {
            (Wait::Auto, Some(occasion)) => return self.pause_crowded(occasion),
            (Wait::Auto, None)
                if self.yields < YIELDS && !mode::is_on(Occasion::Pair) && self.budget == SPIN =>
            {
                if self.yields == 0 {
                    lost_time::add_up();
                }
                // A peer's core may be busy: a slow yield here costs it a slice, too.
                self.yields += 1;
                mode::yield_timed();
                return Pause::Look;
            }
            (Wait::Auto, None) | (Wait::Park, _) => return self.nap(self.crowded.is_some()),
            _ => {}
        }
        self.yields = self.yields.saturating_add(1);
        crate::sync::yield_now();
        Pause::Look
    }

    #[cfg(not(loom))]
    fn pause_crowded(&mut self, occasion: Occasion) -> Pause {
        if mode::is_on(occasion) {
            slice::shorten();
            return self.nap(true);
        }
        if self.yields >= YIELDS
            && self.since.get_or_insert_with(Instant::now).elapsed() >= YIELDING
        {
            return self.nap(false);
        }
        self.yields += 1;
        mode::yield_timed();
        Pause::Look
    }

    /// A nap; where no wake is missed, a long one at once.
    #[cfg(not(loom))]
    fn nap(&mut self, long: bool) -> Pause {
        self.yields = self.yields.max(1);
        self.has_napped = true;
        let nap = if long { LONGEST_NAP } else { self.nap };
        self.nap = (nap * 2).min(LONGEST_NAP);
        Pause::Nap(nap)
    }

    /// Under loom time does not pass: every pause is a yield, but for whoever
    /// wants to park.
    #[cfg(loom)]
    pub(crate) fn pause(&mut self) -> Pause {
        self.yields += 1;
        if self.wait == Wait::Park {
            self.has_napped = true;
            return Pause::Nap(self.nap);
        }
        // A heavy fence may act on a thread that waits for the thread that makes it.
        light_fence();
        crate::sync::yield_now();
        Pause::Look
    }

    /// Asked before every pause; looks at the clock, and at the crowd, once in
    /// [`LOOKS`]. (Who starts a run writes to the crowd's line.)
    #[cfg(not(loom))]
    fn spin_left(&mut self) -> bool {
        if self.crowded.is_some() {
            return false;
        }
        if !self.looks.is_multiple_of(LOOKS) {
            return true;
        }
        if self.looks == 0 {
            self.budget = lost_time::spin(self.learns);
        }
        !is_oversubscribed_by(0)
            && self.since.get_or_insert_with(Instant::now).elapsed() < self.budget
    }

    /// Spins for a moment, once a wait, if `rank` has its core for itself: for what comes from
    /// other cores. Whether `over` said that it is over.
    #[cfg(not(loom))]
    pub(crate) fn spin_alone(
        &mut self,
        cores: &Cores,
        rank: usize,
        ranks: usize,
        over: &mut dyn Question,
    ) -> bool {
        if self.wait == Wait::Park || self.has_spun || !cores.is_alone(rank) || !is_only(ranks) {
            return false;
        }
        self.has_spun = true;
        let since = Instant::now();
        while since.elapsed() < SPIN_ALONE {
            for _ in 0..LOOKS / 4 {
                if over.ask() {
                    return true;
                }
                crate::sync::spin_loop();
            }
        }
        false
    }

    /// Under loom time does not pass.
    #[cfg(loom)]
    pub(crate) fn spin_alone(
        &mut self,
        _cores: &Cores,
        _rank: usize,
        _ranks: usize,
        over: &mut dyn Question,
    ) -> bool {
        over.ask()
    }
}

/// The sleep of one worker between two runs, and its waker.
#[cfg(not(any(loom, shuttle)))]
mod sleeper {
    use crossbeam_utils::sync::{Parker, Unparker};

    pub(crate) struct Sleeper(Parker);
    pub(crate) struct Waker(Unparker);

    pub(crate) fn pair() -> (Sleeper, Waker) {
        let parker = Parker::new();
        let waker = Waker(parker.unparker().clone());
        (Sleeper(parker), waker)
    }

    impl Sleeper {
        /// Sleeps until the waker wakes it, or has done so since the last sleep.
        pub(crate) fn sleep(&self) {
            self.0.park();
        }

        /// Sleeps as [`sleep`](Sleeper::sleep) does, for so long at most.
        pub(crate) fn nap(&self, longest: std::time::Duration) {
            self.0.park_timeout(longest);
        }
    }

    impl Waker {
        pub(crate) fn wake(&self) {
            self.0.unpark();
        }
    }
}

#[cfg(shuttle)]
mod sleeper {
    pub(crate) use checker::threads::{Ring as Waker, Sleeper, bed as pair};
}

/// A thread that yields is not run again before all others have yielded,
/// too, or ended. No model's other threads do anything new after having
/// yielded so often.
#[cfg(loom)]
const FOR_EVER: usize = 50;

/// A sleep is for an alarm only; where none can come, it panics. (Not loom's condition variable:
/// its report of a deadlock cannot be caught, and the models must fail on purpose.)
#[cfg(loom)]
mod sleeper {
    use super::FOR_EVER;
    use crate::sync::{Arc, AtomicU32, Ordering, yield_now};

    pub(crate) struct Sleeper(Arc<AtomicU32>);
    pub(crate) struct Waker(Arc<AtomicU32>);

    pub(crate) fn pair() -> (Sleeper, Waker) {
        let rung = Arc::new(AtomicU32::new(0));
        (Sleeper(rung.clone()), Waker(rung))
    }

    impl Sleeper {
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

        /// Under loom time does not pass.
        pub(crate) fn nap(&self, _: std::time::Duration) {
            self.sleep();
        }
    }

    impl Waker {
        pub(crate) fn wake(&self) {
            self.0.swap(1, Ordering::AcqRel);
        }
    }
}

pub(crate) use sleeper::{Sleeper, Waker, pair as sleeper_pair};
