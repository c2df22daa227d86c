//! Commands of the program `phalanx` that build on its measurements: a page about one machine, a
//! profile for the library's choices, comparisons with other libraries, and the models beside
//! published measurements.

mod calibrate;
mod command;
mod model;
mod peers;
mod report;

pub use command::Command;
