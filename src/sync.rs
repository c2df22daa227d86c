//! The only door to atomics, cells and scheduling hints; to threads, thread-locals and unwinding;
//! and to the clock.
//!
//! In a normal build these are the standard library's; under `cfg(loom)` (the
//! `loom-tests` workspace compiles a part of these same sources with it) they
//! are loom's, which explores every interleaving that the C11 memory model
//! allows; under `cfg(shuttle)` (`loom-tests/shuttle` compiles all of them)
//! they are its checker's, which runs whole programs in many schedules. Code
//! elsewhere in the crate must not name `std::sync::atomic`,
//! `std::cell::UnsafeCell`, `std::hint::spin_loop`, `std::thread`,
//! `thread_local!` or `Instant`: code that bypasses this file escapes the models
//! (`tests/house/trust.rs` has the list of the exceptions).
//!
//! # Orderings and their sites
//! Every word that publishes something is stored with [`publish`], which is
//! `Release`, and loaded with [`consume`], which is `Acquire`; both take the
//! word's [`Site`]. Under a checker a test can weaken one side of one site to
//! `Relaxed`; the model that uses the word must then fail. That is how we know
//! that the models look.

#[cfg(not(any(loom, shuttle)))]
mod imp {
    // By the target: `pause` on x86-64; on Arm's 64 bits `isb`, which takes about as long, where
    // `yield` ends at once. Not `wfe`: it wakes for a line that the core has loaded exclusively, of
    // which it has one, while a rank looks at its peer's word and at its own `present`, so that a
    // failure would be seen only at the system's next event.
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
    pub(crate) use std::sync::atomic::{compiler_fence, fence};
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

/// Not atomics, but in a checker's hand, too: threads, time, and which thread unwinds. (Loom's
/// models have none of these.)
#[cfg(not(shuttle))]
mod whole {
    pub(crate) use std::panic::{catch_unwind, resume_unwind};
    pub(crate) use std::thread::{Builder as ThreadBuilder, JoinHandle, panicking, sleep};
    pub(crate) use std::thread_local;
    pub(crate) use std::time::Instant;

    /// An even number that no other live thread has.
    #[inline(always)]
    pub(crate) fn this_thread() -> usize {
        // In a shared library a thread-local is a call.
        #[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
        #[cfg(not(miri))]
        {
            let block: usize;
            // SAFETY: a thread's block of control data begins with its own address (the ELF ABI
            // for thread-locals), which stays as long as the thread.
            unsafe {
                std::arch::asm!(
                    "mov {}, qword ptr fs:[0]", out(reg) block,
                    options(pure, readonly, nostack, preserves_flags)
                );
            }
            block
        }
        #[cfg(any(
            miri,
            not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))
        ))]
        {
            std::thread_local! {
                static MARK: u64 = const { 0 };
            }
            MARK.with(|mark| std::ptr::from_ref(mark).addr())
        }
    }
}

#[cfg(shuttle)]
mod imp {
    pub(crate) use checker::threads::{Sleepers, fence, spin_loop, yield_now};
    pub(crate) use checker::{AtomicPtr, AtomicU32, AtomicU64, Mutex, UnsafeCell};
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::Ordering;
}

#[cfg(shuttle)]
mod whole {
    pub(crate) use checker::panic::{catch_unwind, resume_unwind};
    pub(crate) use checker::threads::{
        Builder as ThreadBuilder, JoinHandle, panicking, sleep, this_thread,
    };
    pub(crate) use checker::{Instant, thread_local};
}

#[cfg(loom)]
mod imp {
    pub(crate) use crate::atomics::{AtomicU32, AtomicU64, UnsafeCell};
    pub(crate) use crate::sleepers::{Sleepers, heavy_fence, light_fence};
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicPtr, Ordering, fence};
    pub(crate) use loom::sync::{Arc, Mutex};
    pub(crate) use loom::thread::yield_now;
}

pub(crate) use imp::*;
#[allow(unused_imports)] // Loom's models are a part of the library.
pub(crate) use whole::*;

/// A hint that the line at `at` will be read soon.
#[inline(always)]
pub(crate) fn fetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: any address will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = at;
}

/// A hint that so many bytes at `at` will be written soon.
#[inline(always)]
pub(crate) fn fetch_to_write(at: *const u8, bytes: usize) {
    /// Bytes of a line.
    const LINE: usize = 64;
    let mut from = 0;
    while from < bytes {
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
        // SAFETY: any address will do; 64-bit processors since 2006 execute it, or ignore it.
        unsafe {
            std::arch::asm!(
                "prefetchw byte ptr [{}]", in(reg) at.wrapping_add(from),
                options(nostack, preserves_flags, readonly)
            );
        }
        from += LINE;
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = at;
}

/// A counter that goes on at a steady rate, the same on all cores, if [`has_steady_ticks`]; else 0.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: every processor of this architecture has the instruction.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    0
}

