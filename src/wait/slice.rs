//! The slice of a thread that sleeps and is woken often: 100 us instead of the system's 1 to 3 ms.
//! Beside many busy threads of its own scheduler group a woken thread then waits several times
//! shorter for its turn; beside few it makes no difference.
//!
//! Asked for when a rank first sleeps because a mode says so (`mode.rs`), and given back when its
//! part of the run ends, however it ends: threads and processes that it starts inherit it. Where
//! the system refuses (before Linux 6.12, under seccomp), nothing is lost but time.

#[cfg(not(any(loom, shuttle)))]
use super::system;
use std::cell::Cell;

#[cfg(not(any(loom, shuttle)))]
const NANOSECONDS: u64 = 100_000;

crate::sync::thread_local! {
    static IS_SHORT: Cell<bool> = const { Cell::new(false) };
}

/// Asks for the short slice, once.
#[cfg(not(loom))]
pub(super) fn shorten() {
    if !IS_SHORT.replace(true) {
        #[cfg(not(shuttle))]
        system::set_slice(NANOSECONDS);
    }
}

/// Gives it back, if this thread has asked for one.
#[inline(always)]
pub(crate) fn give_back() {
    if IS_SHORT.get() {
        give_back_now();
    }
}

#[cold]
fn give_back_now() {
    IS_SHORT.set(false);
    #[cfg(not(any(loom, shuttle)))]
    system::set_slice(0);
}
