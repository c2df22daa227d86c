//! `phalanx waits`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main::<phalanx_waits::Command>()
}
