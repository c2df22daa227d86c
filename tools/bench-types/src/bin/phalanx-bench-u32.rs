//! `phalanx bench --type u32`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<u32>()
}
