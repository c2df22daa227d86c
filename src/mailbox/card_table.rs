//! The cards that all ranks of a communicator show of the calls that they have started, so that
//! several can be under way. The protocol is in `README.md`, "Cards".

use super::card_row::CardRow;
use crate::sync::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr::null_mut;

/// The rows of a communicator's ranks. A rank's row is made by that rank, when it starts its first
/// call: on its core, and not before a program needs it.
///
/// # Examples
/// Two ranks, one after the other:
/// ```
/// use phalanx::engine::{CardRow, CardTable, Tray};
/// type Row = CardRow<u32, (), 2>;
/// let cards = CardTable::<u32, (), 2>::new(2);
/// assert!(cards.row(0).is_none());
/// for rank in 0..2 {
///     // SAFETY: the first card in its tray.
///     unsafe { cards.make(rank).tray(1).show(1, |card| *card = 10 + rank as u32) };
/// }
/// let row = cards.row(0).expect("it has started a call");
/// let card = row.card(1).expect("it was shown");
/// // SAFETY: it was shown, and rank 1 is not done.
/// assert_eq!(unsafe { card.read(|card| *card) }, 10);
/// let own = cards.row(1).expect("as above");
/// own.end(1);
/// assert!((row.done(), own.done()) == (0, 1) && !Row::is_free(3, row.done()));
/// // Rank 1 does not wait for the tray of call 3, which rank 0 may read still.
/// let card = Tray::default();
/// // SAFETY: nobody else knows it.
/// unsafe { card.show(3, |card| *card = 30) };
/// own.put(3, card);
/// assert!(own.has_shown(3) && own.has_list() && !own.has_shown(2));
/// own.end(3); // before call 2
/// assert_eq!(own.done(), 1);
/// own.end(2);
/// assert_eq!(own.done(), 3);
/// own.forget(3);
/// assert!(own.card(3).is_none());
/// ```
#[derive(Debug)]
pub struct CardTable<C, E, const N: usize> {
    rows: Box<[AtomicPtr<CardRow<C, E, N>>]>,
    /// It has them.
    of: PhantomData<Box<CardRow<C, E, N>>>,
}

impl<C: Default, E: Default + Send, const N: usize> CardTable<C, E, N> {
    /// For so many ranks.
    pub fn new(ranks: usize) -> Self {
        let rows = (0..ranks).map(|_| AtomicPtr::new(null_mut())).collect();
        CardTable { rows, of: PhantomData }
    }

    /// The row of `rank`, made if it has none yet. Only that rank calls this. (Its content
    /// may be dropped by another thread.)
    pub fn make(&self, rank: usize) -> &CardRow<C, E, N> {
        if self.row(rank).is_none() {
            let row = Box::into_raw(Box::default());
            // Release: one that finds the row finds it made. Pairs with the load in `row`.
            self.rows[rank].store(row, Ordering::Release);
        }
        self.row(rank).expect("made just now")
    }
}

impl<C, E, const N: usize> CardTable<C, E, N> {
    /// The row of `rank`; none if it has never started a call.
    #[inline(always)]
    pub fn row(&self, rank: usize) -> Option<&CardRow<C, E, N>> {
        // Acquire: pairs with the store in `make`.
        let row = self.rows[rank].load(Ordering::Acquire);
        // SAFETY: null, or made of a box that lives as long as this (`make`, `drop`).
        unsafe { row.as_ref() }
    }

    /// The number of ranks.
    #[inline(always)]
    pub fn ranks(&self) -> usize {
        self.rows.len()
    }
}

impl<C, E, const N: usize> Drop for CardTable<C, E, N> {
    fn drop(&mut self) {
        for row in &self.rows {
            // Relaxed: nobody else has this any more.
            let row = row.load(Ordering::Relaxed);
            if !row.is_null() {
                // SAFETY: made by `Box::into_raw` (`make`), and dropped only here.
                drop(unsafe { Box::from_raw(row) });
            }
        }
    }
}
