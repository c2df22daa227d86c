//! Tagged messages: the work of a rank with its own queue and those of its peers. See `README.md`,
//! "Tagged messages".

use super::super::match_list::MatchPattern;
use super::super::message_label::MessageLabel;
use super::super::rank_place::RankPlace;
use super::super::tagged_lists::ReceiveRoom;
use super::super::tagged_queue::{
    Copier, Data, OutgoingMessage, OwnedMessage, Received, SentMessage, TaggedQueue,
};
use super::super::tagged_ring::{SHORT, TaggedRing};
#[cfg(not(loom))]
use super::super::thread::Thread;
use super::super::ticket::{Envelope, Ticket};
use super::super::unfit_receive::UnfitReceive;
use super::cards::Place;
use super::waiting::For;
use super::{Peer, Port, PortState, Stop};
use crate::sync::{Arc, fetch_to_write};
#[cfg(not(loom))]
use crate::wait::{Occasion, give_way};
use crate::wait::{Question, Wait};
use std::any::Any;
use std::ptr::NonNull;

/// The ticket of an entry that this rank has left in a queue.
pub(super) struct OpenTicket {
    /// The queue's rank.
    owner: usize,
    ticket: Arc<Ticket>,
}

impl Port {
    /// Posts a tagged message of elements. If its memory is lent: the ticket, which is to be
    /// [awaited](Port::await_ticket).
    ///
    /// # Safety
    /// As [`TaggedQueue::send`]; [`quiesce`](Port::quiesce) must run before the memory goes in
    /// any other way.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn send_tagged(
        &mut self,
        to: usize,
        tag: u32,
        label: MessageLabel,
        (data, bytes): (*const u8, usize),
        copy: Copier,
    ) -> Result<Option<Arc<Ticket>>, Stop> {
        // SAFETY: by the contract.
        unsafe { self.post_tagged(to, tag, label, Data::Elements(data, bytes), copy) }
    }

    /// Posts an owned value.
    #[cfg_attr(loom, allow(dead_code))] // Elements are what is modelled.
    pub(crate) fn send_owned(
        &mut self,
        to: usize,
        tag: u32,
        label: MessageLabel,
        value: Box<dyn Any + Send>,
    ) -> Result<(), Stop> {
        unsafe fn nothing(_: *mut u8, _: *const u8, _: usize) {}
        // SAFETY: there are no elements: an owned value fits no receive that is posted.
        unsafe { self.post_tagged(to, tag, label, Data::Owned(value), nothing) }.map(|_| ())
    }

    /// # Safety
    /// As [`send_tagged`](Port::send_tagged).
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn post_tagged(
        &mut self,
        to: usize,
        tag: u32,
        label: MessageLabel,
        data: Data,
        copy: Copier,
    ) -> Result<Option<Arc<Ticket>>, Stop> {
        if let Data::Elements(from, bytes) = data
            && let Some(ring) = self.ring_to(to)
            // SAFETY: by the contract; this is the source's only port.
            && unsafe { ring.send(tag, &label, from, bytes) }
        {
            self.count_tagged(1, 0);
            self.peers[to].wake_for_any();
            return Ok(None);
        }
        let is_short = matches!(data, Data::Elements(_, bytes) if bytes <= SHORT);
        let out = OutgoingMessage { source: self.rank as u32, tag, label, data };
        // SAFETY: by the contract.
        let sent = unsafe { self.shared.tagged(to).send(out, copy) }.map_err(Stop::Unfit)?;
        let ticket = match sent {
            SentMessage::Delivered => None,
            SentMessage::Kept => {
                self.count_tagged(1, 0);
                None
            }
            SentMessage::Lent(ticket) => {
                self.count_tagged(1, 0);
                if is_short {
                    // Much lies there. The receiver may have early receives, which nothing but its
                    // next looks for messages would post: so its next call of any kind does.
                    self.shared.world().shut(self.shared.member(to), self.run);
                }
                Some(ticket)
            }
        };
        if to != self.rank {
            self.peers[to].wake_for_any();
        }
        Ok(ticket)
    }

    /// The ring for short messages to `to`, if it has been made.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ring_to(&mut self, to: usize) -> Option<&TaggedRing> {
        let peer = &mut self.peers[to];
        // The ring is in the peer's queue; its words share a line that its owner writes: so the
        // ring that was found is kept.
        if peer.ring.is_none() {
            let ring = self.shared.tagged(to).ring(self.rank as u32);
            peer.ring = ring.map(NonNull::from);
        }
        // SAFETY: a ring that was made is never unmade (a `OnceLock` of the state), and the port
        // keeps the state.
        peer.ring.map(|it| unsafe { it.as_ref() })
    }

    /// Counts messages that were left in a queue, and taken from one: the balance at the end of the
    /// run has them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn count_tagged(&mut self, left: u32, taken: u32) {
        self.tagged_balance = self.tagged_balance.wrapping_add(left).wrapping_sub(taken);
    }

    /// Whether a receive of this memory can begin as an [early](super::super::early_receive) one,
    /// of the scope at that address. The scope is told when it has to be posted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn begin_early(
        &mut self,
        source: usize,
        (at, bytes): (*const u8, usize),
        scope: usize,
    ) -> bool {
        let own = self.shared.tagged(self.rank);
        let is_early = bytes <= SHORT
            && own.is_quiet()
            && self.state == PortState::Plain
            && own.ring(source as u32).is_some();
        if is_early {
            if self.early != scope {
                self.publish();
                self.early = scope;
            }
            fetch_to_write(at, bytes);
        }
        is_early
    }

    /// This rank's place in the communicator.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn rank_place(&self) -> RankPlace {
        let &Port { ref hold, rank, run, wait, crowded, .. } = self;
        RankPlace { hold: hold.clone(), rank, run, wait, crowded }
    }

    /// Whether `latest` is that place.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn is_at(&self, latest: &RankPlace) -> bool {
        latest.run == self.run && latest.hold.id() == self.id
    }

    /// The scope at that address has ended: it has no early receives any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn end_early(&mut self, scope: usize) {
        if self.early == scope {
            self.early = 0;
        }
    }

    /// Has the receives posted that only a scope of this rank knows of, so that they come before
    /// the next ones.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn publish(&mut self) {
        if self.early != 0 {
            self.publish_early();
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_early(&mut self) {
        self.early = 0;
        // The models have no scopes.
        #[cfg(not(loom))]
        Thread::here().publish();
    }

    /// Looks for a message, for a receive that waits, as long as any wait looks before it is
    /// announced. Most come meanwhile, and are taken from their ring: to post the receive, where
    /// the sender finds it, takes longer than the message does. It is as if the receive were called
    /// later; a longer message, which lies in the queue, ends it, too.
    #[inline(always)]
    fn look_for_tagged(&self, own: &TaggedQueue, source: Option<u32>) {
        let named = source.map(|it| own.ring(it).map(TaggedRing::awaited));
        let has_news = || match named {
            Some(awaited) => awaited.is_some_and(|it| it.has_come()),
            None => own.rings(None, 0).any(|(_, ring)| ring.has_news()),
        };
        let mut looks = self.looks;
        while looks > 0 && own.is_quiet() && !has_news() {
            looks -= 1;
        }
    }

    /// Receives a tagged message of elements that is there; or posts the room for it, and returns
    /// the ticket, which is to be [awaited](Port::await_ticket). `waits`: it will be at once.
    ///
    /// # Safety
    /// As [`TaggedQueue::receive`]; [`quiesce`](Port::quiesce) must run before the memory goes in
    /// any other way.
    #[inline]
    pub(crate) unsafe fn recv_tagged(
        &mut self,
        pattern: MatchPattern,
        room: ReceiveRoom,
        copy: Copier,
        waits: bool,
    ) -> Result<Result<Envelope, Arc<Ticket>>, Stop> {
        self.publish();
        let own = self.shared.tagged(self.rank);
        let is_short = || room.label.len.saturating_mul(room.label.sig.element_size) <= SHORT;
        if waits && is_short() {
            self.look_for_tagged(own, pattern.source);
        }
        // SAFETY: by the contract.
        match unsafe { own.receive(pattern, room, copy) }.map_err(Stop::Unfit)? {
            Received::Message { envelope, was_lent } => {
                self.count_tagged(0, 1);
                let source = envelope.source as usize;
                if was_lent && source != self.rank {
                    self.peers[source].wake_for_any();
                }
                Ok(Ok(envelope))
            }
            Received::Posted(ticket) => Ok(Err(ticket)),
        }
    }

    /// Waits until `ticket`, in the queue of `owner`, is done, by rank `peer`; by none: by any.
    #[inline]
    pub(crate) fn await_ticket(
        &mut self,
        owner: usize,
        peer: Option<usize>,
        ticket: &Arc<Ticket>,
    ) -> Result<Envelope, Stop> {
        self.open_ticket(owner, ticket);
        let source = peer.map(|it| it as u32);
        let queue = NonNull::from(self.shared.tagged(self.rank));
        self.wait_for(peer, |_| {
            // SAFETY: the state's, which the port keeps.
            unsafe { queue.as_ref() }.poll(source);
            ticket.is_done()
        })?;
        // No call of this rank began meanwhile that left a ticket and has not taken it back.
        self.open_tickets.pop();
        if let Some(unfit) = ticket.failure() {
            return Err(Stop::Unfit(unfit));
        }
        let envelope = ticket.envelope().ok_or(Stop::Poisoned)?;
        if peer.is_none() {
            self.record_source(envelope.source as usize);
        }
        Ok(envelope)
    }

    /// A call of this rank cannot end before `ticket`, in the queue of `owner`, is done or
    /// withdrawn, by [`quiesce`](Port::quiesce).
    pub(crate) fn open_ticket(&mut self, owner: usize, ticket: &Arc<Ticket>) {
        self.open_tickets.push(OpenTicket { owner, ticket: ticket.clone() });
    }

    /// Waits for `peer`; for none: for any rank.
    #[inline]
    fn wait_for(
        &mut self,
        peer: Option<usize>,
        ready: impl FnMut(&mut Peer) -> bool,
    ) -> Result<(), Stop> {
        match peer {
            Some(peer) => self.wait(peer, For::Peer, ready),
            // Of two ranks it is the other one.
            None if self.size() == 2 => self.wait(1 - self.rank, For::Peer, ready),
            None => self.wait(self.rank, For::Anybody, ready),
        }
    }

    /// Waits until `ready`, for words that are not the state's: as for a tagged message.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn wait_foreign(
        &mut self,
        peer: Option<usize>,
        ready: &mut dyn Question,
    ) -> Result<(), Stop> {
        self.wait_for(peer, |_| ready.ask())
    }

    /// Gives the core to another thread where this rank's waits begin so. Whether it did.
    #[cfg(not(loom))]
    pub(crate) fn give_way(&self) -> bool {
        self.yields && self.wait == Wait::Auto && give_way(Occasion::Pair)
    }

    /// Something of these words has been made true for `peer`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn wake_foreign(&self, peer: usize) {
        if peer != self.rank {
            self.peers[peer].wake_for_any();
        }
    }

    /// The first message that `pattern` asks for, and that has to fit `room`, if it is there.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn probe(
        &mut self,
        pattern: MatchPattern,
        room: Option<&MessageLabel>,
    ) -> Result<Option<Envelope>, Stop> {
        self.publish();
        self.shared.tagged(self.rank).probe(pattern, room).map_err(Stop::Unfit)
    }

    /// Waits for a message that `pattern` asks for, and that has to fit `room`; it stays where it
    /// is.
    pub(crate) fn await_tagged(
        &mut self,
        pattern: MatchPattern,
        room: Option<&MessageLabel>,
    ) -> Result<Envelope, Stop> {
        let shared = self.hold.clone();
        let queue: &TaggedQueue = shared.tagged(self.rank);
        let mut seen = queue.arrivals();
        let mut found = queue.probe(pattern, room);
        if !matches!(found, Ok(None)) {
            return found.map_err(Stop::Unfit)?.ok_or(Stop::Poisoned);
        }
        self.wait_for(pattern.source.map(|it| it as usize), |_| {
            queue.poll(pattern.source);
            let arrivals = queue.arrivals();
            if std::mem::replace(&mut seen, arrivals) != arrivals {
                found = queue.probe(pattern, room);
            }
            !matches!(found, Ok(None))
        })?;
        let envelope = found.map_err(Stop::Unfit)?.ok_or(Stop::Poisoned)?;
        if pattern.source.is_none() {
            self.record_source(envelope.source as usize);
        }
        Ok(envelope)
    }

    /// Takes the first message that `pattern` asks for, which must be an owned value of the
    /// label's type, if it is there.
    #[cfg_attr(loom, allow(dead_code))] // Elements are what is modelled.
    pub(crate) fn take_owned(
        &mut self,
        pattern: MatchPattern,
        room: &MessageLabel,
    ) -> Result<Option<OwnedMessage>, Stop> {
        let own = self.shared.tagged(self.rank);
        let taken = own.take_owned(pattern, room).map_err(Stop::Unfit)?;
        if taken.is_some() {
            self.count_tagged(0, 1);
        }
        Ok(taken)
    }

    /// A look of the user's own has found nothing: gives the core to others that may want it.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn let_others_run(&self) {
        if self.crowded {
            crate::sync::yield_now();
        }
    }

    /// Takes back the entries that this rank has left in queues.
    pub(super) fn withdraw_tickets(&mut self) {
        for OpenTicket { owner, ticket } in std::mem::take(&mut self.open_tickets) {
            self.shared.tagged(owner).withdraw(&ticket);
        }
    }
}

