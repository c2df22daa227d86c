//! A ring of messages from one rank to another: the sender writes a slot and goes on; the receiver
//! looks there. Tagged messages, started ones, and those of C and MPI go by such rings.
//!
//! A queue costs a message many lines that both ranks write: its lock, its list, the request. In a
//! ring the sender writes one line (two for longer messages), which the receiver reads: number,
//! head and data. If the ring is full the sender goes another way.
//!
//! ```text
//!  slots     | number, content | number, content | ..          slots of 128 bytes or more
//!  words     | the sender's |  | taken |                       on lines of their own
//!  memory    | room | .. | room |  | of slot 0 | of slot 1 | ..     made with its first message
//! ```
//!
//! Data that does not fit the content lies in a *room*: message `n` has room `n % ROOMS`; or, where
//! the users want that and none is free, in memory of the slot's own. (Rooms are few, so that they
//! stay in the near caches: a sender of many at once needs slots, a sender of one long one after
//! another needs rooms.) A slot does not say where in memory its data is: that follows from the
//! message's number.
//!
//! One rank sends. One rank at a time takes: whoever holds the lock of the receiver's queue, which
//! may be the sender. Messages are told by numbers, from 1 on: message `n` is complete once the
//! slot's number is `n`. A slot is free again once `taken` is the number of the message that lay in
//! it, and a room once all messages are taken that could have lain in it. Numbers have 64 bits and
//! do not wrap.

use crate::sync::{AtomicU64, Ordering, Site, UnsafeCell, consume, fetch, publish};
use crossbeam_utils::CachePadded;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Rooms of a ring.
const ROOMS: usize = if cfg!(loom) { 1 } else { 8 };

/// One message, and its number.
///
/// # Examples
/// See [`MessageRing`].
#[derive(Debug)]
#[repr(C, align(128))]
pub struct RingSlot<T> {
    number: AtomicU64,
    content: UnsafeCell<T>,
}

/// The counts that only the sender knows: messages sent, those that it knows to be taken, and from
/// how many sent ones on it looks again whether a room is free.
#[derive(Debug)]
struct SenderSide {
    sent: u64,
    taken: u64,
    patient: u64,
}

impl SenderSide {
    /// Whether fewer than `most` messages are under way, as far as is known.
    #[inline(always)]
    fn has_room(&self, most: usize) -> bool {
        self.sent - self.taken < most as u64
    }
}

/// Memory for data that does not fit the slots.
#[derive(Debug)]
struct LongMemory<R, O> {
    rooms: Unwritten<R>,
    /// Of the slots' own.
    own: Unwritten<O>,
}

/// Memory that nobody has touched so far.
type Unwritten<M> = Box<[UnsafeCell<MaybeUninit<M>>]>;

fn unwritten<M>(count: usize) -> Unwritten<M> {
    let mut all = Box::new_uninit_slice(count);
    for it in &mut all {
        it.write(UnsafeCell::new(MaybeUninit::uninit()));
    }
    // SAFETY: each was written.
    unsafe { all.assume_init() }
}

/// Where the data of a message is to be written: [`MessageRing::push_long`].
///
/// # Examples
/// See [`MessageRing`].
#[derive(Debug)]
pub enum LongRoom<R, O> {
    /// To its room, which holds anything.
    Room(*mut R),
    /// To the memory of its slot.
    Own(*mut O),
}

