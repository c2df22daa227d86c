//! `phalanx busy`: one of the busy processes that `soak --load` starts.

use crate::load::{Group, keep_busy};
use phalanx_bench::failure::Failure;
use std::time::Duration;

/// Keep one core busy until the process that asked for it has gone
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Busy {
    /// The process that asked for it: without it this one ends
    #[arg(long)]
    parent: u32,
    /// Its scheduler group, or another one
    #[arg(long)]
    group: Group,
    /// End after so many seconds in any case
    #[arg(long)]
    seconds: u64,
}

impl Busy {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        keep_busy(self.parent, self.group, Duration::from_secs(self.seconds)).map_err(Failure::run)
    }
}
