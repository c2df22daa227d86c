//! A lock for a few instructions: a thread that does not get it spins a little, then yields. Nobody
//! sleeps with it or for it, and no code of the user's runs under it.
//!
//! (Not std's `Mutex`: where that is contended it waits in code that the sanitizer does not see,
//! and it would then report what users hand over after taking it.)

use super::{Backoff, Wait};
use crate::sync::{AtomicU32, Ordering, Site, UnsafeCell, consume, publish, spin_loop};

/// Looks before the first yield: longer than any holder takes that has its core.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 200 };

/// A lock for a few instructions, without a queue: [`with`](Lock::with) gives its value. For what
/// an interface shares between threads: ThreadSanitizer sees it, and does not see std's `Mutex`
/// where two threads want that at once.
///
/// **Cost** an exchange and a store where nobody else wants it.
///
/// # Examples
/// ```
/// use phalanx::engine::Lock;
/// static FREE: Lock<Vec<usize>> = Lock::new(Vec::new());
/// FREE.with(|free| free.push(3));
/// assert_eq!(FREE.with(Vec::pop), Some(3));
/// ```
pub struct Lock<T> {
    is_taken: AtomicU32,
    value: UnsafeCell<T>,
}

impl<T> std::fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Lock::new(T::default())
    }
}

// SAFETY: the lock hands its value to one thread at a time, so it is as good as a `Mutex`.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: as the value.
unsafe impl<T: Send> Send for Lock<T> {}

/// Gives the lock back, also when the function under it panics.
struct LockHolder<'a>(&'a AtomicU32);

impl Drop for LockHolder<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Ordering: pairs with the exchange in `try_take`, of whoever is next.
        self.0.store(0, publish(Site::Lock));
    }
}

impl<T> Lock<T> {
    /// Nobody has taken it.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Lock { is_taken: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// As above: loom's atomics are made while a program runs.
    #[cfg(loom)]
    pub(crate) fn new(value: T) -> Self {
        Lock { is_taken: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Calls `f`, which must not take the lock again, while nobody else has the value.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        if !self.try_take() {
            self.take();
        }
        let _held = LockHolder(&self.is_taken);
        // SAFETY: this thread has changed the word from 0 to 1, and gives it back after `f`; no
        // other does so meanwhile. What the holder before did is seen (`try_take`).
        self.value.with_mut(|value| f(unsafe { &mut *value }))
    }

    #[inline(always)]
    fn try_take(&self) -> bool {
        // Ordering: pairs with the store in `LockHolder`. An RMW: of two takers one finds 0.
        // Relaxed if it fails: then nothing is taken. (Not a swap, which stores 1 also when it
        // fails: loom would put that after the holder's 0, and the lock would stay taken.)
        self.is_taken.compare_exchange(0, 1, consume(Site::Lock), Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn take(&self) {
        let mut patience = Backoff::new(Wait::Yield, None);
        loop {
            for _ in 0..LOOKS {
                // Relaxed: a hint that saves the line's transfer; `try_take` decides. (A checker
                // may show the old value for ever.)
                let seems_free =
                    cfg!(any(loom, shuttle)) || self.is_taken.load(Ordering::Relaxed) == 0;
                if seems_free && self.try_take() {
                    return;
                }
                spin_loop();
            }
            // Yields: this policy never naps.
            patience.pause();
        }
    }
}
