//! Teams, timed loops and the raw exchange, for the other files here.

use phalanx::{Comm, Team};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// One rank per core, from 2 to 16.
pub(crate) fn team() -> Team {
    let ranks = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, 16);
    Team::builder().ranks(ranks).pin_caller(true).build().expect("a small team can be built")
}

/// Two ranks.
pub(crate) fn pair() -> Team {
    Team::builder().ranks(2).pin_caller(true).build().expect("a team of two can be built")
}

/// Time on rank 0 of `iters` calls back to back, which every rank makes.
pub(crate) fn back_to_back(
    team: &Team,
    iters: u64,
    call: impl Fn(&mut Comm, u64) + Sync,
) -> Duration {
    let times = team.run(|comm| {
        comm.barrier();
        let start = Instant::now();
        (0..iters).for_each(|i| call(comm, i));
        start.elapsed()
    });
    times.expect("the ranks agree")[0]
}

/// A flag on cache lines of its own.
#[derive(Default)]
#[repr(align(256))]
struct Line(AtomicU64);

/// The floor: two flags in lines of their own, for ranks 0 and 1.
#[derive(Default)]
pub(crate) struct Flags([Line; 2]);

impl Flags {
    /// Both store, then both wait for the other's.
    pub(crate) fn exchange(&self, rank: usize) {
        let k = self.0[rank].0.load(Relaxed) + 1;
        self.0[rank].0.store(k, Release);
        self.wait(1 - rank, k);
    }

    /// Rank 0 stores, rank 1 answers, rank 0 waits for that.
    pub(crate) fn ping_pong(&self, rank: usize) {
        let k = self.0[rank].0.load(Relaxed) + 1;
        if rank == 1 {
            self.wait(0, k);
        }
        self.0[rank].0.store(k, Release);
        if rank == 0 {
            self.wait(1, k);
        }
    }

    /// With `<`: the other may be one ahead. With a yield: the two may share a
    /// core.
    fn wait(&self, rank: usize, k: u64) {
        until(|| self.0[rank].0.load(Acquire) >= k);
    }
}

/// Looks until `is_so`; every 16384 looks somebody else may have the core.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let mut looks = 0u32;
    while !is_so() {
        looks += 1;
        if looks.is_multiple_of(1 << 14) {
            std::thread::yield_now();
        }
    }
}
