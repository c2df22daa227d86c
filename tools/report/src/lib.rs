//! Commands of the program `phalanx` that build on its measurements: a page about one machine, a
//! profile for the library's choices, and comparisons with other libraries.

mod calibrate;
mod command;
mod peers;
mod report;

pub use command::Command;