/// A tagged message that this rank has started to send, or to receive, and waits for later; `at` is
/// the rank's place in the communicator.
#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
pub(crate) struct TaggedRequest {
    /// The rank of the queue that has it.
    owner: usize,
    /// From, or to, this rank; none: from any.
    peer: Option<usize>,
    state: Result<Envelope, Arc<Ticket>>,
}

#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
impl TaggedRequest {
    /// Of a message that has been copied, or of a ticket in the queue of `owner`.
    pub(crate) fn new(
        owner: usize,
        peer: Option<usize>,
        state: Result<Envelope, Arc<Ticket>>,
    ) -> Self {
        TaggedRequest { owner, peer, state }
    }

    /// This message is sent or received once more, after the one before.
    pub(crate) fn start_again(&mut self, state: Result<Envelope, Arc<Ticket>>) {
        self.state = state;
    }

    /// Looks for the message, if it may have come by itself: why it does not fit, if so.
    #[inline]
    pub(crate) fn poll(&self, at: &RankPlace) -> Option<Box<UnfitReceive>> {
        let Err(ticket) = &self.state else { return None };
        if self.owner == at.rank {
            at.hold.tagged(at.rank).poll(self.peer.map(|it| it as u32));
        }
        ticket.failure()
    }

    /// The facts of the message, if it has been copied.
    #[inline]
    pub(crate) fn envelope(&self) -> Option<Envelope> {
        match &self.state {
            Ok(envelope) => Some(*envelope),
            Err(ticket) => ticket.envelope(),
        }
    }

