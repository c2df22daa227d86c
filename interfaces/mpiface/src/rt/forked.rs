//! A child of `fork` has none of the ranks, but a copy of their state: each call of MPI there is
//! an error. So a child first says so to every rank's state.

use super::rank::Rank;
use std::cell::UnsafeCell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The ranks of the process. The lock is held during a fork.
struct Ranks {
    is_taken: AtomicBool,
    list: UnsafeCell<Vec<*const Rank>>,
}

// SAFETY: the list is used by the holder of the lock only; the ranks are looked at in a child only,
// which has one thread.
unsafe impl Sync for Ranks {}
// SAFETY: as above.
unsafe impl Send for Ranks {}

static RANKS: Ranks = Ranks { is_taken: AtomicBool::new(false), list: UnsafeCell::new(Vec::new()) };

extern "C" fn take() {
    while RANKS.is_taken.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
}

extern "C" fn give_back() {
    RANKS.is_taken.store(false, Ordering::Release);
}

extern "C" fn tell() {
    // SAFETY: the lock is held, by `take`; the ranks live until `forget`.
    unsafe { (*RANKS.list.get()).iter().for_each(|it| (**it).is_forked()) };
    give_back();
}

/// From now on a child of a fork tells this rank, which lives until `forget`.
pub fn watch(rank: *const Rank) {
    static ONCE: Once = Once::new();
    // SAFETY: functions of this library, which is never unloaded, and which allocate nothing.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(take), Some(give_back), Some(tell));
    });
    take();
    // SAFETY: the lock is held.
    let list = unsafe { &mut *RANKS.list.get() };
    // A rank has a copy of each of its libraries.
    if !list.contains(&rank) {
        list.push(rank);
    }
    give_back();
}

/// The rank is about to be freed.
pub fn forget(rank: *const Rank) {
    take();
    // SAFETY: the lock is held.
    unsafe { (*RANKS.list.get()).retain(|it| *it != rank) };
    give_back();
}
