//! The library, as `build.rs` has made it from its own sources.
#![allow(missing_docs, unused, clippy::all)]
// The library's own macro, where an `include!` stands for its root.
#![allow(macro_expanded_macro_exports_accessed_by_absolute_paths)]

include!(concat!(env!("OUT_DIR"), "/library/lib.rs"));
