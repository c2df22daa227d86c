//! Collectives over the cards of `comm.rs`: each rank reads the others' buffers itself.
//!
//! A reduction folds the ranks' values in their order, as a binary tree of ranks: the same bits on
//! every rank, at each length and whichever rank folds which part. Long vectors are folded in
//! parts, one a rank. (The library's own route takes this over: see the package's README.)

use super::basic::Element;
use super::comm::{Card, Comm, Offer};
use super::error::{Class, Error, Outcome, Site, error};
use super::handle::Handle;
use super::ops::apply;
use super::rank::UserFunction;
use super::types::{Place, Type, copy};
use super::world::World;
use crate::load::frame::Barred;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

/// Up to so many bytes each rank folds all by itself.
const WHOLE: usize = 4096;
/// Elements that are folded at once, so that what is folded stays in the nearest cache.
const BLOCK: usize = 1024;

/// An operator on elements of a type.
#[derive(Clone, Copy, Debug)]
pub enum Operator {
    /// A predefined one.
    Known(Handle, Element),
    /// A user's, and the datatype's handle that it is told.
    User(UserFunction, Handle),
}

impl Operator {
    /// For the cards: users' operators are not compared.
    fn mark(self) -> Handle {
        match self {
            Operator::Known(handle, _) => handle,
            Operator::User(..) => 1,
        }
    }

    /// `b = a op b`.
    ///
    /// # Safety
    /// As `fold`.
    pub unsafe fn combine(self, a: &Place, b: &Place) {
        match self {
            Operator::Known(op, element) => {
                // SAFETY: both places hold as many elements of this kind, in the type's extents.
                unsafe {
                    apply(op, element, a.address as *const u8, b.address as *mut u8, b.count)
                };
            }
            Operator::User(function, mut ty) => {
                let mut count = c_int::try_from(b.count).unwrap_or(c_int::MAX);
                let _barred = Barred::new();
                let (a, b) = (a.address as *mut c_void, b.address as *mut c_void);
                // SAFETY: the program's own operator, on as many elements as it is told.
                unsafe { function(a, b, &raw mut count, &raw mut ty) };
            }
        }
    }
}

/// Room for elements, laid out as their type says.
struct Temporary {
    _room: Vec<u128>,
    place: Place,
}

impl Temporary {
    fn new(ty: &Arc<Type>, count: usize) -> Temporary {
        let (low, high) = ty.true_bounds();
        let steps = ty.extent * (count.max(1) as isize - 1);
        let (low, high) = (low + steps.min(0), high + steps.max(0));
        let length = usize::try_from(high - low).unwrap_or(0);
        let mut room = vec![0_u128; length.div_ceil(16)];
        let address = (room.as_mut_ptr() as usize).wrapping_add_signed(-low);
        Temporary { _room: room, place: Place { address, count, ty: Arc::clone(ty) } }
    }
}

/// `out = places[0] op places[1] op ..`, as a tree; `out` is none of the places.
///
/// # Safety
/// All are memory as their types say, as many elements each; nobody writes the places or uses
/// `out`.
unsafe fn fold(places: &[Place], out: &Place, op: Operator) {
    let depth = places.len().next_power_of_two().trailing_zeros();
    let length = out.count.min(BLOCK);
    let rooms: Vec<Temporary> = (0..depth).map(|_| Temporary::new(&out.ty, length)).collect();
    let mut at = 0;
    while at < out.count {
        let count = (out.count - at).min(BLOCK);
        let parts: Vec<Place> = places.iter().map(|it| it.moved(at as isize, count)).collect();
        // SAFETY: parts of the caller's places; the rooms are new.
        unsafe { tree(&parts, &out.moved(at as isize, count), &rooms, op) };
        at += count;
    }
}

/// # Safety
/// As `fold`; the rooms hold as many elements, and are used by nobody.
unsafe fn tree(places: &[Place], out: &Place, rooms: &[Temporary], op: Operator) {
    // SAFETY: the caller's promise, for each part.
    unsafe {
        if let [one] = places {
            copy(one, out);
            return;
        }
        let (left, right) = places.split_at(places.len().next_power_of_two() / 2);
        tree(right, out, rooms, op);
        if let [one] = left {
            op.combine(one, out);
        } else {
            let room = rooms[0].place.moved(0, out.count);
            tree(left, &room, &rooms[1..], op);
            op.combine(&room, out);
        }
    }
}

/// The part of `count` elements that falls to `rank` of `size`.
fn part(count: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, more) = (count / size, count % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

/// A collective call on a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The world.
    pub world: &'a World,
    /// The communicator.
    pub comm: &'a Comm,
    /// The place of the call.
    pub site: Site,
}

