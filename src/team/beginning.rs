//! The beginning of a team's workers, which the thread that starts them waits for.

use crate::sync::{Arc, Mutex};
use crate::wait::{Sleeper, Waker, sleeper_pair};

/// The number of workers that have not begun, and the sleep until they have.
pub(super) struct Beginning {
    open: Arc<OpenBeginnings>,
    sleeper: Sleeper,
}

struct OpenBeginnings {
    number: Mutex<usize>,
    waker: Waker,
}

/// A worker that has begun when this is dropped.
pub(super) struct OpenBeginning(Arc<OpenBeginnings>);

impl Beginning {
    pub(super) fn new() -> Self {
        let (sleeper, waker) = sleeper_pair();
        Beginning { open: Arc::new(OpenBeginnings { number: Mutex::new(0), waker }), sleeper }
    }

    /// Of one more worker.
    pub(super) fn open(&self) -> OpenBeginning {
        self.open.change(|number| number + 1);
        OpenBeginning(self.open.clone())
    }

    /// Returns when all have begun. Their work until then has happened before.
    pub(super) fn await_all(&self) {
        while self.open.change(|number| number) > 0 {
            self.sleeper.sleep();
        }
    }
}

impl OpenBeginnings {
    /// The number after a change.
    fn change(&self, to: fn(usize) -> usize) -> usize {
        let mut number = self.number.lock().unwrap_or_else(|e| e.into_inner());
        *number = to(*number);
        *number
    }
}

impl Drop for OpenBeginning {
    fn drop(&mut self) {
        self.0.change(|number| number - 1);
        self.0.waker.wake();
    }
}
