//! Early receives of MPI_Irecv: short ones that only their rank knows of yet (the library's
//! `EarlyReceives`, whose rules hold here).
//!
//! A rank posts them all (`publish`) when it begins any call but those that start short messages or
//! look for their end, and before it waits for long. Those others post them if another rank has
//! left something in the queue meanwhile (`heed_early`): a long or a synchronous message, or one
//! for which the ring had no room. That shows in the queue's number `left`.
//!
//! The loss: a short synchronous send to an early receive ends at the receiver's next call,
//! not before. Receives of more than fits a ring are posted at once: the sender copies into them
//! while the receiver works.

use super::envelope::Envelope;
use super::error::Site;
use super::handle::Handle;
use super::mutex::lock;
use super::p2p;
use super::rank::{Active, Rank};
use super::request::{Arrived, Ask, Kind};
use super::short_message::{Short, ShortMemory};
use super::types::{Place, Solid, bytes_at};
use phalanx::engine::EarlyReceives;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;

/// An early receive.
#[derive(Debug, Default)]
pub struct EarlyReceive {
    /// The source and tag that it takes.
    pub pattern: Envelope,
    /// The rank of the world that sends it, if only one can.
    pub by: Option<usize>,
    /// Where the message goes: an address, and so many bytes without gaps;
    pub solid: Solid,
    /// or this place.
    pub place: Option<Place>,
    /// The call.
    pub site: Site,
    /// Its request.
    pub handle: Handle,
}

/// A rank's early receives.
#[derive(Debug, Default)]
pub struct Early {
    all: RefCell<EarlyReceives<EarlyReceive>>,
    /// How many there are.
    count: Cell<usize>,
    /// The queue's number `left` when nothing was seen to lie there.
    seen: Cell<Option<u64>>,
}

impl Rank {
    /// Notes an early receive; its request is named next. `place`: where its message goes, if
    /// that is more than bytes without gaps.
    #[inline(always)]
    pub fn receive_early(
        &self,
        pattern: Envelope,
        by: Option<usize>,
        solid: Solid,
        place: Option<Place>,
        site: Site,
    ) {
        let mut all = self.early.all.borrow_mut();
        let it = all.add(by);
        (it.pattern, it.by, it.solid, it.site) = (pattern, by, solid, site);
        if place.is_some() {
            it.place = place;
        }
        self.early.count.set(all.count());
    }

    /// Names the request of the early receive that was noted last.
    #[inline(always)]
    pub fn name_early(&self, handle: Handle) {
        let mut all = self.early.all.borrow_mut();
        if let Some(last) = all.count().checked_sub(1) {
            all.at(last).handle = handle;
            if all.is_full() {
                drop(all);
                self.publish_all();
            }
        }
    }

    /// Whether there are early receives.
    #[inline]
    pub fn has_early(&self) -> bool {
        self.early.count.get() > 0
    }

    /// Posts all early receives, so that other ranks find them.
    #[inline]
    pub fn publish(&self) {
        if self.has_early() {
            self.publish_all();
        }
    }

