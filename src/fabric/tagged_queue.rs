//! The queue of one receiver for tagged messages: those that match by source and tag, in
//! `README.md` under "Tagged messages".
//!
//! Whichever rank comes second copies. A sender that finds a posted receive copies into its
//! memory; a receiver that finds a message takes what was kept, or copies from the sender's
//! memory. An entry that stays behind in the queue meanwhile has a [`Ticket`]. All matching happens
//! under the lock, all copying outside it. Every function but [`TaggedQueue::withdraw`] returns at
//! once.

use super::digest::Digest;
use super::fingerprint::Signature;
use super::match_list::{MatchList, MatchPattern};
use super::team_state::discard;
use super::ticket::{Envelope, Ticket};
use crate::error::CallSite;
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::wait::{Backoff, Lock, Wait};
use std::any::{Any, TypeId};
use std::mem::MaybeUninit;
use std::panic::Location;

/// Bytes up to which a message is kept in its entry.
const BRIEF: usize = 64;
/// Bytes up to which a message is copied, so that its sender goes on at once. (Beyond it a copy
/// less counts for more than the wait: MPI libraries change over at 4 to 64 KiB.)
pub(crate) const KEPT_UP_TO: usize = if cfg!(loom) { 0 } else { 16 << 10 };
/// Bytes that a queue keeps at most, entries included; beyond it messages of any length are lent.
pub(crate) const KEPT_IN_ALL: usize = 64 << 20;

/// Copies a message from the sender's memory to the receiver's, that many bytes.
pub(crate) type Copier = unsafe fn(*mut u8, *const u8, usize);

/// What a rank says of a message, or of the room for one.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub(crate) sig: &'static Signature,
    pub(crate) at: &'static Location<'static>,
    /// Elements.
    pub(crate) len: usize,
    pub(crate) element: TypeId,
    /// One value that is moved; else elements that are copied.
    pub(crate) owned: bool,
}

impl Label {
    /// What keeps this message, or this room (`is_message`), from the other one.
    #[inline(always)]
    fn check(&self, is_message: bool, other: &Label) -> Result<(), String> {
        let (message, room) = if is_message { (self, other) } else { (other, self) };
        if self.element == other.element && self.owned == other.owned && message.len <= room.len {
            return Ok(());
        }
        Err(self.differs(message, room, other))
    }

    #[cold]
    #[inline(never)]
    fn differs(&self, message: &Label, room: &Label, other: &Label) -> String {
        let words = |it: &Label| {
            let what = if it.owned { "an owned" } else { "elements of type" };
            format!("{what} {}", (it.sig.element_name)())
        };
        if self.element == other.element && self.owned == other.owned {
            let (message, room) = (message.len, room.len);
            return format!(
                "truncation: the message has {message} elements, the buffer has room for {room}"
            );
        }
        match (words(self), words(other)) {
            (a, b) if a == b => "two types of one name".to_string(),
            (a, b) => format!("expected {a}, got {b}"),
        }
    }
}

/// A message as its sender has it.
pub(crate) struct OutgoingMessage {
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) label: Label,
    pub(crate) data: Data,
}

pub(crate) enum Data {
    /// Elements: address and bytes.
    Elements(*const u8, usize),
    Owned(Box<dyn Any + Send>),
}

/// An owned value, and what it came with.
pub(crate) type OwnedMessage = (Envelope, Box<dyn Any + Send>);

/// What became of a message.
pub(crate) enum SentMessage {
    /// It is in its receiver's memory.
    Delivered,
    /// It is in the queue; its sender is done with it.
    Kept,
    /// Its sender's memory is in the queue, until the ticket is done.
    Lent(Arc<Ticket>),
}

/// What became of a receive.
pub(crate) enum Received {
    /// The message is here; it was lent or kept.
    Message { envelope: Envelope, was_lent: bool },
    /// The receiver's memory is in the queue, until the ticket is done.
    Posted(Arc<Ticket>),
}

/// A message and a receive match, and do not fit.
#[derive(Debug)]
#[cfg_attr(loom, allow(dead_code))] // Read by communicators only.
pub(crate) struct UnfitReceive {
    /// The rank that came first.
    pub(crate) peer: usize,
    pub(crate) there: CallSite,
    pub(crate) what: String,
}

impl UnfitReceive {
    /// `label` is that of `peer`'s call, which named a rank, or any, and a tag, or any.
    #[cold]
    fn new(peer: u32, label: &Label, named: MatchPattern, what: String) -> Box<Self> {
        let rank = named.source.map(|rank| rank as usize);
        let call = label.sig.words(label.len, rank);
        let call = call + &Digest::of_tag(named.tag).tag_in_words(rank.is_some());
        let there = CallSite { call, at: label.at.into() };
        Box::new(UnfitReceive { peer: peer as usize, there, what })
    }
}

/// Words of any content, aligned to 8.
type QueueWords = Box<[MaybeUninit<u64>]>;
type Fit<T> = Result<T, Box<UnfitReceive>>;

