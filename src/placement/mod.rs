//! The placement room: the assignment of ranks to processing units.
//!
//! A [`Placement`] is a policy, a [`Machine`](crate::machine::Machine) has the cores, and
//! [`assign`] puts the two together into an [`Assignment`]. All of it is pure: nothing here binds a
//! thread.
//!
//! # Cost
//! The machine is a tree: a core hangs under the parts that it shares with others (caches, NUMA
//! node, package). Each link of the tree is one channel up and one channel down. A [`Pattern`] says
//! which rank sends to which one in which step; a step costs `start_up + hop * longest distance +
//! word * words on the busiest channel` ([`Weights`]), where the distance counts the channels on
//! the way and, between NUMA nodes, the part that the machine's own distance matrix adds. A
//! placement costs the sum over the steps; of placements that cost the same, the one with the
//! smaller sum of all distances is better. Weights are not measured.
//!
//! # Method and bound
//! [`Placement::Auto`] and the topologies ([`Placement::Ring`] and so on) are optimised:
//!
//! 1. Cores of the fastest kind that suffices; of these, the smallest part of the tree with room
//!    for all ranks (also tried: all of them, and equally many under each vertex).
//! 2. Recursive mapping down the tree, cutting the ranks along the dimension that cuts the fewest
//!    messages.
//! 3. The best of these, of compact and of identity.
//! 4. Local search by swaps and moves, with a fixed budget of work and no clock, so that the same
//!    input gives the same placement everywhere.
//!
//! | topology | bound |
//! |---|---|
//! | ring, linear | exact (1) |
//! | hypercube on equal powers of two | fewest words over all steps on every channel (2) |
//! | everything else | heuristic; tested against all permutations up to 8 ranks |
//! | all | costs at most as much as compact or identity (3) |
//!
//! (1) Where each rank has a core and all remote memories are equally far: each channel that must
//! be passed is passed once each way. (2) The sum of the steps' maxima is not proved minimal.
//! (3) Unless those use slower kinds of cores than needed.

mod assignment;
mod core_hierarchy;
mod core_order;
mod error;
mod network;
mod pattern;
mod policy;
mod report;
mod search;

pub use assignment::{Assignment, assign};
pub use core_hierarchy::hierarchy;
pub use error::{PlacementError, UnknownPlacement};
pub use network::Weights;
pub use pattern::{Pattern, PatternStep};
pub use policy::Placement;
pub use report::{PlacementReport, StepReport};

#[cfg(test)]
mod tests;
