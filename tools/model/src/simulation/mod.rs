//! The time of a schedule on another machine: a discrete simulation over published hand-off times.
//! **Modelled, never measured.**
//!
//! | file | contents |
//! |---|---|
//! | `error.rs` | the errors ([`SimulationError`]) |
//! | `effects.rs` | the effects that are simulated ([`Effects`]) |
//! | `layout.rs` | the cores of the ranks, and the uplinks between them |
//! | `run.rs` | a schedule's steps, one after the other ([`Simulation`]) |
//! | `messages.rs` | the messages of a step, and their shares of the uplinks |
//! | `step_clocks.rs` | one step: post, deliver |
//! | `direct_access.rs` | stores to others' memory, and the end of such a call |
//! | `streamed_step.rs` | a step with too many messages to store |
//! | `reference.rs` | the simulation before its optimisation, for tests |
//!
//! Every rank has a clock. In a step it sends, then takes its messages in the schedule's order. A
//! message is a line that moves `transfers` times; the rest is pulled at the core's rate, or its
//! share of the narrowest link on the way. With no effects and one level that is t_s + t_w m, and
//! the sums are the textbook's.
//!
//! Not modelled: the time of combining (it is below that of moving), page faults, the operating
//! system, frequency.

mod direct_access;
mod effects;
mod error;
mod layout;
mod messages;
#[cfg(test)]
mod reference;
mod run;
mod step_clocks;
mod streamed_step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_effects;

pub use effects::{Effect, Effects};
pub use error::SimulationError;
pub use run::{Outcome, Simulation};
