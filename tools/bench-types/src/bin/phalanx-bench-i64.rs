//! `phalanx bench --type i64`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<i64>()
}
