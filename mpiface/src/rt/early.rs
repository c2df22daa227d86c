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

use super::error::{Error, Site};
use super::handle::Handle;
use super::p2p::{self, Arrived, Ask, Envelope, Kind};
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
    /// The rank of the world that sends it, if only one can.
    pub by: Option<usize>,
    /// Where the message goes.
    pub place: Place,
    /// The call.
    pub site: Site,
    /// Its request.
    pub handle: Handle,
}

/// A rank's early receives.
#[derive(Debug, Default)]
pub struct Early {
    /// In the order of their calls.
    all: RefCell<VecDeque<EarlyReceive>>,
    /// How many there are.
    count: Cell<usize>,
    /// The only rank from which any of them can take, if it is one.
    from: Cell<Option<usize>>,
    /// The queue's number `left` when nothing was seen to lie there.
    seen: Cell<Option<u64>>,
}

impl Rank {
    /// Notes an early receive, whose request is named next.
    #[inline(always)]
    pub fn receive_early(&self, pattern: Envelope, by: Option<usize>, place: Place, site: Site) {
        let mut all = self.early.all.borrow_mut();
        if all.is_empty() {
            self.early.from.set(by);
        } else if self.early.from.get() != by {
            self.early.from.set(None);
        }
        all.push_back(EarlyReceive { pattern, by, place, site, handle: 0 });
        self.early.count.set(all.len());
    }

    /// Names the request of the early receive that was noted last.
    #[inline(always)]
    pub fn name_early(&self, handle: Handle) {
        if let Some(last) = self.early.all.borrow_mut().back_mut() {
            last.handle = handle;
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

    #[cold]
    #[inline(never)]
    fn publish_all(&self) {
        self.early.count.set(0);
        let owner = self.me;
        for EarlyReceive { pattern, by, place, site, handle } in self.early.all.take() {
            let (kind, peer, tag) = (Kind::Receive, pattern.source, pattern.tag);
            let req = self.request(Ask { owner, site, kind, peer, by, tag, open: None });
            // SAFETY: the program's buffer, which it leaves alone until the receive is complete.
            unsafe { p2p::receive(&self.world, owner, pattern, place, &req) };
            self.set_active(handle, Active::Shared(req));
        }
    }

    /// Looks whether messages for early receives have come: whether any may have.
    #[inline]
    pub fn look_early(&self) -> bool {
        if !self.has_early() {
            return false;
        }
        let from = self.early.from.get();
        let left = self.world.slots[self.me].left.told();
        if self.early.seen.get() == Some(left) && !self.world.has_arrivals(self.me, from) {
            return false;
        }
        self.take_early(from);
        true
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
                let one = |short: &p2p::Short, room: &p2p::Lines| {
                    match first(&mut all, short) {
                        Some(EarlyReceive { place, handle, .. }) => {
                            // SAFETY: as in `publish_all`.
                            let (arrived, failed) = unsafe { short.deliver(room, &place, sender) };
                            self.set_active(handle, ended(arrived, failed));
                        }
                        None => {
                            queue.arrive(&self.world, (self.me, self.me), sender, (short, room));
                        }
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

/// Takes the first one out that takes this message.
#[inline]
fn first(all: &mut VecDeque<EarlyReceive>, short: &p2p::Short) -> Option<EarlyReceive> {
    if all.front().is_some_and(|it| short.is_for(&it.pattern)) {
        return all.pop_front();
    }
    all.iter().position(|it| short.is_for(&it.pattern)).and_then(|it| all.remove(it))
}

fn ended(arrived: Arrived, failed: Option<Box<Error>>) -> Active {
    Active::Arrived(arrived, failed)
}
