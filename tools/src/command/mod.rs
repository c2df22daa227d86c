//! The commands: one file each, one variant each.

mod bandwidth;
mod bench;
mod busy;
mod calibrate;
mod check;
mod cost;
mod cost_nodes;
mod diff;
mod latency;
mod machine;
mod model;
mod peers;
mod place;
mod report;
mod soak;
mod trace;

use crate::failure::Failure;
pub(crate) use machine::object as machine_object;

/// What the tool can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Bench(Box<bench::Bench>),
    Trace(trace::Trace),
    Cost(Box<cost::CostArgs>),
    Check(check::Check),
    Machine(machine::MachineArgs),
    Model(Box<model::Model>),
    Place(Box<place::Place>),
    Peers(Box<peers::Peers>),
    Report(Box<report::ReportArgs>),
    Soak(soak::Soak),
    Latency(Box<latency::Latency>),
    Bandwidth(bandwidth::Bandwidth),
    Diff(diff::DiffArgs),
    Calibrate(calibrate::Calibrate),
    Busy(busy::Busy),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Command::Bench(bench) => bench.run(),
            Command::Trace(trace) => trace.run(),
            Command::Cost(cost) => cost.run(),
            Command::Check(check) => check.run(),
            Command::Machine(machine) => machine.run(),
            Command::Model(model) => model.run(),
            Command::Place(place) => place.run(),
            Command::Peers(peers) => peers.run(),
            Command::Report(report) => report.run(),
            Command::Soak(soak) => soak.run(),
            Command::Latency(latency) => latency.run(),
            Command::Bandwidth(bandwidth) => bandwidth.run(),
            Command::Diff(diff) => diff.run(),
            Command::Calibrate(calibrate) => calibrate.run(),
            Command::Busy(busy) => busy.run(),
        }
    }
}
