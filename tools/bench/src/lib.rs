//! Commands of the program `phalanx` that measure collectives and the cores, show, count and check
//! schedules, and describe the machine and the placement of ranks on it.
//!
//! What few ask for is in programs of their own ([`programs`]): they are built on what is public
//! here. A program that can start ranks on several nodes has the same `phalanx bench` by
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
pub mod programs;
pub mod progress;
pub mod prose;
mod rank_comm;
pub mod source;
pub mod suggest;
mod svg;

/// The longest file that a command reads; what the tool saves is far shorter.
pub const MOST_BYTES: u64 = 1 << 30;

pub use bench::sample::Measure;
pub use cli::{Run, main, main_of_phalanx, main_of_type, main_on_nodes};
pub use command::{machine_object, machine_page};
pub use launch::{Launch, Nodes};
