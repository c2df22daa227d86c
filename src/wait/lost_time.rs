//! Time that a rank loses to other threads: it wanted to run, and its core did something else. It
//! decides how long to spin where every rank has a core.
//!
//! A thread that spins beside others is charged for it: the scheduler takes the core from it, and
//! gives it back milliseconds after the awaited word has come. One that sleeps is woken at once,
//! even on a core that a busy thread has. So a rank that loses more than [`PART`] of its time,
//! [`ENOUGH`] of it in all, *disturbs* the process for [`FOR`]: its ranks
//! - spin for [`SPIN`] at most, and not at all once two waits in a row have taken longer;
//! - do not yield: to a busy thread of their own scheduler group that costs a whole slice;
//! - roam, if they sleep often (`shared/roaming.rs`).
//!
//! Time is lost if it has passed, and was neither used by the thread nor slept away in a wait,
//! while the system took the core from the thread at least once: so a thread that sleeps in the
//! user's code loses none. A process that has used up its quota loses time like that. It is added
//! up where a rank makes a system call anyway, to sleep, to wake or to yield. Whether the load is
//! still there shows only when ranks spin again, which costs some milliseconds each time.
//!
//! Hints only: every rank decides for itself, at every wait, and nobody has to agree.

use super::debts::owe;
use super::{mode, system};
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};
use std::cell::Cell;
use std::time::Duration;

/// One part in so many of a rank's time may be lost.
const PART: u64 = 16;
/// Nanoseconds of lost time beyond that: one turn of another thread.
const ENOUGH: u64 = 4_000_000;
/// Nanoseconds for which the process counts as disturbed.
const FOR: u64 = 2_000_000_000;
/// Longer than two ranks on free cores are apart whose work is equal, and shorter than a wake-up
/// takes: a wait for a rank that is woken for it counts as long. With 40 us, 1000 looks and naps
/// of 1 ms, steps of 20 us beside one busy thread took 1.4 times as long as with a futex barrier;
/// with 15 us, 64 looks and 10 ms 1.0 times (`cargo bench --bench waiting -- uneven`, 2 cores).
const SPIN: Duration = Duration::from_micros(15);
/// Nanoseconds between two samples, at least and at most: in a longer time other things may have
/// happened than this run.
const RARELY: u64 = 1_000_000;
const WINDOW: u64 = 200_000_000;
/// Sleeps in a run before a rank has slept often.
const OFTEN: u32 = 4;

/// The time up to which the process is disturbed.
static UNTIL: AtomicU64 = AtomicU64::new(0);

/// The system's counts of a thread.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    /// Nanoseconds of processor time.
    pub(super) time: u64,
    /// How often the core was taken from it.
    pub(super) switches: u64,
}

crate::sync::thread_local! {
    /// The last sample, and its time; 0 if there is none.
    static LAST: Cell<(u64, Usage)> = const { Cell::new((0, Usage { time: 0, switches: 0 })) };
    /// Nanoseconds that the thread has slept in waits since.
    static SLEPT: Cell<u64> = const { Cell::new(0) };
    /// Lost time, less what may be lost.
    static LEVEL: Cell<u64> = const { Cell::new(0) };
    /// Waits lately that took longer than [`SPIN`].
    static LONG: Cell<u32> = const { Cell::new(0) };
    /// Sleeps in this run.
    static SLEEPS: Cell<u32> = const { Cell::new(0) };
}

/// Whether ranks have lost much time lately.
#[inline(always)]
pub(crate) fn is_disturbed() -> bool {
    let until = UNTIL.load(Relaxed);
    until != 0 && is_yet_to_come(until)
}

#[cold]
#[inline(never)]
fn is_yet_to_come(time: u64) -> bool {
    mode::now() < time
}

/// How long to spin in a process that is disturbed; `learns`: in a wait like those before.
pub(super) fn spin(learns: bool) -> Duration {
    if learns && LONG.get() >= 2 { Duration::ZERO } else { SPIN }
}

/// A wait has taken so long.
pub(super) fn note_wait(took: Duration) {
    let long = LONG.get();
    LONG.set(if took > SPIN { 3.min(long + 1) } else { long.saturating_sub(1) });
}

/// Whether the calling thread has slept often in this run.
pub(crate) fn sleeps_often() -> bool {
    SLEEPS.get() >= OFTEN
}

/// Sleeps by `sleep`, in a wait.
pub(crate) fn asleep(sleep: impl FnOnce() -> bool) {
    add_up();
    let from = mode::now();
    sleep();
    SLEPT.set(SLEPT.get() + (mode::now() - from));
    if SLEEPS.replace(SLEEPS.get() + 1) == 0 {
        owe(|| SLEEPS.set(0));
    }
}

/// Adds up the time that the calling thread has lost since the last sample.
pub(crate) fn add_up() {
    let (now, (at, last)) = (mode::now(), LAST.get());
    let passed = now - at;
    if passed < RARELY {
        return;
    }
    let Some(usage) = system::usage() else { return };
    LAST.set((now, usage));
    let slept = SLEPT.replace(0);
    // A child of a fork has its parent's sample, and a usage of its own from 0 on.
    let Some(ran) = usage.time.checked_sub(last.time) else { return };
    if at == 0 || passed > WINDOW {
        return;
    }
    let lost = match usage.switches == last.switches {
        true => 0,
        false => passed.saturating_sub(slept + ran),
    };
    let level = LEVEL.get().saturating_sub(passed / PART) + lost;
    if level >= ENOUGH {
        UNTIL.store(now + FOR, Relaxed);
    }
    LEVEL.set(if level >= ENOUGH { 0 } else { level });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_long_waits_end_the_spinning_and_two_short_ones_bring_it_back() {
        let (short, long) = (SPIN / 2, SPIN * 2);
        note_wait(long);
        assert_eq!(spin(true), SPIN, "one long wait is a stall");
        note_wait(long);
        assert_eq!(spin(true), Duration::ZERO);
        assert_eq!(spin(false), SPIN);
        (0..9).for_each(|_| note_wait(long));
        note_wait(short);
        note_wait(short);
        assert_eq!(spin(true), SPIN);
    }

    #[test]
    fn a_run_in_which_a_rank_slept_often_ends() {
        (0..OFTEN).for_each(|_| asleep(|| true));
        assert!(sleeps_often());
        super::super::give_back();
        assert!(!sleeps_often());
    }
}
