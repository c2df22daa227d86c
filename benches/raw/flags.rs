//! The raw exchange: two flags, each in a cache line of its own. (`questions/common.rs` has one
//! that yields, for ranks that may share a core.)

use std::sync::atomic::{AtomicU64, Ordering::*};

/// A flag; 256 bytes, so that no line is fetched with its neighbour's.
#[repr(align(256))]
#[derive(Default)]
pub(crate) struct Line(pub(crate) AtomicU64);

/// The flags of ranks 0 and 1.
#[derive(Default)]
pub(crate) struct Flags([Line; 2]);

impl Flags {
    /// Both store, then both wait for the other's.
    #[inline(always)]
    pub(crate) fn exchange(&self, rank: usize, k: u64) {
        self.0[rank].0.store(k, Release);
        while self.0[1 - rank].0.load(Acquire) < k {}
    }
}
