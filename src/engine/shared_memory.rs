//! Ranks that are processes, and share memory: how they wait, sleep and copy.

use crate::sync::AtomicU32;
use crate::wait::{Backoff, Occasion, Pause, Wait};
use std::fmt;
use std::time::Duration;

/// One wait for another process, after the first looks have failed: the stages of the library's own
/// waits, on words that are not its own.
///
/// # Examples
/// ```
/// use phalanx::engine::{Pauses, sleep_on, wake_all};
/// use std::sync::atomic::{AtomicU32, Ordering::{Acquire, Release}};
/// // In a mapping that both processes have; here of two threads.
/// let word = AtomicU32::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         word.store(1, Release);
///         wake_all(&word);
///     });
///     let mut pauses = Pauses::new(false);
///     'waiting: loop {
///         for _ in 0..pauses.looks() {
///             if word.load(Acquire) == 1 {
///                 break 'waiting;
///             }
///         }
///         if let Some(nap) = pauses.pause() {
///             sleep_on(&word, 0, nap);
///         }
///         if pauses.is_long() { /* a good moment for a look at the clock */ }
///     }
/// });
/// ```
pub struct Pauses(Backoff);

impl fmt::Debug for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pauses").finish_non_exhaustive()
    }
}

impl Pauses {
    /// `crowded`: ranks outnumber cores, and a rank that publishes something wakes those that sleep
    /// until then, with a fence before it looks for them.
    pub fn new(crowded: bool) -> Self {
        Pauses(Backoff::new(Wait::Auto, crowded.then_some(Occasion::Pair)))
    }

    /// How often to look before the next pause.
    pub fn looks(&self) -> u32 {
        self.0.looks()
    }

    /// Spins or yields for a moment; or says for how long at most the caller is to sleep.
    pub fn pause(&mut self) -> Option<Duration> {
        match self.0.pause() {
            Pause::Look => None,
            Pause::Nap(longest) => Some(longest),
        }
    }

    /// Whether the wait is longer than the stage in which it spins.
    ///
    /// # Examples
    /// See [`Pauses`].
    pub fn is_long(&self) -> bool {
        self.0.is_long()
    }
}

/// Sleeps until woken by [`wake_all`], in whatever process, or for `longest`, if `word` still is
/// `value`. May end for no reason. The word is in a mapping that the processes share.
///
/// # Examples
/// See [`Pauses`].
pub fn sleep_on(word: &AtomicU32, value: u32, longest: Duration) {
    #[cfg(not(shuttle))]
    crate::wait::sleep_shared(word, value, longest);
    #[cfg(shuttle)]
    let _ = (word, value, longest);
}

/// Wakes all threads, of all processes, that sleep on the word by [`sleep_on`].
///
/// # Examples
/// See [`Pauses`].
pub fn wake_all(word: &AtomicU32) {
    #[cfg(not(shuttle))]
    crate::wait::wake_shared(word);
    #[cfg(shuttle)]
    let _ = word;
}

/// Copies `bytes` bytes as the library's own calls do: by a loop of its own where the C library's
/// function has bad cases.
///
/// # Safety
/// - `from` is valid for reads and `to` for writes of `bytes` bytes. Another process may write them
///   meanwhile, if it does not matter which bytes are copied then.
/// - They do not overlap.
///
/// # Examples
/// ```
/// let (from, mut to) = ([7_u8; 4096], [0_u8; 4096]);
/// // SAFETY: both have so many bytes.
/// unsafe { phalanx::engine::copy(to.as_mut_ptr(), from.as_ptr(), 4096) };
/// assert_eq!(to, from);
/// ```
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: passed on.
    unsafe { crate::exec::copy(to, from, bytes) }
}