enum MessageBody {
    Brief([MaybeUninit<u64>; BRIEF / 8]),
    Copied(QueueWords),
    Lent(*const u8, Arc<Ticket>),
    Owned(Box<dyn Any + Send>),
}

struct TaggedMessage {
    label: Label,
    /// What the queue's account has for it.
    cost: usize,
    body: MessageBody,
}

// SAFETY: the address is that of memory which its sender keeps as it is until the ticket is done,
// whichever thread reads it (the contract of `TaggedQueue::send`); all else is `Send`.
unsafe impl Send for TaggedMessage {}

/// Room for one message.
pub(crate) struct ReceiveRoom {
    pub(crate) label: Label,
    pub(crate) at: *mut u8,
}

struct PostedReceive {
    room: ReceiveRoom,
    ticket: Arc<Ticket>,
}

// SAFETY: the address is that of memory which its receiver leaves alone until the ticket is done,
// whichever thread writes it (the contract of `TaggedQueue::receive`); all else is `Send`.
unsafe impl Send for PostedReceive {}

#[derive(Default)]
struct Lists {
    list: MatchList<TaggedMessage, PostedReceive>,
    /// Bytes that are kept.
    kept: usize,
}

impl Lists {
    fn take(&mut self, at: usize) -> Option<TaggedMessage> {
        let message = self.list.take(at)?;
        self.kept -= message.cost;
        Some(message)
    }
}

/// See the module documentation.
pub(crate) struct TaggedQueue {
    lists: Lock<Lists>,
    /// Messages that were left in the queue so far. Written under the lock.
    arrivals: AtomicU64,
    /// The receiver's number, for errors.
    owner: u32,
}

/// What to do once the lock is free.
enum Next {
    Deliver(PostedReceive),
    Copy,
    Return(SentMessage),
}

