//! `phalanx`: measure the collectives on this machine's cores; watch, count and
//! check their schedules on paper; see the machine, place ranks on it.

mod bench;
mod calibrate;
mod cli;
mod command;
mod failure;
mod interrupt;
mod matrix;
mod measure;
mod model;
mod names;
mod output;
mod pair;
mod paper;
mod peers;
mod place;
mod progress;
mod report;
mod size;
mod soak;
mod source;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
