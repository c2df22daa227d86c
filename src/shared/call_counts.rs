//! What a rank's calls come to in the current run, by what was called: for recorded runs only.

use super::fingerprint::Signature;
use crate::sync::diagnostic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Slots; all but the last are for sorts of calls (a method, an element type, an operator). Those
/// that come later are counted together, in the last. A power of two.
const SLOTS: usize = 64;
const OTHERS: usize = SLOTS - 1;

/// The counts of one sort of calls. Written by the rank alone.
struct CountSlot {
    sig: AtomicPtr<Signature>,
    calls: AtomicU64,
    bytes: AtomicU64,
    waits: AtomicU64,
    waited: AtomicU64,
}

impl CountSlot {
    const fn new() -> Self {
        CountSlot {
            sig: AtomicPtr::new(std::ptr::null_mut()),
            calls: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        }
    }
}

/// Calls of one sort, as they are read.
pub(crate) struct CallCount {
    /// None for all sorts that came too late.
    pub(crate) sig: Option<&'static Signature>,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) waits: u64,
    /// In ticks.
    pub(crate) waited: u64,
}

/// The counts of one rank.
pub(super) struct CallCounts {
    slots: Box<[CountSlot; SLOTS]>,
    /// That of the latest call.
    latest: AtomicU64,
}

impl Default for CallCounts {
    fn default() -> Self {
        let slots = Box::new([const { CountSlot::new() }; SLOTS]);
        CallCounts { slots, latest: AtomicU64::new(OTHERS as u64) }
    }
}

/// Adds to a word that no other thread writes.
#[inline(always)]
fn add(word: &AtomicU64, more: u64) {
    word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
}

impl CallCounts {
    /// Begins anew.
    pub(super) fn clear(&self) {
        for slot in self.slots.iter() {
            slot.sig.store(std::ptr::null_mut(), Relaxed);
            for word in [&slot.calls, &slot.bytes, &slot.waits, &slot.waited] {
                word.store(0, Relaxed);
            }
        }
    }

    /// A call of `sig`, of so many bytes as far as is known, begins.
    #[inline(always)]
    pub(super) fn call(&self, sig: *mut Signature, bytes: u64) {
        self.again(sig);
        let slot = self.latest();
        add(&slot.calls, 1);
        add(&slot.bytes, bytes);
    }

    /// What follows belongs to calls of `sig`.
    #[inline(always)]
    pub(super) fn again(&self, sig: *mut Signature) {
        // As a rule, a loop's only call.
        if self.latest().sig.load(Relaxed) != sig {
            self.find(sig);
        }
    }

    /// The latest call's slot is that of `sig`: as a rule, the one that its address says.
    #[inline(never)]
    fn find(&self, sig: *mut Signature) {
        let first = (sig.addr() / align_of::<Signature>()) % OTHERS;
        let mut place = OTHERS;
        for at in (first..OTHERS).chain(0..first) {
            let its = self.slots[at].sig.load(Relaxed);
            if its.is_null() {
                self.slots[at].sig.store(sig, Relaxed);
            }
            if its.is_null() || its == sig {
                place = at;
                break;
            }
        }
        self.latest.store(place as u64, Relaxed);
    }

    #[inline(always)]
    fn latest(&self) -> &CountSlot {
        &self.slots[self.latest.load(Relaxed) as usize % SLOTS]
    }

    /// The latest call is of so many bytes more.
    #[inline(always)]
    pub(super) fn bytes(&self, bytes: u64) {
        add(&self.latest().bytes, bytes);
    }

    /// There was a wait of so many ticks in the latest call.
    pub(super) fn waited(&self, ticks: u64) {
        add(&self.latest().waits, 1);
        add(&self.latest().waited, ticks);
    }

    /// The counts of all sorts that there were calls of.
    pub(super) fn read(&self) -> Vec<CallCount> {
        let slots = self.slots.iter().filter(|slot| slot.calls.load(Relaxed) > 0);
        let read = |slot: &CountSlot| CallCount {
            // SAFETY: null, or made of a `&'static Signature` (`Recorder::begin_call`).
            sig: unsafe { slot.sig.load(Relaxed).as_ref() },
            calls: slot.calls.load(Relaxed),
            bytes: slot.bytes.load(Relaxed),
            waits: slot.waits.load(Relaxed),
            waited: slot.waited.load(Relaxed),
        };
        slots.map(read).collect()
    }
}
