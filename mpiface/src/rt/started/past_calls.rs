//! What a rank shows on a communicator beside its cards: its latest calls, for texts, and for those
//! who read no cards; and its neighbours.

use crate::rt::error::Site;
use crate::rt::history::History;
use crate::rt::log::Collective;
use crate::rt::ops::Mark;
use crate::rt::word::Word;
use std::sync::OnceLock;

/// Words of a call in the history: its digest, site, root, bytes, operator.
const WORDS: usize = 5;
/// For a root, or bytes, that a call does not have.
const NONE: u64 = u64::MAX;

/// The ranks from which one takes in its grid or graph, and those to which it gives.
pub(super) type Neighbours = (Box<[usize]>, Box<[usize]>);

/// See the head of the file. On lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct PastCalls {
    /// The last that it started.
    last: Word,
    history: History<WORDS>,
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
        let root = call.root.map_or(NONE, |it| it as u64);
        let bytes = call.bytes.map_or(NONE, |it| it as u64);
        let words = [digest, call.site.number(), root, bytes, call.op.number() as u64];
        self.history.note(&self.last, number, words);
    }

    /// A call of the rank, if it is still known, and its digest.
    pub(super) fn past(&self, number: u64) -> Option<(u64, Collective)> {
        let [digest, site, root, bytes, op] = self.history.past(&self.last, number)?;
        let given = |it: u64| (it != NONE).then_some(it as usize);
        let (root, bytes) = (given(root), given(bytes));
        let (site, op) = (Site::of(site), Mark::of(op as usize));
        Some((digest, Collective { context: 0, number, site, root, bytes, op }))
    }
}
