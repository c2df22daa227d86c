//! What the ranks of a run share, and one rank's hold on it.
//!
//! - [`World`]: one per team: the poison word, who has left, which thread is
//!   which rank, and the latest calls of every rank.
//! - [`Thread`]: one per thread: for whom it waits, and the runs that it is in.
//! - [`Fabric`]: one per communicator: its mailboxes, gates and boards.
//! - [`Port`]: one per rank and communicator: the private counters, and every
//!   operation that may have to wait; with [`Port::branch`], by which a part of
//!   the ranks come by a communicator of their own.
//! - [`Sig`], [`Params`], [`Shape`]: the fingerprint by which two ranks notice
//!   that they disagree; [`disagreement`]: about what, once one has noticed.
//!
//! Protocols and their words are in `README.md` beside this file.

mod cause;
mod counts;
mod disagreement;
mod port;
mod record;
mod seat;
mod shape;
mod sig;
mod thread;
mod words;
mod world;

pub(crate) use disagreement::{disagreement, in_words};
pub(crate) use port::{Begun, Guard, Port, Span, Stop, Words};
pub(crate) use record::Call;
pub(crate) use shape::Shape;
pub(crate) use sig::{Check, Kind, Params, Sig, Transport};
pub(crate) use thread::{Seen, Thread};
pub(crate) use words::Fabric;
pub(crate) use world::{World, discard};
#[cfg(loom)]
pub(crate) use {
    counts::OwnCounts,
    record::{Line, Records, ticket},
    words::{PERHAPS, Phase, Seat},
};
