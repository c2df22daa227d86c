//! A word to sleep on: 32 bits, and the system's sleepers on them.

use crate::sync::{AtomicU32, Ordering};
use std::time::Duration;

/// See the module documentation.
pub(crate) struct Word {
    value: AtomicU32,
    /// The checkers' own; else the system has them.
    #[cfg(any(loom, shuttle))]
    sleepers: crate::sync::Sleepers,
}

impl Word {
    pub(crate) fn new(value: u32) -> Self {
        Word {
            value: AtomicU32::new(value),
            #[cfg(any(loom, shuttle))]
            sleepers: crate::sync::Sleepers::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn load(&self, ordering: Ordering) -> u32 {
        self.value.load(ordering)
    }

    pub(crate) fn store(&self, value: u32, ordering: Ordering) {
        self.value.store(value, ordering);
    }

    /// Makes `new` of `old`; whether it was `old`.
    pub(crate) fn change(&self, old: u32, new: u32) -> bool {
        // Ordering: the words' protocols go by fences and by the order of changes to one word;
        // Release and Acquire so that who finds a newer mark finds what its marker knew
        // (`Events::sleep`).
        self.value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Sleeps if the word still is `value`, until woken, or for `longest`. May end for no reason.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn sleep(&self, value: u32, longest: Option<Duration>) {
        super::system::sleep(&self.value, value, longest);
    }

    /// Wakes all who sleep on the word. The word has been changed before.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn wake(&self) {
        super::system::wake(&self.value, i32::MAX);
    }

    /// As the system does it: that the value changes wakes nobody, and the value is compared in one
    /// go with falling asleep. Nothing is ordered by it. A nap ends by itself, so it is a yield
    /// (but in those of shuttle's models that say otherwise: there a wake-up that is lost is a
    /// deadlock).
    #[cfg(any(loom, shuttle))]
    pub(crate) fn sleep(&self, value: u32, longest: Option<Duration>) {
        // An RMW: the latest value.
        let is_to = self.value.fetch_or(0, Ordering::Relaxed) == value;
        self.sleepers.sleep(is_to, longest.is_some());
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn wake(&self) {
        self.sleepers.wake();
    }
}
