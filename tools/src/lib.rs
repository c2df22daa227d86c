//! The `phalanx` tool: measures the collectives on this machine's cores; watches,
//! counts and checks their schedules on paper; sees the machine, places ranks on it.
//!
//! A library, so that a program that can start ranks on several nodes can have the
//! same `phalanx bench` (package `phalanx-mpi`, example `phalanx`).

mod bench;
mod calibrate;
mod cli;
mod command;
mod failure;
mod file;
mod ground;
mod interrupt;
mod matrix;
mod measure;
mod model;
mod names;
mod output;
mod pair;
mod paper;
mod peers;
mod place;
mod progress;
mod report;
mod size;
mod soak;
mod source;

pub use cli::{main, main_on_nodes};
pub use ground::{Launch, Nodes};
