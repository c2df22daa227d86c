//! A word to sleep on: 32 bits, and the system's sleepers on them.

use crate::sync::{AtomicU32, Ordering};
use std::time::Duration;

/// See the module documentation.
pub(crate) struct Word {
    value: AtomicU32,
    /// Under loom: how often sleepers were woken. The system's, not the program's: loom does not see it, or
    /// it would try every number of looks at it.
    #[cfg(loom)]
    wakes: crate::sync::diagnostic::AtomicU64,
}

impl Word {
    pub(crate) fn new(value: u32) -> Self {
        Word {
            value: AtomicU32::new(value),
            #[cfg(loom)]
            wakes: crate::sync::diagnostic::AtomicU64::new(0),
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
        // Ordering: the words' protocols go by fences and by the order of changes to one word; Release
        // and Acquire so that who finds a newer mark finds what its marker knew (`Events::sleep`).
        self.value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Sleeps if the word still is `value`, until woken, or for `longest`. May end for no reason.
    #[cfg(not(loom))]
    pub(crate) fn sleep(&self, value: u32, longest: Option<Duration>) {
        super::system::sleep(&self.value, value, longest);
    }

    /// Wakes all who sleep on the word. The word has been changed before.
    #[cfg(not(loom))]
    pub(crate) fn wake(&self) {
        super::system::wake(&self.value, i32::MAX);
    }

    /// A nap ends by itself, so it is a yield. A sleep without a limit is for a wake only; where none
    /// can come, it panics (as [`Bed`](super::Bed) does). As the system does it: that the value
    /// changes wakes nobody, and the value is compared in one go with falling asleep (the number of
    /// wakes is read first: who is woken in between finds the value changed). Nothing is ordered by it.
    #[cfg(loom)]
    pub(crate) fn sleep(&self, value: u32, longest: Option<Duration>) {
        if longest.is_some() {
            return crate::sync::yield_now();
        }
        use crate::sync::diagnostic::Ordering::Relaxed;
        let wakes = self.wakes.load(Relaxed);
        if self.value.fetch_or(0, Ordering::Relaxed) != value {
            return;
        }
        // Of threads that have all yielded, loom runs the one that has yielded least: sleepers may have to
        // catch up with one that slept before them.
        for _ in 0..10 * super::FOR_EVER {
            if self.wakes.load(Relaxed) != wakes {
                return;
            }
            crate::sync::yield_now();
        }
        panic!("a wake-up was lost: asleep for ever");
    }

    #[cfg(loom)]
    pub(crate) fn wake(&self) {
        self.wakes.fetch_add(1, crate::sync::diagnostic::Ordering::Relaxed);
    }
}
