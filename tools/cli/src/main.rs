//! The program `phalanx` on one machine: the commands of `phalanx-tool`, `phalanx-report` and
//! `phalanx-timeline`.

use phalanx_tool::Run;
use phalanx_tool::failure::Failure;
use std::process::ExitCode;

/// All commands.
#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Tool(phalanx_tool::Command),
    #[command(flatten)]
    Report(phalanx_report::Command),
    #[command(flatten)]
    Timeline(phalanx_timeline::Command),
}

impl Run for Command {
    fn run(self) -> Result<(), Failure> {
        match self {
            Command::Tool(command) => command.run(),
            Command::Report(command) => command.run(),
            Command::Timeline(command) => command.run(),
        }
    }
}

fn main() -> ExitCode {
    phalanx_tool::main::<Command>()
}
