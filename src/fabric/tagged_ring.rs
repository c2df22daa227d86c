//! The ring of short tagged messages from one rank to another: a message is written to a slot and
//! published, without a lock; the receiver looks there.
//!
//! ```text
//!  slot (128 B, aligned to 128)
//!  +------------------------------ 64 B ------------------------------+
//!  | number | tag 32 | len 32 | sig | at | element 16 B | heard | 8 B   |
//!  |                                                         64 B       |
//!  +-------------------------------------------------------------------+
//! ```
//!
//! Message `n` (counted from 1) uses slot `n % 8`. A payload that does not fit the slot lies in the
//! body of the same number, of [`SHORT`] bytes. The sender alone writes messages. Whoever holds the
//! lock of the receiver's queue takes them: that lock makes takers one at a time. See `README.md`,
//! "Tagged messages".
//!
//! Two ranks that send to each other have two rings. A message says how many of the other ring's
//! messages have been taken (`heard`): so where messages go both ways no sender reads the word
//! `taken`, whose line stays with its receiver. Numbers have 64 bits, as one that was heard may be
//! read much later: a number that wraps could seem to be ahead.

use super::fingerprint::Signature;
use super::message_label::MessageLabel;
use crate::sync::{AtomicU64, Ordering, Site, UnsafeCell, consume, publish};
use crossbeam_utils::CachePadded;
use std::any::TypeId;
use std::mem::MaybeUninit;
use std::panic::Location;

/// Bytes up to which a message goes through the ring.
pub(crate) const SHORT: usize = 1024;
/// Messages that a ring holds.
pub(crate) const RING: u64 = if cfg!(loom) { 2 } else { 8 };
/// Payload bytes in a slot's first line, and in its second one.
const FIRST: usize = 8;
const SECOND: usize = 64;

/// What a sender says of a message.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    tag: u32,
    len: u32,
    sig: &'static Signature,
    at: &'static Location<'static>,
    element: TypeId,
    /// So many messages of the ring back have been taken.
    heard: u64,
}

#[repr(C)]
struct SlotBody {
    head: MaybeUninit<Head>,
    bytes: [MaybeUninit<u8>; FIRST + SECOND],
}

#[repr(C, align(128))]
struct RingSlot {
    /// The number of the message in the slot.
    number: AtomicU64,
    body: UnsafeCell<SlotBody>,
}

/// A payload's place, aligned for any element that fits it.
#[repr(C, align(1024))]
struct LongBody(UnsafeCell<[MaybeUninit<u8>; SHORT]>);

/// What the sender alone uses.
struct SenderSide {
    /// The number of the latest message.
    sent: AtomicU64,
    /// That of a message which has been taken, as far as the sender has looked.
    taken: AtomicU64,
}

/// What is written under the lock of the receiver's queue.
struct TakerSide {
    /// The number of the message that was taken last.
    taken: AtomicU64,
    /// What the messages that were taken have said of the ring back.
    heard: AtomicU64,
}

/// See the module documentation.
pub(crate) struct TaggedRing {
    slots: Box<[RingSlot]>,
    long: Box<[LongBody]>,
    sender: CachePadded<SenderSide>,
    taker: CachePadded<TakerSide>,
}

// SAFETY: a slot and its body are written by the sender's thread alone, before it publishes the
// slot's number and after `taken` says that the message before has been taken; they are read
// between the two by whoever holds the queue's lock.
unsafe impl Sync for TaggedRing {}
// SAFETY: nothing in a ring is tied to a thread.
unsafe impl Send for TaggedRing {}

impl TaggedRing {
    pub(crate) fn new() -> Self {
        let slot = |_| {
            let bytes = [MaybeUninit::uninit(); FIRST + SECOND];
            let body = UnsafeCell::new(SlotBody { head: MaybeUninit::uninit(), bytes });
            RingSlot { number: AtomicU64::new(0), body }
        };
        let long = |_| LongBody(UnsafeCell::new([MaybeUninit::uninit(); SHORT]));
        let sender = SenderSide { sent: AtomicU64::new(0), taken: AtomicU64::new(0) };
        let taker = TakerSide { taken: AtomicU64::new(0), heard: AtomicU64::new(0) };
        TaggedRing {
            slots: (0..RING).map(slot).collect(),
            long: (0..RING).map(long).collect(),
            sender: CachePadded::new(sender),
            taker: CachePadded::new(taker),
        }
    }

