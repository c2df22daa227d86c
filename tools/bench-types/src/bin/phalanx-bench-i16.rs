//! `phalanx bench --type i16`.

fn main() -> std::process::ExitCode {
    phalanx_bench::main_of_type::<i16>()
}
