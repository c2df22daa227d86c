//! The raw exchange of two flags between two threads: the lower bound of any operation between
//! them, the unit of comparison, and the sign by which their place is known.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Batches, of which the fastest counts, and exchanges in each: 15 to 150 us
/// together. The first batch carries the time that one side waits for the
/// other; a batch that was interrupted is slow; the fastest is neither.
const BATCHES: usize = 5;
const EXCHANGES: u64 = 100;
/// Looks after which somebody else may have the core.
const LOOKS: u32 = 1 << 14;

/// A flag on cache lines of its own; written by one side, read by the other.
#[derive(Debug, Default)]
#[repr(align(256))]
struct ProbeFlag(AtomicU64);

/// Two flags for two threads, side 0 and side 1. Can be probed any number of
/// times, by any two threads that agree on who is which side.
#[derive(Debug, Default)]
pub struct Probe {
    flags: [ProbeFlag; 2],
}

impl Probe {
    /// Nanoseconds of one exchange (both flags set and seen), as this side saw
    /// it. Both sides call it, at about the same time; it returns when both
    /// are done. 0.01 to 0.2 ms.
    pub(crate) fn exchange(&self, side: usize) -> f64 {
        let (own, other) = (&self.flags[side].0, &self.flags[1 - side].0);
        // Ordering: this side's own word.
        let mut number = own.load(Ordering::Relaxed);
        let mut best = f64::INFINITY;
        for _ in 0..BATCHES {
            let start = Instant::now();
            for _ in 0..EXCHANGES {
                number += 1;
                // Ordering: Release and Acquire of the other side's load and
                // store, as every flag of the library has to have.
                own.store(number, Ordering::Release);
                let mut looks = 0;
                while other.load(Ordering::Acquire) < number {
                    looks += 1;
                    if looks == LOOKS {
                        looks = 0;
                        std::thread::yield_now();
                    }
                }
            }
            best = best.min(start.elapsed().as_nanos() as f64 / EXCHANGES as f64);
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_return_as_often_as_they_are_asked() {
        let probe = Probe::default();
        let times: Vec<f64> = std::thread::scope(|s| {
            let side = |side| {
                let probe = &probe;
                move || (0..3).map(|_| probe.exchange(side)).sum::<f64>()
            };
            let other = s.spawn(side(1));
            vec![side(0)(), other.join().unwrap()]
        });
        assert!(times.iter().all(|ns| *ns > 0.0 && ns.is_finite()), "{times:?}");
        let count = BATCHES as u64 * EXCHANGES * 3;
        assert!(probe.flags.iter().all(|flag| flag.0.load(Ordering::Relaxed) == count));
    }
}