/// Short messages from one rank to another: the sender writes a slot and goes on; the receiver
/// looks there. A message is a `T`; data that does not fit it lies in one of a few rooms `R`, which
/// stay near, or in memory of the slot's own, an `O`. If the ring is full the sender goes another
/// way.
///
/// **Cost** a message that fits its slot moves one line of cache from one core to the other.
///
/// # Examples
/// ```
/// use phalanx::engine::{LongRoom, MessageRing};
/// let ring = MessageRing::<u32, [u8; 512], [u8; 256]>::new::<8>();
/// // SAFETY: of all that follows: this thread alone sends and takes.
/// unsafe {
///     let waiting = ring.awaited();
///     assert!(ring.push(|it| *it = 1) && ring.has_news() && waiting.has_come());
///     // A longer one: a room is free.
///     assert!(ring.push_long(true, |it, room| {
///         let LongRoom::Room(room) = room else { unreachable!("a room is asked for") };
///         *it = 3;
///         room.cast::<u8>().copy_from(b"abc".as_ptr(), 3);
///     }));
///     assert!((3..=8).all(|_| ring.push(|it| *it = 9)));
///     assert!(!ring.push(|it| *it = 9)); // it is full
///     assert_eq!(ring.take_if(|it, _| (*it == 7).then_some(())), Some(None)); // not this one
///     assert_eq!(ring.take(|it, _| *it), Some(1));
///     let text = ring.take(|&n, memory| memory.room(|at| (&*at)[..n as usize].to_vec()));
///     assert_eq!(text.as_deref(), Some(&b"abc"[..]));
/// }
/// ```
#[derive(Debug)]
pub struct MessageRing<T, R, O = (), S: ?Sized = [RingSlot<T>]> {
    sender: CachePadded<UnsafeCell<SenderSide>>,
    /// The number of the message that was taken last.
    taken: CachePadded<AtomicU64>,
    /// Made by the sender, before the first message that lies there.
    memory: UnsafeCell<Option<Box<LongMemory<R, O>>>>,
    of: PhantomData<T>,
    /// A power of two.
    slots: S,
}

// SAFETY: cells are used as the functions ask of their callers: the sender alone writes a slot, and
// the memory beside it, before it publishes the slot's number and after `taken` says that the
// message before has been taken; the taker reads between the two. The contents go from thread to
// thread.
unsafe impl<T: Send, R: Send, O: Send> Sync for MessageRing<T, R, O> {}
// SAFETY: nothing in a ring is tied to a thread, if its contents are not.
unsafe impl<T: Send, R: Send, O: Send> Send for MessageRing<T, R, O> {}

/// The memory of a message beside its slot, for whoever takes it.
///
/// # Examples
/// See [`MessageRing`].
#[derive(Debug)]
pub struct MessageMemory<'a, R, O> {
    memory: &'a UnsafeCell<Option<Box<LongMemory<R, O>>>>,
    room: usize,
    slot: usize,
}

impl<R, O> MessageMemory<'_, R, O> {
    /// The data that was written to its [`Room`](LongRoom::Room).
    ///
    /// # Safety
    /// The message was written there.
    #[inline(always)]
    pub unsafe fn room<U>(self, read: impl FnOnce(*const R) -> U) -> U {
        // SAFETY: its sender made the memory before it wrote there.
        let memory = self.memory.with(|it| unsafe { (*it).as_ref().unwrap_unchecked() });
        memory.rooms[self.room].with(|it| read(it.cast()))
    }

    /// The data that was written to its slot's [`Own`](LongRoom::Own).
    ///
    /// # Examples
    /// See [`MessageRing`], where the like is read from a room.
    ///
    /// # Safety
    /// The message was written there.
    #[inline(always)]
    pub unsafe fn own<U>(self, read: impl FnOnce(*const O) -> U) -> U {
        // SAFETY: as in `room`.
        let memory = self.memory.with(|it| unsafe { (*it).as_ref().unwrap_unchecked() });
        memory.own[self.slot].with(|it| read(it.cast()))
    }
}

impl<T: Default, R, O> MessageRing<T, R, O> {
    /// An empty one of so many slots: a power of two, and no fewer than rooms, as a sender that
    /// finds a free room looks for no slot.
    pub fn new<const SLOTS: usize>() -> Box<Self> {
        const { assert!(SLOTS.is_power_of_two() && SLOTS >= ROOMS) }
        let slot =
            |_| RingSlot { number: AtomicU64::new(0), content: UnsafeCell::new(T::default()) };
        Box::new(MessageRing {
            sender: CachePadded::new(UnsafeCell::new(SenderSide { sent: 0, taken: 0, patient: 0 })),
            taken: CachePadded::new(AtomicU64::new(0)),
            memory: UnsafeCell::new(None),
            of: PhantomData,
            slots: std::array::from_fn::<RingSlot<T>, SLOTS, _>(slot),
        })
    }
}

