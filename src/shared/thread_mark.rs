//! By which a call knows that it is on its communicator's thread, and that this has nothing else to
//! go on with: one comparison tells both.

use crate::sync::diagnostic::{AtomicUsize, Ordering::Relaxed};
#[cfg(not(loom))]
use crate::sync::this_thread;

/// In a word of a [`ThreadMark`]: there is something to go on with. Threads' numbers are even, so
/// the bit is free.
#[cfg(not(loom))]
const BUSY: usize = 1;

/// The part of a started call that peers may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
pub(crate) enum Owed {
    /// Nothing.
    Nothing,
    /// That the rank looks at it once those have started it that give it input: then its column is
    /// free, for the call that is started 64 calls later.
    Look,
    /// The rank's part of the work.
    Work,
}

/// See the module documentation. In a line of its own: other threads look at the words beside it.
///
/// Its thread alone writes it. Others that read it, by a communicator that they were given, find
/// another number than their own.
#[derive(Debug)]
#[repr(align(64))]
#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
pub(crate) struct ThreadMark {
    /// The number that a call compares with the number of its thread: [`BUSY`] if peers may wait
    /// for anything that was started.
    for_calls: AtomicUsize,
    /// The number that a call compares which only starts something: [`BUSY`] if peers may wait for
    /// work.
    for_starts: AtomicUsize,
    /// So many calls are under way that peers may wait for, and so many of them with work.
    started: AtomicUsize,
    working: AtomicUsize,
}

impl ThreadMark {
    /// Nobody's: no thread has this number.
    pub(crate) const fn nobody() -> Self {
        let [for_calls, for_starts, started, working] = [const { AtomicUsize::new(0) }; 4];
        ThreadMark { for_calls, for_starts, started, working }
    }
}

#[cfg(not(loom))]
impl ThreadMark {
    /// Of a rank that no thread holds.
    pub(crate) fn none() -> &'static ThreadMark {
        static NONE: ThreadMark = ThreadMark::nobody();
        &NONE
    }

    /// Of a rank with a communicator that is lent to another thread than the rank's own: each call
    /// asks.
    pub(crate) fn lent() -> &'static ThreadMark {
        static LENT: ThreadMark = ThreadMark::nobody();
        &LENT
    }

    /// The mark's address, for the word of a rank that says which thread holds it.
    #[inline(always)]
    pub(super) fn word(&'static self) -> u64 {
        std::ptr::from_ref(self).expose_provenance() as u64
    }

    /// Whether it is the calling thread's, and peers wait for nothing that was started.
    #[inline(always)]
    pub(crate) fn is_here_and_owes_nothing(&self) -> bool {
        self.for_calls.load(Relaxed) == this_thread()
    }

    /// From now on it is the calling thread's, which has started nothing.
    pub(super) fn be_here(&self) {
        self.be_of(this_thread());
    }

    /// From now on it is nobody's: the calling thread, which had it, ends, and its number may be a
    /// later thread's.
    pub(super) fn be_nobodys(&self) {
        self.be_of(0);
    }

    fn be_of(&self, thread: usize) {
        for count in [&self.started, &self.working] {
            count.store(0, Relaxed);
        }
        for word in [&self.for_calls, &self.for_starts] {
            word.store(thread, Relaxed);
        }
    }

    /// Whether it is the calling thread's, and peers wait for no work of it.
    #[inline(always)]
    pub(crate) fn is_here_and_owes_no_work(&self) -> bool {
        self.for_starts.load(Relaxed) == this_thread()
    }

    /// Whether it is the calling thread's.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        self.for_calls.load(Relaxed) & !BUSY == this_thread()
    }

    /// Whether peers may wait for something that the thread has started.
    #[inline(always)]
    pub(crate) fn has_started(&self) -> bool {
        self.for_calls.load(Relaxed) & BUSY != 0
    }

    /// A call is under way.
    #[inline(always)]
    pub(crate) fn begin(&self, owed: Owed) {
        if owed == Owed::Nothing {
            return;
        }
        one_more(&self.started, &self.for_calls);
        if owed == Owed::Work {
            one_more(&self.working, &self.for_starts);
        }
    }

    /// Such a call is complete, or given up.
    #[inline(always)]
    pub(crate) fn end(&self, owed: Owed) {
        if owed == Owed::Nothing {
            return;
        }
        one_less(&self.started, &self.for_calls);
        if owed == Owed::Work {
            one_less(&self.working, &self.for_starts);
        }
    }
}

#[cfg(not(loom))]
#[inline(always)]
fn one_more(count: &AtomicUsize, word: &AtomicUsize) {
    count.store(count.load(Relaxed) + 1, Relaxed);
    word.store(word.load(Relaxed) | BUSY, Relaxed);
}

#[cfg(not(loom))]
#[inline(always)]
fn one_less(count: &AtomicUsize, word: &AtomicUsize) {
    let left = count.load(Relaxed) - 1;
    count.store(left, Relaxed);
    if left == 0 {
        word.store(word.load(Relaxed) & !BUSY, Relaxed);
    }
}
