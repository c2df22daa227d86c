//! A lane: short messages from one rank to another, each in lines of its own.
//!
//! A queue costs a message many lines that both ranks write: its lock, its list, the request. In a
//! lane the sender writes one line (two for the longer messages), which the receiver reads: number,
//! envelope and data. Data that does not fit lies in memory of the slot's own, which stays with it,
//! or in one of a few rooms: message `n` has room `n % ROOMS`. (Few, so that they stay in the near
//! caches: who sends many at once needs slots, who sends a long one after another needs rooms.) The
//! lane is a ring; if it is full, the sender goes by the queue.
//!
//! One rank sends. One at a time takes: of messages, the rank that holds the lock of the receiver's
//! queue, which may be the sender itself; of parts (`parts.rs`), the receiver. Slots are told by
//! numbers that grow by a ring's length each round; a slot is free again once `taken` has told the
//! number that lay in it, and a room once all messages are taken that could have lain in it. Its
//! model is in `loom/`, which compiles this file.

#[cfg(loom)]
use loom::cell::UnsafeCell;

use super::fetch;
use super::word::Word;

/// Rooms of a lane.
pub const ROOMS: usize = if cfg!(loom) { 1 } else { 8 };

/// A cell that loom can watch.
#[cfg(not(loom))]
#[derive(Debug)]
struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    fn with<R>(&self, run: impl FnOnce(*const T) -> R) -> R {
        run(self.0.get().cast_const())
    }

    #[inline]
    fn with_mut<R>(&self, run: impl FnOnce(*mut T) -> R) -> R {
        run(self.0.get())
    }
}

#[derive(Debug)]
#[repr(C, align(128))]
struct Slot<T> {
    told: Word,
    content: UnsafeCell<T>,
}

/// On lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// What only the sender knows: messages sent, those that it knows to be taken, and how many will be
/// sent before it looks again whether a room is free.
#[derive(Debug)]
struct Sender {
    sent: u64,
    taken: u64,
    patient: u64,
}

impl Sender {
    /// Whether fewer than `most` messages are under way, as far as is known.
    #[inline(always)]
    fn has_room(&self, most: usize) -> bool {
        self.sent - self.taken < most as u64
    }
}

/// See the head of the file.
#[derive(Debug)]
pub struct Lane<T, R> {
    /// A power of two.
    slots: Box<[Slot<T>]>,
    rooms: [UnsafeCell<R>; ROOMS],
    taken: Apart<Word>,
    /// The same number, for who takes: the sender does not touch its line.
    next: Apart<UnsafeCell<u64>>,
    sender: Apart<UnsafeCell<Sender>>,
}

// SAFETY: the cells are used as `push` and `take` ask of their callers; words order the accesses to
// a slot and to a room. The contents go from thread to thread.
unsafe impl<T: Send, R: Send> Sync for Lane<T, R> {}

impl<T: Default, R: Default> Lane<T, R> {
    /// An empty one of so many slots: a power of two.
    pub fn new(slots: usize) -> Lane<T, R> {
        let slot = |_| Slot { told: Word::default(), content: UnsafeCell::new(T::default()) };
        Lane {
            slots: (0..slots.next_power_of_two()).map(slot).collect(),
            rooms: std::array::from_fn(|_| UnsafeCell::new(R::default())),
            taken: Apart(Word::default()),
            next: Apart(UnsafeCell::new(0)),
            sender: Apart(UnsafeCell::new(Sender { sent: 0, taken: 0, patient: 0 })),
        }
    }
}

impl<T, R> Lane<T, R> {
    #[inline]
    fn slot(&self, number: u64) -> &Slot<T> {
        &self.slots[number as usize & (self.slots.len() - 1)]
    }

    #[inline]
    fn room(&self, number: u64) -> &UnsafeCell<R> {
        &self.rooms[number as usize % ROOMS]
    }

    /// Sends what `fill` writes, if there is a free slot.
    ///
    /// # Safety
    /// One rank calls it, one call at a time.
    #[inline(always)]
    pub unsafe fn push(&self, fill: impl FnOnce(&mut T)) -> bool {
        self.sender.0.with_mut(|it| {
            // SAFETY: the sender's alone.
            let sender = unsafe { &mut *it };
            if !sender.has_room(self.slots.len()) && !self.finds_room(sender, self.slots.len()) {
                return false;
            }
            self.send(sender, fill);
            true
        })
    }

