//! The latest calls of a rank, which others read for a text: numbers of calls, and words for each.
//!
//! The rank writes without waiting for readers. A place is used again after `KEPT` calls; a reader
//! of one asks afterwards how far the rank is, and drops a place that may be written by then (a
//! sequence lock; its sequence is the number of the last call). Its model is in `loom/`, which
//! compiles this file.

use super::word::Word;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use std::array::from_fn;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A call: relaxed words, which the fences of [`History`] order.
#[derive(Debug)]
struct Past<const WORDS: usize>([AtomicU64; WORDS]);

/// See the head of the file: so many words of a call, and so many calls.
#[derive(Debug)]
pub struct History<const WORDS: usize, const KEPT: usize>([Past<WORDS>; KEPT]);

impl<const WORDS: usize, const KEPT: usize> Default for History<WORDS, KEPT> {
    fn default() -> Self {
        History(from_fn(|_| Past(from_fn(|_| AtomicU64::new(0)))))
    }
}

impl<const WORDS: usize, const KEPT: usize> History<WORDS, KEPT> {
    fn place(&self, number: u64) -> &[AtomicU64; WORDS] {
        &self.0[number as usize % KEPT].0
    }

    /// Notes a call of the rank, the next one by its number, counted from 1, and tells its number
    /// by `last`. By that rank.
    #[inline]
    pub fn note(&self, last: &Word, number: u64, words: [u64; WORDS]) {
        // Pairs with the fence in `past`. `last` was told with the number before this one; a rank
        // that reads a word below, and then asks `last`, is given at least that number, and
        // so sees that the call `KEPT` before this one is not there any more. Without it the words
        // could be seen before that number, and two calls' words would be taken for one call's.
        fence(Ordering::Release);
        for (place, word) in self.place(number).iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        // Publishes the words.
        last.tell(number);
    }

    /// The words of a call, if it has been noted and is kept still.
    pub fn past(&self, last: &Word, number: u64) -> Option<[u64; WORDS]> {
        // Pairs with `tell` in `note`: the words of this call, or of a later one, are read.
        if number == 0 || !last.has_told(number) {
            return None;
        }
        let place = self.place(number);
        let words = from_fn(|index| place[index].load(Ordering::Relaxed));
        // Pairs with the fence in `note`: see there.
        fence(Ordering::Acquire);
        // Of the oldest call the place may be written just now.
        (last.told() + 1 < number + KEPT as u64).then_some(words)
    }
}
