//! A mark that a rank may sleep: whoever publishes something for it looks at the mark, and wakes
//! it by its [`Berth`](super::Berth) only if the mark is set.
//!
//! ```text
//! set:     mark = set, if it is not; heavy fence
//! sleep:   set; then as the berth says, without a time limit that matters
//! publish: publish (Release); light fence; is the mark set? fence, wake by the berth
//! ```
//!
//! **Why no wake-up is lost.** A heavy fence acts as a fence of every thread, at some moment of the
//! call (`asymmetric_fence.rs`). If a sender looks at the mark after that moment, it finds the mark
//! set: the berth's own fences do the rest. If it looked before, it had published before, so the
//! sleeper finds each word published by its last look. The sleeper pays: a sender that finds the
//! mark clear has one more load than without sleepers, and no fence.
//!
//! A set mark costs its senders a fence each time (15 to 20 ns), a heavy fence costs the sleeper a
//! system call and every other thread an interrupt. So it stays set from one sleep to the next,
//! and is cleared when [`KEPT`] waits in a row have ended without sleep. Only its owner writes it,
//! and to clear it needs no fence: a sender that has not seen it looks into a berth in vain.

use super::asymmetric_fence::{heavy_fence, light_fence};
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};

/// Waits without sleep until the mark is cleared.
const KEPT: u64 = 16;

/// See the module documentation.
pub(crate) struct Mark(AtomicU64);

impl Mark {
    /// Clear, or set for good.
    pub(crate) const fn new(is_set: bool) -> Self {
        Mark(AtomicU64::new(is_set as u64))
    }

    /// Whether its owner may sleep: asked after publishing something.
    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        // Pairs with the heavy fence in `set`.
        light_fence();
        self.0.load(Relaxed) != 0
    }

    /// Sets it, for its owner, who is about to sleep. Whether nobody misses it from now on; if not,
    /// sleep must be short, and the mark be [cleared](Mark::clear) after it.
    pub(crate) fn set(&self) -> bool {
        // Relaxed, as are all accesses: only the owner writes, and nothing is published by it.
        let was_set = self.0.load(Relaxed) != 0;
        self.0.store(KEPT, Relaxed);
        // Pairs with the light fence in `is_set`.
        was_set || heavy_fence()
    }

    /// Clears it, for its owner.
    pub(crate) fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// A long wait of its owner has ended without sleep. Whether it is set still.
    pub(crate) fn fade(&self) -> bool {
        let left = self.0.load(Relaxed);
        if left > 0 {
            self.0.store(left - 1, Relaxed);
        }
        left > 1
    }
}

#[cfg(all(test, not(loom)))]
#[test]
fn a_mark_is_clear_after_some_waits_without_sleep() {
    let mark = Mark::new(false);
    (0..2).for_each(|_| _ = mark.set());
    assert!((1..KEPT).all(|_| mark.fade() && mark.is_set()));
    assert!(!mark.fade() && !mark.is_set() && !mark.fade());
}
