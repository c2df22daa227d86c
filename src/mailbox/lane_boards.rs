//! Lanes: the boards of started calls, [`LANES`] of every rank, so that several calls of one
//! communicator can be under way. Request `n` uses lane `n` modulo `LANES` of every rank. The
//! protocol is in `README.md`, "Lanes".

use super::Board;
use crate::sync::{AtomicPtr, Ordering};
use std::ptr::null_mut;

/// Started calls of one communicator that can be under way at a time.
pub(crate) const LANES: usize = if cfg!(loom) { 2 } else { 64 };

type Row = [Board; LANES];

/// See the module documentation. A rank's boards are made by that rank, when it starts its first
/// call: on its core, and not before a program needs them.
pub(crate) struct Lanes(Box<[AtomicPtr<Row>]>);

impl Lanes {
    pub(crate) fn new(ranks: usize) -> Self {
        Lanes((0..ranks).map(|_| AtomicPtr::new(null_mut())).collect())
    }

    /// Makes the boards of `rank`, if it has none yet. Only that rank calls this.
    pub(crate) fn make(&self, rank: usize) {
        // Relaxed: this thread has written it, if anybody has.
        if self.0[rank].load(Ordering::Relaxed).is_null() {
            let row: Box<Row> = Box::new(std::array::from_fn(|_| Board::new()));
            // Release: one that finds the boards finds them made. Pairs with the load in `board`.
            self.0[rank].store(Box::into_raw(row), Ordering::Release);
        }
    }

    /// The board of `rank` for request `number`; none if the rank has never started a call.
    #[inline(always)]
    pub(crate) fn board(&self, rank: usize, number: u64) -> Option<&Board> {
        // Acquire: pairs with the store in `make`.
        let row = self.0[rank].load(Ordering::Acquire);
        // SAFETY: null, or made of a box that lives as long as this (`make`, `drop`).
        unsafe { row.as_ref() }.map(|row| &row[number as usize % LANES])
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        for row in &self.0 {
            // Relaxed: nobody else has this any more.
            let row = row.load(Ordering::Relaxed);
            if !row.is_null() {
                // SAFETY: made by `Box::into_raw` (`make`), and dropped only here.
                drop(unsafe { Box::from_raw(row) });
            }
        }
    }
}
