//! The commands: one file each, one variant each.

mod bench;
mod machine;
mod place;

use crate::failure::Failure;

/// What the tool can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Bench(Box<bench::Bench>),
    Machine(machine::MachineArgs),
    Place(Box<place::Place>),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Command::Bench(bench) => bench.run(),
            Command::Machine(machine) => machine.run(),
            Command::Place(place) => place.run(),
        }
    }
}
