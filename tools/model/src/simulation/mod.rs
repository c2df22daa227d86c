//! What a schedule would take on a machine that we do not have: a discrete simulation over
//! published hand-off times. **Modelled, never measured.**
//!
//! | file | what |
//! |---|---|
//! | `error.rs` | why there is no result ([`SimulationError`]) |
//! | `effects.rs` | what is taken into account ([`Effects`]) |
//! | `layout.rs` | who sits where |
//! | `run.rs` | a schedule's steps, one after the other ([`Simulation`]) |
//! | `letters.rs` | the messages of a step, and how they share the ways |
//! | `clocks.rs` | one step: post, deliver |
//! | `wide.rs` | a step of too many messages to be kept |
//!
//! Every rank has a clock. In a step it sends, then takes its messages in the schedule's order. A
//! message is a line that moves `transfers` times; what does not fit the line is pulled at the
//! core's rate, or its share of the narrowest door on the way. With no effects and one level that
//! is t_s + t_w m, and the sums are the textbook's.
//!
//! Not modelled: the time of combining (it is below that of moving), page faults, the operating
//! system, frequency.

mod clocks;
mod effects;
mod error;
mod layout;
mod letters;
#[cfg(test)]
mod reference;
mod run;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_effects;
mod wide;

pub use effects::{Effect, Effects};
pub use error::SimulationError;
pub use run::{Outcome, Simulation};
