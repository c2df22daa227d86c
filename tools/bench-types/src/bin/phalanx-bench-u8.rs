//! `phalanx bench --type u8`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<u8>()
}
