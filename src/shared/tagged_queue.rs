//! The queue of one receiver for tagged messages: those that match by source and tag, in
//! `README.md` under "Tagged messages".
//!
//! Whichever rank comes second copies. A sender that finds a posted receive copies into its
//! memory; a receiver that finds a message takes the kept bytes, or copies from the sender's
//! memory. An entry that stays behind in the queue meanwhile has a [`Ticket`]. All matching happens
//! under the lock, all copying outside it. Every function but [`TaggedQueue::withdraw`] returns at
//! once.

use super::early_receive::EarlyReceive;
use super::early_receives::EarlyReceives;
use super::kept_bytes::KeptBytes;
use super::match_list::MatchPattern;
use super::message_label::MessageLabel;
use super::tagged_lists::{MessageBody, PostedReceive, ReceiveRoom, TaggedLists, TaggedMessage};
use super::tagged_ring::{SHORT, ShortMemory, ShortMessage, TaggedRing, copy_bytes};
use super::ticket::{Envelope, Ticket};
use super::unfit_receive::UnfitReceive;
use crate::sync::{Arc, AtomicU32, AtomicU64, Ordering};
use crate::wait::{Backoff, Lock, Wait};
use crossbeam_utils::CachePadded;
use std::any::Any;
use std::sync::OnceLock;

/// Bytes up to which a message is copied, so that its sender goes on at once. (Beyond it a copy
/// less counts for more than the wait: MPI libraries change over at 4 to 64 KiB.)
pub(crate) const KEPT_UP_TO: usize = if cfg!(loom) { 0 } else { 16 << 10 };
/// Bytes that a queue keeps at most, entries included; beyond it messages of any length are lent.
pub(crate) const KEPT_IN_ALL: usize = 64 << 20;

/// Copies a message from the sender's memory to the receiver's, that many bytes.
pub(crate) type Copier = unsafe fn(*mut u8, *const u8, usize);

/// A message as its sender has it.
pub(crate) struct OutgoingMessage {
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) label: MessageLabel,
    pub(crate) data: Data,
}

pub(crate) enum Data {
    /// Elements: address and bytes.
    Elements(*const u8, usize),
    Owned(Box<dyn Any + Send>),
}

/// An owned value, and the facts of its message.
pub(crate) type OwnedMessage = (Envelope, Box<dyn Any + Send>);

/// The state of a message after it was sent.
pub(crate) enum SentMessage {
    /// It is in its receiver's memory.
    Delivered,
    /// It is in the queue; its sender is done with it.
    Kept,
    /// Its sender's memory is in the queue, until the ticket is done.
    Lent(Arc<Ticket>),
}

/// The state of a receive after it was posted.
pub(crate) enum Received {
    /// The message is here; it was lent or kept.
    Message { envelope: Envelope, was_lent: bool },
    /// The receiver's memory is in the queue, until the ticket is done.
    Posted(Arc<Ticket>),
}

type Fit<T> = Result<T, Box<UnfitReceive>>;

/// A ring, once it is needed.
type LazyRing = OnceLock<Box<TaggedRing>>;

/// See the module documentation.
pub(crate) struct TaggedQueue {
    lists: Lock<TaggedLists>,
    /// Messages that were left in the queue so far. Written under the lock.
    arrivals: AtomicU64,
    /// Messages that were taken for receives. Written under the lock.
    settled: AtomicU32,
    /// Messages and receives that lie here. Written under the lock.
    lying: AtomicU32,
    /// By sender; made by the receiver, in its memory, once there are messages for it.
    /// Senders look here: not on the line of the lock.
    rings: CachePadded<OnceLock<Box<[LazyRing]>>>,
    /// The receiver's number.
    owner: u32,
    ranks: u32,
}

/// The cost in the queue's account of a message of so many bytes.
const fn cost(bytes: usize) -> usize {
    size_of::<TaggedMessage>() + bytes
}

/// The name by which its sender, or its receiver, knows an entry.
fn name_of(ticket: &Arc<Ticket>) -> u64 {
    Arc::as_ptr(ticket).addr() as u64
}

/// A message that a receive has found.
enum FoundMessage {
    /// In the list; it was taken off.
    Listed(Envelope, TaggedMessage),
    /// In a ring; it has been copied.
    Short(Envelope),
    Nothing(Arc<Ticket>),
}

