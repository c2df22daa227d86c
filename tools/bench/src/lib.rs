//! Commands of the program `phalanx` that measure collectives and the cores, show, count and check
//! schedules, and describe the machine and the placement of ranks on it.
//!
//! What few ask for is in programs of their own ([`programs`]): they are built on what is public
//! here.

// A library for the packages of this repository only.
#![allow(missing_docs, missing_debug_implementations)]

pub mod bench;
pub mod byte_size;
mod cli;
mod command;
pub mod interrupt;
pub mod matrix;
pub mod measure;
pub mod pair;
pub mod paper;
pub mod place;
pub mod programs;
pub mod progress;
pub mod source;
mod svg;

pub use bench::sample::Measure;
pub use cli::{main_of_phalanx, main_of_type};
pub use command::{machine_object, machine_page};
pub use phalanx_cli::{
    MOST_BYTES, Run, disturbance, failure, file, main, markup, output, prose, suggest, table,
};
