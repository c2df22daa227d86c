//! Threads that sleep on a word until another thread wakes them: the stand-in for the system's
//! futex.
//!
//! A sleeper yields to the others until it is woken, which loom is not told of: a sleeper looks at
//! nothing. (Not loom's own parking: that orders the waker's work before all that the sleeper
//! does then, which a futex does not promise; and loom's report of a deadlock cannot be caught,
//! while some models must fail on purpose.) A model that [says](begin) how many threads it has
//! fails as soon as all that have not ended sleep: nobody is left to wake them, so a wake-up was
//! lost.

use loom::sync::atomic::{Ordering::SeqCst, fence};
use loom::thread::{ThreadId, current};
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
    /// Threads that have begun, and neither sleep nor have ended.
    static RUNNING: RefCell<Vec<ThreadId>> = const { RefCell::new(Vec::new()) };
    /// Heavy fences so far; each: the threads that have not fenced in its name yet.
    static HEAVY: RefCell<Vec<Vec<ThreadId>>> = const { RefCell::new(Vec::new()) };
    /// Whether the model has heavy fences.
    static HAS_HEAVY: Cell<bool> = const { Cell::new(false) };
}

/// A new execution begins, of an unknown number of threads.
pub(crate) fn reset() {
    AWAKE.set(None);
    ASLEEP.set(0);
    RUNNING.with_borrow_mut(Vec::clear);
    HEAVY.with_borrow_mut(Vec::clear);
    HAS_HEAVY.set(false);
}

/// This execution has so many threads that may sleep or wake others, each of which says when it
/// [ends](end).
#[cfg(test)]
pub(crate) fn begin(threads: usize) {
    AWAKE.set(Some(threads));
    enter();
}

/// As [`begin`], of a model with heavy fences.
#[cfg(test)]
pub(crate) fn begin_with_heavy_fences(threads: usize) {
    HAS_HEAVY.set(true);
    begin(threads);
}

/// The calling thread begins its part; not needed of the one that has called [`begin`].
#[cfg(test)]
pub(crate) fn enter() {
    RUNNING.with_borrow_mut(|running| running.push(current().id()));
    // All heavy fences so far are before its first access.
    if HEAVY.with_borrow(|all| !all.is_empty()) {
        fence(SeqCst);
    }
}

/// The calling thread does nothing for a while, or has ended: the system fences as it takes the
/// core from it, so a heavy fence need not ask it.
fn pause_running() {
    if HAS_HEAVY.get() {
        fence(SeqCst);
    }
    light_fence();
    let me = current().id();
    RUNNING.with_borrow_mut(|running| running.retain(|&thread| thread != me));
}

/// Fences in the name of every heavy fence that waits for the calling thread. (A heavy fence may
/// act on a thread at any moment. Before the thread publishes is the same as before it begins, and
/// after it has looked at the mark is the same as at its end, so it is enough to stop here, where a
/// light fence is, and there.)
pub(crate) fn light_fence() {
    let me = current().id();
    let is_asked = || HEAVY.with_borrow(|all| all.iter().any(|rest| rest.contains(&me)));
    if is_asked() {
        fence(SeqCst);
        HEAVY.with_borrow_mut(|all| all.iter_mut().for_each(|rest| rest.retain(|&t| t != me)));
    }
}

/// Waits until all threads that run have fenced in its name. A thread that sleeps, or has not
/// begun, fences before it does anything. Refused to models that have not said that they have such.
pub(crate) fn heavy_fence() -> bool {
    if !HAS_HEAVY.get() {
        return false;
    }
    let me = current().id();
    fence(SeqCst);
    let number = HEAVY.with_borrow_mut(|all| {
        let running = RUNNING.with_borrow(Clone::clone);
        all.push(running.into_iter().filter(|&thread| thread != me).collect());
        all.len() - 1
    });
    while HEAVY.with_borrow(|all| !all[number].is_empty()) {
        light_fence();
        crate::sync::yield_now();
    }
    fence(SeqCst);
    true
}

/// A thread has ended: it wakes nobody from now on.
#[cfg(test)]
pub(crate) fn end() {
    pause_running();
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
        // Not before: a fence lets others go on.
        pause_running();
        let fences = HEAVY.with_borrow(Vec::len);
        let mut yields = 0;
        while !woken.get() {
            yields += 1;
            let is_known = AWAKE.get().is_some();
            assert!(is_known || yields < FOR_EVER, "a wake-up was lost: asleep for ever");
            crate::sync::yield_now();
        }
        RUNNING.with_borrow_mut(|running| running.push(current().id()));
        if HEAVY.with_borrow(|all| all.len() > fences) {
            fence(SeqCst);
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
