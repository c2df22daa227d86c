//! The common part of the kernels: sizes that must fit the ranks, a count of the work, a run that
//! checks itself.

use phalanx::dist::GeneralBlock;
use phalanx::{Comm, Error, Team};
use std::time::Instant;

/// A kernel with its sizes.
pub(crate) trait Kernel: Sync {
    /// As the peers' programs call it.
    const NAME: &str;
    /// Iterations that take about a quarter of a second at the small size.
    const ITERATIONS: u32;
    /// The unit that is counted.
    const UNIT: Unit;

    /// Whether it can run on so many ranks.
    fn fits(&self, ranks: usize) -> Result<(), String>;

    /// Units of an iteration.
    fn work(&self, ranks: usize) -> f64;

    /// The sizes, in the peers' order.
    fn sizes(&self) -> Vec<usize>;

    /// Name and sizes.
    fn title(&self) -> String;

    /// Numbers that rank `rank` of `ranks` gets for its fields, in huge pages of its own memory.
    fn room(&self, _rank: usize, _ranks: usize) -> usize {
        0
    }

    /// One iteration more than `iterations`, of which the first is not timed. `room` is the rank's,
    /// all zeros. Collective; all ranks find the same, but for the time.
    fn run(&self, comm: &mut Comm, room: &mut [f64], iterations: u32) -> Outcome;
}

/// Runs a kernel on all ranks of a team.
pub(crate) fn run(
    kernel: &impl Kernel,
    team: &Team,
    iterations: u32,
) -> Result<Vec<Outcome>, Error> {
    let ranks = team.size();
    let rooms = GeneralBlock::of_counts((0..ranks).map(|rank| kernel.room(rank, ranks)));
    let mut room = team.distributed(&rooms, |_| 0.0)?;
    team.run_with(&mut room.parts_mut(), |comm, room| kernel.run(comm, room, iterations))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Flop,
    Byte,
    Synchronisation,
}

impl Unit {
    /// The rate in the unit that PRK prints.
    pub(crate) fn rate(self, work: f64, seconds: f64) -> String {
        let rate = work / seconds;
        match self {
            Unit::Flop => format!("{:.0} Mflop/s", rate / 1e6),
            Unit::Byte => format!("{:.0} MB/s", rate / 1e6),
            Unit::Synchronisation => format!("{rate:.3e} syncs/s"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Of all timed iterations.
    pub(crate) seconds: f64,
    pub(crate) check: Check,
}

/// The kernel's own validation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) found: f64,
    pub(crate) expected: f64,
    /// How far apart the two may be.
    pub(crate) within: f64,
}

impl Check {
    pub(crate) fn absolute(found: f64, expected: f64, within: f64) -> Self {
        Check { found, expected, within }
    }

    pub(crate) fn relative(found: f64, expected: f64, within: f64) -> Self {
        Check { found, expected, within: within * expected.abs() }
    }

    pub(crate) fn is_good(&self) -> bool {
        (self.found - self.expected).abs() <= self.within
    }
}

/// Runs `each` once, and then `n` times with the time taken, from when all begin to when all have
/// ended.
pub(crate) fn timed(comm: &mut Comm, n: u32, mut each: impl FnMut(&mut Comm)) -> f64 {
    each(comm);
    comm.barrier();
    let begin = Instant::now();
    for _ in 0..n {
        each(comm);
    }
    comm.barrier();
    begin.elapsed().as_secs_f64()
}
