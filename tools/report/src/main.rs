//! `phalanx report`, `calibrate`, `peers` and `model`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main::<phalanx_report::Command>()
}
