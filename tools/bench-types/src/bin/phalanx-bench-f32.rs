//! `phalanx bench --type f32`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<f32>()
}
