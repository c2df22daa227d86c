//! Point to point: each rank owns a queue of posted receives and of messages that came unexpected;
//! the sender looks into the receiver's queue, and the second comer copies.
//!
//! | first | second | copies |
//! |---|---|---|
//! | receive | send | the sender, from buffer to buffer |
//! | send, up to `EAGER` bytes | receive | the sender into a cell, the receiver from it |
//! | longer send, or a synchronous one | receive | the receiver, from the sender's buffer |
//!
//! So progress is strong: no call of the passive side is ever needed. Order is the order of
//! locking, as MPI demands it. A request's `done` is the one word that is read without the lock.

use super::error::{Class, Error, Site};
use super::types::{Place, copy, pack, unpack};
use super::word::Word;
use super::world::{Condition, World, lock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Longer messages are not stored: the receiver copies them from the sender's buffer.
pub const EAGER: usize = 16 << 10;
/// The standard's wildcards.
pub const ANY_SOURCE: i32 = -1;
/// Any tag.
pub const ANY_TAG: i32 = -2;
/// The rank that is nobody.
pub const PROC_NULL: i32 = -3;

/// What is known of a message: its communicator, its sender there, and its tag.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// The communicator's number.
    pub context: u32,
    /// The sender, or `ANY_SOURCE`.
    pub source: i32,
    /// The tag, or `ANY_TAG`.
    pub tag: i32,
}

impl Envelope {
    /// Whether this pattern takes the message.
    fn takes(&self, message: &Envelope) -> bool {
        self.context == message.context
            && (self.source == ANY_SOURCE || self.source == message.source)
            && (self.tag == ANY_TAG || self.tag == message.tag)
    }
}

/// A started send or receive.
#[derive(Debug)]
pub struct Req {
    /// The rank (of the world) that awaits it.
    owner: usize,
    /// The call that started it, and what it awaits in words' parts.
    pub site: Site,
    is_send: bool,
    peer: i32,
    /// The rank of the world that completes it, if only one can.
    pub by: Option<usize>,
    tag_asked: i32,
    done: Word,
    cancelled: AtomicBool,
    source: AtomicI32,
    tag: AtomicI32,
    bytes: AtomicUsize,
    failed: OnceLock<Error>,
}

/// What a finished request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The sender in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// Bytes of data.
    pub bytes: usize,
}

impl Req {
    /// A request that nobody has completed.
    pub fn new(
        owner: usize,
        site: Site,
        is_send: bool,
        (peer, by): (i32, Option<usize>),
        tag: i32,
    ) -> Arc<Req> {
        Arc::new(Req {
            owner,
            site,
            is_send,
            peer,
            by,
            tag_asked: tag,
            done: Word::default(),
            cancelled: AtomicBool::new(false),
            source: AtomicI32::new(ANY_SOURCE),
            tag: AtomicI32::new(ANY_TAG),
            bytes: AtomicUsize::new(0),
            failed: OnceLock::new(),
        })
    }

    /// Whether it is complete: what it says, and the receive buffer, can then be read.
    pub fn is_done(&self) -> bool {
        self.done.has_told(1)
    }

    /// What it says; the error, if the message did not fit.
    pub fn arrived(&self) -> (Arrived, Option<&Error>) {
        // Relaxed: read after `is_done`, which orders them.
        let arrived = Arrived {
            source: self.source.load(Ordering::Relaxed),
            tag: self.tag.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        };
        (arrived, self.failed.get())
    }

    /// Whether it was cancelled; read after `is_done`.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Completes it: the calling rank, `by`, does.
    pub fn complete(&self, world: &World, by: usize, arrived: Arrived) {
        self.source.store(arrived.source, Ordering::Relaxed);
        self.tag.store(arrived.tag, Ordering::Relaxed);
        self.bytes.store(arrived.bytes, Ordering::Relaxed);
        // Publishes the above and the copied data.
        self.done.tell(1);
        world.wake(by, self.owner);
    }

    /// What it awaits, in words.
    pub fn describe(&self) -> String {
        let tag = match self.tag_asked {
            ANY_TAG => "any tag".to_owned(),
            tag => format!("tag {tag}"),
        };
        match (self.is_send, self.peer) {
            (true, peer) => format!("rank {peer} of the communicator to receive, {tag}"),
            (false, ANY_SOURCE) => format!("a message from any source, {tag}"),
            (false, peer) => format!("a message from rank {peer} of the communicator, {tag}"),
        }
    }
}

/// Some of a rank's requests: one of them is awaited.
#[derive(Debug)]
pub struct OneOf(pub Vec<Arc<Req>>);

impl Condition for OneOf {
    fn holds(&self) -> bool {
        self.0.iter().any(|it| it.is_done())
    }

    fn describe(&self) -> String {
        match self.0.as_slice() {
            [one] => one.describe(),
            [first, ..] => {
                format!("one of {} requests, such as {}", self.0.len(), first.describe())
            }
            [] => "nothing".to_owned(),
        }
    }
}

#[derive(Debug)]
struct Posted {
    pattern: Envelope,
    place: Place,
    req: Arc<Req>,
}

#[derive(Debug)]
enum Body {
    Cell(Vec<u8>),
    Buffer(Place, Arc<Req>),
}

#[derive(Debug)]
struct Message {
    envelope: Envelope,
    bytes: usize,
    site: Site,
    sender: usize,
    body: Body,
}

/// A rank's posted receives and unexpected messages, each in the order of their coming.
#[derive(Debug, Default)]
pub struct Queue {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
}

