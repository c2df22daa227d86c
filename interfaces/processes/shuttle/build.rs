//! The mistakes that the models must detect are those of the loom models, with pieces and gates.

include!("../loom/mutants.rs");

fn main() {
    println!("cargo:rustc-cfg=loom");
    make(MUTANTS.iter().filter(|it| ["../src/pieces.rs", "../src/gate.rs"].contains(&it.1)));
}
