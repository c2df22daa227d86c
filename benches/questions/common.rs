//! Teams and timed loops, for the other files here.

#[path = "../raw/flags.rs"]
mod flags;

pub(crate) use flags::Flags;

use phalanx::{Comm, Team};
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