/// Whether [`ticks`] counts time: the processor says that its counter does not stop, and keeps its
/// rate whatever the clock of its cores.
pub(crate) fn has_steady_ticks() -> bool {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    #[allow(unused_unsafe, reason = "safe from Rust 1.94 on")]
    // SAFETY: every processor of this architecture has the instruction; the second question is
    // asked only if the answer to the first says that it may be.
    unsafe {
        use std::arch::x86_64::__cpuid;
        const POWER: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx >> 8 & 1 == 1
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    false
}

/// Atomics and locks that carry diagnostics only (calls, their ranks and lines). Nothing
/// is ever published through them, so the models leave them out.
pub(crate) mod diagnostic {
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
}

/// The atomics that users share in windows: theirs alone, so no model has them.
pub(crate) mod of_users {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
        AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
}

/// A word by which something is published; see the protocol descriptions in
/// `src/mailbox/README.md` and `src/shared/README.md`.
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
    /// is behind a lock, and a rank that sees a failing one leave sees its poison by
    /// [`Left`](Site::Left). The models check that, too.
    Poison,
    /// A rank's `wait` word: everything it sent before is visible.
    Waiting,
    /// The dispatch epoch: the job is in place.
    Epoch,
    /// A worker's done word: its result is in place.
    Done,
    /// A short lock: the changes that were made under it are complete.
    Lock,
    /// A ticket's word: a tagged message has been copied, and its sender's or its receiver's
    /// memory is not touched any more.
    Ticket,
}

/// The ordering of a publishing store: `Release`. Built with `--cfg weak` a mailbox word's is
/// `Relaxed`: for `.ci/tsan`, where ThreadSanitizer must then report races.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) const fn publish(site: Site) -> Ordering {
    if cfg!(weak) && matches!(site, Site::Word) { Ordering::Relaxed } else { Ordering::Release }
}

/// The ordering of the load that meets a publishing store: `Acquire`.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub(crate) const fn consume(_site: Site) -> Ordering {
    Ordering::Acquire
}

#[cfg(loom)]
pub(crate) fn publish(site: Site) -> Ordering {
    if weaken::is(site) { Ordering::Relaxed } else { Ordering::Release }
}

#[cfg(loom)]
pub(crate) fn consume(site: Site) -> Ordering {
    if weaken::is_load(site) { Ordering::Relaxed } else { Ordering::Acquire }
}

#[cfg(shuttle)]
pub(crate) fn publish(site: Site) -> Ordering {
    if checker::weaken(site.name(), true) { Ordering::Relaxed } else { Ordering::Release }
}

#[cfg(shuttle)]
pub(crate) fn consume(site: Site) -> Ordering {
    if checker::weaken(site.name(), false) { Ordering::Relaxed } else { Ordering::Acquire }
}

#[cfg(shuttle)]
impl Site {
    fn name(self) -> &'static str {
        match self {
            Site::Word => "Word",
            Site::Ack => "Ack",
            Site::Gate => "Gate",
            Site::Entered => "Entered",
            Site::Finished => "Finished",
            Site::Left => "Left",
            Site::Poison => "Poison",
            Site::Waiting => "Waiting",
            Site::Epoch => "Epoch",
            Site::Done => "Done",
            Site::Lock => "Lock",
            Site::Ticket => "Ticket",
        }
    }
}

/// Acquiring loads that see the latest value, for models whose waits look only once a look must
/// succeed (`lean` in loom-tests): loom would also try the old value, a look that fails. (An RMW
/// that changes nothing sees the latest value, and synchronises with just those stores with which
/// the load would.)
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
        static WEAK_LOAD: Cell<Option<Site>> = const { Cell::new(None) };
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

    /// Whether the loads of `site` are weak.
    pub(crate) fn is_load(site: Site) -> bool {
        WEAK_LOAD.get() == Some(site)
    }

    /// Whether any loads are.
    pub(crate) fn loads() -> bool {
        WEAK_LOAD.get().is_some()
    }

    /// From here on, on this thread, loads at `site` are relaxed.
    pub(crate) fn set_load(site: Site) {
        WEAK_LOAD.set(Some(site));
    }

    /// The sites that were passed on this thread.
    pub(crate) fn passed() -> BTreeSet<Site> {
        PASSED.with_borrow(BTreeSet::clone)
    }
}
