//! The state that the ranks of a run share, and a rank's port to it.
//!
//! - [`TeamState`]: one per team: the poison word, who has left, which thread is
//!   which rank, and the latest calls of every rank.
//! - [`Thread`]: one per thread: for whom it waits, and the runs that it is in.
//! - [`CommState`]: one per communicator: its mailboxes, gates and boards.
//! - [`Port`]: one per rank and communicator: the private counters, and every
//!   operation that may have to wait; with [`Port::branch`], by which a part of
//!   the ranks come by a communicator of their own.
//!   With [`Port::send_tagged`], messages that match by source and tag.
//! - [`Signature`], [`CallParams`], [`Digest`]: the fingerprint by which two ranks notice
//!   that they disagree; [`disagreement()`]: about what, once one has noticed.
//!
//! Protocols and their words are in `README.md` beside this file.

mod branch;
mod call_counts;
mod call_log;
mod cause;
mod comm_hold;
mod comm_state;
mod core_use;
mod counts;
mod digest;
mod disagreement;
mod early_receive;
mod early_receives;
mod event_ring;
mod fingerprint;
mod foreign_calls;
mod kept_bytes;
mod keyed_list;
mod long_wait;
mod match_list;
mod message_label;
mod message_ring;
mod port;
mod rank_place;
mod record_file;
mod recorder;
#[cfg(not(loom))]
mod roaming;
mod started_progress;
mod tagged_lists;
mod tagged_queue;
mod tagged_ring;
mod team_state;
mod thread;
mod thread_mark;
mod ticket;
mod unfit_receive;
mod unread;

pub(crate) use call_log::CallRecord;
pub(crate) use comm_state::CommState;
pub use core_use::CoreUse;
pub(crate) use counts::CountFacts;
pub(crate) use digest::Digest;
pub(crate) use disagreement::{disagreement, disagreement_with_waiting, in_words};
pub(crate) use early_receive::EarlyReceive;
pub use early_receives::EarlyReceives;
#[cfg(loom)] // For mutants of the files that use them.
pub(crate) use event_ring::{CallFacts, EventLine, EventRing};
pub(crate) use fingerprint::{
    BeginningCall, CallParams, CallTransport, Fingerprint, PayloadKind, Signature,
};
pub use kept_bytes::KeptBytes;
pub(crate) use long_wait::LongWait;
pub use match_list::{MatchList, MatchPattern};
pub(crate) use message_label::MessageLabel;
pub use message_ring::{AwaitedMessage, LongRoom, MessageMemory, MessageRing};
pub use port::GivenPart;
pub(crate) use port::{
    ALL_MEET, Disagreement, Guard, Place, Port, RankCards, Span, StartedCall, Stop, TaggedRequest,
    WordBytes, copy_few,
};
pub(crate) use rank_place::RankPlace;
#[cfg(not(loom))]
pub(crate) use recorder::InterfaceCall;
pub(crate) use recorder::Recorder;
pub use started_progress::{StartedPart, StartedProgress};
pub(crate) use tagged_lists::ReceiveRoom;
pub(crate) use tagged_queue::KEPT_UP_TO;
pub(crate) use team_state::{EVERY_RUN, TeamState, discard};
#[cfg(not(loom))]
pub use thread::RankWait;
pub(crate) use thread::{Background, CatchScope, Entered, OpenCalls, Seen, Thread};
#[cfg(not(loom))]
pub(crate) use thread_mark::{Owed, ThreadMark};
pub(crate) use ticket::{Envelope, Ticket};
pub(crate) use unfit_receive::UnfitReceive;
#[cfg(loom)]
pub(crate) use {
    call_counts::CallCount,
    call_log::{CallLog, RankState, run_pass},
    comm_hold::CommHold,
    comm_state::{PERHAPS, Phase, RankSlots},
    counts::OwnCounts,
    tagged_lists::{MessageBody, PostedReceive, TaggedLists, TaggedMessage},
    tagged_queue::{
        Copier, Data, OutgoingMessage, OwnedMessage, Received, SentMessage, TaggedQueue,
    },
    tagged_ring::{SHORT, ShortMemory, ShortMessage, TaggedRing, copy_bytes},
    thread::ANYBODY,
};