impl TaggedQueue {
    pub(crate) fn new(owner: usize) -> Self {
        let lists = Lock::new(Lists::default());
        TaggedQueue { lists, arrivals: AtomicU64::new(0), owner: owner as u32 }
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
        let mut copied: Option<QueueWords> = None;
        let mut data = Some(data);
        let (from, bytes) = match data {
            Some(Data::Elements(from, bytes)) => (from, bytes),
            _ => (std::ptr::null(), 0),
        };
        loop {
            let next = self.lists.with(|lists| -> Fit<Next> {
                if let Some((at, (wanted, receive))) = lists.list.find_posted(source, tag) {
                    if let Err(what) = label.check(true, &receive.room.label) {
                        let theirs = &receive.room.label;
                        return Err(UnfitReceive::new(self.owner, theirs, *wanted, what));
                    }
                    if let Some(receive) = lists.list.take_posted(at) {
                        return Ok(Next::Deliver(receive));
                    }
                }
                let cost = size_of::<TaggedMessage>() + bytes;
                let has_room = bytes <= KEPT_UP_TO && lists.kept + cost <= KEPT_IN_ALL;
                let (body, sent) = match data.take() {
                    Some(Data::Owned(value)) => (MessageBody::Owned(value), SentMessage::Kept),
                    _ if !has_room => {
                        let ticket = Arc::new(Ticket::new());
                        (MessageBody::Lent(from, ticket.clone()), SentMessage::Lent(ticket))
                    }
                    _ if bytes <= BRIEF => {
                        let mut brief = [MaybeUninit::uninit(); BRIEF / 8];
                        // SAFETY: there is room; valid for reads by the contract.
                        unsafe { copy_bytes(brief.as_mut_ptr().cast(), from, bytes) };
                        (MessageBody::Brief(brief), SentMessage::Kept)
                    }
                    _ => match copied.take() {
                        Some(words) => (MessageBody::Copied(words), SentMessage::Kept),
                        None => return Ok(Next::Copy),
                    },
                };
                let cost = if matches!(sent, SentMessage::Lent(_)) { 0 } else { cost };
                lists.kept += cost;
                lists.list.push(source, tag, TaggedMessage { label, cost, body });
                // Relaxed: see `arrivals`. Under the lock, so no update is lost.
                self.arrivals.store(self.arrivals() + 1, Ordering::Relaxed);
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
                Next::Copy => {
                    let mut words: QueueWords = Box::new_uninit_slice(bytes.div_ceil(8));
                    // SAFETY: there is room; valid for reads by the contract.
                    unsafe { copy_bytes(words.as_mut_ptr().cast(), from, bytes) };
                    copied = Some(words);
                }
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
        let (to, size) = (room.at, room.label.sig.element_size);
        let found = self.lists.with(|lists| -> Fit<Result<_, Arc<Ticket>>> {
            let Some(at) = self.find(lists, pattern, Some(&room.label))? else {
                let ticket = Arc::new(Ticket::new());
                lists.list.post(pattern, PostedReceive { room, ticket: ticket.clone() });
                return Ok(Err(ticket));
            };
            Ok(Ok(Self::envelope(lists, at).zip(lists.take(at))))
        })?;
        let (envelope, message) = match found {
            Err(ticket) => return Ok(Received::Posted(ticket)),
            Ok(found) => found.expect("a message that was found is there"),
        };
        let bytes = envelope.len * size;
        let was_lent = match message.body {
            MessageBody::Brief(words) => {
                // SAFETY: the sender's elements, as many bytes, of the same type (checked), which
                // fit the room.
                unsafe { copy_bytes(to, words.as_ptr().cast(), bytes) };
                false
            }
            MessageBody::Copied(words) => {
                // SAFETY: as above.
                unsafe { copy_bytes(to, words.as_ptr().cast(), bytes) };
                false
            }
            MessageBody::Lent(from, ticket) => {
                // SAFETY: as above; the sender keeps them as they are until the ticket is done,
                // and can withdraw them no more, since the entry was taken from the list.
                unsafe { copy(to, from, bytes) };
                ticket.complete(envelope);
                true
            }
            // `check` has refused it: the room is for elements.
            MessageBody::Owned(_) => false,
        };
        Ok(Received::Message { envelope, was_lent })
    }

    /// The first message that `pattern` asks for, and that has to fit `room`.
    #[inline]
    fn find(
        &self,
        lists: &Lists,
        pattern: MatchPattern,
        room: Option<&Label>,
    ) -> Fit<Option<usize>> {
        let Some(at) = lists.list.find(pattern) else { return Ok(None) };
        if let Some((source, tag, message)) = lists.list.message(at)
            && let Some(room) = room
            && let Err(what) = room.check(false, &message.label)
        {
            let sent = MatchPattern { source: Some(self.owner), tag: Some(tag) };
            return Err(UnfitReceive::new(source, &message.label, sent, what));
        }
        Ok(Some(at))
    }

    #[inline]
    fn envelope(lists: &Lists, at: usize) -> Option<Envelope> {
        let (source, tag, message) = lists.list.message(at)?;
        Some(Envelope { source, tag, len: message.label.len })
    }

    /// The first message that `pattern` asks for, and that has to fit `room`, stays here.
    pub(crate) fn probe(
        &self,
        pattern: MatchPattern,
        room: Option<&Label>,
    ) -> Fit<Option<Envelope>> {
        self.lists.with(|lists| {
            let at = self.find(lists, pattern, room)?;
            Ok(at.and_then(|at| Self::envelope(lists, at)))
        })
    }

    /// Takes the first message that `pattern` asks for, which must be an owned value of the
    /// label's type. For the queue's owner.
    pub(crate) fn take_owned(
        &self,
        pattern: MatchPattern,
        room: &Label,
    ) -> Fit<Option<OwnedMessage>> {
        let taken = self.lists.with(|lists| -> Fit<_> {
            let at = self.find(lists, pattern, Some(room))?;
            Ok(at.and_then(|at| Self::envelope(lists, at).zip(lists.take(at))))
        })?;
        Ok(taken.and_then(|(envelope, message)| match message.body {
            MessageBody::Owned(value) => Some((envelope, value)),
            _ => None,
        }))
    }

    /// Takes back what its sender, or its receiver, left here with `ticket`: when this returns
    /// nobody touches its memory. Where another rank has taken it already, waits until that has
    /// copied: between taking an entry and marking its ticket a rank does nothing else.
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
        self.lists.with(|lists| {
            let is_it = |it: &PostedReceive| Arc::ptr_eq(&it.ticket, ticket);
            if lists.list.withdraw_posted(is_it).is_some() {
                return true;
            }
            let is_it = |it: &TaggedMessage| match &it.body {
                MessageBody::Lent(_, it) => Arc::ptr_eq(it, ticket),
                _ => false,
            };
            let at = lists.list.messages().find(|(_, _, it)| is_it(it)).map(|(at, ..)| at);
            at.and_then(|at| lists.take(at)).is_some()
        })
    }

    /// A source, and how many of its messages nobody has received.
    #[cfg_attr(loom, allow(dead_code))] // Of the audit.
    pub(crate) fn unreceived(&self) -> Option<(usize, u32)> {
        self.lists.with(|lists| {
            let (_, first, _) = lists.list.messages().next()?;
            let of_first = lists.list.messages().filter(|&(_, source, _)| source == first);
            Some((first as usize, of_first.count() as u32))
        })
    }

    /// Drops all messages that nobody has received. Only while no rank uses the queue: owned
    /// values' destructors are code of the user's.
    pub(crate) fn clear(&self) {
        drop(self.lists.with(std::mem::take));
    }
}

impl Drop for Lists {
    /// Drops messages one by one: a destructor that panics must not keep the others from theirs.
    fn drop(&mut self) {
        let first = |lists: &Lists| lists.list.messages().next().map(|(at, ..)| at);
        while let Some(at) = first(self) {
            discard(self.take(at));
        }
    }
}

/// # Safety
/// As for `copy_nonoverlapping` of bytes; `from` may be dangling if there are none.
#[inline(always)]
unsafe fn copy_bytes(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: by the contract. (MaybeUninit: elements may have padding.)
    unsafe {
        std::ptr::copy_nonoverlapping(
            from.cast::<MaybeUninit<u8>>(),
            to.cast::<MaybeUninit<u8>>(),
            bytes,
        );
    }
}
