//! The library, as `build.rs` has made it from its own sources.
#![allow(missing_docs, unused, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/library/lib.rs"));
