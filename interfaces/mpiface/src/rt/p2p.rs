//! Point to point: each rank owns a queue of posted receives and of messages that came unexpected;
//! the sender looks into the receiver's queue, and the second comer copies.
//!
//! | first | second | copies |
//! |---|---|---|
//! | send, up to `EAGER` bytes | receive, or a look of a waiting rank | both, by a ring |
//! | the same, the ring being full | receive | the sender into the queue, the receiver from it |
//! | receive | longer send, or a synchronous one | the sender, from buffer to buffer |
//! | longer send, or a synchronous one | receive | the receiver, from the sender's buffer |
//!
//! Short messages lie in rings (the library's `MessageRing`), which the receiver looks at when it
//! posts a receive, probes, tests or waits. So no send ever needs a call of the receiver, but the
//! synchronous and the long ones: their receive is such a call. Order is the order of locking, as
//! MPI demands it: a rank that goes to a queue takes its own ring's messages there first, and only
//! the lock's holder takes from rings. Matches are found by the library's list (`MatchList`), of
//! few and of many. A request's `done`, and a ring's words, are read without the lock.

use super::envelope::{ANY_SOURCE, ANY_TAG, EAGER, Envelope};
use super::error::{Class, Error, Site};
use super::mutex::lock;
use super::request::{Arrived, Kind, Req, SENT};
use super::short_message::{MIDDLE, NewMemory, ROOM, Short, ShortMemory, ShortRing};
use super::standings::Condition;
use super::types::{Place, Solid, copy, move_bytes};
use super::world::World;
use phalanx::engine::{KeptBytes, MatchList};
use std::fmt::Display;
use std::slice;
use std::sync::Arc;

/// Some of a rank's requests: one of them is awaited.
#[derive(Debug)]
pub struct OneOf {
    /// The world.
    pub world: Arc<World>,
    /// The rank that waits.
    pub me: usize,
    /// Its requests.
    pub all: Vec<Arc<Req>>,
}

impl Condition for OneOf {
    fn holds(&self) -> bool {
        // A message in a ring may be for one of them: the rank will see.
        let may_come =
            |it: &Req| it.ask.kind == Kind::Receive && self.world.has_arrivals(self.me, it.ask.by);
        // Nobody knows when a thread of the program will complete its own.
        let is_general = |it: &Req| it.ask.kind == Kind::General;
        let may_go_on = |it: &Req| it.ask.open.is_some_and(|it| self.world.has_shown(it));
        let holds = |it: &Req| it.is_done() || may_come(it) || is_general(it) || may_go_on(it);
        self.all.iter().any(|it| holds(it))
    }

    fn describe(&self) -> String {
        match self.all.as_slice() {
            [one] => one.describe(),
            [first, ..] => {
                format!("one of {} requests, such as {}", self.all.len(), first.describe())
            }
            [] => "nothing".to_owned(),
        }
    }

    fn beside(&self) -> String {
        let is_message = self.all.iter().any(|it| it.ask.kind == Kind::Receive);
        if is_message { beside(&self.world, self.me) } else { String::new() }
    }
}

/// The entries of a rank's queue, in words, if that is free.
fn beside(world: &World, rank: usize) -> String {
    world.slots[rank].queue.try_lock().map_or(String::new(), |it| it.describe())
}

#[derive(Debug)]
struct Posted {
    place: Place,
    req: Arc<Req>,
}

/// The rank's own name of a message, or of a receive.
fn name_of(req: &Arc<Req>) -> u64 {
    Arc::as_ptr(req).addr() as u64
}

/// The stored form of a message.
#[derive(Debug)]
enum Body {
    Kept(KeptBytes),
    Buffer(Place, Arc<Req>),
}

/// A message that waits for its receive.
#[derive(Debug)]
pub struct Message {
    envelope: Envelope,
    bytes: usize,
    site: Site,
    sender: usize,
    body: Body,
}

impl Message {
    /// The sender's name of it, if that may take it back.
    fn name(&self) -> u64 {
        match &self.body {
            Body::Buffer(_, req) => name_of(req),
            Body::Kept(_) => 0,
        }
    }

    /// The number of its communicator.
    pub fn context(&self) -> u32 {
        self.envelope.context
    }

    /// Its kind afterwards.
    pub fn arrived(&self) -> Arrived {
        let Envelope { source, tag, .. } = self.envelope;
        Arrived { source, tag, bytes: self.bytes }
    }
}

