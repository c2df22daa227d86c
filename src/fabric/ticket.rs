//! A ticket: the word by which one rank tells another that a tagged message has been copied.
//!
//! A sender that lends its memory, and a receiver that posts its, leave a ticket in the queue. The
//! other rank, which comes second, copies, and marks the ticket as done. Only then may the first
//! one's memory go. Both ranks own the ticket itself.

use crate::sync::{AtomicU64, Ordering, Site, consume, publish};

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
}

impl Ticket {
    pub(crate) fn new() -> Self {
        Ticket { done: AtomicU64::new(0), from: AtomicU64::new(0), len: AtomicU64::new(0) }
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
        self.done.store(1, publish(Site::Ticket));
    }

    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        // Ordering: pairs with the store in `complete`.
        self.done.load(consume(Site::Ticket)) != 0
    }

    /// What came, if the message has been copied.
    #[inline]
    pub(crate) fn envelope(&self) -> Option<Envelope> {
        if !self.is_done() {
            return None;
        }
        let from = self.from.load(Ordering::Relaxed);
        let len = self.len.load(Ordering::Relaxed) as usize;
        Some(Envelope { source: (from >> 32) as u32, tag: from as u32, len })
    }
}
