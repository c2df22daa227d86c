//! The state that the ranks of a run share, and a rank's port to it.
//!
//! - [`TeamState`]: one per team: the poison word, who has left, which thread is
//!   which rank, and the latest calls of every rank.
//! - [`Thread`]: one per thread: for whom it waits, and the runs that it is in.
//! - [`CommState`]: one per communicator: its mailboxes, gates and boards.
//! - [`Port`]: one per rank and communicator: the private counters, and every
//!   operation that may have to wait; with [`Port::branch`], by which a part of
//!   the ranks come by a communicator of their own.
//! - [`Signature`], [`CallParams`], [`Digest`]: the fingerprint by which two ranks notice
//!   that they disagree; [`disagreement()`]: about what, once one has noticed.
//!
//! Protocols and their words are in `README.md` beside this file.

mod branch;
mod call_counts;
mod call_log;
mod cause;
mod comm_state;
mod counts;
mod digest;
mod disagreement;
mod fingerprint;
mod port;
mod record_file;
mod recorder;
mod team_state;
mod thread;

pub(crate) use call_log::CallRecord;
pub(crate) use comm_state::CommState;
pub(crate) use digest::Digest;
pub(crate) use disagreement::{disagreement, in_words};
pub(crate) use fingerprint::{CallParams, CallTransport, Fingerprint, PayloadKind, Signature};
pub(crate) use port::{Guard, Port, Span, StartedCall, Stop, WordBytes};
pub(crate) use recorder::Recorder;
pub(crate) use team_state::{EVERY_RUN, TeamState, discard};
pub(crate) use thread::{Seen, Thread};
#[cfg(loom)]
pub(crate) use {
    call_log::{CallLog, RankState, ticket},
    comm_state::{PERHAPS, Phase, RankSlots},
    counts::OwnCounts,
};