impl<T, R, O> MessageRing<T, R, O> {
    /// Where the message after so many lies.
    #[inline(always)]
    fn place(&self, before: u64) -> usize {
        before as usize & (self.slots.len() - 1)
    }

    #[inline(always)]
    fn slot(&self, before: u64) -> &RingSlot<T> {
        &self.slots[self.place(before)]
    }

    /// Sends the message that `fill` writes, if there is a free slot.
    ///
    /// # Safety
    /// One rank calls it, one call at a time.
    #[inline(always)]
    pub unsafe fn push(&self, fill: impl FnOnce(&mut T)) -> bool {
        self.sender.with_mut(|it| {
            // SAFETY: the sender's alone.
            let sender = unsafe { &mut *it };
            let has_slot = self.has_slot(sender);
            if has_slot {
                self.write_next(sender, fill);
            }
            has_slot
        })
    }

    /// Sends a longer one, of which `fill` writes the data to its room; if that is not free, to the
    /// slot's own memory, or not at all (`needs_room`).
    ///
    /// # Safety
    /// As [`push`](MessageRing::push).
    #[inline]
    pub unsafe fn push_long(
        &self,
        needs_room: bool,
        fill: impl FnOnce(&mut T, LongRoom<R, O>),
    ) -> bool {
        self.sender.with_mut(|it| {
            // SAFETY: the sender's alone.
            let sender = unsafe { &mut *it };
            let is_free = sender.has_room(ROOMS)
                || ((needs_room || sender.sent >= sender.patient)
                    && self.finds_room(sender, ROOMS));
            if !is_free {
                sender.patient = sender.sent + ROOMS as u64;
                if needs_room || !self.has_slot(sender) {
                    return false;
                }
            }
            let memory = self.memory.with(|it| {
                // SAFETY: the sender alone writes it, before the first message that lies there.
                unsafe { (*it).as_deref().map(NonNull::from) }
            });
            let memory = memory.unwrap_or_else(|| self.make_memory());
            // SAFETY: it stays as long as the ring.
            let LongMemory { rooms, own } = unsafe { memory.as_ref() };
            match is_free {
                // The messages before that had the room are taken, as fewer than `ROOMS` are not;
                // so nobody reads it.
                true => rooms[sender.sent as usize % ROOMS].with_mut(|room| {
                    self.write_next(sender, |it| fill(it, LongRoom::Room(room.cast())));
                }),
                // The slot is free, so its memory is.
                false => own[self.place(sender.sent)].with_mut(|own| {
                    self.write_next(sender, |it| fill(it, LongRoom::Own(own.cast())));
                }),
            }
            true
        })
    }

    #[cold]
    #[inline(never)]
    fn make_memory(&self) -> NonNull<LongMemory<R, O>> {
        self.memory.with_mut(|it| {
            let memory = LongMemory { rooms: unwritten(ROOMS), own: unwritten(self.slots.len()) };
            // SAFETY: as in `push_long`: nobody reads it before the first message that lies there.
            NonNull::from(&mut **unsafe { (*it).insert(Box::new(memory)) })
        })
    }

    /// Whether a slot is free.
    #[inline(always)]
    fn has_slot(&self, sender: &mut SenderSide) -> bool {
        let slots = self.slots.len();
        sender.has_room(slots) || self.finds_room(sender, slots)
    }

