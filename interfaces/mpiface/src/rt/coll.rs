//! Calls that the library's route (`route.rs`) cannot take: a user's operator on a datatype with
//! gaps, a communicator of one rank. They go over the cards of `comm.rs`, so each rank reads the
//! others' buffers itself. (Blocks whose sizes only some ranks know: `exchange.rs`.)
//!
//! A reduction folds the ranks' values in their order, as a binary tree of ranks: the same bits on
//! every rank, at each length and whichever rank folds which part. Long vectors are folded in
//! parts, one a rank.

use super::comm::{Comm, Offer, Shared, Terms};
use super::error::{Error, Site};
use super::operator::{Operator, Temporary, fold};
use super::p2p;
use super::types::{Place, copy};
use super::world::World;
use std::ops::Range;
use std::sync::Arc;

/// Up to so many bytes each rank folds all by itself.
const WHOLE: usize = 4096;
/// The part of `count` elements that falls to `rank` of `size`.
pub(super) fn part(count: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, more) = (count / size, count % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

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
    fn meet(&self, terms: Terms, offer: Offer) -> Vec<Offer> {
        self.comm.meet(self.world, self.site, terms, offer)
    }

    fn come(&self) {
        self.comm.come(self.world, self.site);
    }

    #[cold]
    pub(super) fn unequal(&self, given: usize, peer: usize, to: &Place) -> Box<Error> {
        let rank = self.comm.world_rank(peer);
        let theirs = self.world.members[rank].log.find(self.comm.shared.context, self.comm.met());
        let site = theirs.map_or(Site::default(), |it| it.site);
        Box::new(p2p::unequal((rank, site), given, to.bytes()))
    }

    fn places(offers: Vec<Offer>) -> Vec<Place> {
        let place = |it| match it {
            Offer::Same(place) => Some(place),
            _ => None,
        };
        offers.into_iter().filter_map(place).collect()
    }

    /// Folds all ranks' values; the result goes to `target` where it is given: at every rank, or at
    /// the root.
    ///
    /// # Safety
    /// The places are memory as their types say, as many elements each.
    pub unsafe fn fold_all(
        &self,
        own: &Place,
        target: Option<&Place>,
        op: Operator,
        root: Option<usize>,
    ) {
        let (rank, size) = (self.comm.rank, self.comm.size());
        let terms = Terms { root, op: op.mark(), bytes: Some(own.bytes()) };
        let places = Self::places(self.meet(terms, Offer::Same(own.clone())));
        let is_short = own.bytes() <= WHOLE;
        let range = if is_short { 0..own.count } else { part(own.count, rank, size) };
        let room = Temporary::new(&own.ty, range.len());
        if target.is_some() || !is_short {
            let parts: Vec<Place> =
                places.iter().map(|it| it.moved(range.start as isize, range.len())).collect();
            // SAFETY: the ranks' buffers rest until all have come again; the room is new.
            unsafe { fold(&parts, &room.place, op) };
        }
        if is_short {
            self.come();
            if let Some(target) = target {
                // SAFETY: nobody reads this rank's buffers any more.
                unsafe { copy(&room.place, target) };
            }
            return;
        }
        let offer = Offer::Same(room.place.clone());
        let parts = Self::places(self.meet(terms, offer));
        if let Some(target) = target {
            for (peer, from) in parts.iter().enumerate() {
                let range = part(own.count, peer, size);
                // SAFETY: the rooms rest until all have come again; the targets are read by nobody.
                unsafe { copy(from, &target.moved(range.start as isize, range.len())) };
            }
        }
        self.come();
    }

    /// Folds the values of the ranks `of` (in this rank's eyes) at these elements into `target`.
    ///
    /// # Safety
    /// As `reduce`.
    pub unsafe fn fold_some(
        &self,
        own: &Place,
        of: Range<usize>,
        elements: Range<usize>,
        target: &Place,
        op: Operator,
    ) {
        let terms = Terms { root: None, op: op.mark(), bytes: Some(own.bytes()) };
        let places = Self::places(self.meet(terms, Offer::Same(own.clone())));
        let room = Temporary::new(&own.ty, elements.len());
        let parts: Vec<Place> =
            places[of].iter().map(|it| it.moved(elements.start as isize, elements.len())).collect();
        if !parts.is_empty() {
            // SAFETY: the ranks' buffers rest until all have come again; the room is new.
            unsafe { fold(&parts, &room.place, op) };
        }
        self.come();
        if !parts.is_empty() {
            // SAFETY: nobody reads this rank's buffers any more.
            unsafe { copy(&room.place, target) };
        }
    }

    /// All ranks' pairs of numbers.
    pub fn numbers(&self, a: i64, b: i64) -> Vec<(i64, i64)> {
        let pair = |it: &Offer| match it {
            Offer::Numbers(a, b) => (*a, *b),
            _ => (0, 0),
        };
        self.meet(Terms::default(), Offer::Numbers(a, b)).iter().map(pair).collect()
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
        let mut offers = self.meet(Terms::default(), offer);
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
        self.come();
        (shared, library)
    }

    /// The offers of all ranks.
    pub fn offers(&self, offer: Offer) -> Vec<Offer> {
        self.meet(Terms::default(), offer)
    }
}
