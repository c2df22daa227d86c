//! The board: one cache line in which a rank shows a notice to all others of its communicator, and
//! reports that it has finished with theirs.
//!
//! ```text
//!  Board (128 B)
//!  | entered 64 | sig | check | a | b | len | finished 64 |   written by its owner only
//! ```
//!
//! Used by the views (`with_peers`, `with_root`) and by the fused paths, where
//! every rank reads, or writes, every other rank's slices once. The protocol
//! is in `README.md`, "Boards".

use super::Header;
use crate::sync::{AtomicU64, Site, UnsafeCell, consume, publish};

/// What a rank shows: two places in its memory and their length in elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Notice {
    pub(crate) header: Header,
    pub(crate) a: *mut u8,
    pub(crate) b: *mut u8,
    pub(crate) len: usize,
}

impl Notice {
    /// Of no call.
    pub(crate) const NONE: Self = Notice {
        header: Header { sig: std::ptr::null(), check: 0 },
        a: std::ptr::null_mut(),
        b: std::ptr::null_mut(),
        len: 0,
    };
}

/// See the module documentation.
#[repr(C, align(128))]
pub(crate) struct Board {
    /// The number of the owner's latest call with a notice.
    entered: AtomicU64,
    notice: UnsafeCell<Notice>,
    /// The number of the latest call in which the owner is done with everyone
    /// else's memory.
    finished: AtomicU64,
}

// SAFETY: the notice is written by the owner only while no peer may read it, and read by peers only
// between seeing its number in `entered` and storing that number in their own `finished`
// (README.md, "Boards"); the pointers are plain data here.
unsafe impl Sync for Board {}
// SAFETY: as above; nothing in a board is tied to a thread.
unsafe impl Send for Board {}

impl Board {
    pub(crate) fn new() -> Self {
        Board {
            entered: AtomicU64::new(0),
            notice: UnsafeCell::new(Notice::NONE),
            finished: AtomicU64::new(0),
        }
    }

    /// Shows `notice` as that of call `call` (larger than any before).
    ///
    /// # Safety
    /// - Only the owner calls this.
    /// - Of the owner's previous call with a notice, every peer that could
    ///   read it has finished or left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn show(&self, call: u64, notice: Notice) {
        // SAFETY: by the contract nobody reads the notice now.
        self.notice.with_mut(|n| unsafe { *n = notice });
        // Ordering: publishes the notice and the memory behind it; pairs with
        // the load in `look`.
        self.entered.store(call, publish(Site::Entered));
    }

    /// The number of the owner's latest call with a notice.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn look(&self) -> u64 {
        // Ordering: pairs with the store in `show`.
        self.entered.load(consume(Site::Entered))
    }

    /// The notice.
    ///
    /// # Safety
    /// The caller is in call `c`, has seen `look() == c`, and has not yet
    /// declared call `c` finished on its own board.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn notice(&self) -> Notice {
        // SAFETY: the owner writes again only after the caller has finished.
        self.notice.with(|n| unsafe { *n })
    }

    /// Declares the owner done with all foreign memory of call `call`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish(&self, call: u64) {
        // Ordering: everything the owner read or wrote elsewhere comes before;
        // pairs with the load in `has_finished`. Streaming stores are not
        // ordered by this one: whoever makes some ends them with a fence
        // (`exec/kernel/stream.rs`).
        self.finished.store(call, publish(Site::Finished));
    }

    /// Whether the owner is done with call `call`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_finished(&self, call: u64) -> bool {
        // Ordering: pairs with the store in `finish`.
        self.finished.load(consume(Site::Finished)) >= call
    }
}
