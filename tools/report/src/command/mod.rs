//! The commands: each has one file and one variant of `Command`.

mod calibrate;
mod peers;
mod report;

use phalanx_bench::Run;
use phalanx_bench::failure::Failure;

/// The commands of this package.
#[derive(Debug, clap::Subcommand)]
// A comment on a variant would be its help, in place of the struct's.
#[allow(missing_docs)]
pub enum Command {
    Peers(Box<peers::Peers>),
    Report(Box<report::ReportArgs>),
    Calibrate(calibrate::Calibrate),
}

impl Run for Command {
    fn run(self) -> Result<(), Failure> {
        match self {
            Command::Peers(peers) => peers.run(),
            Command::Report(report) => report.run(),
            Command::Calibrate(calibrate) => calibrate.run(),
        }
    }
}
