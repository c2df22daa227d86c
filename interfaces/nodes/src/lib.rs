//! Phalanx on several nodes: a communicator over those of the nodes.
//!
//! A *node* is a process with a team of threads. [`NodeComm`] owns, or borrows, the communicator of
//! this node's ranks ([`phalanx::Comm`]), and knows the places of all, and the network
//! ([`net::Net`]). A call is made of *steps*: some on this node, by its communicator; and some
//! between nodes, made by the leader (the node's first rank) alone, on one contiguous piece of
//! memory.
//!
//! ```text
//!   ranks   0 1 2 3 | 4 5 6 7        all_reduce, say
//!           \ | | / | \ | | /        step on the node: reduce to the leader
//!             0 ----+---- 4          between leaders: agree, and combine
//!           / | | \ | / | | \        step on the node: broadcast
//! ```
//!
//! The same closure runs on one node and on many ([`run()`], [`run_across`]); `phalanx-mpi` is the
//! engine for clusters.
//! ```
//! use phalanx::op;
//! let sums = phalanx_nodes::run(4, |comm| {
//!     let mut x = [comm.rank() as f64];
//!     comm.all_reduce(&mut x, op::Sum);
//!     x[0]
//! })?;
//! assert_eq!(sums, [6.0; 4]);
//! # Ok::<(), phalanx::Error>(())
//! ```
//!
//! **Failure** of any rank ends the whole job ([`net::Net::abort`]).

mod all_to_all;
mod call;
mod cart;
mod fixed_sums;
mod layout;
mod messages;
mod moves;
pub mod net;
mod node_comm;
mod node_group;
mod node_job;
mod number;
mod origin;
mod rails;
mod reductions;
mod run;
mod run_call;
mod split;
mod steps;
mod views;

pub use cart::NodeCart;
pub use node_comm::{InOrder, NodeComm};
pub use run::{external_across, run, run_across};

/// Runs the program of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
