//! Early receives: short ones that only their rank knows of yet.
//!
//! Most started receives are waited for next, and their message comes by a ring. To post such a
//! receive under the queue's lock, where other ranks find it, takes longer than the message does.
//! So it is noted here, in the rank's own memory. It is as if it were posted at the last moment at
//! which that makes no difference:
//!
//! - It begins while nothing lies in the queue, neither a message nor a posted receive, and is
//!   posted before any other receive or probe of its communicator ([`Port::early`](super::Port)).
//!   So early ones and posted ones are never there at once.
//! - All are posted before their rank waits for long. So whoever judges whether a rank that waits
//!   can go on finds its receives posted.
//! - What comes by the lock meanwhile shows in the queue ([`is_quiet`]); then they are posted, too.
//!
//! Nothing but a short message fits them, which its sender copies, and never waits for; but a
//! sender to a rank that has left [`KEPT_IN_ALL`] unreceived waits until that looks for messages.
//!
//! [`is_quiet`]: super::tagged_queue::TaggedQueue::is_quiet
//! [`KEPT_IN_ALL`]: super::tagged_queue::KEPT_IN_ALL

use super::comm_hold::CommHold;
use super::match_list::MatchPattern;
use super::tagged_queue::ReceiveRoom;
use super::tagged_ring::TaggedRing;
use crate::wait::Wait;
use std::ptr::NonNull;

/// A receive of short messages from one rank.
pub(crate) struct EarlyReceive {
    pub(crate) room: ReceiveRoom,
    pub(crate) source: u32,
    pub(crate) tag: Option<u32>,
    /// The source's ring.
    pub(crate) ring: NonNull<TaggedRing>,
    /// What its owner knows it by.
    pub(crate) slot: usize,
}

impl EarlyReceive {
    #[inline(always)]
    pub(crate) fn pattern(&self) -> MatchPattern {
        MatchPattern { source: Some(self.source), tag: self.tag }
    }

    /// Whether it asks for a message from `source` with `tag`.
    #[inline(always)]
    pub(super) fn is_for(&self, source: u32, tag: u32) -> bool {
        self.source == source && self.tag.is_none_or(|it| it == tag)
    }
}

/// Where a rank's early receives are to be posted.
#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
pub(crate) struct EarlyPlace {
    pub(super) hold: CommHold,
    pub(super) rank: usize,
    pub(super) run: u64,
    pub(super) wait: Wait,
    pub(super) crowded: bool,
}
