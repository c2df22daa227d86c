//! What the library's route (`route.rs`) cannot take.
//!
//! Blocks whose sizes only the root knows, or a datatype for each peer: by messages (`exchange`).
//! A user's operator on a datatype with gaps, a communicator of one rank: over the cards of
//! `comm.rs`, so that each rank reads the others' buffers itself.
//!
//! A reduction folds the ranks' values in their order, as a binary tree of ranks: the same bits on
//! every rank, at each length and whichever rank folds which part. Long vectors are folded in
//! parts, one a rank.

use super::comm::{Comm, Offer, Shared, Terms};
use super::error::{Error, Outcome, Site};
use super::operator::{Operator, Temporary, fold};
use super::p2p::{self, Ask, Envelope, Kind, Mode, PARTS, Received, Req, Send};
use super::parts::{self, Owed};
use super::short_message::Solid;
use super::standings::{Condition, Meetings as _};
use super::types::{Place, bytes_at, copy, move_bytes};
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

/// A part of an exchange that has yet to come, or to be taken.
struct Coming {
    world: Arc<World>,
    shared: Arc<Shared>,
    number: u64,
    owner: usize,
    owed: Owed,
}

impl Condition for Coming {
    fn holds(&self) -> bool {
        is_over(&self.world, self.owner, &self.owed)
    }

    fn describe(&self) -> String {
        self.shared.late(self.number).unwrap_or_else(|| "the others' data".to_owned())
    }
}

