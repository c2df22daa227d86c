//! The choice between sleeping and yielding where ranks outnumber cores.
//!
//! Beside other ranks a yield costs less than 3 us; beside a busy thread of the same scheduler
//! group it costs a whole slice on average. Which of the two it is only the clock can tell: each
//! yield of a crowded rank is timed. Slow ones switch a *mode* on, for the process, in which
//! crowded ranks sleep instead; it runs out after a while, and then a few yields show whether it is
//! still needed. Sleeping by mistake costs 2.3 times the barrier, yielding by mistake 100 times, so
//! nothing here has to be quick.
//!
//! Hints only: every rank decides for itself, at every wait, and nobody has to agree.

use super::Occasion;
use crate::sync::diagnostic::{AtomicU64, Mutex, Ordering::Relaxed};
use std::cell::Cell;
use std::time::Instant;

/// Nanoseconds of this much slow yielding switch a mode on ..
const ENOUGH: u64 = 10_000_000;
/// .. for so long, at first and at most.
const SHORT: u64 = 100_000_000;
const LONG: u64 = 1_000_000_000;
/// After that time, yields are on probation for so long: one that takes more than `PROOF` then
/// doubles the time.
const PROBATION: u64 = 20_000_000;
const PROOF: u64 = 2_500_000;
/// A yield that takes longer is slow.
const SLOW: u64 = 1_000_000;
/// A thread whose slow yields are nearer to each other than so many fast ones is beside threads of
/// its own scheduler group: another group's leave thousands in between.
const FEW: u32 = 64;

/// As a time: for ever.
const ALWAYS: u64 = u64::MAX;

/// The time up to which something is on; 0 when that is `PROBATION` ago, so that nobody asks a
/// clock for it any more.
pub(super) struct Until<const PROBATION: u64>(AtomicU64);

impl<const PROBATION: u64> Until<PROBATION> {
    pub(super) const fn new() -> Self {
        Until(AtomicU64::new(0))
    }

    pub(super) fn set(&self, time: u64) {
        self.0.store(time, Relaxed);
    }

    /// `now` is called only if it was on lately.
    #[inline(always)]
    pub(super) fn is_on(&self, now: impl FnOnce() -> u64) -> bool {
        let until = self.0.load(Relaxed);
        until != 0 && self.lasts(until, now())
    }

    #[cold]
    #[inline(never)]
    fn lasts(&self, until: u64, now: u64) -> bool {
        if now >= until.saturating_add(PROBATION) {
            // Unless another thread has just set it.
            let _ = self.0.compare_exchange(until, 0, Relaxed, Relaxed);
        }
        now < until
    }

    /// Whether it is on at `time`, or was less than `PROBATION` before.
    pub(super) fn is_recent(&self, time: u64) -> bool {
        let until = self.0.load(Relaxed);
        until != 0 && time < until.saturating_add(PROBATION)
    }
}

/// One of the two modes.
struct SleepMode {
    until: Until<PROBATION>,
    state: Mutex<State>,
}

struct State {
    /// How long the mode is on when it is switched on next.
    back_off: u64,
    /// Slow yielding lately, which fades.
    level: u64,
    /// The end of the last slow yield that counted.
    last: u64,
}

/// Any slow yield counts: for what is waited for together.
static ANY: SleepMode = SleepMode::new();
/// Only those beside threads of the same scheduler group: for pairs, where each wait wakes
/// somebody.
static SAME: SleepMode = SleepMode::new();

std::thread_local! {
    /// Fast yields of this thread since its last slow one.
    static FAST: Cell<u32> = const { Cell::new(FEW) };
}

impl SleepMode {
    const fn new() -> Self {
        let state = State { back_off: SHORT, level: 0, last: 0 };
        SleepMode { until: Until::new(), state: Mutex::new(state) }
    }

    /// A yield has lasted from `from` to `to`, and was slow.
    fn note(&self, from: u64, to: u64) {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        // Begun while the mode was on, or the same event as seen by another rank.
        if self.until.is_on(|| from) || from < state.last {
            return;
        }
        let (took, since) = (to - from, from - state.last);
        state.last = to;
        if !self.until.is_recent(from) {
            state.back_off = SHORT;
        } else if took > PROOF {
            state.back_off = (2 * state.back_off).min(LONG);
            state.level = ENOUGH;
        }
        state.level = state.level.saturating_sub(since / 4) + took;
        if state.level >= ENOUGH {
            self.until.set(to + state.back_off);
            state.level = 0;
        }
    }
}

/// Whether to sleep rather than to yield.
#[inline(always)]
pub(super) fn is_on(occasion: Occasion) -> bool {
    match occasion {
        Occasion::Together => ANY.until.is_on(clock::now),
        Occasion::Pair => SAME.until.is_on(clock::now),
    }
}

/// Nanoseconds since time is measured; 1 at least.
pub(super) fn now() -> u64 {
    clock::now()
}

/// From here on time is measured.
pub(super) fn begin() {
    clock::now();
}

/// Both modes on, for good: for tests.
pub(super) fn force() {
    ANY.until.set(ALWAYS);
    SAME.until.set(ALWAYS);
}

/// Yields, and takes the time.
#[inline(always)]
pub(super) fn yield_timed() {
    let from = clock::ticks();
    crate::sync::yield_now();
    if clock::ticks().saturating_sub(from) > clock::PERHAPS_SLOW {
        return note(from);
    }
    FAST.set(FAST.get().saturating_add(1));
}

#[cold]
#[inline(never)]
fn note(from: u64) {
    note_in([&ANY, &SAME], clock::time(from), clock::now());
}