/// A short message that has come: tag and length, in one word. (A value that is given in
/// memory, and read there in other pieces, waits until all older stores are in the cache.)
#[derive(Clone, Copy, Debug)]
pub struct Came(u64);

impl Came {
    /// So many bytes came, with this tag.
    #[inline]
    pub fn of(bytes: usize, tag: i32) -> Came {
        Came((bytes as u64) << 32 | u64::from(tag as u32))
    }

    /// The result of its receive, by the sender in the communicator.
    #[inline(always)]
    pub fn from(self, source: i32) -> Arrived {
        Arrived { source, tag: self.0 as u32 as i32, bytes: (self.0 >> 32) as usize }
    }
}

/// A rank's posted receives and unexpected messages, each in the order of their coming.
#[derive(Debug, Default)]
pub struct Queue {
    list: MatchList<Message, Posted, u32>,
    /// Messages that others have left here.
    left: u64,
}

impl Queue {
    /// A message waits for its receive, of rank `to`, which may look for it without a request.
    fn leave(&mut self, world: &World, to: usize, message: Message) {
        let Envelope { context, .. } = message.envelope;
        self.list.push(context, message.envelope.label(), message.name(), message);
        self.left += 1;
        world.slots[to].left.tell(self.left);
    }

    /// A short message of rank `sender` comes to its receive, or waits for one. The calling rank is
    /// `by`.
    pub fn arrive(
        &mut self,
        world: &World,
        (by, to): (usize, usize),
        sender: usize,
        (short, memory): (&Short, ShortMemory<'_>),
    ) {
        let Short { envelope, site, .. } = *short;
        let bytes = short.bytes();
        let Some(posted) = self.take_posted(&envelope) else {
            let data = short.data(memory);
            // SAFETY: there is room for as many.
            let copy = |to| unsafe { move_bytes(data.as_ptr() as usize, to as usize, bytes) };
            let body = Body::Kept(KeptBytes::new(bytes, copy));
            self.leave(world, to, Message { envelope, bytes, site, sender, body });
            return;
        };
        let failed = too_long(&posted.place, envelope, bytes, sender, site);
        failed.into_iter().for_each(|it| posted.req.fail(it));
        // SAFETY: the target is the promise of `receive`'s caller; its request is not complete
        // yet, and only this rank took it from the queue.
        let copied = unsafe { posted.place.write(short.data(memory)) };
        let Envelope { source, tag, .. } = envelope;
        posted.req.complete(world, by, Arrived { source, tag, bytes: copied });
    }

    /// The messages in the ring from this rank, or in all, come to this queue, of rank `to`.
    fn take_in(&mut self, world: &World, by: usize, to: usize, from: Option<usize>) {
        let mut from_one = |from| {
            let Some(ring) = world.ring(to, from) else { return };
            // SAFETY: the queue is locked, and the holder of the lock is alone here.
            while unsafe { ring.take(|it, at| self.arrive(world, (by, to), from, (it, at))) }
                .is_some()
            {}
        };
        match from {
            Some(from) => from_one(from),
            None => (0..world.slots.len()).for_each(from_one),
        }
    }

    /// Whether no receive is posted, and no message lies here.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.list.count() == 0
    }

    /// Whether a receive is posted.
    #[inline]
    fn has_posted(&self) -> bool {
        self.list.count_posted() > 0
    }

    /// Takes the first receive out that takes a message.
    #[inline]
    fn take_posted(&mut self, message: &Envelope) -> Option<Posted> {
        let (at, ..) = self.list.find_posted(message.context, message.label())?;
        self.list.take_posted(at)
    }

    /// Messages that have come and that nobody has asked for, in words: the first ones.
    pub fn describe(&self) -> String {
        const NAMED: usize = 3;
        let mut text = String::new();
        for (.., it) in self.list.messages().take(NAMED) {
            let Message { envelope, bytes, site, sender, .. } = it;
            text.push_str(&format!(
                "\n    has come, and is not asked for: \
                 tag {}, {bytes} bytes from rank {sender}, {}",
                envelope.tag,
                site.describe()
            ));
        }
        let more = (self.list.count() - self.list.count_posted()).saturating_sub(NAMED);
        if more > 0 {
            text.push_str(&format!("\n    and {more} more messages"));
        }
        text
    }

    /// Takes the first message for this pattern out.
    pub fn take(&mut self, pattern: Envelope) -> Option<Message> {
        let at = self.list.find(pattern.context, pattern.pattern())?;
        self.list.take(at)
    }

