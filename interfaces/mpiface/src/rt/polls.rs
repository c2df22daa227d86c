//! Rows of tests and probes that find nothing: a rank that makes no other calls may do so for ever.
//!
//! Such a rank is not blocked as `standings.rs` means it: it may give up by itself. So it is judged
//! late. After `LIMIT` of nothing but tests in vain, with next to no work of the program between
//! them (that it sleeps there is no work), it stands as blocked for a moment, again and again; if
//! all others are blocked, have left, or do the same, the run ends. PHALANX_MPI_POLLS gives other
//! seconds than the limit's; 0: never.

use super::error::Site;
use super::standings::{Condition, Standings};
use super::thread_time::thread_time;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{env, thread};

/// For so long a rank may test in vain.
const LIMIT: Duration = Duration::from_secs(60);
/// A program that works longer than this between two tests, on the average, does something else.
const WORK: Duration = Duration::from_micros(10);
/// In a long row, each so many tests another thread gets the core if ranks share cores.
const TURN: u32 = 4;
/// In a long row, each so many tests the clocks are read, and another thread gets the core in any
/// case: a program may test between two numbers that it works out.
const PERIOD: u32 = 64;
/// After this one of each period, and before the next, the program's work is measured. No other
/// thread gets the core between them: the caches would be the other's.
const MEASURED: u32 = 1;
const NEXT: u32 = MEASURED + 1;
/// For so long a rank stands as blocked.
const STANDS: Duration = Duration::from_millis(10);
/// It looks so often whether the awaited has come.
const STEP: Duration = Duration::from_millis(2);

/// A rank's tests in vain.
#[derive(Debug, Default)]
pub struct Polls {
    /// The rank's calls so far.
    calls: Cell<u64>,
    /// The number of the last call that belongs to the row.
    last: Cell<u64>,
    /// The row, if it is long.
    row: Cell<Option<Row>>,
}

/// A long row of tests in vain.
#[derive(Clone, Copy, Debug)]
struct Row {
    start: Instant,
    tests: u32,
    /// How often it was measured how long the program works between two of them.
    measured: u32,
    /// The processor's time that it has spent there.
    worked: Duration,
    /// The thread's time when the last measured work began.
    last: Duration,
}

/// The condition that a rank awaits that only tests.
struct Polled {
    awaited: Arc<dyn Condition>,
    waited: Duration,
}

impl Condition for Polled {
    fn holds(&self) -> bool {
        self.awaited.holds()
    }

    fn describe(&self) -> String {
        let seconds = self.waited.as_secs();
        format!("{} (it has only tested for {seconds} s)", self.awaited.describe())
    }

    fn beside(&self) -> String {
        self.awaited.beside()
    }
}

impl Polls {
    /// The rank makes a call.
    #[inline]
    pub fn call(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    /// This call has neither found nor missed anything: a row goes on over it.
    pub fn skip(&self) {
        if self.last.get() + 1 == self.calls.get() {
            self.last.set(self.calls.get());
        }
    }

    /// This call has not found its `condition`. `is_long`: and many before it, too:
    /// now and then another thread gets the core.
    #[inline]
    pub fn miss(
        &self,
        world: &Standings,
        (me, site): (usize, Site),
        is_long: bool,
        condition: impl FnOnce() -> Arc<dyn Condition>,
    ) {
        if self.last.get() + 1 != self.calls.get() {
            self.row.set(None);
        }
        self.last.set(self.calls.get());
        if !is_long {
            return;
        }
        let mut row = self.row.get().unwrap_or_else(|| Row {
            start: Instant::now(),
            tests: 0,
            measured: 0,
            worked: Duration::ZERO,
            last: Duration::ZERO,
        });
        row.tests = row.tests.wrapping_add(1);
        match row.tests % PERIOD {
            0 => self.judge(world, me, site, &row, condition),
            MEASURED => row.last = thread_time(),
            NEXT => {
                row.worked += thread_time().saturating_sub(row.last);
                row.measured = row.measured.saturating_add(1);
            }
            _ if row.tests.is_multiple_of(TURN) && world.is_crowded() => thread::yield_now(),
            _ => {}
        }
        self.row.set(Some(row));
    }

    /// Stands as blocked for a moment, if the row has been going on for long enough.
    #[cold]
    fn judge(
        &self,
        world: &Standings,
        me: usize,
        site: Site,
        row: &Row,
        condition: impl FnOnce() -> Arc<dyn Condition>,
    ) {
        let waited = row.start.elapsed();
        let is_idle = row.measured > 0 && row.worked / row.measured < WORK;
        if is_idle && limit().is_some_and(|limit| waited >= limit) {
            stand(world, me, site, Arc::new(Polled { awaited: condition(), waited }));
        }
        if is_idle {
            world.warn_of_tests(me, waited, site);
        }
        thread::yield_now();
    }
}

/// The limit, if there is one.
fn limit() -> Option<Duration> {
    static GIVEN: OnceLock<Duration> = OnceLock::new();
    let given = || env::var("PHALANX_MPI_POLLS").ok()?.parse().ok();
    let limit = *GIVEN.get_or_init(|| given().map_or(LIMIT, Duration::from_secs));
    (!limit.is_zero()).then_some(limit)
}

/// The rank stands as blocked for a moment, and judges.
fn stand(world: &Standings, me: usize, site: Site, condition: Arc<dyn Condition>) {
    let start = Instant::now();
    world.block(me, Arc::clone(&condition), site);
    while start.elapsed() < STANDS && !condition.holds() {
        world.judge();
        thread::sleep(STEP);
    }
    world.unblock(me);
}
