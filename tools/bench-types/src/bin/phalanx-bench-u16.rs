//! `phalanx bench --type u16`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<u16>()
}
