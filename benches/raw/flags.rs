//! The raw exchange: two flags, each in a cache line of its own: the least that two cores can do.

use std::sync::atomic::{AtomicU64, Ordering::*};

/// A flag; 256 bytes, so that no line is fetched with its neighbour's.
#[repr(align(256))]
#[derive(Default)]
struct Line(AtomicU64);

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

    /// Rank 0 stores, the other waits and answers. (Numbers rise over both sorts of exchanges.)
    #[allow(dead_code, reason = "not in all benches")]
    #[inline(always)]
    pub(crate) fn ping_pong(&self, rank: usize, k: u64) {
        if rank == 0 {
            self.0[0].0.store(k, Release);
            while self.0[1].0.load(Acquire) < k {}
        } else {
            while self.0[0].0.load(Acquire) < k {}
            self.0[1].0.store(k, Release);
        }
    }
}
