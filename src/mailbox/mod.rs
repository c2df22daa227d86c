//! Mailboxes: how two ranks hand each other messages; gates: how a few ranks
//! exchange something small, all with all; and boards: how a rank shows memory
//! of its own to all others. Protocols, words, transitions and orderings
//! are in `README.md` beside this file. Nothing here knows of ranks, waiting
//! or collectives; every function returns at once.

mod block;
mod board;
mod channel;
mod gate;
mod shelf;

pub(crate) use block::Block;
pub(crate) use board::{Board, Notice};
#[cfg(any(test, loom))]
pub(crate) use channel::SLOTS;
#[cfg(loom)]
pub(crate) use channel::Slot;
#[cfg(loom)]
pub(crate) use channel::channel_after;
#[cfg(loom)]
pub(crate) use channel::channels;
pub(crate) use channel::{Channel, End, FIRST, Header, INLINE, LONG, Link, offset, pack};
pub(crate) use gate::Gate;
pub(crate) use shelf::{EAGER, Place, Shelf};

/// The largest number of ranks in a team. Mailboxes for all pairs take 640
/// bytes each of address space (640 MiB at this size), of memory only where
/// they are used; all of it where ranks are bound to cores of several NUMA
/// nodes, since each rank then puts its own into its node's memory.
pub const MAX_RANKS: usize = 1024;
