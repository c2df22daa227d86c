//! `phalanx waits`.

fn main() -> std::process::ExitCode {
    phalanx_cli::main::<phalanx_waits::Command>()
}
