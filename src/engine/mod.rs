//! The engine: one executor for all schedules.
//!
//! ```text
//! Schedule (blocks) --bind--> Plan (places in memory, hazards settled) --execute--> mailboxes
//! ```
//!
//! [`bind`](bind::bind) decides where every block lives and inserts the waits
//! that keep a rank from writing what a peer may be reading; it is pure, and
//! `verify` proves its result on paper. [`execute`](execute::execute) walks a
//! plan. [`fused`] holds the paths that go round the schedules for speed,
//! [`fixed`] those that do so for the sake of one order.
//! Nothing here is generic over element or operator: a [`Kernel`] is called
//! once per slice.

mod bind;
mod copy;
mod cut;
mod execute;
pub(crate) mod fixed;
pub(crate) mod fused;
mod hazard;
mod kernel;
mod plan;
mod regions;
mod scratch;
mod stream;
#[cfg(test)]
mod verify;

pub use hazard::{Hazard, check_hazards};

pub(crate) use bind::bind_while;
pub(crate) use copy::copy;
pub(crate) use cut::Cut;
pub(crate) use execute::{Buffers, Guard, execute};
pub(crate) use kernel::Kernel;
pub(crate) use plan::Plan;
pub(crate) use scratch::Scratch;
