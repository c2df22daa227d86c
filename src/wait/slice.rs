//! The slice of a thread that sleeps and is woken often: 100 us instead of the system's 1 to 3 ms.
//! Beside many busy threads of its own scheduler group a woken thread then waits several times
//! shorter for its turn; beside few it makes no difference.
//!
//! Asked for when a rank first sleeps because a mode says so (`mode.rs`), and given back when its
//! part of the run ends (`debts.rs`). Where the system refuses (before Linux 6.12, under seccomp),
//! nothing is lost but time.

use super::debts::owe;
#[cfg(not(shuttle))]
use super::system;
use std::cell::Cell;

#[cfg(not(shuttle))]
const NANOSECONDS: u64 = 100_000;

crate::sync::thread_local! {
    static IS_SHORT: Cell<bool> = const { Cell::new(false) };
}

/// Asks for the short slice, once.
pub(super) fn shorten() {
    if !IS_SHORT.replace(true) {
        set(true);
        owe(|| {
            IS_SHORT.set(false);
            set(false);
        });
    }
}

fn set(is_short: bool) {
    #[cfg(not(shuttle))]
    system::set_slice(if is_short { NANOSECONDS } else { 0 });
    #[cfg(shuttle)]
    let _ = is_short;
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[test]
fn a_short_slice_is_given_back() {
    (0..2).for_each(|_| shorten());
    assert!(IS_SHORT.get());
    super::give_back();
    assert!(!IS_SHORT.get());
}