    /// Where to wait for it.
    pub(crate) fn place(&self, at: &RankPlace) -> Place {
        let (peer, by_any) = self.waits_for(at);
        Place { by_any, ..super::RankCards::place(at, peer) }
    }

    /// The rank that is awaited there, and whether it stands for any.
    fn waits_for(&self, at: &RankPlace) -> (usize, bool) {
        let other = match at.hold.size() {
            // Of two ranks it is the other one; alone a rank waits for itself, which is a circle.
            2 => Some(1 - at.rank),
            1 => Some(at.rank),
            _ => None,
        };
        let known = self.peer.or(other);
        (known.unwrap_or(at.rank), known.is_none())
    }

    /// The rank that is awaited there.
    pub(crate) fn awaited(&self, at: &RankPlace) -> usize {
        self.waits_for(at).0
    }

    /// Where the message of a receive has come from, if that was not known before.
    pub(crate) fn source(&self, at: &RankPlace) -> Option<usize> {
        let envelope = self.envelope().filter(|_| self.waits_for(at).1)?;
        Some(envelope.source as usize)
    }

    /// The rank that is awaited, if it has left (of any source: if all others have): it never
    /// comes.
    pub(crate) fn left(&self, at: &RankPlace) -> Option<usize> {
        let (peer, by_any) = self.waits_for(at);
        let gone = match by_any {
            true => at.hold.have_others_left(at.rank, at.run),
            false => peer != at.rank && at.hold.has_left(peer, at.run),
        };
        gone.then_some(peer)
    }

    /// When this returns nobody touches the request's memory.
    pub(crate) fn quiesce(&self, at: &RankPlace) {
        if let Err(ticket) = &self.state {
            at.hold.tagged(self.owner).withdraw(ticket);
        }
    }
}
