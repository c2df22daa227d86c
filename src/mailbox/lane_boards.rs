//! Lanes: the boards of started calls, [`LANES`] of every rank, so that several calls of one
//! communicator can be under way. Request `n` uses lane `n` modulo `LANES` of every rank. The
//! protocol is in `README.md`, "Lanes".

use super::{BRIEF_ALIGN, Board};
use crate::sync::{AtomicPtr, AtomicU64, Ordering, Site, consume, publish};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Started calls of one communicator that can be under way at a time.
pub(crate) const LANES: usize = if cfg!(loom) { 2 } else { 64 };

/// Bytes of a lane's copy of a rank's input that does not fit beside the notice, which then has the
/// copy's address.
pub(crate) const COPY_ROOM: usize = 512;

#[repr(C, align(64))]
struct CopyRoom([MaybeUninit<u8>; COPY_ROOM]);

const _: () = assert!(align_of::<CopyRoom>() >= BRIEF_ALIGN);

/// What one rank writes.
pub(crate) struct LaneRow {
    boards: [Board; LANES],
    /// By lane: used by address only, as a user's memory that is shown is. Of a box of so many.
    rooms: *mut CopyRoom,
    /// By lane: the number of its latest request in which the owner is done with everyone else's
    /// memory. Apart from the boards, eight to a line: a rank that finishes takes no line from a
    /// peer that still looks at the board, and one that claims eight lanes gets one line of it.
    finished: [AtomicU64; LANES],
}

impl LaneRow {
    /// The board for request `number`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn board(&self, number: u64) -> &Board {
        &self.boards[number as usize % LANES]
    }
}

/// See the module documentation. A rank's boards are made by that rank, when it starts its first
/// call: on its core, and not before a program needs them.
pub(crate) struct Lanes(Box<[AtomicPtr<LaneRow>]>);

impl Lanes {
    pub(crate) fn new(ranks: usize) -> Self {
        Lanes((0..ranks).map(|_| AtomicPtr::new(null_mut())).collect())
    }

    /// Makes the boards of `rank`, if it has none yet. Only that rank calls this.
    pub(crate) fn make(&self, rank: usize) {
        // Relaxed: this thread has written it, if anybody has.
        if self.0[rank].load(Ordering::Relaxed).is_null() {
            let boards = std::array::from_fn(|_| Board::new());
            let finished = std::array::from_fn(|_| AtomicU64::new(0));
            let rooms: Box<[MaybeUninit<CopyRoom>]> = Box::new_uninit_slice(LANES);
            let rooms = Box::into_raw(rooms).cast();
            let row = Box::new(LaneRow { boards, rooms, finished });
            // Release: one that finds the boards finds them made. Pairs with the load in `row`.
            self.0[rank].store(Box::into_raw(row), Ordering::Release);
        }
    }

    /// What `rank` writes; none if it has never started a call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn row(&self, rank: usize) -> Option<&LaneRow> {
        // Acquire: pairs with the store in `make`.
        let row = self.0[rank].load(Ordering::Acquire);
        // SAFETY: null, or made of a box that lives as long as this (`make`, `drop`).
        unsafe { row.as_ref() }
    }

    /// Where `rank` has [`COPY_ROOM`] bytes for request `number`, once it has started a call. The
    /// room takes no pages before it is used.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn copy_room(&self, rank: usize, number: u64) -> *mut u8 {
        let row = self.row(rank).expect("made when a lane was claimed");
        row.rooms.wrapping_add(number as usize % LANES).cast()
    }

    /// Declares `rank` done with all foreign memory of request `number`, which it has started. Only
    /// that rank calls this.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish(&self, rank: usize, number: u64) {
        let row = self.row(rank).expect("made when the request was started");
        // Ordering: as in `Board::finish`; pairs with the load in `has_finished`.
        row.finished[number as usize % LANES].store(number, publish(Site::Finished));
    }

    /// Whether `rank` is done with request `number`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_finished(&self, rank: usize, number: u64) -> bool {
        // Ordering: pairs with the store in `finish`.
        let word =
            |row: &LaneRow| row.finished[number as usize % LANES].load(consume(Site::Finished));
        self.row(rank).is_some_and(|row| word(row) >= number)
    }

    /// The last of the requests from `number` on, with which `rank` is done, up to which it is done
    /// with all, as far as their words are in the same line.
    pub(crate) fn finished_from(&self, rank: usize, number: u64) -> u64 {
        /// Words in a line.
        const TOGETHER: u64 = 8;
        let Some(row) = self.row(rank) else { return number };
        let word = |next: u64| &row.finished[next as usize % LANES];
        // Ordering: pairs with the store in `finish`.
        let is_done = |next: u64| word(next).load(consume(Site::Finished)) >= next;
        let is_next = |next: &u64| !next.is_multiple_of(TOGETHER) && is_done(*next);
        (number + 1..).take_while(is_next).last().unwrap_or(number)
    }
}

impl Drop for LaneRow {
    fn drop(&mut self) {
        let rooms = std::ptr::slice_from_raw_parts_mut(self.rooms, LANES);
        // SAFETY: made by `Box::into_raw`, of as many (`make`); of any bytes it is one.
        drop(unsafe { Box::from_raw(rooms) });
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
