//! The commands: each has one file and one variant of `Command`.

mod busy;
mod check_machine;
mod soak;

use phalanx_bench::Run;
use phalanx_bench::failure::Failure;

/// The commands of this package.
#[derive(Debug, clap::Subcommand)]
// A comment on a variant would be its help, in place of the struct's.
#[allow(missing_docs)]
pub(crate) enum Command {
    Soak(soak::Soak),
    Check(check_machine::CheckMachine),
    Busy(busy::Busy),
}

impl Run for Command {
    fn run(self) -> Result<(), Failure> {
        match self {
            Command::Soak(soak) => soak.run(),
            Command::Check(check) => check.run(),
            Command::Busy(busy) => busy.run(),
        }
    }
}
