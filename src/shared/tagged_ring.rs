//! Short tagged messages, as they lie in the ring from one rank to another (`message_ring.rs`).
//!
//! ```text
//!  slot (128 B, aligned to 128)
//!  +------------------------------ 64 B ------------------------------+
//!  | number | tag 32 | len 32 | sig | at | element 16 B | 16 B         |
//!  |                                                         64 B       |
//!  +-------------------------------------------------------------------+
//! ```
//!
//! A payload that does not fit the slot lies in a room of the ring, of [`SHORT`] bytes. Whoever
//! holds the lock of the receiver's queue takes messages: that lock makes takers one at a time. See
//! `README.md`, "Tagged messages".

use super::fingerprint::Signature;
use super::message_label::MessageLabel;
use super::message_ring::{LongRoom, MessageMemory, MessageRing};
use std::any::TypeId;
use std::mem::MaybeUninit;
use std::panic::Location;

/// Bytes up to which a message goes through the ring.
pub(crate) const SHORT: usize = 1024;
/// Messages that a ring holds: a rank may start so many at once, and none waits for its receiver.
const SLOTS: usize = if cfg!(loom) { 2 } else { 64 };
/// Messages that a ring holds where there are more ranks than [`MANY_SLOTS`], and so more rings.
const FEW: usize = if cfg!(loom) { 2 } else { 8 };
const MANY_SLOTS: u32 = 16;
/// Payload bytes in a slot's first line, and in its second one.
const FIRST: usize = 16;
const SECOND: usize = 64;

/// A sender's facts about a message.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    tag: u32,
    len: u32,
    sig: &'static Signature,
    at: &'static Location<'static>,
    element: TypeId,
}

/// A short message in its slot.
#[repr(C)]
pub(crate) struct ShortMessage {
    head: MaybeUninit<Head>,
    bytes: [MaybeUninit<u8>; FIRST + SECOND],
}

// With the slot's number: two lines.
const _: () = assert!(size_of::<ShortMessage>() == 120);

impl Default for ShortMessage {
    fn default() -> Self {
        let bytes = [MaybeUninit::uninit(); FIRST + SECOND];
        ShortMessage { head: MaybeUninit::uninit(), bytes }
    }
}

/// A payload's place, aligned for any element that fits it.
#[repr(C, align(1024))]
pub(crate) struct ShortRoom([MaybeUninit<u8>; SHORT]);

/// The room of a message.
pub(crate) type ShortMemory<'a> = MessageMemory<'a, ShortRoom, ()>;

/// The ring of short tagged messages from one rank to another.
pub(crate) type TaggedRing = MessageRing<ShortMessage, ShortRoom>;

impl TaggedRing {
    /// An empty one, among so many ranks.
    pub(crate) fn among(ranks: u32) -> Box<Self> {
        if ranks <= MANY_SLOTS { Self::new::<SLOTS>() } else { Self::new::<FEW>() }
    }

    /// Sends a message; not if the ring is full, or the message does not fit it.
    ///
    /// # Safety
    /// Of the ring's sender. So many bytes can be read, and are elements of the label's type,
    /// which are copied.
    #[inline]
    pub(crate) unsafe fn send(
        &self,
        tag: u32,
        label: &MessageLabel,
        from: *const u8,
        bytes: usize,
    ) -> bool {
        let Ok(len) = u32::try_from(label.len) else { return false };
        let &MessageLabel { sig, at, element, .. } = label;
        let head = Head { tag, len, sig, at, element };
        // SAFETY: by the contract.
        unsafe {
            if let Some(offset) = offset(bytes) {
                return self.push(|it| it.write(head, from, (offset, bytes)));
            }
            bytes <= SHORT
                && self.push_long(true, |it, room| {
                    if let LongRoom::Room(room) = room {
                        copy_bytes(room.cast(), from, bytes);
                    }
                    it.head.write(head);
                })
        }
    }
}

impl ShortMessage {
    /// Writes a message with a payload of so many bytes, which goes to this offset.
    ///
    /// # Safety
    /// So many bytes can be read, and fit.
    #[inline(always)]
    unsafe fn write(&mut self, head: Head, from: *const u8, (offset, bytes): (usize, usize)) {
        let to = self.bytes.as_mut_ptr().cast::<u8>();
        // The receiver looks at the first line all the time, and takes it away between two stores
        // that are far apart: then it has to be fetched once more. So it is written last, at one
        // go, from values that are there.
        // SAFETY: by the contract.
        unsafe {
            if bytes == size_of::<u64>() {
                let payload = from.cast::<MaybeUninit<u64>>().read_unaligned();
                self.head.write(head);
                to.cast::<MaybeUninit<u64>>().write_unaligned(payload);
                return;
            }
            copy_bytes(to.add(offset), from, bytes);
        }
        self.head.write(head);
    }

    /// Its tag and label.
    ///
    /// # Safety
    /// A message was written.
    #[inline(always)]
    pub(crate) unsafe fn label(&self) -> (u32, MessageLabel) {
        // SAFETY: by the contract.
        let Head { tag, len, sig, at, element } = unsafe { self.head.assume_init() };
        (tag, MessageLabel { sig, at, len: len as usize, element, owned: false })
    }

    /// Gives `f` the payload of so many bytes.
    ///
    /// # Safety
    /// A message of so many bytes was written.
    #[inline(always)]
    pub(crate) unsafe fn read(
        &self,
        memory: ShortMemory<'_>,
        bytes: usize,
        f: impl FnOnce(*const u8),
    ) {
        match offset(bytes) {
            Some(offset) => f(self.bytes[offset..].as_ptr().cast()),
            // SAFETY: by the contract.
            None => unsafe { memory.room(|room| f((&raw const (*room).0).cast())) },
        }
    }
}

/// Where in a slot a payload lies; none: in the room of its number. A payload that does not fit the
/// first line has the second for itself.
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