/// The work once the lock is free.
enum Next {
    Deliver(PostedReceive),
    Copy,
    Return(SentMessage),
}

impl TaggedQueue {
    /// That of rank `owner` of so many.
    pub(crate) fn new(owner: usize, ranks: usize) -> Self {
        TaggedQueue {
            lists: Lock::new(TaggedLists::default()),
            arrivals: AtomicU64::new(0),
            settled: AtomicU32::new(0),
            lying: AtomicU32::new(0),
            rings: CachePadded::new(OnceLock::new()),
            owner: owner as u32,
            ranks: ranks as u32,
        }
    }

    /// The ring of a sender, which stays where it is as long as the queue.
    #[inline(always)]
    pub(crate) fn ring(&self, source: u32) -> Option<&TaggedRing> {
        self.rings.get()?[source as usize].get().map(|ring| &**ring)
    }

    /// Makes the ring of a sender. For the queue's owner, which is to have its memory.
    #[cold]
    pub(crate) fn make_ring(&self, source: u32) {
        let none = || (0..self.ranks).map(|_| OnceLock::new()).collect();
        let ring = &self.rings.get_or_init(none)[source as usize];
        ring.get_or_init(|| TaggedRing::among(self.ranks));
    }

    /// The rings of the senders that are asked for.
    #[inline]
    pub(crate) fn rings(
        &self,
        source: Option<u32>,
        turn: usize,
    ) -> impl Iterator<Item = (u32, &TaggedRing)> {
        let all = self.rings.get().map_or(&[][..], |all| all);
        let (start, count) = match source {
            Some(source) => (source as usize, all.len().min(1)),
            None => (turn, all.len()),
        };
        let at = move |it: usize| {
            let at = start + it;
            if at < all.len() { at } else { at - all.len() }
        };
        (0..count).filter_map(move |it| Some((at(it) as u32, &**all[at(it)].get()?)))
    }

