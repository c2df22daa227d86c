//! What all ranks of a communicator show, and what a rank knows of it.

use super::rank_cards::RankCards;
use crate::rt::awaits::Awaits;
use crate::rt::cards::is_free;
use crate::rt::error::end;
use crate::rt::history::KEPT;
use crate::rt::log::Collective;

/// Where the ranks of a communicator show their cards.
#[derive(Debug)]
pub struct Board {
    pub(super) ranks: Vec<RankCards>,
    /// The ranks in the world.
    members: Vec<usize>,
}

impl Board {
    /// For these ranks of the world.
    pub fn new(members: &[usize]) -> Board {
        let ranks = members.iter().map(|_| RankCards::new()).collect();
        Board { ranks, members: members.to_vec() }
    }

    /// Whether these ranks have shown their cards: for a rank that is not done with the collective.
    pub fn have_shown(&self, number: u64, awaits: Awaits) -> bool {
        awaits.ranks(self.ranks.len()).all(|it| self.ranks[it].has_shown(number))
    }

    /// Asks the ranks what they are done with; compares their last call with this rank's.
    #[cold]
    pub(super) fn refresh(&self, begun: &mut Begun, rank: usize, number: u64) -> Option<()> {
        begun.known.resize(self.ranks.len(), 0);
        begun.known[rank] = begun.done;
        for (peer, known) in begun.known.iter_mut().enumerate() {
            if !is_free(number, *known) {
                *known = self.ranks[peer].progress.done.told();
                if !is_free(number, *known) {
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
        let (own, other) = (&self.ranks[rank], &self.ranks[peer]);
        let number = own.progress.last.told().min(other.progress.last.told());
        if let (Some((one, _)), Some((two, _))) = (own.past(number), other.past(number))
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
        let own = &self.ranks[rank];
        let last = own.progress.last.told();
        for (peer, other) in self.ranks.iter().enumerate() {
            self.compare(rank, peer);
            let theirs = other.progress.last.told();
            if is_last
                && theirs < last
                && let Some((_, call)) = own.past(theirs + 1)
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
        let (own, other) = (&self.ranks[rank], &self.ranks[peer]);
        let last = own.progress.last.told().min(other.progress.last.told());
        let first = last.saturating_sub(KEPT - 1).max(1);
        (first..=last).find_map(|number| {
            let ((one, first), (two, second)) = (own.past(number)?, other.past(number)?);
            let line = |rank: usize, call: &Collective| {
                format!("\n  rank {}: {}", self.members[rank], call.describe())
            };
            (one != two).then(|| line(rank, &first) + &line(peer, &second))
        })
    }
}

/// What a rank knows of the collectives that it has started on a communicator.
#[derive(Debug, Default)]
pub struct Begun {
    /// The last one.
    pub(super) last: u64,
    pub(super) digest: u64,
    /// It is done with all up to this one, and with these.
    pub(super) done: u64,
    beyond: Vec<u64>,
    /// What each rank is known to be done with, and the least of them.
    pub(super) known: Vec<u64>,
    pub(super) least: u64,
}

impl Begun {
    /// The rank is done with a collective: gives up to where it is now.
    pub(super) fn end(&mut self, number: u64) -> u64 {
        if number != self.done + 1 {
            self.beyond.push(number);
            return self.done;
        }
        self.done = number;
        while let Some(index) = self.beyond.iter().position(|it| *it == self.done + 1) {
            self.beyond.swap_remove(index);
            self.done += 1;
        }
        self.done
    }
}

/// Ends the run.
#[cold]
pub(super) fn differ(lines: &str) -> ! {
    end(1, &format!("phalanx: calls of one collective differ:{lines}"))
}
