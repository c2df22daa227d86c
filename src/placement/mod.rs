//! The placement room: which rank runs on which processing unit.
//!
//! A [`Placement`] is a policy, a [`Machine`](crate::machine::Machine) says what there is, and [`assign`] puts the
//! two together into an [`Assignment`]. All of it is pure: nothing here binds a thread.

mod assignment;
mod error;
mod order;
mod policy;

pub use assignment::{Assignment, assign};
pub use error::{PlacementError, UnknownPlacement};
pub use policy::Placement;