/// Whether a part has come, or has been taken.
#[inline]
fn is_over(world: &World, me: usize, owed: &Owed) -> bool {
    match owed {
        Owed::Lent(to, number) => parts::is_taken(world, me, *to, *number),
        // What lies in a lane may be it: the rank will see.
        Owed::Request(req) => {
            let Ask { kind, by, .. } = req.ask;
            let may_come = |by| kind == Kind::Receive && parts::has_come(world, me, by);
            req.is_done() || by.is_some_and(may_come)
        }
    }
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

    /// # Safety
    /// All ranks' places are memory as their types say; `from` is not written meanwhile.
    unsafe fn pull(&self, from: &Place, peer: usize, to: &Place) -> Option<Box<Error>> {
        if from.bytes() != to.bytes() {
            return Some(self.unequal(from.bytes(), peer, to));
        }
        // SAFETY: the caller's promise.
        unsafe { copy(from, to) };
        None
    }

    /// Gives each rank a place and takes one of each, where there are such: by messages of the
    /// communicator's own, which tell the number and the function of the call. So nobody waits for
    /// more than it takes, and calls that differ find no message.
    ///
    /// # Safety
    /// All places are memory as their types say, the same whenever they are asked for; what is
    /// taken overlaps nothing that is given, but where it is the same memory.
    pub unsafe fn exchange(
        &self,
        root: Option<usize>,
        gives: impl Fn(usize) -> Option<Place>,
        takes: impl Fn(usize) -> Option<Place>,
    ) -> Outcome {
        let number = self.comm.begin(self.world, self.site, Terms { root, ..Terms::default() });
        // SAFETY: passed on.
        unsafe { self.go_on(root, (number, 0), gives, takes) }
    }

    /// The envelope of this rank's part, and of the others', in the exchange of this number.
    #[inline(always)]
    fn envelope(&self, number: u64) -> impl Fn(usize) -> Envelope + use<> {
        let tag = ((number & 0xffff) << 15) as i32 | (self.site.function() & 0x7fff) as i32;
        let context = self.comm.shared.context | PARTS;
        move |source| Envelope { context, source: source as i32, tag }
    }

    /// The same as `exchange`, of memory without gaps and at most `ROOM` bytes each: the short way.
    /// Nothing of it goes by memory but the parts; what is not as most calls are goes on as others.
    ///
    /// # Safety
    /// As `exchange`; and no part is longer than `ROOM`.
    #[inline(always)]
    pub unsafe fn exchange_solid(
        &self,
        root: Option<usize>,
        gives: impl Fn(usize) -> Option<Solid> + Copy,
        takes: impl Fn(usize) -> Option<Solid> + Copy,
    ) -> Outcome {
        let Call { world, comm, site } = *self;
        let (rank, size) = (comm.rank, comm.size());
        let me = comm.world_rank(rank);
        let number = comm.begin(world, site, Terms { root, ..Terms::default() });
        let envelope = self.envelope(number);
        // Each begins with another peer.
        let other = |step: usize| if rank + step < size { rank + step } else { rank + step - size };
        let mut step = 1;
        'short: {
            while step < size {
                let peer = other(step);
                if let Some(part) = gives(peer) {
                    let pair = (me, comm.world_rank(peer));
                    let (envelope, is_stream) = (envelope(rank), root.is_some());
                    // SAFETY: the caller's promise.
                    if !unsafe { parts::give_solid(world, pair, envelope, part, site, is_stream) } {
                        break 'short;
                    }
                }
                step += 1;
            }
            if let (Some(from), Some(to)) = (gives(rank), takes(rank)) {
                if from.1 != to.1 {
                    break 'short;
                }
                // SAFETY: the caller's promise.
                unsafe { move_bytes(from.0, to.0, from.1) };
            }
            step += 1;
            while step < 2 * size {
                let peer = other(step - size);
                if let Some(room) = takes(peer) {
                    let by = comm.world_rank(peer);
                    // SAFETY: the caller's promise.
                    if !unsafe { parts::take_solid(world, (me, by), envelope(peer), room) } {
                        break 'short;
                    }
                }
                step += 1;
            }
            world.members[me].log.end();
            return Ok(());
        }
        let place = |it: Solid| bytes_at(it.0, it.1);
        let (gives, takes) =
            (move |peer| gives(peer).map(place), move |peer| takes(peer).map(place));
        // SAFETY: passed on.
        unsafe { self.go_on(root, (number, step - 1), gives, takes) }
    }

    /// Carries out the exchange of this number, but for the first steps: a step for what each other
    /// rank is given, one for the own part, and one for what each other gives.
    ///
    /// # Safety
    /// As `exchange`.
    #[inline(never)]
    unsafe fn go_on(
        &self,
        root: Option<usize>,
        (number, steps): (u64, usize),
        gives: impl Fn(usize) -> Option<Place>,
        takes: impl Fn(usize) -> Option<Place>,
    ) -> Outcome {
        let Call { world, comm, site } = *self;
        let (rank, size) = (comm.rank, comm.size());
        let me = comm.world_rank(rank);
        let envelope = self.envelope(number);
        let tag = envelope(rank).tag;
        // Each begins with another peer.
        let others = || (rank + 1..size).chain(0..rank);
        let mut owed: Vec<Owed> = Vec::new();
        for peer in others().skip(steps) {
            let Some(place) = gives(peer) else { continue };
            let to = comm.world_rank(peer);
            let by = Some(to);
            let ask = Ask {
                owner: me,
                site,
                kind: Kind::Send,
                peer: peer as i32,
                by,
                tag,
                ..Ask::default()
            };
            let mode = Mode::Bounded;
            // (Where all give and get, nobody runs ahead.)
            if root.is_some() {
                // By the queue it would wait for the receiver, too, and take its lock.
                let lane = world.new_part_lane(to, me);
                // SAFETY: a rank's calls come one at a time.
                world.soon(me, || match unsafe { lane.is_crowded() } {
                    // Seldom, and for several messages: the receiver has to fetch the line back.
                    true => {
                        (0..4).for_each(|_| std::hint::spin_loop());
                        None
                    }
                    false => Some(()),
                });
            }
            let part = Send { me, to, envelope: envelope(rank), place, mode, site };
            // SAFETY: the caller's promise; it is awaited before this returns.
            owed.extend(unsafe { parts::give(world, part, || Req::new(ask)) });
        }
        let mut failed: Option<Box<Error>> = None;
        if steps < size
            && let (Some(from), Some(to)) = (gives(rank), takes(rank))
        {
            // SAFETY: the caller's promise.
            failed = unsafe { self.pull(&from, rank, &to) };
        }
        for peer in others().skip(steps.saturating_sub(size)) {
            let Some(to) = takes(peer) else { continue };
            // SAFETY: the caller's promise.
            let it = unsafe { self.take_part(number, envelope(peer), &to) };
            failed = failed.or(it);
        }
        owed.into_iter().for_each(|it| self.await_part(number, it));
        world.members[me].log.end();
        failed.map_or(Ok(()), |it| Err(*it))
    }

    /// Takes a rank's part of an exchange: the error, if it is not as long.
    ///
    /// # Safety
    /// The place is memory as its type says, which nobody else uses.
    #[inline]
    unsafe fn take_part(
        &self,
        number: u64,
        pattern: Envelope,
        place: &Place,
    ) -> Option<Box<Error>> {
        // SAFETY: passed on.
        match unsafe { self.take_some(number, pattern, place) } {
            Ok(bytes) if bytes == place.bytes() => None,
            Ok(bytes) => Some(self.unequal(bytes, pattern.source as usize, place)),
            Err(error) => Some(error),
        }
    }

    /// The same, of a part that may be shorter: gives its bytes.
    ///
    /// # Safety
    /// As `take_part`.
    #[inline]
    pub(super) unsafe fn take_some(
        &self,
        number: u64,
        pattern: Envelope,
        place: &Place,
    ) -> Result<usize, Box<Error>> {
        let Call { world, comm, .. } = *self;
        let (me, peer) = (comm.world_rank(comm.rank), pattern.source);
        let by = comm.world_rank(peer as usize);
        // SAFETY: passed on.
        let soon = unsafe { parts::take_soon(world, (me, by), pattern, place) };
        let (arrived, failed) = match soon {
            Some(taken) => taken,
            // SAFETY: passed on.
            None => unsafe { self.take_late(number, (me, by), pattern, place) },
        };
        failed.map_or(Ok(arrived.bytes), Err)
    }

    /// The same of one that takes long to come.
    ///
    /// # Safety
    /// As `take_part`.
    #[cold]
    #[inline(never)]
    unsafe fn take_late(
        &self,
        number: u64,
        (me, by): (usize, usize),
        pattern: Envelope,
        place: &Place,
    ) -> Received {
        let Call { world, site, .. } = *self;
        let (peer, tag, kind) = (pattern.source, pattern.tag, Kind::Receive);
        let ask = Ask { owner: me, site, kind, peer, by: Some(by), tag, ..Ask::default() };
        // It may come by the queue, or by its lane.
        let req = Req::new(ask);
        // SAFETY: passed on; it is awaited, or taken back.
        unsafe { p2p::receive(world, me, pattern, place.clone(), &req) };
        while !req.is_done() {
            // SAFETY: passed on. What comes by the lane does not come by the queue.
            if let Some(taken) = unsafe { parts::take_now(world, (me, by), pattern, place) } {
                p2p::cancel(world, me, &req);
                return taken;
            }
            self.await_part(number, Owed::Request(Arc::clone(&req)));
        }
        let (arrived, failed) = req.arrived();
        (arrived, failed.cloned().map(Box::new))
    }

    /// Awaits a part of an exchange: that it is taken, or may have come.
    pub(super) fn await_part(&self, number: u64, owed: Owed) {
        let Call { world, comm, site } = *self;
        let me = comm.world_rank(comm.rank);
        let by = match &owed {
            Owed::Lent(to, _) => Some(*to),
            Owed::Request(req) => req.ask.by,
        };
        if world.look_for(|| is_over(world, me, &owed).then_some(())).is_some() {
            return;
        }
        let (world, shared) = (Arc::clone(world), Arc::clone(&comm.shared));
        let coming = Arc::new(Coming { world, shared, number, owner: me, owed });
        let condition = Arc::clone(&coming);
        self.world.wait(me, site, by, || coming.holds(), || condition);
    }

    #[cold]
    fn unequal(&self, given: usize, peer: usize, to: &Place) -> Box<Error> {
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

    /// What all ranks offer.
    pub fn offers(&self, offer: Offer) -> Vec<Offer> {
        self.meet(Terms::default(), offer)
    }
}