    /// The first message that this pattern takes.
    pub fn probe(&mut self, pattern: Envelope) -> Option<Arrived> {
        let at = self.list.find(pattern.context, pattern.pattern())?;
        self.list.message(at).map(|(.., message)| message.arrived())
    }

    /// Takes the receive of a request back, if nobody has met it.
    fn withdraw_receive(&mut self, req: &Arc<Req>) -> bool {
        self.list.withdraw_posted(name_of(req)).is_some()
    }

    /// The same of a message.
    fn withdraw_message(&mut self, req: &Arc<Req>) -> bool {
        self.list.withdraw(name_of(req)).is_some()
    }
}

/// The error of a message that is longer than the buffer.
#[inline]
pub fn too_long(
    place: &Place,
    envelope: Envelope,
    bytes: usize,
    sender: usize,
    from: Site,
) -> Option<Box<Error>> {
    let room = place.bytes();
    (bytes > room).then(|| Box::new(longer(room, envelope, bytes, sender, from)))
}

#[cold]
fn longer(room: usize, envelope: Envelope, bytes: usize, sender: usize, from: Site) -> Error {
    let Envelope { context, tag, .. } = envelope;
    let before = format!("a message of {bytes} bytes (tag {tag}) from rank {sender}, sent in ");
    let after = format!(", does not fit the {room} bytes of the buffer");
    Error::naming(Class::Truncate, before, from, after).on(context)
}

/// The error of a rank that gives, in this call, another length than is expected.
#[cold]
pub fn unequal((rank, site): (impl Display, Site), given: usize, expected: usize) -> Error {
    let before = format!("rank {rank} gives {given} bytes in ");
    Error::naming(Class::Truncate, before, site, format!(", and {expected} are expected"))
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
    /// The call.
    pub site: Site,
}

/// Starts a send: it is complete, or the request will be that `make` makes.
///
/// # Safety
/// The place is memory of the program as its type says, which stays valid and unchanged until the
/// send is complete.
#[inline(always)]
pub unsafe fn send(world: &World, send: Send, make: impl FnOnce() -> Arc<Req>) -> Option<Arc<Req>> {
    let Send { me, to, envelope, ref place, mode, site } = send;
    let bytes = place.bytes();
    let is_buffered = mode != Mode::Synchronous;
    if bytes <= ROOM && is_buffered && to != me {
        // SAFETY: the caller's promise.
        let fill = |it: &mut Short| unsafe { it.write(envelope, place, site) };
        // SAFETY: a rank's calls come one at a time.
        if unsafe { world.new_ring(to, me).push(fill) } {
            world.wake(me, to);
            return None;
        }
    }
    // SAFETY: passed on.
    unsafe { send_otherwise(world, send, make) }
}

/// Sends a short message without gaps, of this address and so many bytes, if its ring is there and
/// has room: it is complete then. Else nothing has happened.
///
/// # Safety
/// As `send`.
#[inline(always)]
pub unsafe fn send_at_once(
    world: &World,
    (me, to): (usize, usize),
    envelope: Envelope,
    solid: Solid,
    site: Site,
) -> bool {
    if solid.1 > ROOM || to == me {
        return false;
    }
    let Some(ring) = world.ring(to, me) else { return false };
    // SAFETY: the caller's promise; a rank's calls come one at a time.
    let is_sent = unsafe { ring.push(|it| it.write(envelope, &solid, site)) };
    if is_sent {
        world.wake(me, to);
    }
    is_sent
}

/// The same of a longer one, or if the ring is full.
///
/// # Safety
/// As `send`.
#[inline(never)]
unsafe fn send_otherwise(
    world: &World,
    send: Send,
    make: impl FnOnce() -> Arc<Req>,
) -> Option<Arc<Req>> {
    let (me, to, bytes) = (send.me, send.to, send.place.bytes());
    if bytes <= world.ring_bytes() && send.mode != Mode::Synchronous && to != me {
        let ring = world.new_ring(to, me);
        let long = |it: &mut Short, memory: NewMemory| {
            // SAFETY: as in `send`.
            unsafe { it.write_long(memory, &send, bytes) }
        };
        let is_there = match bytes <= ROOM {
            // SAFETY: as in `send`.
            true => world.has_room_soon(|| unsafe {
                ring.push(|it| it.write(send.envelope, &send.place, send.site))
            }),
            // SAFETY: as in `send`.
            false => unsafe { ring.push_long(bytes > MIDDLE, long) },
        };
        if is_there {
            world.wake(me, to);
            return None;
        }
    }
    // SAFETY: passed on.
    unsafe { send_by_queue(world, send, make) }
}

