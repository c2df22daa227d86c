//! Early receives: short ones that only their rank knows of yet.
//!
//! Most started receives are waited for next, and their message comes by a lane. To post such a
//! receive under the queue's lock, where other ranks find it, would cost more than the message. So
//! MPI_Irecv only notes it here, in the rank's own memory. It is as if the receive were posted at
//! the last moment at which it makes no difference:
//!
//! - Early receives are younger than all that are posted. So a message that has come goes to the
//!   posted ones first. `look` takes messages from lanes only while nothing is posted and nothing
//!   lies unexpected; if there is such, the early ones are posted first.
//! - A rank posts them all (`publish`) when it begins any call but those that start short messages
//!   or look for their end, and before it waits for long. So whoever waits for a rank that is in a
//!   call, and judges whether it can go on, finds its receives posted.
//! - What another rank leaves in the queue meanwhile (a long or a synchronous message, or one for
//!   which the lane had no room) shows in the queue's number `left`.
//!
//! What is lost: a short synchronous send whose receive is early ends at the receiver's next call,
//! not before. Receives of more than fits a lane are posted at once: the sender copies into them
//! while the receiver works.

use super::error::Error;
use super::handle::Handle;
use super::p2p::{self, Arrived, Ask, Envelope};
use super::rank::{Active, Rank};
use super::types::Place;
use super::world::lock;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// An early receive.
#[derive(Debug)]
pub struct EarlyReceive {
    /// What it takes.
    pub pattern: Envelope,
    /// Where the message goes.
    pub place: Place,
    /// What its request will ask for.
    pub ask: Ask,
}

/// A rank's early receives.
#[derive(Debug, Default)]
pub struct Early {
    /// In the order of their calls, each with its request.
    all: RefCell<VecDeque<(Handle, EarlyReceive)>>,
    /// How many there are.
    count: Cell<usize>,
    /// The queue's number `left` when nothing was seen to lie there.
    seen: Cell<Option<u64>>,
}

impl Rank {
    /// Notes an early receive of this request.
    #[inline(always)]
    pub fn receive_early(&self, handle: Handle, receive: EarlyReceive) {
        let mut all = self.early.all.borrow_mut();
        all.push_back((handle, receive));
        self.early.count.set(all.len());
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

    #[cold]
    #[inline(never)]
    fn publish_all(&self) {
        self.early.count.set(0);
        for (handle, it) in self.early.all.take() {
            let req = self.request(it.ask);
            // SAFETY: the program's buffer, which it leaves alone until the receive is complete.
            unsafe { p2p::receive(&self.world, self.me, it.pattern, it.place, &req) };
            self.set_active(handle, Active::Shared(req));
        }
    }

    /// Looks whether messages for early receives have come.
    #[inline]
    pub fn look_early(&self) {
        let all = self.early.all.borrow();
        let mut senders = all.iter().map(|(_, it)| it.ask.by);
        let Some(first) = senders.next() else { return };
        let from = if senders.all(|it| it == first) { first } else { None };
        let left = self.world.slots[self.me].left.told();
        if self.early.seen.get() == Some(left) && !self.world.has_arrivals(self.me, from) {
            return;
        }
        drop(all);
        self.take_early(from);
    }

    /// Takes what has come from this rank, or from any.
    fn take_early(&self, from: Option<usize>) {
        let slot = &self.world.slots[self.me];
        let mut queue = lock(&slot.queue);
        if !queue.is_quiet() {
            drop(queue);
            self.publish();
            return;
        }
        // Who adds to it holds the lock.
        self.early.seen.set(Some(slot.left.told()));
        let mut all = self.early.all.borrow_mut();
        let senders = match from {
            Some(from) => from..from + 1,
            None => 0..self.world.slots.len(),
        };
        for sender in senders {
            let Some(lane) = self.world.lane(self.me, sender) else { continue };
            // What comes after the last of them stays in its lane: its receive may come.
            while !all.is_empty() {
                let one = |short: &p2p::Short| {
                    let taking = |(_, it): &(_, EarlyReceive)| short.is_for(&it.pattern);
                    match all.iter().position(taking).and_then(|it| all.remove(it)) {
                        Some((handle, it)) => {
                            // SAFETY: as in `publish_all`.
                            let (arrived, failed) = unsafe { short.deliver(&it.place, sender) };
                            self.set_active(handle, ended(arrived, failed));
                        }
                        None => queue.arrive(&self.world, self.me, self.me, sender, short),
                    }
                };
                // SAFETY: the queue is locked, and who holds the lock is alone here.
                if unsafe { lane.take(one) }.is_none() {
                    break;
                }
            }
        }
        self.early.count.set(all.len());
    }

    fn set_active(&self, handle: Handle, active: Active) {
        // An early receive's request is freed by calls only that publish it first.
        if let Some(started) = self.requests.borrow_mut().get_mut(handle) {
            started.active = active;
        }
    }
}

fn ended(arrived: Arrived, failed: Option<Error>) -> Active {
    Active::Arrived(arrived, failed.map(Box::new))
}
