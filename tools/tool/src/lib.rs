//! Commands of the program `phalanx`: measure the collectives on this machine's cores; watch, count
//! and check their schedules on paper; see the machine, place ranks on it.
//!
//! The program itself is the package `phalanx-cli`. `phalanx-report` builds on the measurements
//! here; and a program that can start ranks on several nodes has the same `phalanx bench` by
//! [`main_on_nodes`] (package `phalanx-mpi`, example `phalanx`).

// A library for the packages of this repository only.
#![allow(missing_docs, missing_debug_implementations)]

pub mod bench;
mod cli;
mod command;
pub mod failure;
#[path = "../../../src/file.rs"]
pub mod file;
mod ground;
pub mod interrupt;
pub mod matrix;
pub mod measure;
pub mod names;
pub mod output;
pub mod pair;
pub mod paper;
pub mod place;
pub mod progress;
pub mod size;
mod soak;
pub mod source;

/// The longest file that a command reads; what the tool saves is far shorter.
pub const MOST_BYTES: u64 = 1 << 30;

pub use cli::{Run, main, main_on_nodes};
pub use command::{Command, machine_object};
pub use ground::{Launch, Nodes};
