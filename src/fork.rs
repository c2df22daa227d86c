//! A child of `fork` has one thread, and a copy of all memory: of locks that other threads of its
//! parent held just then, too, and nobody is there to release those.
//!
//! So the state of the process (registers of processing units and of lines, the facts that are
//! read once, the list of worlds) is touched [`inside`] only, and a fork waits until no thread is
//! inside. The teams of the parent have no ranks in the child, and are told so by the function
//! that [`watch`] was given; they refuse all calls then, and their ends wait for nobody.
//!
//! A thread that is inside waits for no other thread, nor for a lock that the program may have: a
//! fork would wait for both.

use crate::sync::diagnostic::{AtomicU64, AtomicUsize, Ordering};
use std::cell::Cell;
use std::sync::Once;

/// Threads that are inside, each as often as it has entered; and [`FORKS`].
static INSIDE: AtomicU64 = AtomicU64::new(0);
/// In [`INSIDE`]: a thread is about to fork, and nobody enters.
const FORKS: u64 = 1 << 63;
/// How many forks lie between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// The first step of a child: a function's address, or 0.
static TOLD: AtomicUsize = AtomicUsize::new(0);

std::thread_local! {
    /// How often this thread has entered.
    static DEPTH: Cell<u64> = const { Cell::new(0) };
}

/// See [`inside`].
#[must_use]
pub(crate) struct Inside(());

/// Until the result is dropped no thread forks, but perhaps this one.
pub(crate) fn inside() -> Inside {
    if DEPTH.get() > 0 {
        // A fork waits for this thread already.
        INSIDE.fetch_add(1, Ordering::Relaxed);
    } else {
        let next = |seen: u64| (seen & FORKS == 0).then_some(seen + 1);
        // Acquire and release, here and below: a fork copies the state that was left inside.
        while INSIDE.fetch_update(Ordering::Acquire, Ordering::Relaxed, next).is_err() {
            crate::sync::yield_now();
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    Inside(())
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        INSIDE.fetch_sub(1, Ordering::Release);
    }
}

/// How many forks lie between the first process and this one.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// From now on a child of a fork calls `told` before all else, and `fork` waits until no thread is
/// inside. To be called before there is anything that a fork may break, and not inside: of several
/// threads one does it, and the others wait for that.
pub(crate) fn watch(told: fn()) {
    static WATCHED: Once = Once::new(); // For good: handlers stay.
    WATCHED.call_once(|| {
        TOLD.store(told as usize, Ordering::Relaxed);
        crate::loaded::stay();
        install();
    });
}

#[cfg(all(unix, not(any(miri, loom, shuttle))))]
fn install() {
    // SAFETY: functions of this library, which stays in memory (`loaded`); they allocate nothing
    // and lock nothing but locks that no thread holds then.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

#[cfg(not(all(unix, not(any(miri, loom, shuttle)))))]
fn install() {
    let _: [extern "C" fn(); 3] = [before, in_parent, in_child];
}

extern "C" fn before() {
    // One fork at a time.
    while INSIDE.fetch_or(FORKS, Ordering::Acquire) & FORKS != 0 {
        crate::sync::yield_now();
    }
    while INSIDE.load(Ordering::Acquire) != FORKS | DEPTH.get() {
        crate::sync::yield_now();
    }
}

extern "C" fn in_parent() {
    INSIDE.fetch_and(!FORKS, Ordering::Release);
}

extern "C" fn in_child() {
    INSIDE.store(DEPTH.get(), Ordering::Relaxed);
    GENERATION.fetch_add(1, Ordering::Relaxed);
    let told = TOLD.load(Ordering::Relaxed);
    if told != 0 {
        // SAFETY: the address of such a function (`watch`).
        unsafe { std::mem::transmute::<usize, fn()>(told)() };
    }
}
