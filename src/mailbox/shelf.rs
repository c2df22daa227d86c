//! The shelf: where a sender leaves payloads that do not fit a slot and are
//! not worth a hand-over by address. Copied there they are gone for the sender:
//! nobody waits to leave.
//!
//! A shelf belongs to one end of a channel, or to one gate. It has as many places
//! as those have slots: message `n` uses place `n % 4`, and the rule that says
//! when slot `n % 4` may be written again covers the place. The message itself
//! is the place's address.

use super::channel::SLOTS;
use crate::sync::UnsafeCell;
use std::mem::MaybeUninit;

/// Bytes up to which a payload is copied by its sender. Beyond, two flags cost
/// less than the second copy. Measured at p = 2 (`benches/ratios.rs`).
pub(crate) const EAGER: usize = 1024;

type Bytes = [MaybeUninit<u8>; EAGER];

/// A payload's place, aligned for any element that fits it.
#[repr(C, align(1024))]
pub(crate) struct Place(UnsafeCell<Bytes>);

/// See the module documentation.
#[repr(C)]
pub(crate) struct Shelf([Place; SLOTS as usize]);

// SAFETY: a place is written by its owner while the slot of the same number is
// the owner's to write, and read by others while that slot is theirs to read
// (README.md).
unsafe impl Sync for Shelf {}
// SAFETY: as above; nothing in a shelf is tied to a thread.
unsafe impl Send for Shelf {}

impl Shelf {
    /// Memory that nobody has touched, as far as the allocator has such.
    pub(crate) fn new() -> Box<Shelf> {
        #[cfg(not(any(loom, shuttle)))]
        {
            let shelf = Box::<Shelf>::new_uninit();
            // SAFETY: bytes that are `MaybeUninit`, in cells.
            unsafe { shelf.assume_init() }
        }
        #[cfg(any(loom, shuttle))]
        {
            let place = || Place(UnsafeCell::new([MaybeUninit::uninit(); EAGER]));
            Box::new(Shelf([0; SLOTS as usize].map(|_| place())))
        }
    }

    /// The place of message (or episode) `n`.
    #[inline(always)]
    pub(crate) fn place(&self, n: u64) -> &Place {
        &self.0[(n % u64::from(SLOTS)) as usize]
    }
}

impl Place {
    /// Lets `fill` write the payload.
    ///
    /// # Safety
    /// Nobody else accesses the place now.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, fill: impl FnOnce(*mut u8)) {
        self.0.with_mut(|bytes| fill(bytes.cast()));
    }

    /// Gives the payload to `f`.
    ///
    /// # Safety
    /// It has been written, before the caller, and nobody writes it now.
    #[inline(always)]
    pub(crate) unsafe fn read<R>(&self, f: impl FnOnce(*const u8) -> R) -> R {
        self.0.with(|bytes| f(bytes.cast()))
    }
}
