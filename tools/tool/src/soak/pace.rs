//! Compares the time of a run with a bound from `std::sync::Barrier`.
//!
//! A script has a *twin*: the same ranks on threads of their own make the same vectors, are late in
//! the same places, and meet at a `std::sync::Barrier` where the script calls the library. Both are
//! timed, one after the other, under whatever load there is. A run may take [`FACTOR`] times as
//! long as its twin, and [`FLOOR`] on top. What the machine does meanwhile falls on either of them,
//! so a run that took longer is made again, with its twin: only what is slow [`TRIALS`] times
//! crawls.

use super::random::{Dice, mix};
use super::script::Script;
use super::{perform_call, run_script};
use std::fmt;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What a run may take for each unit of time of its twin. Wide: with 8 a run of large vectors
/// beside busy threads went over the bound five times in a row without crawling. It has not been
/// calibrated, so it finds gross crawls only.
pub(crate) const FACTOR: f64 = 40.0;
/// And on top of that.
pub(crate) const FLOOR: Duration = Duration::from_millis(100);
/// So often in a row a run must be too slow.
pub(crate) const TRIALS: usize = 5;

/// The times of a run and of its twin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) run: Duration,
    pub(crate) twin: Duration,
}

impl Pace {
    /// The time that the run had.
    pub(crate) fn bound(&self) -> Duration {
        self.twin.mul_f64(FACTOR) + FLOOR
    }

    /// Which part of that it took.
    pub(crate) fn share(&self) -> f64 {
        self.run.as_secs_f64() / self.bound().as_secs_f64()
    }

    /// Whether it took longer.
    pub(crate) fn crawls(&self) -> bool {
        self.run > self.bound()
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let [run, twin, bound] = [self.run, self.twin, self.bound()].map(ms);
        write!(f, "{run:.1} ms, its twin at std::sync::Barrier {twin:.1}, its bound {bound:.1}")
    }
}

/// The slowest of many runs, by the share of their bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slowest {
    pub(crate) pace: Pace,
    pub(crate) seed: u64,
}

/// How long the script's twin takes.
pub(crate) fn twin(script: &Script, seed: u64, ranks: usize) -> Duration {
    let barrier = Barrier::new(ranks);
    let rank = |me: usize| {
        let mut dice = Dice::new(seed ^ mix(me as u64));
        barrier.wait();
        let begun = Instant::now();
        for act in &script.acts {
            if script.jitter {
                run_script::be_late(&mut dice);
            }
            perform_call::work(act, me, ranks);
            barrier.wait();
        }
        begun.elapsed()
    };
    std::thread::scope(|s| {
        let rank = &rank;
        for me in 1..ranks {
            s.spawn(move || rank(me));
        }
        rank(0)
    })
}
