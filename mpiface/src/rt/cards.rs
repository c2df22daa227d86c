//! Cards of collectives that are started: a rank writes its own, the others read it.
//!
//! A rank has a few places for cards, used in turn: the card of collective `n` lies in place
//! `n % PLACES`, on lines of its own, and is shown by its number. The place is free again when
//! every rank has told that it is done with collective `n`, so that nobody reads there any more. (A
//! rank that finds no free place keeps the card elsewhere: `started/`.)
//!
//! What has to be done for a rank may be done by that rank or by another one, if the card lends
//! memory: who claims it first does it, and tells when it is over. Its model is in `loom/`, which
//! compiles this file.

use super::word::Word;
#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::cell::UnsafeCell;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// Places of a rank.
pub const PLACES: u64 = if cfg!(loom) { 2 } else { 8 };

/// Whether the place of collective `number` is free, if a rank is done with all up to `done`.
#[inline]
pub fn is_free(number: u64, done: u64) -> bool {
    number <= done + PLACES
}

/// Who does what a card asks for: on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Task {
    claimed: AtomicU64,
    over: Word,
}

/// A place with a card, or without one yet.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Tray<T> {
    shown: Word,
    content: UnsafeCell<T>,
    task: Task,
}

// SAFETY: contents are written as `show` asks of its caller and read as `read` does: the words
// order both. They go from thread to thread.
unsafe impl<T: Send + Sync> Sync for Tray<T> {}

impl<T: Default> Default for Tray<T> {
    fn default() -> Tray<T> {
        let content = UnsafeCell::new(T::default());
        Tray { shown: Word::default(), content, task: Task::default() }
    }
}

impl<T> Tray<T> {
    /// Writes the card of collective `number`, and shows it.
    ///
    /// # Safety
    /// The rank that owns it calls this, with larger numbers each time, when the place is free:
    /// every rank is done with the card that lay there.
    #[inline]
    pub unsafe fn show(&self, number: u64, fill: impl FnOnce(&mut T)) {
        #[cfg(not(loom))]
        // SAFETY: the caller's promise: nobody reads it.
        fill(unsafe { &mut *self.content.get() });
        #[cfg(loom)]
        // SAFETY: as above; loom watches.
        self.content.with_mut(|it| fill(unsafe { &mut *it }));
        self.shown.tell(number);
    }

    /// The number of the collective whose card lies here.
    #[inline]
    pub fn shown(&self) -> u64 {
        self.shown.told()
    }

    /// Reads the card.
    ///
    /// # Safety
    /// The calling rank has seen it shown, and has not told since that it is done with it.
    #[inline]
    pub unsafe fn read<R>(&self, run: impl FnOnce(&T) -> R) -> R {
        #[cfg(not(loom))]
        // SAFETY: the caller's promise: it is not written meanwhile.
        return run(unsafe { &*self.content.get() });
        #[cfg(loom)]
        // SAFETY: as above; loom watches.
        self.content.with(|it| run(unsafe { &*it }))
    }

    /// Claims what the card of collective `number` asks for: gives whether the caller does it.
    pub fn claim(&self, number: u64) -> bool {
        let claimed = &self.task.claimed;
        // Relaxed: it says who does it, and publishes nothing. The cards that are read for it have
        // been seen shown; what was done is published by `over`.
        let before = claimed.load(Ordering::Relaxed);
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        before < number && claimed.compare_exchange(before, number, success, failure).is_ok()
    }

    /// Whether somebody does it, or has done it.
    pub fn is_claimed(&self, number: u64) -> bool {
        // Relaxed: as `claim`.
        self.task.claimed.load(Ordering::Relaxed) >= number
    }

    /// What was claimed has been done.
    pub fn tell_over(&self, number: u64) {
        self.task.over.tell(number);
    }

    /// Whether it has been done: what was written for it can be read then.
    #[inline]
    pub fn is_over(&self, number: u64) -> bool {
        self.task.over.has_told(number)
    }
}