impl Call<'_> {
    fn meet(&self, card: Card) -> Vec<Card> {
        self.comm.meet(self.world, Card { site: self.site, ..card })
    }

    fn come(&self) {
        self.comm.come(self.world, self.site);
    }

    /// All have come.
    pub fn barrier(&self) {
        self.meet(Card::default());
    }

    /// # Safety
    /// All ranks' places are memory as their types say; `from` is not written meanwhile.
    unsafe fn pull(&self, from: &Place, peer: usize, theirs: Site, to: &Place) -> Outcome {
        if from.bytes() != to.bytes() {
            return error(
                Class::Truncate,
                format!(
                    "rank {} gives {} bytes in {}, and {} are expected",
                    self.comm.world_rank(peer),
                    from.bytes(),
                    theirs.describe(),
                    to.bytes(),
                ),
            );
        }
        // SAFETY: the caller's promise.
        unsafe { copy(from, to) };
        Ok(())
    }

    /// The root's data for all.
    ///
    /// # Safety
    /// `place` is memory as its type says.
    pub unsafe fn broadcast(&self, place: &Place, root: usize) -> Outcome {
        let is_root = self.comm.rank == root;
        let offer = if is_root { Offer::Same(place.clone()) } else { Offer::Nothing };
        let card = Card { root: Some(root), bytes: Some(place.bytes()), offer, ..Card::default() };
        let cards = self.meet(card);
        let mut outcome = Ok(());
        if let Offer::Same(from) = &cards[root].offer
            && !is_root
        {
            // SAFETY: the root's buffer rests until all have come again.
            outcome = unsafe { self.pull(from, root, cards[root].site, place) };
        }
        self.come();
        outcome
    }

    /// Each rank offers one place for all (`Same`), one for each, or nothing; and takes, from each
    /// rank for which `takes` names a place, what that rank offers it.
    ///
    /// # Safety
    /// All places are memory as their types say; what is taken overlaps nothing that is offered,
    /// but where it is the same memory.
    pub unsafe fn exchange(
        &self,
        root: Option<usize>,
        offer: Offer,
        takes: &[Option<Place>],
    ) -> Outcome {
        let cards = self.meet(Card { root, offer, ..Card::default() });
        let mut outcome: Result<(), Error> = Ok(());
        let size = self.comm.size();
        for step in 0..size {
            // Each begins with another peer.
            let peer = (self.comm.rank + step) % size;
            let Some(to) = takes.get(peer).and_then(Option::as_ref) else { continue };
            let from = match &cards[peer].offer {
                Offer::Same(place) => place,
                Offer::Each(places) => &places[self.comm.rank],
                _ => continue,
            };
            // SAFETY: the offers rest until all have come again.
            let one = unsafe { self.pull(from, peer, cards[peer].site, to) };
            outcome = outcome.and(one);
        }
        self.come();
        outcome
    }

    fn offers(cards: &[Card]) -> Vec<Place> {
        let place = |it: &Card| match &it.offer {
            Offer::Same(place) => Some(place.clone()),
            _ => None,
        };
        cards.iter().filter_map(place).collect()
    }

    /// Folds all ranks' values; the result goes to `target` where it is given: at every rank, or at
    /// the root.
    ///
    /// # Safety
    /// The places are memory as their types say, as many elements each.
    pub unsafe fn reduce(
        &self,
        own: &Place,
        target: Option<&Place>,
        op: Operator,
        root: Option<usize>,
    ) {
        let (rank, size) = (self.comm.rank, self.comm.size());
        let card = Card { root, op: op.mark(), bytes: Some(own.bytes()), ..Card::default() };
        let places = Self::offers(&self.meet(Card { offer: Offer::Same(own.clone()), ..card }));
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
        let parts = Self::offers(&self.meet(Card { offer, ..Card::default() }));
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
        let card = Card { op: op.mark(), bytes: Some(own.bytes()), ..Card::default() };
        let places = Self::offers(&self.meet(Card { offer: Offer::Same(own.clone()), ..card }));
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
        let cards = self.meet(Card { offer: Offer::Numbers(a, b), ..Card::default() });
        let pair = |it: &Card| match it.offer {
            Offer::Numbers(a, b) => (a, b),
            _ => (0, 0),
        };
        cards.iter().map(pair).collect()
    }

    /// Makes a communicator of `members` (ranks of this one; this rank is one of them, or the list
    /// is empty): the first makes the shared part for the others. All ranks of this one call it.
    pub fn divide(&self, members: &[usize]) -> Option<Arc<super::comm::Shared>> {
        let leader = members.first().copied();
        let offer = if leader == Some(self.comm.rank) {
            let world = members.iter().map(|it| self.comm.world_rank(*it)).collect();
            let shared = super::comm::Shared::new(self.world.next_context(), world);
            Offer::Comm(Arc::new(shared))
        } else {
            Offer::Nothing
        };
        let cards = self.meet(Card { offer, ..Card::default() });
        match leader.map(|it| &cards[it].offer) {
            Some(Offer::Comm(shared)) => Some(Arc::clone(shared)),
            _ => None,
        }
    }
}
