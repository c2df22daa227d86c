//! Counts of varied blocks, compared in full.
//!
//! They are too many for a fingerprint, and a digest of them can collide. So every rank numbers
//! its *changes* of counts in a communicator, beginning with the first: a call with the counts of
//! the one before is compared with those, on the rank itself, and has their number; one with others
//! has the next number, and is compared here with what the first rank said that came to
//! that number. The low bits of the number are in every fingerprint.
//!
//! So of two ranks in one call either the counts are equal, or somebody notices. Take the first
//! call in which two ranks differ. Up to it both have made the same changes. If one changes its
//! counts now and the other does not, their numbers differ by one, and so do the fingerprints. If
//! both do, they come to the same number, with different counts, and the second one sees it here.

use crate::sync::Mutex;
use std::collections::VecDeque;

/// What one rank has said.
#[derive(Default)]
pub(crate) struct OwnCounts {
    /// Changes so far; 0 before the first call.
    pub(crate) number: u64,
    /// The change that was compared last.
    compared: u64,
    /// The latest counts, and what else belongs to them.
    latest: Vec<usize>,
}

impl OwnCounts {
    /// The rank's next call has these counts. Returns whether they are others than before.
    #[inline]
    pub(crate) fn say(&mut self, counts: impl Iterator<Item = usize> + Clone) -> bool {
        if self.number != 0 && counts.clone().eq(self.latest.iter().copied()) {
            return false;
        }
        self.number += 1;
        self.latest.clear();
        self.latest.extend(counts);
        true
    }

    pub(crate) fn latest(&self) -> &[usize] {
        &self.latest
    }

    #[inline(always)]
    pub(crate) fn is_compared(&self) -> bool {
        self.compared == self.number
    }
}

/// What ranks have said, up to the last one that will.
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
    /// Compares what `rank` of `size` ranks has said with what the others have; or
    /// says who said something else, and what.
    #[inline(never)] // `.ci/tsan.supp` names it.
    pub(crate) fn compare(
        &self,
        own: &mut OwnCounts,
        rank: usize,
        size: usize,
    ) -> Result<(), (usize, Vec<usize>)> {
        own.compared = own.number;
        if size == 1 {
            return Ok(());
        }
        let mut said = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let Vecs { open, spare } = &mut *said;
        let Some(i) = open.iter().position(|it| it.number == own.number) else {
            let mut counts = std::mem::take(spare);
            counts.clear();
            counts.extend(&own.latest);
            open.push_back(Change { number: own.number, first: rank, counts, missing: size - 1 });
            return Ok(());
        };
        let it = &mut open[i];
        if it.counts != own.latest {
            return Err((it.first, it.counts.clone()));
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

    /// Every program of three ranks that make three calls with one of two counts, in
    /// every order in which they can come: an error exactly if they disagree, but for what the
    /// numbers in the fingerprints say.
    #[test]
    fn every_disagreement_is_found_here_or_by_the_numbers() {
        const CALLS: usize = 3;
        // Whose turn it is; of which every rank has as many as there are calls.
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
                    owns[rank].say([4, says(rank, call), 9].into_iter());
                    numbers[call][rank] = owns[rank].number;
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
}
