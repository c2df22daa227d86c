//! The rules of the repository: rooms, circles, style, the names in TRUST.md, the walks of
//! docs/walks.md, and the programs that the compiler must refuse.

mod circles;
mod compile_fail;
mod examples;
mod files;
mod imports;
mod inputs;
mod interface;
mod readme;
mod rooms;
mod style;
mod trust;
mod walks;
mod words;

use std::path::PathBuf;

/// All Rust sources below `folder`, sorted.
fn sources(folder: &str) -> Vec<PathBuf> {
    style::files(folder, "rs")
}
