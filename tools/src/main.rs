//! `phalanx`: measure the collectives on this machine's cores.

mod bench;
mod cli;
mod command;
mod failure;
mod interrupt;
mod names;
mod output;
mod progress;
mod size;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
