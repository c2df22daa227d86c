//! The two words that say how far a team has come: whether all have attached, and whether it is
//! over.

use crate::sync::{AtomicU32, Ordering};

/// See the module documentation. Before the team is complete, both are written by who has the
/// [door](crate::presence::Door).
#[repr(C)]
pub(crate) struct Course {
    /// 0, or 1 + the rank whose seat has the cause.
    over: AtomicU32,
    complete: AtomicU32,
}

impl Course {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Course { over: AtomicU32::new(0), complete: AtomicU32::new(0) }
    }

    /// The rank that has written down why the team is over, if it is.
    #[inline(always)]
    pub(crate) fn over(&self) -> Option<usize> {
        // Ordering: pairs with `set_over`: the cause is written down.
        (self.over.load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Rank `rank` has written down why the team is over. Whether it is the first.
    pub(crate) fn set_over(&self, rank: usize) -> bool {
        let mine = rank as u32 + 1;
        // Ordering: publishes the cause; pairs with the load in `over`.
        self.over.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Those that have given up are gone: the next ones begin anew.
    pub(crate) fn begin(&self) {
        self.over.store(0, Ordering::Relaxed);
    }

    /// Whether all ranks have been there at once.
    pub(crate) fn is_complete(&self) -> bool {
        // Ordering: pairs with `set_complete`: all seats are filled.
        self.complete.load(Ordering::Acquire) != 0
    }

    /// All ranks are there. The last one says so, which has seen the others' seats by the door.
    pub(crate) fn set_complete(&self) {
        // Ordering: publishes the seats; pairs with the load in `is_complete`.
        self.complete.store(1, Ordering::Release);
    }
}