/// The same by the receiver's queue.
///
/// # Safety
/// As `send`.
pub unsafe fn send_by_queue(
    world: &World,
    send: Send,
    make: impl FnOnce() -> Arc<Req>,
) -> Option<Arc<Req>> {
    let Send { me, to, envelope, place, mode, site } = send;
    let bytes = place.bytes();
    let mut queue = lock(&world.slots[to].queue);
    // The messages that it sent before come before.
    queue.take_in(world, me, to, Some(me));
    if let Some(posted) = queue.take_posted(&envelope) {
        drop(queue);
        let failed = too_long(&posted.place, envelope, bytes, me, site);
        failed.into_iter().for_each(|it| posted.req.fail(it));
        // SAFETY: the source is the caller's promise; the target that of `receive`'s caller: its
        // request is not complete yet, and only this rank took it from the queue.
        let copied = unsafe { copy(&place, &posted.place) };
        let Envelope { source, tag, .. } = envelope;
        posted.req.complete(world, me, Arrived { source, tag, bytes: copied });
        return None;
    }
    let is_stored = mode == Mode::Buffered || (bytes <= EAGER && mode == Mode::Standard);
    let (body, req) = if is_stored {
        // SAFETY: the caller's promise; there is room for so many bytes.
        (Body::Kept(KeptBytes::new(bytes, |to| unsafe { place.read(to) })), None)
    } else {
        let req = make();
        (Body::Buffer(place, Arc::clone(&req)), Some(req))
    };
    queue.leave(world, to, Message { envelope, bytes, site, sender: me, body });
    drop(queue);
    world.wake(me, to);
    req
}

/// Receives a message that is there, of rank `by` if that is known; else the request of a receive
/// that awaits it, which `make` makes: very many that are complete at once need none.
///
/// # Safety
/// The place is memory of the program as its type says, which stays valid and is not used until
/// the request is complete.
pub unsafe fn receive(
    world: &World,
    (me, by): (usize, Option<usize>),
    pattern: Envelope,
    place: Place,
    make: impl FnOnce() -> Arc<Req>,
) -> Result<Received, Arc<Req>> {
    let mut queue = lock(&world.slots[me].queue);
    // Earlier messages are for the receives before.
    queue.take_in(world, me, me, by);
    let Some(message) = queue.take(pattern) else {
        let req = make();
        let posted = Posted { place, req: Arc::clone(&req) };
        queue.list.post(pattern.context, pattern.pattern(), name_of(&req), posted);
        return Err(req);
    };
    drop(queue);
    // SAFETY: the caller's promise.
    Ok(unsafe { deliver(world, me, message, &place) })
}

/// Takes in the messages in this rank's rings, of one rank or of all.
#[inline]
pub fn look(world: &World, me: usize, from: Option<usize>) {
    if world.has_arrivals(me, from) {
        lock(&world.slots[me].queue).take_in(world, me, me, from);
    }
}

/// The result of a receive: the message, and the error if it did not fit.
pub type Received = (Arrived, Option<Box<Error>>);

/// Receives a message of rank `by` without a request, if it comes soon: a message that the rank
/// waits for needs no more than its ring.
///
/// # Safety
/// As `receive`.
#[inline]
pub unsafe fn receive_soon(
    world: &World,
    (me, by): (usize, usize),
    pattern: Envelope,
    place: &Place,
) -> Option<Received> {
    let slot = &world.slots[me];
    let mut seen = None;
    let mut ring = None;
    let look = || {
        let left = slot.left.told();
        ring = ring.or_else(|| world.ring(me, by));
        if seen == Some(left) && !ring.is_some_and(ShortRing::has_news) {
            return None;
        }
        seen = Some(left);
        // SAFETY: passed on.
        unsafe { receive_now(world, (me, by), pattern, place) }
    };
    if place.bytes() > world.ring_bytes() {
        // Where ranks share cores, the sender copies it in its turn, if it finds the receive.
        return world.look_for(look);
    }
    world.soon(me, look)
}