    /// Sends a message; not if the ring is full, or the message does not fit it. `back`: the ring
    /// from the receiver to the sender, if it has been made.
    ///
    /// # Safety
    /// Of the ring's sender. So many bytes can be read, and are elements of the label's type,
    /// which are copied. `back` is the ring of this one's receiver in the sender's queue.
    #[inline]
    pub(crate) unsafe fn send(
        &self,
        tag: u32,
        label: &MessageLabel,
        from: *const u8,
        bytes: usize,
        back: Option<&TaggedRing>,
    ) -> bool {
        let Ok(len) = u32::try_from(label.len) else { return false };
        let SenderSide { sent, taken } = &*self.sender;
        // Relaxed: the sender's own words.
        let number = sent.load(Ordering::Relaxed) + 1;
        let is_full = |taken: u64| number - taken > RING;
        if is_full(taken.load(Ordering::Relaxed)) {
            // Ordering: pairs with the store of `heard` in `take`: what was taken has been read.
            let heard = back.map_or(0, |ring| ring.taker.heard.load(consume(Site::Ack)));
            let mut known = taken.load(Ordering::Relaxed).max(heard);
            if is_full(known) {
                // Ordering: pairs with the store of `taken` in `take`, likewise.
                known = self.taker.taken.load(consume(Site::Ack));
            }
            taken.store(known, Ordering::Relaxed);
            if is_full(known) {
                return false;
            }
        }
        // Ordering: pairs with the store in `take`, for the rank that reads `heard`: what it says
        // has been read. By whoever had the lock, so not always by this rank.
        let heard = back.map_or(0, |ring| ring.taker.taken.load(consume(Site::Ack)));
        if bytes > SHORT {
            return false;
        }
        let place = (number % RING) as usize;
        let slot = &self.slots[place];
        // The receiver looks at the first line all the time, and takes it away between two stores
        // that are far apart: then it has to be fetched once more. So it is written last, at one
        // go, from values that are there.
        if let Some(long) = offset(bytes).is_none().then(|| &self.long[place].0) {
            // SAFETY: the message before in this slot was taken, and nobody reads this one before
            // it is published.
            long.with_mut(|to| unsafe { copy_bytes(to.cast(), from, bytes) });
        }
        let &MessageLabel { sig, at, element, .. } = label;
        let head = Head { tag, len, sig, at, element, heard };
        slot.body.with_mut(|body| {
            // SAFETY: as above. There is room for the payload.
            unsafe {
                let to = (&raw mut (*body).bytes).cast::<u8>();
                if bytes == FIRST {
                    let payload = from.cast::<MaybeUninit<u64>>().read_unaligned();
                    (*body).head.write(head);
                    to.cast::<MaybeUninit<u64>>().write(payload);
                    return;
                }
                if let Some(offset) = offset(bytes) {
                    copy_bytes(to.add(offset), from, bytes);
                }
                (*body).head.write(head);
            }
        });
        sent.store(number, Ordering::Relaxed);
        // Ordering: pairs with the load in `is_there`: the message is complete.
        slot.number.store(number, publish(Site::Word));
        true
    }

    /// Whether there is a message. A hint where the queue's lock is not held.
    #[inline(always)]
    pub(crate) fn has_news(&self) -> bool {
        self.next().is_some()
    }

    /// The number of the next message, if it is there.
    #[inline(always)]
    fn next(&self) -> Option<u64> {
        // Relaxed: written under the lock; a hint without it.
        let number = self.taker.taken.load(Ordering::Relaxed) + 1;
        // Ordering: pairs with the store in `send`.
        let there = self.slots[(number % RING) as usize].number.load(consume(Site::Word));
        (there == number).then_some(number)
    }

    /// Tag and label of the next message.
    ///
    /// # Safety
    /// The lock of the receiver's queue is held.
    #[inline]
    pub(crate) unsafe fn first(&self) -> Option<(u32, MessageLabel)> {
        let number = self.next()?;
        self.slots[(number % RING) as usize].body.with(|body| {
            // SAFETY: published, and not taken: the sender leaves it alone.
            let Head { tag, len, sig, at, element, .. } = unsafe { (*body).head.assume_init() };
            Some((tag, MessageLabel { sig, at, len: len as usize, element, owned: false }))
        })
    }

    /// Takes the next message, of so many bytes, which is there: gives its payload to `f`.
    ///
    /// # Safety
    /// As [`first`](TaggedRing::first), which has found it.
    #[inline]
    pub(crate) unsafe fn take<R>(&self, bytes: usize, f: impl FnOnce(*const u8) -> R) -> R {
        let number = self.taker.taken.load(Ordering::Relaxed) + 1;
        let place = (number % RING) as usize;
        let heard = self.slots[place].body.with(|body| {
            // SAFETY: published, and not taken: the sender leaves it alone.
            unsafe { (&raw const (*(*body).head.as_ptr()).heard).read() }
        });
        let out = match offset(bytes) {
            Some(offset) => self.slots[place].body.with(|body| {
                // SAFETY: published, and not taken: the sender leaves it alone.
                f(unsafe { (&raw const (*body).bytes).cast::<u8>().add(offset) })
            }),
            None => self.long[place].0.with(|body| f(body.cast())),
        };
        // Ordering: pairs with the loads in `send`: the message has been read.
        self.taker.taken.store(number, publish(Site::Ack));
        // Ordering: pairs with the load in `send` on the ring back, which may be by another rank.
        // All that the message's sender has read comes before its number, and so before this.
        self.taker.heard.store(heard, publish(Site::Ack));
        out
    }
}

/// Where in a slot a payload lies; none: in the body of its number. What does not fit the first
/// line has the second for itself.
#[inline(always)]
const fn offset(bytes: usize) -> Option<usize> {
    if bytes <= FIRST {
        Some(0)
    } else if bytes <= SECOND {
        Some(FIRST)
    } else {
        None
    }
}

/// # Safety
/// As for `copy_nonoverlapping` of bytes; `from` may be dangling if there are none.
#[inline(always)]
pub(crate) unsafe fn copy_bytes(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: by the contract. (MaybeUninit: elements may have padding.)
    unsafe {
        std::ptr::copy_nonoverlapping(
            from.cast::<MaybeUninit<u8>>(),
            to.cast::<MaybeUninit<u8>>(),
            bytes,
        );
    }
}