    /// Sends a longer one, which `fill` writes to its room; if that is not free, to the slot's own
    /// memory, or not at all (`needs_room`).
    ///
    /// # Safety
    /// As `push`.
    #[inline]
    pub unsafe fn push_long(
        &self,
        needs_room: bool,
        fill: impl FnOnce(&mut T, Option<&mut R>),
    ) -> bool {
        self.sender.0.with_mut(|it| {
            // SAFETY: the sender's alone.
            let sender = unsafe { &mut *it };
            let is_free = sender.has_room(ROOMS)
                || ((needs_room || sender.sent >= sender.patient)
                    && self.finds_room(sender, ROOMS));
            if is_free {
                let room = self.room(sender.sent);
                // SAFETY: the messages before that had the room are taken, as fewer than `ROOMS`
                // are not; so nobody reads it.
                room.with_mut(|room| self.send(sender, |it| fill(it, Some(unsafe { &mut *room }))));
                return true;
            }
            sender.patient = sender.sent + ROOMS as u64;
            if needs_room
                || !sender.has_room(self.slots.len()) && !self.finds_room(sender, self.slots.len())
            {
                return false;
            }
            self.send(sender, |it| fill(it, None));
            true
        })
    }

    /// Looks how many messages are taken: whether fewer than `most` are under way.
    #[inline]
    fn finds_room(&self, sender: &mut Sender, most: usize) -> bool {
        sender.taken = self.taken.0.told();
        sender.has_room(most)
    }

    /// Sends one: there is a free slot.
    #[inline(always)]
    fn send(&self, sender: &mut Sender, fill: impl FnOnce(&mut T)) {
        let slot = self.slot(sender.sent);
        // SAFETY: what lay there has been taken, so nobody reads it.
        slot.content.with_mut(|it| fill(unsafe { &mut *it }));
        sender.sent += 1;
        slot.told.tell(sender.sent);
    }

    /// In a stream: the slot of a message to come is fetched to be written. So many messages on,
    /// its receiver does not look at it yet.
    ///
    /// # Safety
    /// As `push`.
    #[inline(always)]
    pub unsafe fn fetch_ahead(&self) {
        const AHEAD: u64 = 3;
        // SAFETY: the sender's alone.
        let sent = self.sender.0.with(|it| unsafe { (*it).sent });
        fetch::to_write(self.slot(sent + AHEAD));
    }

    /// The number of messages sent: the last one's.
    ///
    /// # Safety
    /// As `push`.
    #[inline]
    pub unsafe fn sent(&self) -> u64 {
        // SAFETY: the sender's alone.
        self.sender.0.with(|it| unsafe { (*it).sent })
    }

    /// Whether the message of this number has been taken: what it told of is no longer in use.
    #[inline]
    pub fn has_taken(&self, number: u64) -> bool {
        self.taken.0.has_told(number)
    }

    /// Whether the sender, which knows of no room, finds none, or not for half of a ring.
    ///
    /// # Safety
    /// As `push`.
    #[inline]
    pub unsafe fn is_crowded(&self) -> bool {
        self.sender.0.with_mut(|it| {
            // SAFETY: the sender's alone.
            let sender = unsafe { &mut *it };
            let slots = self.slots.len() as u64;
            sender.sent - sender.taken == slots && sender.sent - self.taken.0.told() > slots / 2
        })
    }

    /// Whether there is nothing to take, for all that the caller can know.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let taken = self.taken.0.told();
        !self.slot(taken).told.has_told(taken + 1)
    }

    /// Where the next message to be taken will be told of, and its number: it is there, or has been
    /// taken already, once that is told.
    #[inline(always)]
    pub fn awaited(&self) -> (&Word, u64) {
        let taken = self.taken.0.told();
        (&self.slot(taken).told, taken + 1)
    }

    /// Takes the first message: `run` is given its room, too, in which it may lie.
    ///
    /// # Safety
    /// One call at a time, each after the one before.
    #[inline]
    pub unsafe fn take<U>(&self, run: impl FnOnce(&T, &R) -> U) -> Option<U> {
        // SAFETY: passed on.
        unsafe { self.take_if(|it, room| Some(run(it, room))) }?
    }

    /// The same, unless `run` gives nothing: then the message stays.
    ///
    /// # Safety
    /// As `take`.
    #[inline(always)]
    pub unsafe fn take_if<U>(&self, run: impl FnOnce(&T, &R) -> Option<U>) -> Option<Option<U>> {
        // SAFETY: who takes does so after the take before.
        let taken = self.next.0.with(|it| unsafe { *it });
        let slot = self.slot(taken);
        if !slot.told.has_told(taken + 1) {
            return None;
        }
        // In a stream the next message is there already, and comes while this one is taken. If it
        // is not, its slot is in this core's cache still: nothing moves.
        fetch::to_read(self.slot(taken + 1));
        // SAFETY: both are told, and are not written until it is taken: a room only by a message
        // that is so much later that this one is taken then.
        let result = slot
            .content
            .with(|it| self.room(taken).with(|room| run(unsafe { &*it }, unsafe { &*room })));
        if result.is_some() {
            // SAFETY: as above.
            self.next.0.with_mut(|it| unsafe { *it = taken + 1 });
            self.taken.0.tell(taken + 1);
        }
        Some(result)
    }
}
