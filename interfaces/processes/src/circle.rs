//! Circles of waits, found by the words of those that wait.
//!
//! A rank whose wait lasts says so, by a state that no other wait has. It looks for the wait of the
//! one that it waits for. If it finds one, and *then* sees that what it waits for is still not
//! there, it *confirms* the link from its wait to that one: whatever the other published before its
//! wait was seen, and during the wait it publishes nothing; so the own wait ends later than the
//! other's. Links that lead around in a circle prove that none of its waits ever ends: each would
//! end later than itself. It does not matter when the links were read.

use crate::sync::{AtomicU64, Ordering};

/// A place where a rank waits, and the state of its wait there.
pub(crate) type Wait = (u64, u64);

/// The words of a place where a rank may wait.
#[repr(C, align(128))]
pub(crate) struct Waiting {
    /// 0, or the state of the wait ([`state_of`]).
    state: AtomicU64,
    /// For whom the owner waits, and in which line: for errors.
    what: AtomicU64,
    /// The link that is confirmed: the place of the other wait, and its state.
    next: AtomicU64,
    next_state: AtomicU64,
}

/// The only thread of its process waits.
pub(crate) const ALONE: u64 = 1;
/// The one that waits takes messages meanwhile.
pub(crate) const DRAINS: u64 = 2;

/// The state of a wait: how many waits the rank has begun, the rank, and flags.
pub(crate) fn state_of(number: u64, rank: usize, flags: u64) -> u64 {
    number << 16 | (rank as u64) << 2 | flags
}

/// The rank that waits.
pub(crate) fn rank_of(state: u64) -> usize {
    (state >> 2) as usize & 0x3fff
}

impl Waiting {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let word = || AtomicU64::new(0);
        Waiting { state: word(), what: word(), next: word(), next_state: word() }
    }

    /// The owner waits from now on.
    pub(crate) fn begin(&self, state: u64, what: u64) {
        self.next_state.store(0, Ordering::Relaxed);
        self.what.store(what, Ordering::Relaxed);
        // Ordering: publishes `what`, and that all is published which the owner ever publishes
        // before the wait ends; pairs with the load in `state`.
        self.state.store(state, Ordering::Release);
    }

    /// It waits no more.
    pub(crate) fn end(&self) {
        self.state.store(0, Ordering::Relaxed);
    }

    /// The state of the wait; 0 if there is none.
    pub(crate) fn state(&self) -> u64 {
        // Ordering: pairs with the store in `begin`.
        self.state.load(Ordering::Acquire)
    }

    /// What was said of the wait.
    pub(crate) fn what(&self) -> u64 {
        self.what.load(Ordering::Relaxed)
    }

    /// Links the owner's wait to another, which it has seen, unless it is `ready`. Whether it did.
    pub(crate) fn confirm(&self, (place, state): Wait, ready: &mut dyn FnMut() -> bool) -> bool {
        // This look comes after that at the other's state.
        if ready() {
            return false;
        }
        // Ordering: so that whoever finds them finds the own state, too; pairs with `link`.
        self.next.store(place, Ordering::Release);
        self.next_state.store(state, Ordering::Release);
        true
    }

    /// The wait to which the owner's wait of this state is linked.
    fn link(&self, state: u64) -> Option<Wait> {
        // Ordering: those of a later wait come with that wait's state, which is looked at last. (A
        // place and a state of two links of one wait are no wait: a state is in one place.)
        let next_state = self.next_state.load(Ordering::Acquire);
        let next = self.next.load(Ordering::Acquire);
        let is_this = self.state.load(Ordering::Relaxed) == state;
        (is_this && next_state != 0).then_some((next, next_state))
    }
}

/// The places of the circle in which the caller's wait is, the caller's first, if it has `most` at
/// most; `at` finds the words of a place.
pub(crate) fn circle<'a>(
    mine: Wait,
    most: usize,
    at: impl Fn(u64) -> Option<&'a Waiting>,
) -> Option<Vec<Wait>> {
    let (mut all, mut wait) = (Vec::new(), mine);
    while all.len() < most {
        all.push(wait);
        wait = at(wait.0)?.link(wait.1)?;
        if wait == mine {
            return Some(all);
        }
    }
    None
}
