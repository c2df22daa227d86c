//! Counts of varied blocks, compared in full.
//!
//! They are too many for a fingerprint, and a digest of them can collide. So every rank *numbers*
//! the lists of counts that it gives in a communicator: a list that it knows keeps its number, a
//! new one gets the next, and is compared here with the list of the first rank that came to that
//! number. The low bits of the number are in every fingerprint. A call with the counts of the one
//! before costs a comparison of `p` words, on the rank itself.
//!
//! So of two ranks in one call either the counts are equal, or somebody notices. Take the first
//! call in which two ranks differ. Up to it both have given the same lists in the same order, and
//! so know the same ones, by the same numbers. If both know their list, the numbers differ. If
//! one list is new, its number is none that a rank knows. If both are new, they come to the same
//! number, with different counts, and the second one sees it here. (The numbers that a rank knows,
//! and the next one, are so close together that their low bits differ: [`OwnCounts::say`].)

use super::digest::{Digest, NUMBER};
use crate::sync::Mutex;
use std::collections::VecDeque;

/// Lists of counts that a rank knows. (A program has few: the parts of its arrays.)
const KNOWN: usize = 8;

/// The lists of one rank.
#[derive(Default)]
pub(crate) struct OwnCounts {
    /// Lists so far; 0 before the first call.
    number: u64,
    /// The list that was compared last.
    compared: u64,
    /// The function that compares them, from the first list on. A pointer: a program without counts
    /// has no code for them.
    comparing: Option<Comparing>,
    known: Vec<KnownCounts>,
    /// Which of them was the latest.
    latest: usize,
    /// Calls with another list than the one before.
    turns: u64,
}

/// See [`Said::compare`].
type Comparing = fn(&Said, &mut OwnCounts, usize, usize) -> Result<(), (usize, String)>;

struct KnownCounts {
    number: u64,
    counts: Vec<usize>,
    /// The numbers that belong to them, too: the extents of a mesh.
    more: Vec<usize>,
    digest: Digest,
    facts: Option<CountFacts>,
    /// The turn in which it was the latest, at last.
    used: u64,
}

/// The facts that follow from a list of counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountFacts {
    /// The sum.
    pub(crate) total: usize,
    pub(crate) longest: usize,
    pub(crate) digest: Digest,
}

impl CountFacts {
    /// None if the sum is too large.
    pub(crate) fn of(counts: &[usize], digest: Digest) -> Option<Self> {
        let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n))?;
        let longest = counts.iter().copied().max().unwrap_or(0);
        Some(CountFacts { total, longest, digest })
    }
}

impl OwnCounts {
    /// The facts that follow from `counts`, if these are the latest, and nothing else belongs to
    /// them.
    #[inline(always)]
    pub(crate) fn again(&self, counts: &[usize]) -> Option<CountFacts> {
        let latest = self.known.get(self.latest)?;
        if latest.is(counts, &[]) { latest.facts } else { None }
    }

    /// The rank's next call has these counts, and these further numbers: their digest, and
    /// whether the list is new.
    #[inline(always)]
    pub(crate) fn say(&mut self, counts: &[usize], more: &[usize]) -> (Digest, bool) {
        match self.known.get(self.latest) {
            Some(it) if it.is(counts, more) => (it.digest, false),
            _ => self.turn(counts, more),
        }
    }

    #[cold]
    fn turn(&mut self, counts: &[usize], more: &[usize]) -> (Digest, bool) {
        self.turns += 1;
        self.comparing = Some(Said::compare);
        let known = self.known.iter().position(|it| it.is(counts, more));
        if let Some(i) = known {
            self.latest = i;
            self.known[i].used = self.turns;
            return (self.known[i].digest, false);
        }
        self.number += 1;
        let number = self.number;
        // A list that is too old has the low bits of the next list but one, or of a later one.
        self.known.retain(|it| number - it.number < NUMBER);
        if self.known.len() == KNOWN {
            let oldest = (0..KNOWN).min_by_key(|&i| self.known[i].used);
            if let Some(i) = oldest {
                self.known.swap_remove(i);
            }
        }
        let digest = Digest::of_counts(number, counts.iter().chain(more).copied());
        let facts = CountFacts::of(counts, digest);
        let (counts, more, used) = (counts.to_vec(), more.to_vec(), self.turns);
        self.latest = self.known.len();
        self.known.push(KnownCounts { number, counts, more, digest, facts, used });
        (digest, true)
    }

    /// The number of the latest list.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.known.get(self.latest).map_or(0, |it| it.number)
    }

    #[inline(always)]
    pub(crate) fn is_compared(&self) -> bool {
        self.compared == self.number
    }

    /// See [`Said::compare`].
    pub(crate) fn compare(
        &mut self,
        said: &Said,
        rank: usize,
        size: usize,
    ) -> Result<(), (usize, String)> {
        self.comparing.map_or(Ok(()), |comparing| comparing(said, self, rank, size))
    }
}

impl KnownCounts {
    #[inline(always)]
    fn is(&self, counts: &[usize], more: &[usize]) -> bool {
        // No `memcmp` for a few words.
        let alike =
            |a: &[usize], b: &[usize]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b);
        alike(&self.counts, counts) && alike(&self.more, more)
    }

    /// All that is compared.
    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.counts.iter().chain(&self.more).copied()
    }
}

/// The lists of the ranks, up to the last rank.
#[derive(Default)]
pub(crate) struct Said(Mutex<Vecs>);

