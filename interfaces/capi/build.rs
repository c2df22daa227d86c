//! Rust's part of the interface, from interface.txt; the shared library's name for the loader.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "build/mod.rs"]
mod faces;

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says it"));
    if let Some(out) = env::var_os("OUT_DIR") {
        println!("cargo:rerun-if-changed=build.rs");
        println!("cargo:rerun-if-changed=build");
        println!("cargo:rerun-if-changed=interface.txt");
        write(Path::new(&out), faces::rust_files(&folder).map(|(name, text)| (name.into(), text)));
        if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libphalanx.so.0");
        }
    } else {
        // `interfaces/capi/generate`.
        write(&folder, faces::tracked_files(&folder));
    }
}

fn write(folder: &Path, files: impl IntoIterator<Item = (String, String)>) {
    for (name, text) in files {
        let file = folder.join(name);
        if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }
}
