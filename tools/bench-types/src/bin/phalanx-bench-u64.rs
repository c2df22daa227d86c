//! `phalanx bench --type u64`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<u64>()
}
