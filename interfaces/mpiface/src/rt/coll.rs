//! Calls in which ranks learn something of each other, over the cards of `comm.rs`: numbers, and
//! the shared parts of new communicators.

use super::comm::{Comm, Offer, Shared, Terms};
use super::error::{Error, Site};
use super::p2p;
use super::types::Place;
use super::world::World;
use std::sync::Arc;

/// A collective call on a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The world.
    pub world: &'a Arc<World>,
    /// The communicator.
    pub comm: &'a Comm,
    /// The place of the call.
    pub site: Site,
}

impl Call<'_> {
    /// The offers of all ranks.
    pub fn offers(&self, offer: Offer) -> Vec<Offer> {
        self.comm.meet(self.world, self.site, offer)
    }

    #[cold]
    pub(super) fn unequal(&self, given: usize, peer: usize, to: &Place) -> Box<Error> {
        let rank = self.comm.world_rank(peer);
        let theirs = self.world.members[rank].log.find(self.comm.shared.context, self.comm.met());
        let site = theirs.map_or(Site::default(), |it| it.site);
        Box::new(p2p::unequal((rank, site), given, to.bytes()))
    }

    /// All ranks' pairs of numbers.
    pub fn numbers(&self, a: i64, b: i64) -> Vec<(i64, i64)> {
        let pair = |it: &Offer| match it {
            Offer::Numbers(a, b) => (*a, *b),
            _ => (0, 0),
        };
        self.offers(Offer::Numbers(a, b)).iter().map(pair).collect()
    }

    /// The shared part of a communicator of `members` (ranks of this one; this rank is one of them,
    /// or the list is empty): the first makes it for the others. All ranks of this one call it.
    pub fn share(
        &self,
        members: &[usize],
        make: impl FnOnce(Vec<usize>) -> Arc<Shared>,
    ) -> Option<Arc<Shared>> {
        let leader = members.first().copied();
        let offer = if leader == Some(self.comm.rank) {
            Offer::Comm(make(members.iter().map(|it| self.comm.world_rank(*it)).collect()))
        } else {
            Offer::Nothing
        };
        let mut offers = self.offers(offer);
        match leader.map(|it| offers.swap_remove(it)) {
            Some(Offer::Comm(shared)) => Some(shared),
            _ => None,
        }
    }

    /// Makes a communicator of `members`, as `share`, with the library's part.
    pub fn divide(&self, members: &[usize]) -> (Option<Arc<Shared>>, Option<phalanx::Comm>) {
        let leader = members.first().copied();
        let shared = self.share(members, |members| Shared::new(self.world, members));
        if self.comm.size() == 1 {
            return (shared, None);
        }
        let place = members.iter().position(|it| *it == self.comm.rank);
        let (color, key) = (leader.unwrap_or(self.comm.size()), place.unwrap_or(0));
        let library = self.library(Terms::default(), |comm| comm.split(color, key));
        (shared, Some(library).filter(|_| members.len() > 1))
    }

    /// Makes one communicator of all members of an intercommunicator, in this order.
    pub fn join(&self, members: &[usize]) -> (Option<Arc<Shared>>, Option<phalanx::Comm>) {
        let me = self.comm.world_rank(self.comm.rank);
        let shared = self.share(members, |members| Shared::branch(self.world, me, members));
        // SAFETY: all come together again before anybody has the communicator.
        let library = shared.as_ref().and_then(|it| unsafe { it.take_seat(self.world, me) });
        self.comm.come(self.world, self.site);
        (shared, library)
    }
}
