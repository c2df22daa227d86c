//! `phalanx bench --type i32`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<i32>()
}