    /// Calls `f` under the lock.
    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut TaggedLists) -> R) -> R {
        self.lists.with(|lists| {
            let out = f(lists);
            #[cfg(not(loom))]
            debug_assert_eq!(self.lying.load(Ordering::Relaxed), lists.list.count() as u32);
            out
        })
    }

    /// Something came to the lists, or left them. Under the lock.
    #[inline(always)]
    fn note(&self, lists: &TaggedLists) {
        // Relaxed: see `is_quiet`. Under the lock, so no update is lost.
        self.lying.store(lists.list.count() as u32, Ordering::Relaxed);
    }

    /// Whether no message lies here that nobody has asked for, and no receive is posted: a hint
    /// where the lock is not held.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        // Relaxed: the owner knows itself the receives that it has posted; of messages as for
        // `arrivals`.
        self.lying.load(Ordering::Relaxed) == 0
    }

    /// Messages that were taken for receives, so far.
    pub(crate) fn settled(&self) -> u32 {
        // Relaxed: written by this thread, or before it saw a ticket.
        self.settled.load(Ordering::Relaxed)
    }

    /// Counts a message that was taken for a receive. Under the lock.
    #[inline(always)]
    fn settle(&self) {
        // Relaxed: see `settled`. Under the lock, so no update is lost.
        self.settled.store(self.settled().wrapping_add(1), Ordering::Relaxed);
    }

    /// Counts a message that was taken for an early receive when that was posted.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn count_settled(&self) {
        self.with(|_| self.settle());
    }

    /// Gives the messages of a ring to the receives that are posted for them, and the others to
    /// the list. Under the lock.
    fn drain(&self, lists: &mut TaggedLists, source: u32, ring: &TaggedRing) {
        let mut one = |it: &ShortMessage, memory: ShortMemory<'_>| {
            // SAFETY: a message of the ring.
            unsafe { self.accept(lists, source, it, memory) }
        };
        // SAFETY: the lock is held.
        while unsafe { ring.take(&mut one) }.is_some() {}
    }

    /// Gives one message of a ring to the receive that is posted for it, or to the list.
    ///
    /// # Safety
    /// It is one, with its memory.
    #[inline(never)]
    unsafe fn accept(
        &self,
        lists: &mut TaggedLists,
        source: u32,
        message: &ShortMessage,
        memory: ShortMemory<'_>,
    ) {
        // SAFETY: by the contract.
        let (tag, label) = unsafe { message.label() };
        let bytes = label.len * label.sig.element_size;
        // SAFETY: by the contract; there is room for so many bytes.
        let copy = |to| unsafe { message.read(memory, bytes, |from| copy_bytes(to, from, bytes)) };
        let found = lists.list.find_posted((), (source, tag));
        let found = found.map(|(at, _, it)| (at, it.room.label.check(false, &label)));
        if let Some((at, fits)) = found
            && let Some(PostedReceive { room, ticket }) = self.take_posted(lists, at)
        {
            match fits {
                Ok(()) => {
                    // Of the same type, no longer than the room (checked), which its owner leaves
                    // alone until the ticket is done.
                    copy(room.at);
                    ticket.complete(Envelope { source, tag, len: label.len });
                }
                Err(what) => ticket.fail(self.unfit(source, tag, &label, what)),
            }
            self.settle();
            return;
        }
        let body = MessageBody::Kept(KeptBytes::new(bytes, copy));
        self.push(lists, source, tag, TaggedMessage { label, cost: cost(bytes), body });
    }

    #[inline]
    fn take(&self, lists: &mut TaggedLists, at: usize) -> Option<TaggedMessage> {
        let message = lists.take(at)?;
        self.note(lists);
        Some(message)
    }

    #[inline]
    fn take_posted(&self, lists: &mut TaggedLists, at: usize) -> Option<PostedReceive> {
        let receive = lists.list.take_posted(at)?;
        self.note(lists);
        Some(receive)
    }

    fn push(&self, lists: &mut TaggedLists, source: u32, tag: u32, message: TaggedMessage) {
        lists.kept += message.cost;
        let name = match &message.body {
            MessageBody::Lent(_, ticket) => name_of(ticket),
            _ => 0,
        };
        lists.list.push((), (source, tag), name, message);
        self.note(lists);
        // Relaxed: see `arrivals`. Under the lock, so no update is lost.
        self.arrivals.store(self.arrivals() + 1, Ordering::Relaxed);
    }

    /// Looks for messages in the rings of the senders that are asked for.
    #[inline(always)]
    pub(crate) fn poll(&self, source: Option<u32>) {
        for (source, ring) in self.rings(source, 0) {
            if ring.has_news() {
                self.with(|lists| self.drain(lists, source, ring));
            }
        }
    }

    /// Gives messages of `source`'s ring to the early receives that ask for them, and tells
    /// `taken`. For the queue's owner. Whether those that are left are to be posted, because
    /// something else has come; or the place of a receive that does not fit its message, and why.
    ///
    /// # Safety
    /// The rooms of the receives are valid for writes of the elements that their labels name, and
    /// nobody else uses them.
    #[inline]
    pub(crate) unsafe fn take_early(
        &self,
        source: u32,
        early: &mut EarlyReceives<EarlyReceive>,
        mut taken: impl FnMut(&EarlyReceive, Envelope),
    ) -> Result<bool, (usize, Box<UnfitReceive>)> {
        if !self.is_quiet() {
            return Ok(true);
        }
        let Some(ring) = self.ring(source).filter(|it| it.has_news()) else { return Ok(false) };
        let asks = |it: &EarlyReceive, message: &ShortMessage| {
            // SAFETY: a message of the ring.
            it.is_for(source, unsafe { message.label() }.0)
        };
        let give = |it: &mut EarlyReceive, message: &ShortMessage, memory: ShortMemory<'_>| {
            // SAFETY: as above.
            let (tag, label) = unsafe { message.label() };
            let fits = it.room.label.check(false, &label);
            fits.map_err(|what| self.unfit(source, tag, &label, what))?;
            let (to, bytes) = (it.room.at, label.len * label.sig.element_size);
            // SAFETY: of the same type, and no longer than the room.
            unsafe { message.read(memory, bytes, |from| copy_bytes(to, from, bytes)) };
            self.settle();
            taken(it, Envelope { source, tag, len: label.len });
            Ok(())
        };
        self.with(|lists| {
            // Messages that lie here came first.
            if lists.list.count() > 0 {
                return Ok(true);
            }
            // SAFETY: the lock is held.
            unsafe { early.take_from(ring, |it| it.source == source, asks, give) }
        })
    }

    /// Messages that were left in the queue so far.
    pub(crate) fn arrivals(&self) -> u64 {
        // Relaxed: a rank that finds a new number takes the lock. (One that has seen the sender's
        // next wait sees the number, too, by that.)
        self.arrivals.load(Ordering::Relaxed)
    }

    /// Sends a message. `copy` copies to a receiver's memory.
    ///
    /// # Safety
    /// The elements are valid for reads, and of the label's type. If they are lent, that stays so,
    /// and nobody writes them, until the ticket is done or withdrawn. `copy` copies such elements.
    #[inline]
    pub(crate) unsafe fn send(&self, out: OutgoingMessage, copy: Copier) -> Fit<SentMessage> {
        let OutgoingMessage { source, tag, label, data } = out;
        let mut copy_made = None;
        let mut data = Some(data);
        let (from, bytes) = match data {
            Some(Data::Elements(from, bytes)) => (from, bytes),
            _ => (std::ptr::null(), 0),
        };
        // SAFETY: valid for reads by the contract, and there is room.
        let copied = || KeptBytes::new(bytes, |to| unsafe { copy_bytes(to, from, bytes) });
        loop {
            let next = self.with(|lists| -> Fit<Next> {
                // Messages that it has sent before come first.
                match self.ring(source) {
                    Some(ring) => self.drain(lists, source, ring),
                    None if bytes <= SHORT && source != self.owner => lists.wanting = Some(source),
                    None => {}
                }
                if let Some((at, wanted, receive)) = lists.list.find_posted((), (source, tag)) {
                    if let Err(what) = label.check(true, &receive.room.label) {
                        let theirs = &receive.room.label;
                        return Err(UnfitReceive::new(self.owner, theirs, wanted, what));
                    }
                    if let Some(receive) = self.take_posted(lists, at) {
                        return Ok(Next::Deliver(receive));
                    }
                }
                let cost = cost(bytes);
                let has_room = bytes <= KEPT_UP_TO && lists.kept + cost <= KEPT_IN_ALL;
                let (body, sent) = match data.take() {
                    Some(Data::Owned(value)) => (MessageBody::Owned(value), SentMessage::Kept),
                    _ if !has_room => {
                        let ticket = Arc::new(Ticket::new());
                        (MessageBody::Lent(from, ticket.clone()), SentMessage::Lent(ticket))
                    }
                    _ if KeptBytes::are_brief(bytes) => {
                        (MessageBody::Kept(copied()), SentMessage::Kept)
                    }
                    _ => match copy_made.take() {
                        Some(kept) => (MessageBody::Kept(kept), SentMessage::Kept),
                        None => return Ok(Next::Copy),
                    },
                };
                let cost = if matches!(sent, SentMessage::Lent(_)) { 0 } else { cost };
                self.push(lists, source, tag, TaggedMessage { label, cost, body });
                Ok(Next::Return(sent))
            })?;
            match next {
                Next::Return(sent) => return Ok(sent),
                Next::Deliver(PostedReceive { room, ticket }) => {
                    // SAFETY: of the same type, no longer than the room (checked). The receiver
                    // leaves its memory alone until the ticket is done, and this entry was taken
                    // from the list, so no other sender has it.
                    unsafe { copy(room.at, from, bytes) };
                    ticket.complete(Envelope { source, tag, len: label.len });
                    return Ok(SentMessage::Delivered);
                }
                Next::Copy => copy_made = Some(copied()),
            }
        }
    }

    /// Receives a message, or leaves the room for it here. For the queue's owner.
    ///
    /// # Safety
    /// The room is valid for writes of the elements that its label names. If it is posted, that
    /// stays so, and nobody else touches it, until the ticket is done or withdrawn. `copy` copies
    /// such elements.
    #[inline]
    pub(crate) unsafe fn receive(
        &self,
        pattern: MatchPattern,
        room: ReceiveRoom,
        copy: Copier,
    ) -> Fit<Received> {
        let mut wanting = None;
        let found = self.with(|lists| -> Fit<FoundMessage> {
            wanting = lists.wanting.take();
            if let Some(at) = self.find(lists, pattern, Some(&room.label))? {
                let envelope =
                    Self::envelope(lists, at).expect("a message that was found is there");
                let message = self.take(lists, at).expect("what was found is there");
                return Ok(FoundMessage::Listed(envelope, message));
            }
            // SAFETY: by the contract.
            if let Some(envelope) = unsafe { self.take_short(lists, pattern, &room)? } {
                return Ok(FoundMessage::Short(envelope));
            }
            let ticket = Arc::new(Ticket::new());
            let receive = PostedReceive { room, ticket: ticket.clone() };
            lists.list.post((), pattern, name_of(&ticket), receive);
            self.note(lists);
            Ok(FoundMessage::Nothing(ticket))
        });
        if let Some(source) = wanting
            && cfg!(not(loom))
        {
            self.make_ring(source);
        }
        let (envelope, message) = match found? {
            FoundMessage::Nothing(ticket) => return Ok(Received::Posted(ticket)),
            FoundMessage::Short(envelope) => {
                return Ok(Received::Message { envelope, was_lent: false });
            }
            FoundMessage::Listed(envelope, message) => (envelope, message),
        };
        // SAFETY: it was taken from the list, and fits the room (checked).
        let was_lent = unsafe { Self::unpack(message, envelope, &room, copy) };
        Ok(Received::Message { envelope, was_lent })
    }

    /// Copies a message to its room; whether it was lent.
    ///
    /// # Safety
    /// It was taken from the list, its elements are of the room's type, and no more than fit. The
    /// room is valid for writes; `copy` copies such elements.
    unsafe fn unpack(
        message: TaggedMessage,
        envelope: Envelope,
        room: &ReceiveRoom,
        copy: Copier,
    ) -> bool {
        let (to, bytes) = (room.at, envelope.len * room.label.sig.element_size);
        match message.body {
            MessageBody::Kept(kept) => {
                // SAFETY: the sender's elements, as many bytes, which fit the room.
                unsafe { copy_bytes(to, kept.at(), bytes) };
                false
            }
            MessageBody::Lent(from, ticket) => {
                // SAFETY: as above; the sender keeps them as they are until the ticket is done,
                // and can withdraw them no more.
                unsafe { copy(to, from, bytes) };
                ticket.complete(envelope);
                true
            }
            // `check` has refused it: the room is for elements.
            MessageBody::Owned(_) => false,
        }
    }

    /// Receives the first message of a ring that `pattern` asks for, and no receive that is posted.
    ///
    /// # Safety
    /// The lock is held. The room is valid for writes of the elements that its label names.
    #[inline]
    unsafe fn take_short(
        &self,
        lists: &mut TaggedLists,
        pattern: MatchPattern,
        room: &ReceiveRoom,
    ) -> Fit<Option<Envelope>> {
        if let Some(source) = pattern.source {
            return match self.ring(source) {
                // SAFETY: by the contract.
                Some(ring) => unsafe { self.take_of(lists, (source, ring), pattern.tag, room) },
                None => Ok(None),
            };
        }
        for (source, ring) in self.rings(None, lists.turn) {
            // SAFETY: by the contract.
            let found = unsafe { self.take_of(lists, (source, ring), pattern.tag, room)? };
            if found.is_some() {
                lists.turn = (source as usize + 1) % self.ranks as usize;
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Takes the first short message of one ring that the receive asks for.
    ///
    /// # Safety
    /// As [`take_short`](TaggedQueue::take_short).
    #[inline]
    unsafe fn take_of(
        &self,
        lists: &mut TaggedLists,
        (source, ring): (u32, &TaggedRing),
        wanted: Option<u32>,
        room: &ReceiveRoom,
    ) -> Fit<Option<Envelope>> {
        loop {
            let mut found = Ok(None);
            let one = |it: &ShortMessage, memory: ShortMemory<'_>| {
                // SAFETY: a message of the ring.
                let (tag, label) = unsafe { it.label() };
                let is_asked = wanted.is_none_or(|it| it == tag);
                if !is_asked || lists.list.find_posted((), (source, tag)).is_some() {
                    // SAFETY: as above.
                    unsafe { self.accept(lists, source, it, memory) };
                    return Some(true);
                }
                if let Err(what) = room.label.check(false, &label) {
                    found = Err(self.unfit(source, tag, &label, what));
                    return None;
                }
                let bytes = label.len * label.sig.element_size;
                // SAFETY: as above; of the same type, and no longer than the room.
                unsafe { it.read(memory, bytes, |from| copy_bytes(room.at, from, bytes)) };
                found = Ok(Some(Envelope { source, tag, len: label.len }));
                Some(false)
            };
            // SAFETY: the lock is held.
            let goes_on = unsafe { ring.take_if(one) }.flatten();
            if goes_on != Some(true) {
                return found;
            }
        }
    }

    /// A message of `source` that does not fit a receive.
    #[cold]
    fn unfit(
        &self,
        source: u32,
        tag: u32,
        label: &MessageLabel,
        what: String,
    ) -> Box<UnfitReceive> {
        let sent = MatchPattern { source: Some(self.owner), tag: Some(tag) };
        UnfitReceive::new(source, label, sent, what)
    }

    /// The first message that `pattern` asks for, and that has to fit `room`, of those in the list.
    #[inline]
    fn find(
        &self,
        lists: &mut TaggedLists,
        pattern: MatchPattern,
        room: Option<&MessageLabel>,
    ) -> Fit<Option<usize>> {
        let Some(at) = lists.list.find((), pattern) else { return Ok(None) };
        if let Some((source, tag, message)) = lists.list.message(at)
            && let Some(room) = room
            && let Err(what) = room.check(false, &message.label)
        {
            return Err(self.unfit(source, tag, &message.label, what));
        }
        Ok(Some(at))
    }

    #[inline]
    fn envelope(lists: &TaggedLists, at: usize) -> Option<Envelope> {
        let (source, tag, message) = lists.list.message(at)?;
        Some(Envelope { source, tag, len: message.label.len })
    }

    /// The first message that `pattern` asks for, and that has to fit `room`, stays here.
    pub(crate) fn probe(
        &self,
        pattern: MatchPattern,
        room: Option<&MessageLabel>,
    ) -> Fit<Option<Envelope>> {
        self.poll(pattern.source);
        self.with(|lists| {
            let at = self.find(lists, pattern, room)?;
            Ok(at.and_then(|at| Self::envelope(lists, at)))
        })
    }

    /// Takes the first message that `pattern` asks for, which must be an owned value of the
    /// label's type. For the queue's owner.
    pub(crate) fn take_owned(
        &self,
        pattern: MatchPattern,
        room: &MessageLabel,
    ) -> Fit<Option<OwnedMessage>> {
        self.poll(pattern.source);
        let taken = self.with(|lists| -> Fit<_> {
            let at = self.find(lists, pattern, Some(room))?;
            Ok(at.and_then(|at| Self::envelope(lists, at).zip(self.take(lists, at))))
        })?;
        Ok(taken.and_then(|(envelope, message)| match message.body {
            MessageBody::Owned(value) => Some((envelope, value)),
            _ => None,
        }))
    }

    /// Takes back the entry that its sender, or its receiver, left here with `ticket`: when this
    /// returns nobody touches its memory. Where another rank has taken it already, waits until that
    /// has copied: between taking an entry and marking its ticket a rank does nothing else.
    #[cold]
    pub(crate) fn withdraw(&self, ticket: &Arc<Ticket>) {
        if self.try_withdraw(ticket) {
            return;
        }
        let mut patience = Backoff::new(Wait::Yield, None);
        while !ticket.is_done() {
            // Yields: this policy never naps.
            patience.pause();
        }
    }

    fn try_withdraw(&self, ticket: &Arc<Ticket>) -> bool {
        self.with(|lists| {
            let was_there = lists.withdraw(name_of(ticket));
            self.note(lists);
            was_there
        })
    }

    /// A source, and how many of its messages nobody has received.
    #[cfg_attr(loom, allow(dead_code))] // Of the audit.
    pub(crate) fn unreceived(&self) -> Option<(usize, u32)> {
        self.poll(None);
        self.with(|lists| {
            let (_, first, _) = lists.list.messages().next()?;
            let of_first = lists.list.messages().filter(|&(_, source, _)| source == first);
            Some((first as usize, of_first.count() as u32))
        })
    }

    /// The messages that lie here: source, tag, and the facts of the sender.
    #[cold]
    #[cfg_attr(loom, allow(dead_code))] // For errors only.
    pub(crate) fn unread(&self) -> Vec<(u32, u32, MessageLabel)> {
        // Whoever has the lock may take messages from the rings.
        self.poll(None);
        self.with(|lists| {
            let all = lists.list.messages().filter_map(|(at, ..)| lists.list.message(at));
            all.map(|(source, tag, message)| (source, tag, message.label)).collect()
        })
    }

    /// Drops all messages that nobody has received. Only while no rank uses the queue: owned
    /// values' destructors are code of the user's.
    pub(crate) fn clear(&self) {
        self.poll(None);
        drop(self.with(|lists| {
            let all = std::mem::take(lists);
            self.note(lists);
            all
        }));
    }
}
