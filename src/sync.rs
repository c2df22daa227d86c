//! The only door to atomics, cells and scheduling hints.
//!
//! In a normal build these are the standard library's; under `cfg(loom)` (the
//! `loom-tests` workspace compiles these same sources with it) they are loom's,
//! which explores every interleaving that the C11 memory model allows. Code
//! elsewhere in the crate must not name `std::sync::atomic`,
//! `std::cell::UnsafeCell` or `std::hint::spin_loop`: what bypasses this file
//! escapes the models.
//!
//! # Orderings and their sites
//! Every word that publishes something is stored with [`publish`], which is
//! `Release` and takes the word's [`Site`]. Under loom a test can weaken one
//! site to `Relaxed`; the model that uses the word must then fail. That is how
//! we know that the models look.

#[cfg(not(loom))]
mod imp {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use std::sync::{Arc, Mutex};
    pub(crate) use std::thread::yield_now;

    /// `std::cell::UnsafeCell` behind loom's closure interface.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
mod imp {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicU32, Ordering, fence};
    pub(crate) use loom::sync::{Arc, Mutex};
    pub(crate) use loom::thread::yield_now;

    /// Loom's, but for [`eager`](super::eager) models.
    #[derive(Debug)]
    pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> Self {
            AtomicU64(loom::sync::atomic::AtomicU64::new(value))
        }

        #[track_caller]
        pub(crate) fn load(&self, ordering: Ordering) -> u64 {
            if super::eager::is() && ordering == Ordering::Acquire {
                return self.0.fetch_or(0, ordering);
            }
            self.0.load(ordering)
        }

        #[track_caller]
        pub(crate) fn store(&self, value: u64, ordering: Ordering) {
            self.0.store(value, ordering);
        }
    }
}

pub(crate) use imp::*;

/// A hint that the line at `at` will be read soon.
#[inline(always)]
pub(crate) fn fetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
    // SAFETY: any address will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, miri)))))]
    let _ = at;
}

/// Atomics and locks that carry diagnostics only (who called what, from where). Nothing
/// is ever published through them, so the models leave them out.
pub(crate) mod diagnostic {
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
}

/// A word whose store publishes something; see the protocol descriptions in
/// `src/mailbox/README.md` and `src/fabric/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Site {
    /// A slot's word: the message is complete.
    Word,
    /// A channel's acknowledgement: the receiver is done with the message.
    Ack,
    /// A gate's word: the rank has arrived, and what it shows is complete.
    Gate,
    /// A board's `entered`: the notice is complete.
    Entered,
    /// A board's `finished`: the rank no longer touches foreign memory.
    Finished,
    /// A rank's `left`: the same, for good.
    Left,
    /// The poison word: the run is over. Nothing relies on this one: the cause
    /// is behind a lock, and who sees a failing rank leave sees its poison by
    /// [`Left`](Site::Left). The models check that, too.
    Poison,
    /// A rank's `wait` word: everything it sent before is visible.
    Waiting,
    /// The dispatch epoch: the job is in place.
    Epoch,
    /// A worker's done word: its result is in place.
    Done,
}

/// The ordering of a publishing store: `Release`. Built with `--cfg weak="word"`
/// (or another site) that site's is `Relaxed`: for `.ci/tsan`, where
/// ThreadSanitizer must then report races.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn publish(site: Site) -> Ordering {
    let is_weak = match site {
        Site::Word => cfg!(weak = "word"),
        Site::Ack => cfg!(weak = "ack"),
        Site::Gate => cfg!(weak = "gate"),
        Site::Entered => cfg!(weak = "entered"),
        Site::Finished => cfg!(weak = "finished"),
        Site::Left => cfg!(weak = "left"),
        Site::Poison => cfg!(weak = "poison"),
        Site::Waiting => cfg!(weak = "waiting"),
        Site::Epoch => cfg!(weak = "epoch"),
        Site::Done => cfg!(weak = "done"),
    };
    if is_weak { Ordering::Relaxed } else { Ordering::Release }
}

#[cfg(loom)]
pub(crate) fn publish(site: Site) -> Ordering {
    if weaken::is(site) { Ordering::Relaxed } else { Ordering::Release }
}

/// Acquiring loads that see the latest value, for models whose waits look only
/// once a look must succeed (`lean` in loom-tests): what else loom would try is
/// the old value, a look that fails. (An RMW that changes nothing sees the
/// latest value, and synchronises with just what the load would.)
#[cfg(loom)]
pub(crate) mod eager {
    use std::cell::Cell;

    std::thread_local! {
        static EAGER: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn is() -> bool {
        EAGER.get()
    }

    /// From here on, on this thread.
    pub(crate) fn set(eager: bool) {
        EAGER.set(eager);
    }
}

/// Weakening one site, for the models that must fail. Loom runs all threads
/// of a model on the thread that called it (the models assert it), so a
/// thread-local suffices.
#[cfg(loom)]
pub(crate) mod weaken {
    use super::Site;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    std::thread_local! {
        static WEAK: Cell<Option<Site>> = const { Cell::new(None) };
        static PASSED: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// Whether `site` is weak. Notes that a model passed it.
    pub(crate) fn is(site: Site) -> bool {
        PASSED.with_borrow_mut(|p| p.insert(site));
        WEAK.get() == Some(site)
    }

    /// From here on, on this thread, stores at `site` are relaxed.
    pub(crate) fn set(site: Site) {
        WEAK.set(Some(site));
    }

    /// The sites that were passed on this thread.
    pub(crate) fn passed() -> BTreeSet<Site> {
        PASSED.with_borrow(BTreeSet::clone)
    }
}