impl Queue {
    /// The first message that this pattern takes.
    pub fn probe(&self, pattern: Envelope) -> Option<Arrived> {
        let message = self.unexpected.iter().find(|it| pattern.takes(&it.envelope))?;
        let Envelope { source, tag, .. } = message.envelope;
        Some(Arrived { source, tag, bytes: message.bytes })
    }
}

/// Notes an error if a message is longer than the buffer.
fn check(place: &Place, envelope: Envelope, bytes: usize, sender: usize, from: Site, req: &Req) {
    if bytes > place.bytes() {
        let text = format!(
            "a message of {bytes} bytes (tag {}) from rank {sender}, sent in {}, does not fit the \
             {} bytes of the buffer",
            envelope.tag,
            from.describe(),
            place.bytes(),
        );
        let _ = req.failed.set(Error { class: Class::Truncate, text });
    }
}

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A short one at once, a long one when it is received.
    Standard,
    /// When the receive has begun.
    Synchronous,
    /// At once.
    Buffered,
}

/// A send: from where, to whom.
#[derive(Debug)]
pub struct Send {
    /// The sender in the world.
    pub me: usize,
    /// The receiver in the world.
    pub to: usize,
    /// Its envelope.
    pub envelope: Envelope,
    /// The data.
    pub place: Place,
    /// When it is complete.
    pub mode: Mode,
}

/// Starts a send; `req` may be complete at once.
///
/// # Safety
/// The place is memory of the program as its type says, which stays valid and unchanged until `req`
/// is complete.
pub unsafe fn send(world: &World, send: Send, req: &Arc<Req>) {
    let Send { me, to, envelope, place, mode } = send;
    let bytes = place.bytes();
    let sent = Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 };
    let mut queue = lock(&world.slots[to].queue);
    if let Some(index) = queue.posted.iter().position(|it| it.pattern.takes(&envelope)) {
        let posted = queue.posted.remove(index).expect("it was found there");
        drop(queue);
        check(&posted.place, envelope, bytes, me, req.site, &posted.req);
        // SAFETY: the source is the caller's promise; the target that of `receive`'s caller, whose
        // request is not complete yet, and only this rank took it from the queue.
        let copied = unsafe { copy(&place, &posted.place) };
        let Envelope { source, tag, .. } = envelope;
        posted.req.complete(world, me, Arrived { source, tag, bytes: copied });
        req.complete(world, me, sent);
        return;
    }
    let is_stored = mode == Mode::Buffered || (bytes <= EAGER && mode == Mode::Standard);
    let body = if is_stored {
        // SAFETY: the caller's promise.
        Body::Cell(unsafe { pack(&place) })
    } else {
        Body::Buffer(place, Arc::clone(req))
    };
    queue.unexpected.push_back(Message { envelope, bytes, site: req.site, sender: me, body });
    drop(queue);
    world.wake(me, to);
    if is_stored {
        req.complete(world, me, sent);
    }
}

/// Starts a receive; `req` may be complete at once.
///
/// # Safety
/// The place is memory of the program as its type says, which stays valid and is not used until
/// `req` is complete.
pub unsafe fn receive(world: &World, me: usize, pattern: Envelope, place: Place, req: &Arc<Req>) {
    let mut queue = lock(&world.slots[me].queue);
    let Some(index) = queue.unexpected.iter().position(|it| pattern.takes(&it.envelope)) else {
        queue.posted.push_back(Posted { pattern, place, req: Arc::clone(req) });
        return;
    };
    let message = queue.unexpected.remove(index).expect("it was found there");
    drop(queue);
    let Message { envelope, bytes, site, sender, body } = message;
    check(&place, envelope, bytes, sender, site, req);
    let copied = match body {
        // SAFETY: the caller's promise.
        Body::Cell(cell) => unsafe { unpack(&cell, &place) },
        Body::Buffer(from, theirs) => {
            // SAFETY: the target is the caller's promise; the source that of `send`'s caller, whose
            // request is not complete yet.
            let copied = unsafe { copy(&from, &place) };
            theirs.complete(world, me, Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 });
            copied
        }
    };
    let Envelope { source, tag, .. } = envelope;
    req.complete(world, me, Arrived { source, tag, bytes: copied });
}

/// Takes a request back, if nobody has met it: it is complete then, and cancelled.
pub fn cancel(world: &World, me: usize, req: &Arc<Req>) {
    let none = Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 };
    let is_ours =
        |it: &Message| matches!(&it.body, Body::Buffer(_, other) if Arc::ptr_eq(other, req));
    let is_found = if req.is_send {
        world.slots.iter().any(|slot| {
            let mut queue = lock(&slot.queue);
            let found = queue.unexpected.iter().position(is_ours);
            found.is_some_and(|it| queue.unexpected.remove(it).is_some())
        })
    } else {
        let mut queue = lock(&world.slots[me].queue);
        let found = queue.posted.iter().position(|it| Arc::ptr_eq(&it.req, req));
        found.is_some_and(|it| queue.posted.remove(it).is_some())
    };
    if is_found {
        // Published by `complete`.
        req.cancelled.store(true, Ordering::Relaxed);
        req.complete(world, me, none);
    }
}

/// A message that a probe awaits.
#[derive(Debug)]
pub struct Probed {
    /// The world in which it is looked for.
    pub world: Arc<World>,
    /// The rank that probes.
    pub me: usize,
    /// What it asks for.
    pub pattern: Envelope,
}

impl Condition for Probed {
    fn holds(&self) -> bool {
        lock(&self.world.slots[self.me].queue).probe(self.pattern).is_some()
    }

    fn describe(&self) -> String {
        let Envelope { source, tag, .. } = self.pattern;
        format!("a message to probe (source {source}, tag {tag})")
    }
}
