//! Threads that sleep on a word until another thread wakes them: the stand-in for the system's
//! futex.
//!
//! A sleeper yields to the others until it is woken, which loom is not told of: a sleeper looks at
//! nothing. (Not loom's own parking: that orders the waker's work before all that the sleeper
//! does then, which a futex does not promise; and loom's report of a deadlock cannot be caught,
//! while some models must fail on purpose.) A model that [says](begin) how many threads it has
//! fails as soon as all that have not ended sleep: nobody is left to wake them, so a wake-up was
//! lost.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Yields after which a sleeper of a model that does not count its threads is believed to sleep for
/// ever: their other threads do nothing new after so many.
const FOR_EVER: usize = 500;

thread_local! {
    /// Threads of the execution that neither sleep nor have ended, and those asleep. (Loom runs all
    /// of a model's threads on one; the harness asserts it.)
    static AWAKE: Cell<Option<usize>> = const { Cell::new(None) };
    static ASLEEP: Cell<usize> = const { Cell::new(0) };
}

/// A new execution begins, of an unknown number of threads.
pub(crate) fn reset() {
    AWAKE.set(None);
    ASLEEP.set(0);
}

/// This execution has so many threads that may sleep or wake others, each of which says when it
/// [ends](end).
#[cfg(test)]
pub(crate) fn begin(threads: usize) {
    AWAKE.set(Some(threads));
}

/// A thread has ended: it wakes nobody from now on.
#[cfg(test)]
pub(crate) fn end() {
    one_less();
}

fn one_less() {
    if let Some(awake) = AWAKE.get() {
        AWAKE.set(Some(awake - 1));
        assert!(awake > 1 || ASLEEP.get() == 0, "a wake-up was lost: asleep for ever");
    }
}

/// Those on one word; each: whether it was woken.
pub(crate) struct Sleepers(RefCell<Vec<Rc<Cell<bool>>>>);

// SAFETY: all threads of an execution are coroutines of one thread of the system.
unsafe impl Sync for Sleepers {}
// SAFETY: as above.
unsafe impl Send for Sleepers {}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Sleepers(RefCell::new(Vec::new()))
    }

    /// Sleeps until woken if `is_to`, the word's last operation before: loom lets nobody else go on
    /// between that and this.
    pub(crate) fn sleep(&self, is_to: bool, is_timed: bool) {
        if is_timed {
            return crate::sync::yield_now();
        }
        if !is_to {
            return;
        }
        let woken = Rc::new(Cell::new(false));
        self.0.borrow_mut().push(woken.clone());
        ASLEEP.set(ASLEEP.get() + 1);
        one_less();
        let mut yields = 0;
        while !woken.get() {
            yields += 1;
            let is_known = AWAKE.get().is_some();
            assert!(is_known || yields < FOR_EVER, "a wake-up was lost: asleep for ever");
            crate::sync::yield_now();
        }
    }

    pub(crate) fn wake(&self) {
        for woken in self.0.take() {
            woken.set(true);
            ASLEEP.set(ASLEEP.get() - 1);
            AWAKE.set(AWAKE.get().map(|awake| awake + 1));
        }
    }
}