/// Receives a message of rank `by` to bytes without gaps, if it comes soon, by a ring, and is the
/// first there: without the steps that other messages need. (Of 8 bytes a receive takes 340
/// instructions so, and 570 by `receive_soon`; a send by `send_at_once` 370, and 590 by `send`:
/// `tests/cost`, of builds with and without.) `left`: the queue's number, by which nothing lies
/// there. If it gives nothing, nothing has happened.
///
/// # Safety
/// As `receive`.
#[inline(always)]
pub unsafe fn receive_at_once(
    world: &World,
    (me, by): (usize, usize),
    pattern: Envelope,
    solid: Solid,
    left: u64,
) -> Option<Came> {
    let ring = world.ring(me, by)?;
    let slot = &world.slots[me];
    let awaited = ring.awaited();
    for _ in 0..world.eager_looks() {
        if awaited.has_come() {
            let queue = lock(&slot.queue);
            // Receives that were posted before come first.
            if !queue.is_quiet() {
                return None;
            }
            // SAFETY: the queue is locked; the rest is the caller's promise.
            let taken =
                unsafe { ring.take_if(|it, memory| it.deliver_at_once(memory, &pattern, solid)) };
            return taken.flatten();
        }
        if slot.left.told() != left {
            return None;
        }
    }
    None
}

/// Receives a message of rank `by`, if it is there.
///
/// # Safety
/// As `receive`.
unsafe fn receive_now(
    world: &World,
    (me, by): (usize, usize),
    pattern: Envelope,
    place: &Place,
) -> Option<Received> {
    let mut queue = lock(&world.slots[me].queue);
    // Receives that were posted before come first.
    let is_first = !queue.has_posted();
    if !is_first {
        queue.take_in(world, me, me, Some(by));
    }
    if let Some(message) = queue.take(pattern) {
        drop(queue);
        // SAFETY: the caller's promise.
        return Some(unsafe { deliver(world, me, message, place) });
    }
    if !is_first {
        return None;
    }
    let ring = world.ring(me, by)?;
    loop {
        let queue = &mut *queue;
        let one = |short: &Short, memory: ShortMemory<'_>| {
            if !short.is_for(&pattern) {
                queue.arrive(world, (me, me), by, (short, memory));
                return None;
            }
            // SAFETY: the caller's promise.
            Some(unsafe { short.deliver(memory, place, by) })
        };
        // SAFETY: the queue is locked.
        if let Some(received) = unsafe { ring.take(one) }? {
            return Some(received);
        }
    }
}

/// Receives a message that was taken from the queue.
///
/// # Safety
/// As `receive`.
pub unsafe fn deliver(world: &World, me: usize, message: Message, place: &Place) -> Received {
    let Message { envelope, bytes, site, sender, body } = message;
    let failed = too_long(place, envelope, bytes, sender, site);
    let copied = match body {
        // SAFETY: so many were written there; the caller's promise.
        Body::Kept(kept) => unsafe { place.write(slice::from_raw_parts(kept.at(), bytes)) },
        Body::Buffer(from, theirs) => {
            // SAFETY: the target is the caller's promise; the source that of `send`'s caller: its
            // request is not complete yet.
            let copied = unsafe { copy(&from, place) };
            theirs.complete(world, me, SENT);
            copied
        }
    };
    let Envelope { source, tag, .. } = envelope;
    (Arrived { source, tag, bytes: copied }, failed)
}

/// Takes a request back, if nobody has met it: it is complete then, and cancelled.
pub fn cancel(world: &World, me: usize, req: &Arc<Req>) {
    let none = Arrived { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0 };
    if matches!(req.ask.kind, Kind::Collective | Kind::General) {
        return;
    }
    let is_found = match (req.ask.kind, req.ask.by) {
        (Kind::Send, Some(to)) => lock(&world.slots[to].queue).withdraw_message(req),
        (Kind::Send, None) => false,
        _ => lock(&world.slots[me].queue).withdraw_receive(req),
    };
    if is_found {
        // Published by `complete`.
        req.cancel();
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
    /// Source and tag that it asks for.
    pub pattern: Envelope,
    /// The rank of the world that sends it, if only one can.
    pub by: Option<usize>,
}

impl Condition for Probed {
    fn holds(&self) -> bool {
        self.world.has_arrivals(self.me, self.by)
            || lock(&self.world.slots[self.me].queue).probe(self.pattern).is_some()
    }

    fn describe(&self) -> String {
        let Envelope { source, tag, .. } = self.pattern;
        let from = match source {
            ANY_SOURCE => "any source".to_owned(),
            source => format!("rank {source} of the communicator"),
        };
        let tag = if tag == ANY_TAG { "any tag".to_owned() } else { format!("tag {tag}") };
        format!("a message from {from} to probe, {tag}")
    }

    fn beside(&self) -> String {
        beside(&self.world, self.me)
    }
}
