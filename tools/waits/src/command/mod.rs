//! The commands: each has one file and one variant of `Command`.

mod choice;
mod waits;

use phalanx_cli::Run;
use phalanx_cli::failure::Failure;
pub use waits::Waits;

/// The commands of this package.
#[derive(Debug, clap::Subcommand)]
// A comment on a variant would be its help, in place of the struct's.
#[allow(missing_docs)]
pub enum Command {
    Waits(Waits),
}

impl Run for Command {
    fn run(self) -> Result<(), Failure> {
        match self {
            Command::Waits(waits) => waits.run(),
        }
    }
}
