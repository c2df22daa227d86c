//! Commands of the program `phalanx` that build on its measurements: one page about a machine, a
//! profile for the library's choices, other people's libraries beside ours, and the models beside
//! what was published.

mod calibrate;
mod command;
mod model;
mod peers;
mod report;

pub use command::Command;
