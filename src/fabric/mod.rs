//! What the ranks of a run share, and one rank's hold on it.
//!
//! - [`World`]: one per team: the poison word, who has left, who waits for
//!   whom, and the latest calls of every rank.
//! - [`Fabric`]: one per communicator: its mailboxes and boards.
//! - [`Port`]: one per rank and communicator: the private counters, and every
//!   operation that may have to wait; with [`Port::branch`], by which a part of
//!   the ranks come by a communicator of their own.
//! - [`Sig`]: the fingerprint by which two ranks notice that they disagree.
//!
//! Protocols and their words are in `README.md` beside this file.

mod port;
mod record;
mod seat;
mod sig;
mod words;
mod world;

pub(crate) use port::{Params, Port, Span, Stop, Words};
pub(crate) use record::Call;
pub(crate) use sig::{Check, Kind, Sig};
pub(crate) use words::Fabric;
pub(crate) use world::World;

/// The largest number of ranks in a team. Mailboxes for all pairs take 384
/// bytes each of address space (384 MiB at this size), of memory only where
/// they are used; all of it where ranks are bound to cores of several NUMA
/// nodes, since each rank then puts its own into its node's memory.
pub const MAX_RANKS: usize = 1024;
