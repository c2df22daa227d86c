//! What commands have in common, without anything that takes long to build: `phalanx waits` needs
//! no more.

// A library for the packages of this repository only.
#![allow(missing_docs, missing_debug_implementations)]

#[macro_use]
pub mod suggest;

pub mod disturbance;
pub mod failure;
#[path = "../../../src/file.rs"]
pub mod file;
pub mod markup;
pub mod output;
pub mod program;
pub mod prose;
pub mod table;

pub use program::{Run, main};

/// The longest file that a command reads; the tool saves far shorter ones.
pub const MOST_BYTES: u64 = 1 << 30;
