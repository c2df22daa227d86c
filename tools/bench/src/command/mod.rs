//! The commands: each has one file and one variant of `Command`.

mod bandwidth;
mod bench;
mod check;
mod cost;
mod latency;
mod machine;
mod place;
mod trace;

use crate::Run;
use crate::failure::Failure;
pub use machine::{object as machine_object, page as machine_page};

/// The commands of this package.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Bench(Box<bench::Bench>),
    Trace(trace::Trace),
    Cost(Box<cost::CostArgs>),
    Check(check::Check),
    Machine(machine::MachineArgs),
    Place(Box<place::Place>),
    Latency(Box<latency::Latency>),
    Bandwidth(bandwidth::Bandwidth),
    Waits(phalanx_waits::Waits),
}

impl Run for Command {
    fn run(self) -> Result<(), Failure> {
        match self {
            Command::Bench(bench) => bench.run(),
            Command::Trace(trace) => trace.run(),
            Command::Cost(cost) => cost.run(),
            Command::Check(check) => check.run(),
            Command::Machine(machine) => machine.run(),
            Command::Place(place) => place.run(),
            Command::Latency(latency) => latency.run(),
            Command::Bandwidth(bandwidth) => bandwidth.run(),
            Command::Waits(waits) => waits.run(),
        }
    }
}
