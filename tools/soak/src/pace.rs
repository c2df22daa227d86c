//! Compares the time of a run with a bound from `std::sync::Barrier`.
//!
//! A script has a *twin*: the same ranks on the same threads make the same vectors, are late in the
//! same places, and meet at a `std::sync::Barrier` where the script calls the library. Both are
//! timed, one after the other, under whatever load there is, with the start and the end of their
//! runs; the making of communicators is not. A run may take so many times as long as its twin, and
//! a little on top: see [`Bound`].
//!
//! Other work of the machine falls on either of them. So a run that took longer is made
//! again, with its twin, after a pause. It crawls if the fastest of [`TRIALS`] runs takes longer
//! than the slowest of as many twins allows.
//!
//! The twin of a team that yields yields: beside a busy thread of the own scheduler group a yield
//! lasts as long as that thread's slice, and the team was told to yield all the same.

use crate::kit::{Dice, Script, be_late, mix, work};
use crate::longest_waits::LongestWaits;
use crate::soak_elements::SORTS;
use phalanx::Wait;
use std::fmt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So often a run is made before it crawls. Two ranks that park, bound to a core each beside busy
/// threads, and their twin, which does the same, wait for a slice or for none by chance: a single
/// trial says little. (`phalanx soak --margin N` divides the bounds, and shows the rest.)
pub(crate) const TRIALS: usize = 10;
/// Before the second trial; before each further one so much longer.
const PAUSE: Duration = Duration::from_millis(10);

/// The time that a run may take: `factor` for each unit of time of its twin, and `floor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    factor: f64,
    floor: Duration,
}

impl Bound {
    /// For barriers and small collectives of the whole team, which need about as many hand-overs as
    /// the twin.
    const TIGHT: Bound = Bound { factor: 4.0, floor: Duration::from_millis(20) };
    /// For all else: a call of any algorithm may be a ring of hand-overs, data are moved, a fault
    /// is told.
    const WIDE: Bound = Bound { factor: 40.0, floor: Duration::from_millis(100) };

    /// That of a script, divided by `margin`.
    pub(crate) fn of(script: &Script, margin: f64) -> Self {
        let whole = if script.is_short { Bound::TIGHT } else { Bound::WIDE };
        Bound { factor: whole.factor / margin, floor: whole.floor.div_f64(margin) }
    }
}

/// The times of a run and of its twin, or the fastest of several runs and the slowest twin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) run: Duration,
    pub(crate) twin: Duration,
    pub(crate) bound: Bound,
}

impl Pace {
    /// With another trial of the same.
    pub(crate) fn and(self, again: Pace) -> Self {
        Pace { run: self.run.min(again.run), twin: self.twin.max(again.twin), ..self }
    }

    /// The time that the run had.
    pub(crate) fn most(&self) -> Duration {
        self.twin.mul_f64(self.bound.factor) + self.bound.floor
    }

    /// Which part of that it took.
    pub(crate) fn share(&self) -> f64 {
        self.run.as_secs_f64() / self.most().as_secs_f64()
    }

    /// Whether it took longer.
    pub(crate) fn crawls(&self) -> bool {
        self.run > self.most()
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let [run, twin, most] = [self.run, self.twin, self.most()].map(ms);
        write!(f, "{run:.1} ms, its twin at std::sync::Barrier {twin:.1}, its bound {most:.1}")
    }
}

/// The slowest of many runs, by the share of their bounds.
#[derive(Clone, Debug)]
pub(crate) struct Slowest {
    pub(crate) pace: Pace,
    pub(crate) seed: u64,
    /// The command that makes it again.
    pub(crate) command: String,
}

/// Waits before trial `trial`, the first of which is 0.
pub(crate) fn pause(trial: usize) {
    std::thread::sleep(PAUSE * trial as u32);
}

/// The work that is timed beside a script.
pub(crate) struct Twin<'a> {
    script: &'a Script,
    seed: u64,
    ranks: usize,
    meeting: TwinMeeting,
}

/// Where the ranks of a twin meet.
enum TwinMeeting {
    Sleeping(Barrier),
    /// Arrivals so far.
    Yielding(AtomicUsize),
}

impl<'a> Twin<'a> {
    pub(crate) fn new(script: &'a Script, seed: u64, ranks: usize, wait: Wait) -> Self {
        let meeting = match wait {
            Wait::Yield => TwinMeeting::Yielding(AtomicUsize::new(0)),
            _ => TwinMeeting::Sleeping(Barrier::new(ranks)),
        };
        Twin { script, seed, ranks, meeting }
    }

    /// The part of rank `me`.
    pub(crate) fn play(&self, me: usize, longest: &LongestWaits) {
        let mut waits = longest.of_rank(self.seed);
        let mut dice = Dice::of_seed(self.seed ^ mix(me as u64));
        for act in &self.script.acts {
            if self.script.jitter {
                be_late(&mut dice);
            }
            work(&SORTS, act, me, self.ranks);
            waits.meet(|| self.meet());
        }
    }

    fn meet(&self) {
        match &self.meeting {
            TwinMeeting::Sleeping(barrier) => drop(barrier.wait()),
            TwinMeeting::Yielding(arrivals) => {
                // Acquire and release: everything before the meeting is seen after it, as at the
                // other barrier.
                let full = (arrivals.fetch_add(1, Ordering::AcqRel) / self.ranks + 1) * self.ranks;
                while arrivals.load(Ordering::Acquire) < full {
                    std::thread::yield_now();
                }
            }
        }
    }
}
