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
pub(crate) use channel::{Channel, End, Header, INLINE, Link};
pub(crate) use gate::Gate;
pub(crate) use shelf::{EAGER, Place, Shelf};
