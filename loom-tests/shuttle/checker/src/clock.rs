//! Vector clocks, and the other state of one execution.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Threads of an execution, shuttle's first one among them.
pub(crate) const THREADS: usize = 16;

/// By thread: how much of its work is known to have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock([u32; THREADS]);

impl Clock {
    pub(crate) const ZERO: Clock = Clock([0; THREADS]);

    pub(crate) fn join(&mut self, other: &Clock) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = (*a).max(b));
    }

    /// The first thread of which `self` knows more than `other`.
    fn beyond(&self, other: &Clock) -> Option<usize> {
        (0..THREADS).find(|&t| self.0[t] > other.0[t])
    }
}

/// The thread that has looked at a place of memory last.
#[derive(Clone, Copy)]
pub(crate) struct Shadow {
    writer: u8,
    written: u32,
    read: Clock,
}

impl Shadow {
    pub(crate) const NEW: Shadow = Shadow { writer: 0, written: 0, read: Clock::ZERO };

    /// Notes an access of the current thread. An error if it is not ordered after another
    /// thread's.
    pub(crate) fn note(&mut self, writes: bool) -> Result<(), String> {
        let Some((me, clock)) = now() else { return Ok(()) };
        let what = if writes { "writes" } else { "reads" };
        if self.written > clock.0[usize::from(self.writer)] {
            let it = self.writer;
            return Err(format!("data race: thread {me} {what} what thread {it} has written"));
        }
        if writes {
            if let Some(it) = self.read.beyond(&clock) {
                return Err(format!("data race: thread {me} writes what thread {it} has read"));
            }
            *self = Shadow { writer: me as u8, written: clock.0[me], read: Clock::ZERO };
        } else {
            self.read.0[me] = clock.0[me];
        }
        Ok(())
    }
}

thread_local! {
    static CLOCKS: RefCell<[Clock; THREADS]> = const { RefCell::new([Clock::ZERO; THREADS]) };
    /// Whether shuttle runs on this thread of the system.
    static EXPLORING: Cell<bool> = const { Cell::new(false) };
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
    static REACHED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// A new execution begins.
pub(crate) fn begin() {
    let mut clocks = [Clock::ZERO; THREADS];
    (0..THREADS).for_each(|t| clocks[t].0[t] = 1);
    CLOCKS.set(clocks);
    FAILURE.set(None);
}

pub(crate) fn exploring(is: bool) {
    EXPLORING.set(is);
}

pub(crate) fn is_exploring() -> bool {
    EXPLORING.get()
}

/// The current thread's number, if it is one of an execution.
pub(crate) fn me() -> Option<usize> {
    if !is_exploring() {
        return None;
    }
    let me = usize::from(shuttle::current::try_get_current_task()?);
    assert!(me < THREADS, "an execution of more than {THREADS} threads");
    Some(me)
}

/// The current thread, and its knowledge.
pub(crate) fn now() -> Option<(usize, Clock)> {
    let me = me()?;
    Some((me, CLOCKS.with_borrow(|clocks| clocks[me])))
}

/// The current thread learns the knowledge of `clock`.
pub(crate) fn learn(clock: &Clock) {
    if let Some(me) = me() {
        CLOCKS.with_borrow_mut(|clocks| clocks[me].join(clock));
    }
}

/// The knowledge of the current thread; its work from here on is not part of that.
pub(crate) fn publish() -> Clock {
    let Some(me) = me() else { return Clock::ZERO };
    CLOCKS.with_borrow_mut(|clocks| {
        let known = clocks[me];
        clocks[me].0[me] += 1;
        known
    })
}

/// Thread `it`, which has not begun, learns the knowledge of `clock`.
pub(crate) fn teach(it: usize, clock: &Clock) {
    CLOCKS.with_borrow_mut(|clocks| clocks[it].join(clock));
}

/// A point at which another thread may go on.
pub(crate) fn switch() {
    if me().is_some() {
        // Not a yield: schedulers may let this thread go on.
        shuttle::thread::sleep(std::time::Duration::ZERO);
    }
}

/// The execution has failed. The first failure is kept, whatever the library makes of the
/// panic; a destructor, which must not panic while its thread unwinds, goes on.
pub(crate) fn fail(what: String) {
    keep_failure(what.clone());
    if !crate::panics::panicking() {
        panic!("{what}");
    }
}

pub(crate) fn failure() -> Option<String> {
    FAILURE.with_borrow(Clone::clone)
}

/// Keeps the first failure, without a panic.
pub(crate) fn keep_failure(what: String) {
    FAILURE.with_borrow_mut(|failure| {
        failure.get_or_insert(what);
    });
}

pub(crate) fn note_reached(label: &'static str) {
    REACHED.with_borrow_mut(|reached| {
        reached.insert(label);
    });
}

pub(crate) fn take_reached() -> BTreeSet<&'static str> {
    REACHED.take()
}