    /// Looks how many messages are taken: whether fewer than `most` are under way.
    #[inline]
    fn finds_room(&self, sender: &mut SenderSide, most: usize) -> bool {
        // Ordering: pairs with the store in `pass`: the taken messages have been read.
        sender.taken = self.taken.load(consume(Site::Ack));
        sender.has_room(most)
    }

    /// Sends one: there is a free slot.
    #[inline(always)]
    fn write_next(&self, sender: &mut SenderSide, fill: impl FnOnce(&mut T)) {
        let slot = self.slot(sender.sent);
        // SAFETY: the content that lay there has been taken, so nobody reads it.
        slot.content.with_mut(|it| fill(unsafe { &mut *it }));
        sender.sent += 1;
        // Ordering: pairs with the load in `has_come`: the message is complete.
        slot.number.store(sender.sent, publish(Site::Word));
    }

    /// Messages that were taken.
    #[inline(always)]
    fn taken(&self) -> u64 {
        // Relaxed: written by the takers, one at a time; a hint for all others.
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether there is a message. A hint to a rank that may not take it.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        self.awaited().has_come()
    }

    /// The next message to be taken, once it has come.
    #[inline(always)]
    pub fn awaited(&self) -> AwaitedMessage<'_> {
        let before = self.taken();
        AwaitedMessage { word: &self.slot(before).number, number: before + 1 }
    }

    /// Looks at the message after so many, which is there.
    ///
    /// # Safety
    /// It has been published, and is not taken before this returns.
    #[inline(always)]
    unsafe fn read<U>(&self, before: u64, run: impl FnOnce(&T, MessageMemory<'_, R, O>) -> U) -> U {
        let (slot, room) = (self.place(before), before as usize % ROOMS);
        let memory = MessageMemory { memory: &self.memory, room, slot };
        // SAFETY: published, and not taken: the sender leaves it alone.
        self.slots[slot].content.with(|it| run(unsafe { &*it }, memory))
    }

    /// The message after so many has been read.
    #[inline(always)]
    fn pass(&self, before: u64) {
        // Ordering: pairs with the load in `finds_room`: it has been read.
        self.taken.store(before + 1, publish(Site::Ack));
    }

    /// Takes the first message.
    ///
    /// # Safety
    /// Of those that may take, one at a time; each sees the writes of the one before.
    #[inline(always)]
    pub unsafe fn take<U>(&self, run: impl FnOnce(&T, MessageMemory<'_, R, O>) -> U) -> Option<U> {
        // SAFETY: passed on.
        unsafe { self.take_if(|it, memory| Some(run(it, memory))) }?
    }

    /// Takes the first message, unless `run` gives nothing: then it stays.
    ///
    /// # Safety
    /// As [`take`](MessageRing::take).
    #[inline(always)]
    pub unsafe fn take_if<U>(
        &self,
        run: impl FnOnce(&T, MessageMemory<'_, R, O>) -> Option<U>,
    ) -> Option<Option<U>> {
        let awaited = self.awaited();
        if !awaited.has_come() {
            return None;
        }
        let before = awaited.number - 1;
        // In a stream the next message is there already, and comes while this one is taken. If it
        // is not, its slot is in this core's cache still: nothing moves.
        fetch(std::ptr::from_ref(self.slot(before + 1)).cast());
        // SAFETY: it is there, and nobody else takes.
        let result = unsafe { self.read(before, run) };
        if result.is_some() {
            self.pass(before);
        }
        Some(result)
    }
}

/// A message that is to be taken next, to be looked for again and again: [`MessageRing::awaited`].
///
/// # Examples
/// See [`MessageRing`].
#[derive(Clone, Copy, Debug)]
pub struct AwaitedMessage<'a> {
    word: &'a AtomicU64,
    number: u64,
}

impl AwaitedMessage<'_> {
    /// Whether it is there; or has been taken already, by another one that may.
    #[inline(always)]
    pub fn has_come(&self) -> bool {
        // Ordering: pairs with the store in `write_next`.
        self.word.load(consume(Site::Word)) >= self.number
    }
}