#[derive(Default)]
struct Vecs {
    open: VecDeque<Change>,
    /// Its memory is for the next one.
    spare: Vec<usize>,
}

struct Change {
    number: u64,
    first: usize,
    counts: Vec<usize>,
    /// Ranks that have yet to come to it.
    missing: usize,
}

impl Said {
    /// Compares the list of `rank` of `size` ranks with the others'; or says which rank gave
    /// another list, and how they differ.
    #[inline(never)] // `.ci/tsan.supp` names it.
    pub(crate) fn compare(
        &self,
        own: &mut OwnCounts,
        rank: usize,
        size: usize,
    ) -> Result<(), (usize, String)> {
        own.compared = own.number;
        // The newest list, which is the latest if it is new.
        let newest = own.known.iter().find(|it| it.number == own.number);
        let Some(own) = newest.filter(|_| size > 1) else { return Ok(()) };
        let mut said = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let Vecs { open, spare } = &mut *said;
        let Some(i) = open.iter().position(|it| it.number == own.number) else {
            let mut counts = std::mem::take(spare);
            counts.clear();
            counts.extend(own.all());
            open.push_back(Change { number: own.number, first: rank, counts, missing: size - 1 });
            return Ok(());
        };
        let it = &mut open[i];
        if !own.all().eq(it.counts.iter().copied()) {
            let own: Vec<usize> = own.all().collect();
            return Err((it.first, format!("counts: expected {own:?}, got {:?}", it.counts)));
        }
        it.missing -= 1;
        if it.missing == 0
            && let Some(over) = open.remove(i)
        {
            *spare = over.counts;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const NOTHING: &[usize] = &[];

    /// Every program of three ranks that make three calls with one of two counts, in every order in
    /// which they can come: an error exactly if they disagree, but for those that the numbers
    /// in the fingerprints find.
    #[test]
    fn every_disagreement_is_found_here_or_by_the_numbers() {
        const CALLS: usize = 3;
        // The rank that is next; every rank is so once for each of its calls.
        let turns = |order: usize| (0..3 * CALLS as u32).map(move |i| order / 3usize.pow(i) % 3);
        let is_whole =
            |&order: &usize| (0..3).all(|r| turns(order).filter(|&t| t == r).count() == CALLS);
        let orders: Vec<usize> = (0..3usize.pow(3 * CALLS as u32)).filter(is_whole).collect();
        assert_eq!(orders.len(), 1680);
        // Rank 0 begins with the first of the two: which is which makes no difference.
        for programs in (0..1usize << (3 * CALLS)).step_by(2) {
            let says = |rank: usize, call: usize| programs >> (3 * call + rank) & 1;
            let alike = (0..CALLS).all(|c| (1..3).all(|r| says(r, c) == says(0, c)));
            for &order in &orders {
                let mut owns: [OwnCounts; 3] = Default::default();
                let (mut made, mut numbers) = ([0; 3], [[0; 3]; CALLS]);
                let (said, mut found) = (Said::default(), false);
                for rank in turns(order) {
                    let call = made[rank];
                    made[rank] += 1;
                    owns[rank].say(&[4, says(rank, call), 9], NOTHING);
                    numbers[call][rank] = owns[rank].number();
                    if !owns[rank].is_compared() {
                        found |= said.compare(&mut owns[rank], rank, 3).is_err();
                    }
                }
                found |= numbers.iter().any(|n| n.iter().any(|&x| x % 2 != n[0] % 2));
                assert_eq!(found, !alike, "{programs:b} {order}");
                let open = said.0.lock().unwrap().open.len();
                assert!(found || open == 0, "{open} are left");
            }
        }
    }

    /// Two ranks that say the same, up to a last call in which one says something else: it is new
    /// to both or to one, or known to both. Long sequences, of few lists and of many.
    #[test]
    fn a_list_keeps_its_number_while_it_is_known() {
        let mut dice = crate::mix::SplitMix(7);
        for (lists, calls) in [(2, 20), (KNOWN, 100), (KNOWN + 1, 100), (40, 200), (300, 500)] {
            for _ in 0..50 {
                let (said, mut owns) = (Said::default(), [(); 2].map(|()| OwnCounts::default()));
                // Rank 0 is first in each call.
                let mut say = |list: [usize; 2]| -> bool {
                    let mut numbers = [0; 2];
                    let mut found = false;
                    for rank in 0..2 {
                        let own = &mut owns[rank];
                        let (digest, is_new) = own.say(&[list[rank], 1], NOTHING);
                        assert_eq!(is_new, !own.is_compared());
                        numbers[rank] = digest.bits() & NUMBER;
                        if !own.is_compared() {
                            found |= said.compare(own, rank, 2).is_err();
                        }
                        assert!(own.known.len() <= KNOWN);
                    }
                    found || numbers[0] != numbers[1]
                };
                for _ in 0..calls {
                    let list = dice.below(lists);
                    assert!(!say([list; 2]), "{lists} lists");
                }
                let last = dice.below(lists);
                assert!(say([last, (last + 1 + dice.below(lists)) % (lists + 1)]), "{lists} lists");
            }
        }
    }

    /// Equal counts on another mesh are another list.
    #[test]
    fn what_belongs_to_counts_counts() {
        let mut own = OwnCounts::default();
        let (a, _) = own.say(&[1, 2], &[3]);
        let (b, is_new) = own.say(&[1, 2], NOTHING);
        assert!(is_new && a != b);
        assert_eq!(own.say(&[1, 2], &[3]), (a, false));
    }
}
