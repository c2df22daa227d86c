//! By which a call knows that it is on its communicator's thread, and that this has nothing else to
//! go on with: one comparison tells both.

use crate::sync::diagnostic::{AtomicUsize, Ordering::Relaxed};
#[cfg(not(loom))]
use crate::sync::this_thread;

/// In [`ThreadMark::word`]: the thread has started calls of which peers wait for a look, or for
/// work. Threads' numbers are multiples of 4, so the bits are free.
const STARTED: usize = 1;
/// In [`ThreadMark::word`]: for work.
const OWES_WORK: usize = 2;

/// What peers may wait for of a call that a rank has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// Nothing.
    Nothing,
    /// That the rank looks at it once all have started it: then its lane is free, for the call that
    /// is started 64 calls later.
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
pub(crate) struct ThreadMark {
    /// The number of the thread, perhaps with [`STARTED`] and [`OWES_WORK`].
    word: AtomicUsize,
    /// Calls that it has started, that are not complete, and that peers may wait for: all, and
    /// those with work.
    started: AtomicUsize,
    owing: AtomicUsize,
}

impl ThreadMark {
    /// Nobody's: no thread has this number.
    pub(crate) const fn nobody() -> Self {
        let [word, started, owing] = [const { AtomicUsize::new(0) }; 3];
        ThreadMark { word, started, owing }
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
        self.started.store(0, Relaxed);
        self.owing.store(0, Relaxed);
        self.word.store(this_thread(), Relaxed);
    }

    /// Whether it is the calling thread's, and peers wait for nothing that this has started.
    #[inline(always)]
    pub(crate) fn is_here_and_free(&self) -> bool {
        self.word.load(Relaxed) == this_thread()
    }

    /// Whether it is the calling thread's, and peers wait for no work of it.
    #[inline(always)]
    pub(crate) fn is_here_and_owes_no_work(&self) -> bool {
        self.word.load(Relaxed) & !STARTED == this_thread()
    }

    /// Whether it is the calling thread's.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        self.word.load(Relaxed) & !(STARTED | OWES_WORK) == this_thread()
    }

    /// Whether no thread has used the communicator yet.
    #[inline(always)]
    pub(crate) fn is_nobodys(&self) -> bool {
        self.word.load(Relaxed) == 0
    }

    /// Whether peers may wait for something that the thread has started.
    #[inline(always)]
    pub(crate) fn has_started(&self) -> bool {
        self.word.load(Relaxed) & STARTED != 0
    }

    /// Whether they may wait for work of it.
    #[inline(always)]
    pub(crate) fn owes_work(&self) -> bool {
        self.word.load(Relaxed) & OWES_WORK != 0
    }

    /// A call is under way.
    #[inline(always)]
    pub(crate) fn begin(&self, share: Share) {
        if share == Share::Nothing {
            return;
        }
        self.started.store(self.started.load(Relaxed) + 1, Relaxed);
        self.word.store(self.word.load(Relaxed) | STARTED, Relaxed);
        if share == Share::Work {
            self.owing.store(self.owing.load(Relaxed) + 1, Relaxed);
            self.word.store(self.word.load(Relaxed) | OWES_WORK, Relaxed);
        }
    }

    /// Such a call is complete, or given up.
    #[inline(always)]
    pub(crate) fn end(&self, share: Share) {
        if share == Share::Nothing {
            return;
        }
        let started = self.started.load(Relaxed) - 1;
        self.started.store(started, Relaxed);
        if started == 0 {
            self.word.store(self.word.load(Relaxed) & !STARTED, Relaxed);
        }
        if share == Share::Work {
            let owing = self.owing.load(Relaxed) - 1;
            self.owing.store(owing, Relaxed);
            if owing == 0 {
                self.word.store(self.word.load(Relaxed) & !OWES_WORK, Relaxed);
            }
        }
    }
}
