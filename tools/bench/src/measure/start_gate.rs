//! A gate at which all ranks meet before a sample and start at the same moment.
//!
//! It uses nothing of the library, so that what is measured does not begin
//! with its own words still warm, and is the same for every contender.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// From the arrival of the last rank to the start: what seeing that arrival
/// may take, at first and for each rank (a line transfer costs up to 150 ns).
const LEAD: Duration = Duration::from_nanos(1000);
const LEAD_PER_RANK: Duration = Duration::from_nanos(300);
/// Looks after which somebody else may have the core.
const LOOKS: u32 = 1 << 14;

/// A rank's words; written by that rank only. Words by the parity of the
/// meeting: a rank can be one meeting ahead of those who still read.
#[derive(Debug, Default)]
#[repr(align(256))]
struct Slot {
    /// Meetings that the rank has come to.
    arrived: AtomicU64,
    /// When, in nanoseconds from the epoch.
    at: [AtomicU64; 2],
    /// What it says.
    word: [AtomicU64; 2],
}

/// The meeting point of some ranks.
#[derive(Debug)]
pub(crate) struct StartGate {
    slots: Vec<Slot>,
    epoch: Instant,
    lead: Duration,
    /// Whether ranks share cores: then they yield, and there is no start at
    /// one moment.
    crowded: bool,
    /// A rank is gone; nobody waits any more.
    broken: AtomicBool,
}

impl StartGate {
    /// For `ranks` ranks, that share cores if `crowded`.
    pub(crate) fn new(ranks: usize, crowded: bool) -> Self {
        StartGate {
            slots: (0..ranks).map(|_| Slot::default()).collect(),
            epoch: Instant::now(),
            lead: LEAD + LEAD_PER_RANK * ranks as u32,
            crowded,
            broken: AtomicBool::new(false),
        }
    }

    /// The seat of rank `rank`; one for each.
    pub(crate) fn seat(&self, rank: usize) -> Seat<'_> {
        Seat { gate: self, rank, number: 0 }
    }
}

/// A rank at a gate. Whoever unwinds leaves the gate broken, so that nobody
/// waits there for ever.
#[derive(Debug)]
pub struct Seat<'a> {
    gate: &'a StartGate,
    rank: usize,
    number: u64,
}

impl Seat<'_> {
    /// Comes, and waits for all. Returns the word of rank 0; none if a rank
    /// unwound, whose reason is the one to report.
    pub(crate) fn meet(&mut self, word: u64) -> Option<u64> {
        self.number += 1;
        let (k, parity) = (self.number, (self.number & 1) as usize);
        let own = &self.gate.slots[self.rank];
        // Ordering: `arrived` publishes both, with Release, to the Acquire
        // load below. Nobody reads the words of two meetings ago: all came to
        // the meeting in between after reading them.
        own.at[parity].store(self.now(), Ordering::Relaxed);
        own.word[parity].store(word, Ordering::Relaxed);
        own.arrived.store(k, Ordering::Release);
        for slot in &self.gate.slots {
            let mut looks = 0u32;
            while slot.arrived.load(Ordering::Acquire) < k {
                looks += 1;
                if self.gate.crowded || looks.is_multiple_of(LOOKS) {
                    // Ordering: a flag by itself.
                    if self.gate.broken.load(Ordering::Relaxed) {
                        return None;
                    }
                    std::thread::yield_now();
                }
            }
        }
        Some(self.gate.slots[0].word[parity].load(Ordering::Relaxed))
    }

    /// [`meet`](Seat::meet), and all go on at the same moment: a little after
    /// the last one came. At once where ranks share cores.
    #[inline(always)]
    pub fn start(&mut self, word: u64) -> Option<u64> {
        let word = self.meet(word)?;
        if !self.gate.crowded {
            let parity = (self.number & 1) as usize;
            let last = self.gate.slots.iter().map(|slot| slot.at[parity].load(Ordering::Relaxed));
            let start = last.max().unwrap_or(0) + self.gate.lead.as_nanos() as u64;
            while self.now() < start {}
        }
        Some(word)
    }

    fn now(&self) -> u64 {
        self.gate.epoch.elapsed().as_nanos() as u64
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Ordering: a flag by itself.
            self.gate.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hear_rank_0_and_nobody_leaves_early() {
        for crowded in [false, true] {
            let gate = StartGate::new(3, crowded);
            let came = AtomicU64::new(0);
            std::thread::scope(|s| {
                for rank in 0..3 {
                    let (gate, came) = (&gate, &came);
                    s.spawn(move || {
                        let mut seat = gate.seat(rank);
                        for k in 1..200 {
                            came.fetch_add(1, Ordering::Relaxed);
                            let word = seat.start(if rank == 0 { 10 * k } else { 7 });
                            assert_eq!(word, Some(10 * k));
                            assert!(came.load(Ordering::Relaxed) >= 3 * k);
                            seat.meet(0);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_rank_that_fails_lets_the_others_go() {
        let gate = StartGate::new(2, true);
        std::thread::scope(|s| {
            let failing = s.spawn(|| {
                let _seat = gate.seat(1);
                panic!("as it was meant to");
            });
            let waiting = s.spawn(|| gate.seat(0).meet(1));
            assert!(failing.join().is_err());
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
