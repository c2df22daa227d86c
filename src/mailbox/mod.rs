//! Mailboxes: how two ranks hand each other messages, and boards: how a rank
//! shows something to all others. Protocols, words, transitions and orderings
//! are in `README.md` beside this file. Nothing here knows of ranks, waiting
//! or collectives; every function returns at once.

mod board;
mod channel;

pub(crate) use board::{Board, Notice};
#[cfg(loom)]
pub(crate) use channel::channel_after;
pub(crate) use channel::{Channel, End, Header, INLINE, Link, channels};
