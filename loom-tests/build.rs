//! Sets `cfg(loom)` for this crate only, so that `cargo test` needs no
//! environment variable.

fn main() {
    println!("cargo:rustc-cfg=loom");
    println!("cargo:rerun-if-changed=build.rs");
}
