//! The beginning of a team's workers, which the thread that starts them waits for.

use crate::sync::{Arc, AtomicU64, Ordering};
use crate::wait::{Sleeper, Waker, sleeper_pair};

/// The number of workers that have not begun, and the sleep until they have.
pub(super) struct Beginning {
    open: Arc<OpenBeginnings>,
    sleeper: Sleeper,
}

struct OpenBeginnings {
    number: AtomicU64,
    waker: Waker,
}

/// A worker that has begun when this is dropped.
pub(super) struct OpenBeginning(Arc<OpenBeginnings>);

impl Beginning {
    pub(super) fn new() -> Self {
        let (sleeper, waker) = sleeper_pair();
        Beginning { open: Arc::new(OpenBeginnings { number: AtomicU64::new(0), waker }), sleeper }
    }

    /// Of one more worker.
    pub(super) fn open(&self) -> OpenBeginning {
        // Relaxed: the worker does not exist yet.
        self.open.number.fetch_add(1, Ordering::Relaxed);
        OpenBeginning(self.open.clone())
    }

    /// Returns when all have begun. Their work until then has happened before.
    pub(super) fn await_all(&self) {
        // Acquire: pairs with the subtractions in `drop`, all of them, as each continues the one
        // before.
        while self.open.number.load(Ordering::Acquire) > 0 {
            self.sleeper.sleep();
        }
    }
}

impl Drop for OpenBeginning {
    fn drop(&mut self) {
        // Release: pairs with the load in `await_all`.
        self.0.number.fetch_sub(1, Ordering::Release);
        self.0.waker.wake();
    }
}
