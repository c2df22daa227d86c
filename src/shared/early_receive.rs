//! An early receive (`early_receives.rs`) of a tagged message, which a scope of requests has.
//!
//! It begins while nothing lies in the queue, and is posted before any other receive or probe of
//! its communicator ([`Port::early`](super::Port)). Nothing but a short message fits it, which its
//! sender copies, and never waits for; but a sender to a rank that has left [`KEPT_IN_ALL`]
//! unreceived waits until that looks for messages.
//!
//! [`KEPT_IN_ALL`]: super::tagged_queue::KEPT_IN_ALL

use super::early_receives::EarlyReceives;
use super::match_list::MatchPattern;
use super::rank_place::RankPlace;
use super::tagged_lists::ReceiveRoom;
use super::tagged_queue::{Copier, Received};
use super::ticket::{Envelope, Ticket};
use super::unfit_receive::UnfitReceive;
use crate::sync::Arc;

/// A receive of short messages from one rank.
#[derive(Default)]
pub(crate) struct EarlyReceive {
    pub(crate) room: ReceiveRoom,
    pub(crate) source: u32,
    pub(crate) tag: Option<u32>,
    /// The number by which its owner knows it.
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
    /// Gives messages that have come from `source` to the receives that ask for them, as
    /// `TaggedQueue::take_early`.
    ///
    /// # Safety
    /// As for `TaggedQueue::take_early`; the receives are of this place.
    #[inline(always)]
    pub(crate) unsafe fn look(
        &self,
        early: &mut EarlyReceives<EarlyReceive>,
        source: u32,
        taken: impl FnMut(&EarlyReceive, Envelope),
    ) -> Result<bool, (usize, Box<UnfitReceive>)> {
        // SAFETY: by the contract.
        unsafe { self.hold.tagged(self.rank).take_early(source, early, taken) }
    }

    /// Posts a receive, as `Port::recv_tagged` does.
    ///
    /// # Safety
    /// As for `Port::recv_tagged`; the receive is of this place.
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
