//! The latest calls of a rank on a communicator, as it shows them beside its cards: for texts, and
//! for those who read no cards.

use crate::rt::error::Site;
use crate::rt::history::History;
use crate::rt::log::Collective;
use crate::rt::ops::Mark;
use crate::rt::word::Word;

/// Words of a call in the history: its digest, site, root, bytes, operator.
const WORDS: usize = 5;
/// For a root, or bytes, that a call does not have.
const NONE: u64 = u64::MAX;

/// See the head of the file. On lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct PastCalls {
    /// The last that it started.
    last: Word,
    history: History<WORDS>,
}

impl PastCalls {
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
