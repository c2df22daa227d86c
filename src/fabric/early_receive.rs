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
//! - There are fewer than [`MOST_EARLY`]: then all are posted, where the queue finds one of many.
//! - What comes by the lock meanwhile shows in the queue ([`is_quiet`]); then they are posted, too.
//!
//! Nothing but a short message fits them, which its sender copies, and never waits for; but a
//! sender to a rank that has left [`KEPT_IN_ALL`] unreceived waits until that looks for messages.
//!
//! [`is_quiet`]: super::tagged_queue::TaggedQueue::is_quiet
//! [`KEPT_IN_ALL`]: super::tagged_queue::KEPT_IN_ALL

use super::match_list::MatchPattern;
use super::rank_place::RankPlace;
use super::tagged_queue::{Copier, ReceiveRoom, Received};
use super::tagged_ring::TaggedRing;
use super::ticket::{Envelope, Ticket};
use super::unfit_receive::UnfitReceive;
use crate::sync::Arc;
use std::ptr::NonNull;

/// So many early receives are posted: they are looked at one after the other.
pub(crate) const MOST_EARLY: usize = 128;

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
    pub(crate) fn is_for(&self, source: u32, tag: u32) -> bool {
        self.source == source && self.tag.is_none_or(|it| it == tag)
    }
}

/// The early receives of a rank.
#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
impl RankPlace {
    /// Gives messages that have come from the source of `early`'s receive at `at` to the receives
    /// that ask for them, as `TaggedQueue::take_early`.
    ///
    /// # Safety
    /// As there; the receives are of this place.
    #[inline(always)]
    pub(crate) unsafe fn look(
        &self,
        early: &mut Vec<EarlyReceive>,
        at: usize,
        taken: impl FnMut(&EarlyReceive, Envelope),
    ) -> Result<bool, (usize, Box<UnfitReceive>)> {
        let EarlyReceive { source, ring, .. } = early[at];
        // SAFETY: a ring that was made stays as long as the words of the communicator, which the
        // hold keeps.
        let ring = unsafe { ring.as_ref() };
        // SAFETY: by the contract.
        unsafe { self.hold.tagged(self.rank).take_early((source, ring), early, taken) }
    }

    /// Posts a receive, as `Port::recv_tagged` does.
    ///
    /// # Safety
    /// As there; the receive is of this place.
    pub(crate) unsafe fn post(
        &self,
        early: &EarlyReceive,
        copy: Copier,
    ) -> Result<Result<Envelope, Arc<Ticket>>, Box<UnfitReceive>> {
        let own = self.hold.tagged(self.rank);
        // SAFETY: by the contract.
        match unsafe { own.receive(early.pattern(), early.room, copy) }? {
            Received::Message { envelope, was_lent } => {
                own.count_settled();
                if was_lent {
                    self.wake(envelope.source as usize);
                }
                Ok(Ok(envelope))
            }
            Received::Posted(ticket) => Ok(Err(ticket)),
        }
    }

    /// `peer`, if it has left: it never comes.
    pub(crate) fn left(&self, peer: u32) -> Option<usize> {
        let peer = peer as usize;
        self.hold.has_left(peer, self.run).then_some(peer)
    }
}
