//! The program `phalanx`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_phalanx()
}
