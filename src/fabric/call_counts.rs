//! What a rank's calls come to in the current run, by what was called: for recorded runs only.

use super::fingerprint::Signature;
use crate::sync::diagnostic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Sorts of calls (a method, an element type, an operator) that are told apart; those that come
/// later are counted together.
const SORTS: usize = 64;

/// The counts of one sort of calls. Written by the rank alone.
#[derive(Default)]
struct CountSlot {
    sig: AtomicPtr<Signature>,
    calls: AtomicU64,
    bytes: AtomicU64,
    waits: AtomicU64,
    waited: AtomicU64,
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
    slots: Box<[CountSlot]>,
    /// That of the latest call.
    latest: AtomicU64,
}

impl Default for CallCounts {
    fn default() -> Self {
        let slots = (0..=SORTS).map(|_| CountSlot::default()).collect();
        CallCounts { slots, latest: AtomicU64::new(SORTS as u64) }
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
        for slot in &self.slots {
            slot.sig.store(std::ptr::null_mut(), Relaxed);
            for word in [&slot.calls, &slot.bytes, &slot.waits, &slot.waited] {
                word.store(0, Relaxed);
            }
        }
    }

    /// A call of `sig` begins.
    #[inline(always)]
    pub(super) fn call(&self, sig: *mut Signature) {
        self.again(sig);
        add(&self.latest().calls, 1);
    }

    /// What follows belongs to calls of `sig`.
    #[inline(always)]
    pub(super) fn again(&self, sig: *mut Signature) {
        let first = (sig.addr() / align_of::<Signature>()) % SORTS;
        let mut place = SORTS;
        for at in (first..SORTS).chain(0..first) {
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
        &self.slots[self.latest.load(Relaxed) as usize]
    }

    /// The latest call is of so many bytes.
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
