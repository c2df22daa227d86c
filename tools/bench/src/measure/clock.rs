//! Measures the cost and the resolution of a clock reading. Both differ from machine to machine: a
//! clock that is read by a system call costs ten times as much as one that is read in user space.

use phalanx_model::median;
use std::time::Instant;

/// Readings for the measurement: 50 us at 25 ns each.
const READINGS: usize = 2000;

/// The properties of [`Instant`] on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The difference of two readings with nothing between them, in ns: the median. Every sample
    /// carries it.
    pub overhead_ns: f64,
    /// The smallest difference that was seen and is not zero, in ns.
    pub resolution_ns: f64,
}

impl Clock {
    /// Measures.
    pub fn measure() -> Self {
        let mut readings = vec![Instant::now(); READINGS];
        for _ in 0..2 {
            // The first pass is for the caches and the page tables.
            readings.iter_mut().for_each(|reading| *reading = Instant::now());
        }
        let steps: Vec<f64> =
            readings.windows(2).map(|two| (two[1] - two[0]).as_nanos() as f64).collect();
        let resolution_ns = resolution(&steps);
        Clock { overhead_ns: median(&steps), resolution_ns }
    }

    /// A sample of `ns` without the clock's share to it; never below the half of the reading, for a
    /// clock that was interrupted when it was measured.
    pub fn net(&self, ns: f64) -> f64 {
        (ns - self.overhead_ns).max(ns / 2.0)
    }
}

/// The smallest difference between two different readings: of the steps and of their differences.
/// Differences of 1 ns come from rounding, of a clock that counts something else than nanoseconds,
/// if there are larger ones.
fn resolution(steps: &[f64]) -> f64 {
    let mut seen: Vec<f64> = steps.iter().copied().filter(|&step| step > 0.0).collect();
    seen.push(0.0);
    seen.sort_by(f64::total_cmp);
    let apart = || seen.windows(2).map(|two| two[1] - two[0]).filter(|&d| d > 0.0);
    let least = |d: &mut dyn Iterator<Item = f64>| d.reduce(f64::min);
    least(&mut apart().filter(|&d| d > 1.0)).or(least(&mut apart())).unwrap_or(1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolution_is_the_step_of_the_clock() {
        assert_eq!(resolution(&[20.0, 30.0, 21.0, 31.0, 0.0, 1230.0]), 9.0);
        assert_eq!(resolution(&[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(resolution(&[41.0, 41.0, 0.0]), 41.0);
        assert_eq!(resolution(&[0.0, 0.0]), 1e9);
    }

    #[test]
    fn this_machine_has_a_clock() {
        let clock = Clock::measure();
        assert!(clock.overhead_ns >= 0.0 && clock.resolution_ns >= 1.0, "{clock:?}");
    }

    #[test]
    fn the_overhead_is_taken_off_once() {
        let clock = Clock { overhead_ns: 25.0, resolution_ns: 10.0 };
        assert_eq!(clock.net(125.0), 100.0);
        assert_eq!(clock.net(30.0), 15.0);
    }
}