    /// Posts all early receives if another rank has left something that they may be for: a
    /// synchronous message: its sender waits.
    #[inline(always)]
    pub fn heed_early(&self) {
        if self.has_early() && self.left_nothing().is_none() {
            self.publish_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_all(&self) {
        self.early.count.set(0);
        let owner = self.me;
        let mut all = self.early.all.take();
        for index in 0..all.count() {
            let EarlyReceive { pattern, by, solid, site, handle, .. } = *all.at(index);
            let place = all.at(index).place.take();
            let place = place.unwrap_or_else(|| bytes_at(solid.0, solid.1));
            let (kind, peer, tag) = (Kind::Receive, pattern.source, pattern.tag);
            let context = pattern.context;
            let ask = Ask { owner, site, kind, peer, by, tag, context, open: None };
            let make = || self.request(ask);
            // SAFETY: the program's buffer, which it leaves alone until the receive is complete.
            let it = unsafe { p2p::receive(&self.world, (owner, by), pattern, place, make) };
            let active = |(arrived, failed)| Active::Arrived(arrived, failed);
            self.set_active(handle, it.map_or_else(Active::Shared, active));
        }
        all.clear();
        *self.early.all.borrow_mut() = all;
    }

    /// The number of messages left by others in the queue, if nothing lies there. Receives may be
    /// posted.
    #[inline(always)]
    pub fn left_nothing(&self) -> Option<u64> {
        let left = self.world.slots[self.me].left.told();
        if self.early.seen.get() == Some(left) { Some(left) } else { self.looks_in_queue() }
    }

    #[cold]
    #[inline(never)]
    fn looks_in_queue(&self) -> Option<u64> {
        let slot = &self.world.slots[self.me];
        let queue = lock(&slot.queue);
        // A rank that adds to it holds the lock.
        let left = slot.left.told();
        if queue.is_quiet() {
            self.early.seen.set(Some(left));
            return Some(left);
        }
        None
    }

    /// Looks whether messages for early receives have come: whether any may have.
    #[inline]
    pub fn look_early(&self) -> bool {
        if !self.has_early() {
            return false;
        }
        let from = self.early.all.borrow().from();
        let left = self.world.slots[self.me].left.told();
        if self.early.seen.get() == Some(left) && !self.world.has_arrivals(self.me, from) {
            return false;
        }
        self.take_early(from);
        true
    }

    /// Takes the messages that have come from this rank, or from any.
    fn take_early(&self, from: Option<usize>) {
        let slot = &self.world.slots[self.me];
        let queue = lock(&slot.queue);
        if !queue.is_quiet() {
            drop(queue);
            self.publish();
            return;
        }
        // A rank that adds to it holds the lock.
        self.early.seen.set(Some(slot.left.told()));
        let mut all = self.early.all.borrow_mut();
        let senders = match from {
            Some(from) => from..from + 1,
            None => 0..self.world.slots.len(),
        };
        let mut has_others = false;
        for sender in senders {
            let Some(ring) = self.world.ring(self.me, sender) else { continue };
            let asks = |it: &EarlyReceive, short: &Short| short.is_for(&it.pattern);
            let give = |it: &mut EarlyReceive, short: &Short, memory: ShortMemory<'_>| {
                let place = it.place.take().unwrap_or_else(|| bytes_at(it.solid.0, it.solid.1));
                // SAFETY: as in `publish_all`.
                let (arrived, failed) = unsafe { short.deliver(memory, &place, sender) };
                self.set_active(it.handle, Active::Arrived(arrived, failed));
                Ok::<(), Infallible>(())
            };
            // SAFETY: the queue is locked, and the holder of the lock is alone here.
            has_others |= unsafe { all.take_from(ring, |_| true, asks, give) } == Ok(true);
        }
        self.early.count.set(all.count());
        drop((queue, all));
        if has_others {
            self.publish();
        }
    }

    /// The message of an early receive, if it comes soon, is short, and this receive is the oldest
    /// one and takes bytes without gaps: `say` is told of the message. Else nothing has happened.
    #[inline(always)]
    pub fn has_arrived_early(&self, handle: Handle, say: impl FnOnce(Arrived)) -> bool {
        let mut all = self.early.all.borrow_mut();
        if all.count() == 0 {
            return false;
        }
        let it = all.at(0);
        let (Some(by), pattern, solid) = (it.by, it.pattern, it.solid) else { return false };
        if it.handle != handle || it.place.is_some() {
            return false;
        }
        let Some(left) = self.left_nothing() else { return false };
        let (world, me) = (&self.world, self.me);
        // SAFETY: as in `publish_all`.
        let came = unsafe { p2p::receive_at_once(world, (me, by), pattern, solid, left) };
        let Some(came) = came else { return false };
        say(came.from(pattern.source));
        all.remove(0);
        self.early.count.set(all.count());
        true
    }

    fn set_active(&self, handle: Handle, active: Active) {
        // An early receive's request is freed by calls only that publish it first, or take it from
        // the ring in the same go (`has_arrived_early`): no entry outlives its handle.
        if let Some(started) = self.requests.borrow_mut().get_mut(handle) {
            started.active = active;
        }
    }
}
