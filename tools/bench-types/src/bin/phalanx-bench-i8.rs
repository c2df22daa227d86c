//! `phalanx bench --type i8`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<i8>()
}
