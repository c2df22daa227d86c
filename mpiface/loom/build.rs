//! Sets `cfg(loom)`, and makes the weakened words that the models must detect: copies of the source
//! with one ordering replaced.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    const SOURCE: &str = "../src/rt/word.rs";
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rustc-cfg=loom");
    let source = fs::read_to_string(SOURCE).expect("the package's source");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    for (name, ordering) in [("weak_store.rs", "Release"), ("weak_load.rs", "Acquire")] {
        let whole = format!("Ordering::{ordering}");
        assert_eq!(source.matches(&whole).count(), 1, "{SOURCE}: {whole} occurs once");
        let weak = source.replace(&whole, "Ordering::Relaxed");
        // A file that is included has no comments of its own module.
        let items: Vec<&str> = weak.lines().filter(|line| !line.starts_with("//!")).collect();
        fs::write(out.join(name), items.join("\n")).expect("OUT_DIR can be written");
    }
}
