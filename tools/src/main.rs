//! `phalanx`, on this machine.

use std::process::ExitCode;

fn main() -> ExitCode {
    phalanx_tools::main()
}
