//! A ticket: the word by which one rank tells another that a tagged message has been copied.
//!
//! A sender that lends its memory, and a receiver that posts its, leave a ticket in the queue. The
//! other rank, which comes second, copies, and marks the ticket as done. Only then may the first
//! one's memory go. Both ranks own the ticket itself.

use super::unfit_receive::UnfitReceive;
use crate::sync::diagnostic::Mutex;
use crate::sync::{AtomicU64, Ordering, Site, consume, publish};
use std::sync::PoisonError;

/// Source, tag and elements of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Envelope {
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) len: usize,
}

/// See the module documentation.
pub(crate) struct Ticket {
    done: AtomicU64,
    /// What came, written before the word above.
    from: AtomicU64,
    len: AtomicU64,
    /// Why nothing came, written before the word `done`.
    unfit: Mutex<Option<Box<UnfitReceive>>>,
}

/// `done`: the message has been copied; it did not fit.
const COPIED: u64 = 1;
const UNFIT: u64 = 2;

impl Ticket {
    pub(crate) fn new() -> Self {
        let word = || AtomicU64::new(0);
        Ticket { done: word(), from: word(), len: word(), unfit: Mutex::new(None) }
    }

    /// The message has been copied: its other end's memory is not touched any more.
    #[inline]
    pub(crate) fn complete(&self, envelope: Envelope) {
        // Relaxed: published by the store below.
        let from = u64::from(envelope.source) << 32 | u64::from(envelope.tag);
        self.from.store(from, Ordering::Relaxed);
        self.len.store(envelope.len as u64, Ordering::Relaxed);
        // Ordering: all accesses to the owner's memory come before. Pairs with the load in
        // `is_done`.
        self.done.store(COPIED, publish(Site::Ticket));
    }

    /// The message that came for a receive does not fit it.
    #[cold]
    pub(crate) fn fail(&self, why: Box<UnfitReceive>) {
        *self.unfit.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        // Ordering: as in `complete`.
        self.done.store(UNFIT, publish(Site::Ticket));
    }

    /// Why the message that came does not fit, if so.
    #[inline]
    pub(crate) fn failure(&self) -> Option<Box<UnfitReceive>> {
        // Ordering: pairs with the store in `fail`.
        if self.done.load(consume(Site::Ticket)) != UNFIT {
            return None;
        }
        self.unfit.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        // Ordering: pairs with the store in `complete`.
        self.done.load(consume(Site::Ticket)) != 0
    }

    /// What came, if the message has been copied.
    #[inline]
    pub(crate) fn envelope(&self) -> Option<Envelope> {
        // Ordering: as in `is_done`.
        if self.done.load(consume(Site::Ticket)) != COPIED {
            return None;
        }
        let from = self.from.load(Ordering::Relaxed);
        let len = self.len.load(Ordering::Relaxed) as usize;
        Some(Envelope { source: (from >> 32) as u32, tag: from as u32, len })
    }
}
