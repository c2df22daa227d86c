//! The eager buffer: the sender's memory for payloads that do not fit a slot and are too short for
//! a hand-over by address. The sender copies the payload, and leaves without waiting.
//!
//! An eager buffer belongs to one end of a channel, or to one gate, which uses the first four of
//! its eager slots. It has as many as a channel has slots: message `n` uses eager slot `n % 8`, and
//! the rule that says when slot `n % 8` may be written again covers both. The message itself is the
//! address of the eager slot.

use super::channel::SLOTS;
use crate::sync::UnsafeCell;
use std::mem::MaybeUninit;

/// Bytes up to which a payload is copied by its sender. Beyond, two flags cost
/// less than the second copy. Measured at p = 2 (`benches/ratios`).
pub(crate) const EAGER: usize = 1024;

type Bytes = [MaybeUninit<u8>; EAGER];

/// A payload's place, aligned for any element that fits it.
#[repr(C, align(1024))]
pub(crate) struct EagerSlot(UnsafeCell<Bytes>);

/// See the module documentation.
#[repr(C)]
pub(crate) struct EagerBuffer([EagerSlot; SLOTS as usize]);

// SAFETY: a place is written by its owner while the slot of the same number is
// the owner's to write, and read by others while that slot is theirs to read
// (README.md).
unsafe impl Sync for EagerBuffer {}
// SAFETY: as above; nothing in an eager buffer is tied to a thread.
unsafe impl Send for EagerBuffer {}

impl EagerBuffer {
    /// Memory that nobody has touched, as far as the allocator has such.
    pub(crate) fn new() -> Box<EagerBuffer> {
        #[cfg(not(any(loom, shuttle)))]
        {
            let eager_buffer = Box::<EagerBuffer>::new_uninit();
            // SAFETY: bytes that are `MaybeUninit`, in cells.
            unsafe { eager_buffer.assume_init() }
        }
        #[cfg(any(loom, shuttle))]
        {
            let place = || EagerSlot(UnsafeCell::new([MaybeUninit::uninit(); EAGER]));
            Box::new(EagerBuffer([0; SLOTS as usize].map(|_| place())))
        }
    }

    /// The place of message (or episode) `n`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn eager_slot(&self, n: u64) -> &EagerSlot {
        &self.0[(n % u64::from(SLOTS)) as usize]
    }
}

impl EagerSlot {
    /// Lets `fill` write the payload.
    ///
    /// # Safety
    /// Nobody else accesses the place now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn write(&self, fill: impl FnOnce(*mut u8)) {
        self.0.with_mut(|bytes| fill(bytes.cast()));
    }

    /// Gives the payload to `f`.
    ///
    /// # Safety
    /// It has been written, before the caller, and nobody writes it now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn read<R>(&self, f: impl FnOnce(*const u8) -> R) -> R {
        self.0.with(|bytes| f(bytes.cast()))
    }
}
