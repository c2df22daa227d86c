//! `phalanx`: measure the collectives on this machine's cores; watch, count and
//! check their schedules on paper.

mod bench;
mod cli;
mod command;
mod failure;
mod interrupt;
mod names;
mod output;
mod paper;
mod progress;
mod size;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
