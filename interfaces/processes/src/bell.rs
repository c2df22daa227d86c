//! The bell: a word on which a member sleeps until another has published something.
//!
//! A member that sleeps says for whom (`1 +` that member), counts itself among those that sleep on
//! the communicator, looks once more, and sleeps. A member that has published something looks at
//! the count, and wakes those that sleep for it.
//!
//! Where ranks outnumber cores there is a fence on both sides, between the own store and the look
//! at the other's word, so one of the two sees the other: no wake is missed. Elsewhere the one that
//! publishes spares the fence; then a wake may be missed, and the sleep ends by itself.

use crate::sync::{AtomicU32, Ordering, fence};

/// Members that sleep on a communicator. A member that is killed while it sleeps stays counted:
/// that costs a look at the bells, and no more.
#[repr(C, align(128))]
pub(crate) struct Sleepers(AtomicU32);

/// Of a member.
#[repr(C, align(128))]
pub(crate) struct Bell {
    /// 0, or 1 + the member for which the owner sleeps, or `ANY`.
    word: AtomicU32,
}

/// For whatever member.
const ANY: u32 = u32::MAX;

impl Sleepers {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Sleepers(AtomicU32::new(0))
    }

    /// Whether there may be one, after the caller has published something.
    #[inline(always)]
    pub(crate) fn are_there(&self, crowded: bool) -> bool {
        if crowded {
            // Ordering: the caller's store comes before this look; pairs with the fence in
            // `Bell::sleep`.
            fence(Ordering::SeqCst);
        }
        self.0.load(Ordering::Relaxed) != 0
    }
}

impl Bell {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Bell { word: AtomicU32::new(0) }
    }

    /// Sleeps by `asleep` (the word, and its value while nobody has rung) until `member` rings, or
    /// any, unless `ready`.
    pub(crate) fn sleep(
        &self,
        sleepers: &Sleepers,
        member: Option<usize>,
        ready: &mut dyn FnMut() -> bool,
        asleep: impl FnOnce(&AtomicU32, u32),
    ) {
        let mine = member.map_or(ANY, |member| member as u32 + 1);
        self.word.store(mine, Ordering::Relaxed);
        sleepers.0.fetch_add(1, Ordering::Relaxed);
        // Ordering: both are visible before this look; pairs with the fence in `are_there`.
        fence(Ordering::SeqCst);
        if !ready() {
            asleep(&self.word, mine);
        }
        sleepers.0.fetch_sub(1, Ordering::Relaxed);
        self.word.store(0, Ordering::Relaxed);
    }

    /// Wakes the owner by `wake` if it sleeps for `member`; for none, for whomever it sleeps.
    pub(crate) fn ring(&self, member: Option<usize>, wake: impl FnOnce(&AtomicU32)) {
        let value = self.word.load(Ordering::Relaxed);
        let is_awaited = |member| value == ANY || value == member as u32 + 1;
        if value != 0 && member.is_none_or(is_awaited) {
            // So that it does not fall asleep if it is about to.
            let _ = self.word.compare_exchange(value, 0, Ordering::Relaxed, Ordering::Relaxed);
            wake(&self.word);
        }
    }
}
