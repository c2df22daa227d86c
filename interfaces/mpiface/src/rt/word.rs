//! The word by which a rank tells others that memory is theirs to use: a request's, a meeting's.
//!
//! Numbers grow, by one writer: a reader that finds a number told sees all writes of the writer
//! before that. Its model is in `loom/`, which compiles this file.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// See the head of the file.
#[derive(Debug)]
pub struct Word(AtomicU64);

impl Default for Word {
    fn default() -> Word {
        Word(AtomicU64::new(0))
    }
}

impl Word {
    /// Tells a number, larger than those before: by one rank at a time.
    #[inline]
    pub fn tell(&self, number: u64) {
        // Pairs with the load in `has_told`: publishes the rank's writes, and that it has
        // finished its reads.
        self.0.store(number, Ordering::Release);
    }

    /// The number that was told last.
    #[inline]
    pub fn told(&self) -> u64 {
        // Pairs with the store in `tell`.
        self.0.load(Ordering::Acquire)
    }

    /// Whether this number or a larger one has been told.
    #[inline]
    pub fn has_told(&self, number: u64) -> bool {
        self.told() >= number
    }
}
