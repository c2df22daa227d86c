//! A rank's words beside its cards: its latest calls, for texts and for ranks that read no cards;
//! and its neighbours.

use crate::rt::history::History;
use crate::rt::log::{Collective, WORDS};
use crate::rt::word::Word;
use std::sync::OnceLock;

/// So many calls are kept.
pub(super) const KEPT: usize = 32;

/// The ranks from which one takes in its grid or graph, and those to which it gives.
pub(super) type Neighbours = (Box<[usize]>, Box<[usize]>);

/// See the head of the file. On lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct PastCalls {
    /// The last that it started.
    last: Word,
    /// Of each its digest, and its text.
    history: History<{ 1 + WORDS }, KEPT>,
    neighbours: OnceLock<Neighbours>,
}

impl PastCalls {
    /// The rank's neighbours, if it has exchanged something with them.
    pub(super) fn neighbours(&self) -> Option<&Neighbours> {
        self.neighbours.get()
    }

    /// Its neighbours are known from now on.
    pub(super) fn know(&self, neighbours: impl FnOnce() -> Neighbours) {
        self.neighbours.get_or_init(neighbours);
    }

    /// The number of the last one.
    pub(super) fn last(&self) -> u64 {
        self.last.told()
    }

    /// Notes a call that the rank makes.
    #[inline]
    pub(super) fn note(&self, number: u64, digest: u64, call: &Collective) {
        let mut words = [digest; 1 + WORDS];
        words[1..].copy_from_slice(&call.words());
        self.history.note(&self.last, number, words);
    }

    /// A call of the rank, if it is still known, and its digest.
    pub(super) fn past(&self, number: u64) -> Option<(u64, Collective)> {
        let [digest, words @ ..] = self.history.past(&self.last, number)?;
        Some((digest, Collective::of_words(words)))
    }
}
