//! The placement room: which rank runs on which processing unit.
//!
//! A [`Placement`] is a policy, a [`Machine`](crate::machine::Machine) says what there is, and [`assign`] puts the
//! two together into an [`Assignment`]. All of it is pure: nothing here binds a thread.

mod assignment;
mod error;
mod network;
mod order;
mod pattern;
mod policy;
mod report;
mod search;
mod svg;

pub use assignment::{Assignment, assign};
pub use error::{PlacementError, UnknownPlacement};
pub use network::Weights;
pub use pattern::{Pattern, PatternStep};
pub use policy::Placement;
pub use report::{Report, StepReport};
pub use svg::svg;

#[cfg(test)]
mod tests;
