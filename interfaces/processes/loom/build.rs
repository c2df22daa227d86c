//! Sets `cfg(loom)`, and makes the mistakes that the models must detect.

include!("mutants.rs");

fn main() {
    println!("cargo:rustc-cfg=loom");
    make(MUTANTS);
}
