//! By which a call knows that it is on its communicator's thread, and that this has nothing else to
//! go on with: one comparison tells both.

use crate::sync::diagnostic::{AtomicUsize, Ordering::Relaxed};
#[cfg(not(loom))]
use crate::sync::this_thread;

/// In [`ThreadMark::word`]: the thread has started calls that others may wait for. Threads' numbers
/// are even, so the bit is free.
const STARTED: usize = 1;

/// See the module documentation. In a line of its own: other threads look at the words beside it.
///
/// Its thread alone writes it. Others that read it, by a communicator that they were given, find
/// another number than their own.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct ThreadMark {
    /// The number of the thread, perhaps with [`STARTED`].
    word: AtomicUsize,
    /// Calls that it has started, that are not complete, and in which all ranks have a part: peers
    /// may wait until this thread has looked at them.
    open: AtomicUsize,
}

impl ThreadMark {
    /// Nobody's: no thread has this number.
    pub(crate) const fn nobody() -> Self {
        ThreadMark { word: AtomicUsize::new(0), open: AtomicUsize::new(0) }
    }

    /// Of a communicator that no thread has used yet.
    #[cfg(not(loom))]
    pub(crate) fn none() -> &'static ThreadMark {
        static NONE: ThreadMark = ThreadMark::nobody();
        &NONE
    }
}

#[cfg(not(loom))]
impl ThreadMark {
    /// From now on it is the calling thread's, which has started nothing.
    pub(super) fn be_here(&self) {
        self.open.store(0, Relaxed);
        self.word.store(this_thread(), Relaxed);
    }

    /// Whether it is the calling thread's, and that has nothing to go on with.
    #[inline(always)]
    pub(crate) fn is_here_and_free(&self) -> bool {
        self.word.load(Relaxed) == this_thread()
    }

    /// Whether it is the calling thread's.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        self.word.load(Relaxed) & !STARTED == this_thread()
    }

    /// Whether no thread has used the communicator yet.
    #[inline(always)]
    pub(crate) fn is_nobodys(&self) -> bool {
        self.word.load(Relaxed) == 0
    }

    /// Whether the thread has something to go on with.
    #[inline(always)]
    pub(crate) fn has_started(&self) -> bool {
        self.word.load(Relaxed) & STARTED != 0
    }

    /// A call that all ranks have a part in is under way.
    #[inline(always)]
    pub(crate) fn begin(&self) {
        self.open.store(self.open.load(Relaxed) + 1, Relaxed);
        self.word.store(self.word.load(Relaxed) | STARTED, Relaxed);
    }

    /// One of those is complete, or given up.
    #[inline(always)]
    pub(crate) fn end(&self) {
        let open = self.open.load(Relaxed) - 1;
        self.open.store(open, Relaxed);
        if open == 0 {
            self.word.store(self.word.load(Relaxed) & !STARTED, Relaxed);
        }
    }
}
