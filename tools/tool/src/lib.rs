//! Commands of the program `phalanx` that measure collectives, show, count and check their
//! schedules, and describe the machine and the placement of ranks on it.
//!
//! The program itself is the package `phalanx-cli`. `phalanx-report` builds on the measurements
//! here; and a program that can start ranks on several nodes has the same `phalanx bench` by
//! [`main_on_nodes`] (package `phalanx-mpi`, example `phalanx`).

// A library for the packages of this repository only.
#![allow(missing_docs, missing_debug_implementations)]

pub mod bench;
pub mod byte_size;
mod cli;
mod command;
pub mod failure;
#[path = "../../../src/file.rs"]
pub mod file;
pub mod interrupt;
mod launch;
pub mod matrix;
pub mod measure;
pub mod output;
pub mod pair;
pub mod paper;
pub mod place;
pub mod progress;
mod promises;
pub mod prose;
mod soak;
pub mod source;
pub mod suggest;

/// The longest file that a command reads; what the tool saves is far shorter.
pub const MOST_BYTES: u64 = 1 << 30;

pub use cli::{Run, main, main_on_nodes};
pub use command::{Command, machine_object};
pub use launch::{Launch, Nodes};