/// In the mode of any slow yield, and in that of those which are near to each other.
fn note_in([any, same]: [&SleepMode; 2], from: u64, to: u64) {
    if to.saturating_sub(from) <= SLOW {
        return;
    }
    any.note(from, to);
    if FAST.replace(0) < FEW {
        same.note(from, to);
    }
}

/// Nanoseconds since the first question. Two of the processor's own counts are what a yield is
/// timed by: a system's clock costs 50 ns a yield, these 10.
mod clock {
    use super::Instant;
    use std::sync::OnceLock;

    /// When `ticks` was so much.
    static ORIGIN: OnceLock<(Instant, u64)> = OnceLock::new();

    fn origin() -> (Instant, u64) {
        *ORIGIN.get_or_init(|| (Instant::now(), counter::first()))
    }

    /// Nanoseconds now; 1 at least.
    pub(super) fn now() -> u64 {
        origin().0.elapsed().as_nanos() as u64 + 1
    }

    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    mod counter {
        /// Below a millisecond on every processor that counts below 1 GHz .. 6 GHz.
        #[cfg(target_arch = "x86_64")]
        pub(in super::super) const PERHAPS_SLOW: u64 = 1 << 19;
        /// Arm's generic timer counts at 1 MHz .. 1 GHz: half a millisecond, or less.
        #[cfg(target_arch = "aarch64")]
        pub(in super::super) const PERHAPS_SLOW: u64 = 1 << 9;

        #[inline(always)]
        pub(in super::super) fn ticks() -> u64 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: reads a counter that every x86-64 has.
            unsafe {
                std::arch::x86_64::_rdtsc()
            }
            #[cfg(target_arch = "aarch64")]
            {
                let count: u64;
                // SAFETY: reads the virtual counter, which systems let programs read: their own
                // clock does so.
                unsafe {
                    std::arch::asm!(
                        "mrs {}, cntvct_el0", out(reg) count,
                        options(nomem, nostack, preserves_flags)
                    );
                }
                count
            }
        }

        /// The count at the origin.
        pub(super) fn first() -> u64 {
            ticks()
        }

        /// The time when the counter was at `ticks`, which was not long ago.
        pub(in super::super) fn time(ticks: u64) -> u64 {
            let (_, first) = super::origin();
            let (now, count) = (super::now(), self::ticks());
            let (all, ago) = (count.saturating_sub(first).max(1), count.saturating_sub(ticks));
            let ago = u128::from(now) * u128::from(ago) / u128::from(all);
            now.saturating_sub(u64::try_from(ago).unwrap_or(u64::MAX))
        }
    }

    /// Where no counter is known: the system's clock.
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    mod counter {
        pub(in super::super) const PERHAPS_SLOW: u64 = super::super::SLOW;

        pub(in super::super) fn ticks() -> u64 {
            super::now()
        }

        /// Of no use to [`time`]; and [`ticks`] would ask for the origin while it is made.
        pub(super) fn first() -> u64 {
            0
        }

        pub(in super::super) fn time(ticks: u64) -> u64 {
            ticks
        }
    }

    pub(super) use counter::{PERHAPS_SLOW, ticks, time};
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Notes a slow yield of so many milliseconds, which began at `at`.
    fn slow(mode: &SleepMode, at: u64, took: u64) {
        mode.note(at * MS, (at + took) * MS);
    }

    fn is_on(mode: &SleepMode, at: u64) -> bool {
        mode.until.is_on(|| at * MS)
    }

    #[test]
    fn slow_yields_switch_it_on_and_it_ends_without_a_trace() {
        let mode = SleepMode::new();
        (0..3).for_each(|i| slow(&mode, 100 + 4 * i, 3));
        assert!(!is_on(&mode, 112), "9 ms are not enough");
        slow(&mode, 112, 3);
        assert!(is_on(&mode, 116) && is_on(&mode, 214) && !is_on(&mode, 215));
        assert_ne!(mode.until.0.load(Relaxed), 0, "on probation");
        assert!(!is_on(&mode, 235));
        assert_eq!(mode.until.0.load(Relaxed), 0, "no clock is read for it any more");
    }

    #[test]
    fn a_load_that_lasts_is_tried_less_and_less_and_forgotten_when_it_is_gone() {
        let mode = SleepMode::new();
        let mut at = 100;
        let mut on = Vec::new();
        for _ in 0..6 {
            slow(&mode, at, 11);
            let ends = (at..).find(|&time| time > at + 11 && !is_on(&mode, time)).expect("it ends");
            on.push(ends - at - 11);
            at = ends;
        }
        assert_eq!(on, [100, 200, 400, 800, 1000, 1000]);
        at += 21;
        slow(&mode, at, 11);
        assert!(is_on(&mode, at + 110) && !is_on(&mode, at + 112));
    }

    #[test]
    fn fast_yields_part_a_slow_one_from_the_next() {
        let is_near = |at| {
            let (any, same) = (SleepMode::new(), SleepMode::new());
            note_in([&any, &same], at * MS, (at + 11) * MS);
            assert!(is_on(&any, at + 12));
            is_on(&same, at + 12)
        };
        assert_eq!([100, 200, 300].map(is_near), [false, true, true]);
        FAST.set(FEW - 1);
        assert!(is_near(400));
        (0..2 * FEW).for_each(|_| yield_timed());
        // Unless the system has made one of those a slow one.
        assert!(FAST.get() < FEW || !is_near(500));
    }

    #[test]
    fn a_few_slow_yields_now_and_then_do_nothing() {
        let mode = SleepMode::new();
        (1..100).for_each(|i| slow(&mode, 50 * i, 3));
        assert!(!is_on(&mode, 5001));
    }
}
