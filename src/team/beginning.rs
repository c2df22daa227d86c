//! The beginning of a team's workers, which the thread that starts them waits for.

use crate::sync::{AtomicU64, Ordering};
use crate::wait::{Sleeper, Waker, sleeper_pair};

/// The number of workers that have not begun, and how to wake the thread that starts them. Among
/// the words that workers share, which last as long as they do.
pub(super) struct Beginning {
    open: AtomicU64,
    waker: Waker,
}

/// A worker that has begun when this is dropped.
pub(super) struct OpenBeginning<'a>(&'a Beginning);

impl Beginning {
    /// With the sleeper of the thread that starts the workers.
    pub(super) fn new() -> (Self, Sleeper) {
        let (sleeper, waker) = sleeper_pair();
        (Beginning { open: AtomicU64::new(0), waker }, sleeper)
    }

    /// One more worker will begin.
    pub(super) fn expect(&self) {
        // Relaxed: the worker does not exist yet.
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling worker begins.
    pub(super) fn begin(&self) -> OpenBeginning<'_> {
        OpenBeginning(self)
    }

    /// Returns when all have begun. Their work until then has happened before.
    pub(super) fn await_all(&self, sleeper: &Sleeper) {
        // Acquire: pairs with the subtractions in `drop`, all of them, as each continues the one
        // before.
        while self.open.load(Ordering::Acquire) > 0 {
            sleeper.sleep();
        }
    }
}

impl Drop for OpenBeginning<'_> {
    fn drop(&mut self) {
        // Release: pairs with the load in `await_all`.
        self.0.open.fetch_sub(1, Ordering::Release);
        self.0.waker.wake();
    }
}
