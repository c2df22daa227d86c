//! The cards that all ranks of a communicator show, and a rank's knowledge of them.

use super::past_calls::{KEPT, Neighbours, PastCalls};
use super::sheet::Sheet;
use crate::rt::awaits::Awaits;
use crate::rt::error::end;
use crate::rt::log::Collective;
use phalanx::engine::{CardRow, CardTable, FoundCard};

/// Trays of a rank.
const TRAYS: usize = 8;
/// A rank's board: its cards, and its latest calls.
pub(super) type SheetRow = CardRow<Sheet, PastCalls, TRAYS>;

/// Where the ranks of a communicator show their cards.
#[derive(Debug)]
pub struct Board {
    pub(super) cards: CardTable<Sheet, PastCalls, TRAYS>,
    /// The ranks in the world.
    members: Vec<usize>,
}

impl Board {
    /// For these ranks of the world.
    pub fn new(members: &[usize]) -> Board {
        Board { cards: CardTable::new(members.len()), members: members.to_vec() }
    }

    /// Whether a rank has shown its card: for a rank that is not done with the collective.
    #[inline]
    pub(super) fn has_shown(&self, rank: usize, number: u64) -> bool {
        self.cards.row(rank).is_some_and(|it| it.has_shown(number))
    }

    /// The card of a rank, which it has shown: as above.
    #[inline]
    pub(super) fn card(&self, rank: usize, number: u64) -> FoundCard<'_, Sheet> {
        let card = self.cards.row(rank).and_then(|it| it.card(number));
        card.expect("it was shown, and the asker is not done")
    }

    /// The rank of this number among those that are awaited.
    #[inline]
    pub(super) fn awaited(&self, awaits: Awaits, index: usize) -> Option<usize> {
        let neighbours = |rank: u32| self.cards.row(rank as usize)?.beside().neighbours();
        match awaits {
            Awaits::Nobody => None,
            Awaits::Range(first, count) => {
                (index < count as usize).then_some(first as usize + index)
            }
            Awaits::Givers(rank) => neighbours(rank)?.0.get(index).copied(),
            Awaits::Takers(rank) => neighbours(rank)?.1.get(index).copied(),
            Awaits::All => (index < self.cards.ranks()).then_some(index),
        }
    }

    /// The neighbours of a rank, the calling one, are known from now on: those from which it takes,
    /// and those to which it gives.
    pub fn know(&self, rank: usize, neighbours: impl FnOnce() -> Neighbours) {
        self.cards.make(rank).beside().know(neighbours);
    }

    /// Up to which collective a rank is done with all.
    #[inline]
    pub(super) fn done(&self, rank: usize) -> u64 {
        self.cards.row(rank).map_or(0, SheetRow::done)
    }

    /// The number of the last collective of a rank.
    fn last(&self, rank: usize) -> u64 {
        self.cards.row(rank).map_or(0, |it| it.beside().last())
    }

    /// A call of a rank, if it is still known, and its digest.
    fn past(&self, rank: usize, number: u64) -> Option<(u64, Collective)> {
        self.cards.row(rank)?.beside().past(number)
    }

    /// Whether these ranks have shown their cards: for a rank that is not done with the collective.
    pub fn have_shown(&self, number: u64, awaits: Awaits) -> bool {
        (0..).map_while(|index| self.awaited(awaits, index)).all(|it| self.has_shown(it, number))
    }

    /// Asks the ranks how far they are done; compares their last call with this rank's.
    #[cold]
    pub(super) fn refresh(&self, begun: &mut BegunCalls, rank: usize, number: u64) -> Option<()> {
        begun.known.resize(self.cards.ranks(), 0);
        for (peer, known) in begun.known.iter_mut().enumerate() {
            if !SheetRow::is_free(number, *known) {
                *known = self.done(peer);
                if !SheetRow::is_free(number, *known) {
                    return None;
                }
                self.compare(rank, peer);
            }
        }
        begun.least = begun.known.iter().copied().min().unwrap_or(0);
        Some(())
    }

    /// Ends the run if the last call of one of the two, as far as it is known of the other,
    /// differs.
    fn compare(&self, rank: usize, peer: usize) {
        let number = self.last(rank).min(self.last(peer));
        if let (Some((one, _)), Some((two, _))) = (self.past(rank, number), self.past(peer, number))
            && one != two
            && let Some(lines) = self.difference(rank, peer)
        {
            differ(&lines);
        }
    }

    /// No rank starts any more collectives on the communicator, or this one does not: ends the run
    /// if its calls differ from those of the others, as far as they are known. `is_last`: the
    /// others have started all of theirs.
    pub(super) fn close(&self, rank: usize, is_last: bool) {
        let last = self.last(rank);
        for peer in 0..self.cards.ranks() {
            self.compare(rank, peer);
            let theirs = self.last(peer);
            if is_last
                && theirs < last
                && let Some((_, call)) = self.past(rank, theirs + 1)
            {
                let (one, two) = (self.members[rank], self.members[peer]);
                let text = call.describe();
                differ(&format!("\n  rank {one}: {text}\n  rank {two}: it has not started it"));
            }
        }
    }

    /// The first calls of two ranks that differ, of those that are known, in words.
    pub(super) fn difference(&self, rank: usize, peer: usize) -> Option<String> {
        let (rank, peer) = (rank.min(peer), rank.max(peer));
        let last = self.last(rank).min(self.last(peer));
        let first = last.saturating_sub(KEPT as u64 - 1).max(1);
        (first..=last).find_map(|number| {
            let (one, first) = self.past(rank, number)?;
            let (two, second) = self.past(peer, number)?;
            let line = |rank: usize, call: &Collective| {
                format!("\n  rank {}: {}", self.members[rank], call.describe())
            };
            (one != two).then(|| line(rank, &first) + &line(peer, &second))
        })
    }
}

/// A rank's knowledge of the collectives that it has started on a communicator.
#[derive(Debug, Default)]
pub struct BegunCalls {
    /// The last one.
    pub(super) last: u64,
    pub(super) digest: u64,
    /// The number of calls with which each rank is known to be done, and the least of them.
    pub(super) known: Vec<u64>,
    pub(super) least: u64,
    /// Whether the last wait for a free place was in vain.
    pub(super) is_vain: bool,
}

/// Ends the run.
#[cold]
pub(super) fn differ(lines: &str) -> ! {
    end(1, &format!("phalanx: calls of one collective differ:{lines}"))
}
