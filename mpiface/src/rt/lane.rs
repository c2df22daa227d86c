//! A lane: short messages from one rank to another, each in lines of its own.
//!
//! A queue costs a message many lines that both ranks write: its lock, its list, the request. In a
//! lane the sender writes one line (two for the longer messages), which the receiver reads: number,
//! envelope and data. Data that does not fit lies in memory of the slot's own, which stays with it.
//! The lane is a ring; if it is full, the sender goes by the queue.
//!
//! One rank sends. One at a time takes: the rank that holds the lock of the receiver's queue, which
//! may be the sender itself. Slots are told by numbers that grow by a ring's length each round; a
//! slot is free again once `taken` has told the number that lay in it. Its model is in `loom/`,
//! which compiles this file.

#[cfg(loom)]
use loom::cell::UnsafeCell;

use super::word::Word;

/// Messages in a lane.
pub const SLOTS: usize = if cfg!(loom) { 2 } else { 8 };

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

/// A hint that the first line of a slot will be read.
#[inline(always)]
fn fetch<T>(_slot: &Slot<T>) {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it has no effect but on the caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(_slot).cast()) };
    }
}

/// On lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// What only the sender knows: messages sent, and those that it knows to be taken.
#[derive(Debug)]
struct Sender {
    sent: u64,
    taken: u64,
}

/// See the head of the file.
#[derive(Debug)]
pub struct Lane<T> {
    slots: Box<[Slot<T>; SLOTS]>,
    taken: Apart<Word>,
    sender: Apart<UnsafeCell<Sender>>,
}

// SAFETY: the cells are used as `push` and `take` ask of their callers; words order the accesses to
// a slot. The contents go from thread to thread.
unsafe impl<T: Send> Sync for Lane<T> {}

impl<T: Default> Default for Lane<T> {
    /// An empty one.
    fn default() -> Lane<T> {
        let slot = |_| Slot { told: Word::default(), content: UnsafeCell::new(T::default()) };
        Lane {
            slots: Box::new(std::array::from_fn(slot)),
            taken: Apart(Word::default()),
            sender: Apart(UnsafeCell::new(Sender { sent: 0, taken: 0 })),
        }
    }
}

impl<T> Lane<T> {
    #[inline]
    fn slot(&self, number: u64) -> &Slot<T> {
        &self.slots[number as usize % SLOTS]
    }

    /// Sends what `fill` writes, if there is room.
    ///
    /// # Safety
    /// One rank calls it, one call at a time.
    #[inline]
    pub unsafe fn push(&self, fill: impl FnOnce(&mut T)) -> bool {
        self.sender.0.with_mut(|it| {
            // SAFETY: the sender's alone.
            let sender = unsafe { &mut *it };
            if sender.sent - sender.taken == SLOTS as u64 {
                sender.taken = self.taken.0.told();
                if sender.sent - sender.taken == SLOTS as u64 {
                    return false;
                }
            }
            let slot = self.slot(sender.sent);
            // SAFETY: what lay there has been taken, so nobody reads it.
            slot.content.with_mut(|it| fill(unsafe { &mut *it }));
            sender.sent += 1;
            slot.told.tell(sender.sent);
            true
        })
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
            sender.sent - sender.taken == SLOTS as u64
                && sender.sent - self.taken.0.told() > SLOTS as u64 / 2
        })
    }

    /// Whether there is nothing to take, for all that the caller can know.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let taken = self.taken.0.told();
        !self.slot(taken).told.has_told(taken + 1)
    }

    /// Takes the first message.
    ///
    /// # Safety
    /// One call at a time, each after the one before.
    #[inline]
    pub unsafe fn take<R>(&self, run: impl FnOnce(&T) -> R) -> Option<R> {
        let taken = self.taken.0.told();
        let slot = self.slot(taken);
        if !slot.told.has_told(taken + 1) {
            return None;
        }
        // In a stream the next message is there already, and comes while this one is taken. If it
        // is not, its slot is in this core's cache still: nothing moves.
        fetch(self.slot(taken + 1));
        // SAFETY: it has been told, and is not written until it is taken.
        let result = slot.content.with(|it| run(unsafe { &*it }));
        self.taken.0.tell(taken + 1);
        Some(result)
    }
}
