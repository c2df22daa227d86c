//! A barrier before and after a disturbance of our own making: a user's machine has been disturbed
//! lately, as a rule, and a measurement mostly runs on one that has not.

use phalanx::engine::is_beside_load;
use phalanx::machine::affinity;
use phalanx::{Error, Team};
use phalanx_model::median;
use serde_json::{Value, json};
use std::fmt;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// So long two threads are busy beside the ranks.
const LOAD: Duration = Duration::from_millis(700);
/// After that the machine is quiet, until the second measurement.
const REST: Duration = Duration::from_millis(500);

/// The times of a barrier, in ns: medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aftermath {
    before_ns: f64,
    after_ns: f64,
    /// Whether the library thought before, or after it, that the process is disturbed.
    disturbed: [bool; 2],
}

impl Aftermath {
    /// Measures, for some more than a second.
    ///
    /// # Errors
    /// That of a run.
    pub fn measure(team: &Team) -> Result<Self, Error> {
        let before = barrier(team, Duration::ZERO)?;
        scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    // The caller's thread may be bound.
                    let _: Result<_, _> = affinity::restore(team.machine().allowed_pus());
                    let since = Instant::now();
                    while since.elapsed() < LOAD {}
                });
            }
            barrier(team, LOAD)
        })?;
        sleep(REST);
        let after = barrier(team, Duration::ZERO)?;
        let ((before_ns, one), (after_ns, other)) = (before, after);
        Ok(Aftermath { before_ns, after_ns, disturbed: [one, other] })
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let &Aftermath { before_ns, after_ns, disturbed } = self;
        json!({ "before_ns": before_ns, "after_ns": after_ns, "disturbed": disturbed })
    }
}

impl fmt::Display for Aftermath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.disturbed.map(|it| if it { " (disturbed)" } else { "" });
        write!(
            f,
            "barrier: {:.1} ns{} before, {:.1} ns{} after two threads were busy for {} ms",
            self.before_ns,
            said[0],
            self.after_ns,
            said[1],
            LOAD.as_millis()
        )
    }
}

/// The time of a barrier over 100 batches, or as many as take `time`; and whether it was disturbed.
fn barrier(team: &Team, time: Duration) -> Result<(f64, bool), Error> {
    const CALLS: u32 = 200;
    let times = team.run(|comm| {
        let (begin, mut times) = (Instant::now(), Vec::new());
        let mut goes_on = [true];
        while goes_on[0] {
            let since = Instant::now();
            (0..CALLS).for_each(|_| comm.barrier());
            times.push(since.elapsed().as_nanos() as f64 / f64::from(CALLS));
            goes_on[0] = times.len() < 100 || begin.elapsed() < time;
            comm.broadcast(&mut goes_on, 0);
        }
        median(&times)
    })?;
    Ok((times[0], is_beside_load()))
}

#[cfg(test)]
#[test]
fn it_is_told() {
    let it = Aftermath { before_ns: 59.0, after_ns: 180.0, disturbed: [false, true] };
    let said =
        "barrier: 59.0 ns before, 180.0 ns (disturbed) after two threads were busy for 700 ms";
    assert_eq!(it.to_string(), said);
}
