//! The counter of which ranks take blocks.

use crate::sync::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;

/// Numbers from 0 up to a limit, each given once, to whichever rank asks.
///
/// Relaxed throughout: a number is given once since additions to one word come one after another;
/// the dispatch of the run publishes the blocks to the ranks, and its end their writes.
pub(crate) struct BlockCounter {
    /// In a line of its own: each rank writes to it while others read what is around.
    next: CachePadded<AtomicU64>,
    limit: u64,
}

impl BlockCounter {
    pub(crate) fn new(limit: u64) -> Self {
        // So that ranks that go on asking do not come round to 0.
        debug_assert!(limit < u64::MAX / 2);
        BlockCounter { next: CachePadded::new(AtomicU64::new(0)), limit }
    }

    /// The next number, if there is one.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<u64> {
        let taken = self.next.fetch_add(1, Ordering::Relaxed);
        (taken < self.limit).then_some(taken)
    }

    /// From now on there are none.
    #[cold]
    pub(crate) fn close(&self) {
        self.next.fetch_max(self.limit, Ordering::Relaxed);
    }
}
