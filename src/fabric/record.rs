//! The latest calls of every rank, for error messages.
//!
//! Each rank writes its own ring, a few plain stores per call; others read it
//! only when something has gone wrong. A reader may see a record while it is
//! overwritten; it then finds no match, or at worst names a neighbouring call.
//! Nothing is synchronised by these words, so loom does not model them.

use super::Sig;
use crate::error::CallSite;
use crate::sync::diagnostic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use std::panic::Location;

/// Calls kept per rank.
const KEPT: usize = 16;

#[derive(Default)]
#[repr(C, align(64))]
struct Record {
    /// Number of the call, counted from 1 over all communicators of the rank.
    number: AtomicU64,
    /// The communicator's id.
    comm: AtomicU64,
    sig: AtomicPtr<Sig>,
    at: AtomicPtr<Location<'static>>,
    len: AtomicU64,
    parameter: AtomicU64,
}

/// The latest calls of one rank.
#[derive(Default)]
#[repr(C, align(128))]
pub(crate) struct Records {
    ring: [Record; KEPT],
    next: AtomicU64,
}

/// A call found on record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) comm: u64,
    pub(crate) sig: &'static Sig,
    pub(crate) at: &'static Location<'static>,
    pub(crate) len: usize,
    pub(crate) parameter: Option<usize>,
}

impl Call {
    /// As it appears in an error.
    pub(crate) fn site(&self) -> CallSite {
        CallSite { call: self.sig.words(self.len, self.parameter), at: self.at }
    }
}

impl Records {
    /// Records a call of the owner and returns its number.
    #[inline(always)]
    pub(crate) fn note(
        &self,
        comm: u64,
        sig: &'static Sig,
        at: &'static Location<'static>,
        len: usize,
        parameter: usize,
    ) -> u64 {
        let number = self.next.load(Relaxed) + 1;
        self.next.store(number, Relaxed);
        let r = &self.ring[number as usize % KEPT];
        r.comm.store(comm, Relaxed);
        r.sig.store(std::ptr::from_ref(sig).cast_mut(), Relaxed);
        r.at.store(std::ptr::from_ref(at).cast_mut(), Relaxed);
        r.len.store(len as u64, Relaxed);
        r.parameter.store(parameter as u64, Relaxed);
        r.number.store(number, Relaxed);
        number
    }

    fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.ring.iter().filter_map(|r| {
            let (sig, at) = (r.sig.load(Relaxed), r.at.load(Relaxed));
            if sig.is_null() || at.is_null() {
                return None;
            }
            let parameter = r.parameter.load(Relaxed) as usize;
            // SAFETY: the two words only ever hold addresses made from
            // `&'static` references (`note`), and neither is null.
            let (sig, at) = unsafe { (&*sig.cast_const(), &*at.cast_const()) };
            Some(Call {
                number: r.number.load(Relaxed),
                comm: r.comm.load(Relaxed),
                sig,
                at,
                len: r.len.load(Relaxed) as usize,
                parameter: (parameter != super::Check::NO_PARAMETER).then_some(parameter),
            })
        })
    }

    /// The owner's latest calls, the latest first.
    pub(crate) fn newest_first(&self) -> Vec<Call> {
        let mut calls: Vec<Call> = self.calls().collect();
        calls.sort_by_key(|c| std::cmp::Reverse(c.number));
        calls
    }

    /// The owner's latest call.
    pub(crate) fn latest(&self) -> Option<Call> {
        self.calls().max_by_key(|c| c.number)
    }

    /// The latest call on communicator `comm` whose number ends in the eight
    /// bits `low`.
    pub(crate) fn find(&self, comm: u64, low: u64) -> Option<Call> {
        self.calls().filter(|c| c.comm == comm && c.number & 0xff == low).max_by_key(|c| c.number)
    }
}
