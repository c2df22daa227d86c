//! The commands: one file each, one variant each.

mod bench;

use crate::failure::Failure;

/// What the tool can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Bench(Box<bench::Bench>),
}

impl Command {
    /// Carries the command out.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Command::Bench(bench) => bench.run(),
        }
    }
}
