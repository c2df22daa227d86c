//! Checks of a call's arguments. A wrong argument ends the run, with an error that names the call
//! and its line.

use super::Comm;
use crate::shared::{CountFacts, Digest, Signature};
use std::panic::Location;

/// The signature of a call, and its line.
pub(super) type CallAt = (&'static Signature, &'static Location<'static>);

/// A rank that gives arguments: of a communicator, or of a layer above.
pub(super) trait Checks {
    /// The rank, and the number of ranks.
    fn place(&self) -> (usize, usize);

    /// Ends the run because of an argument of this rank's.
    fn wrong_argument(&mut self, call: CallAt, len: usize, what: String);

    /// Checks a rank number; ends the run if there is no such rank.
    #[inline(always)]
    fn check_rank(&mut self, what: &str, rank: usize, call: CallAt, len: usize) -> bool {
        let is_rank = rank < self.place().1;
        if !is_rank {
            self.refuse_rank(what, rank, call, len);
        }
        is_rank
    }

    /// Apart from the check, so that the text's parts are not written to the stack in each call.
    #[cold]
    #[inline(never)]
    fn refuse_rank(&mut self, what: &str, rank: usize, call: CallAt, len: usize) {
        let (_, p) = self.place();
        let what = format!("{what} {rank} is no rank of a communicator of {p}");
        self.wrong_argument(call, len, what);
    }

    /// Checks that a buffer has the length that it must have.
    #[inline(always)]
    fn check_len(
        &mut self,
        what: &str,
        got: usize,
        wanted: Option<usize>,
        call: CallAt,
        len: usize,
    ) -> bool {
        if wanted == Some(got) {
            return true;
        }
        // Copies: the parts of a text are in memory, and these are so only here.
        let (what, got) = (what, got);
        let wanted = wanted.map_or("more than memory can hold".to_string(), |w| w.to_string());
        self.wrong_argument(call, len, format!("{what} has {got} elements, must have {wanted}"));
        false
    }

    /// Checks that a buffer of so many elements has equally many for each rank.
    #[inline(always)]
    fn check_blocks(&mut self, what: &str, all: usize, call: CallAt) -> bool {
        let (_, p) = self.place();
        if !all.is_multiple_of(p) {
            let (what, all, p) = (what, all, p);
            let what = format!("{what} {all} elements, no multiple of {p} ranks");
            self.wrong_argument(call, all / p, what);
        }
        all.is_multiple_of(p)
    }

    /// Checks one count per rank of elements of `size` bytes, the own one being `own`;
    /// returns their sum, which is that of a slice that there can be: the products of
    /// the engine then never overflow.
    #[inline(always)]
    fn check_counts(
        &mut self,
        counts: &[usize],
        own: usize,
        size: usize,
        call: CallAt,
    ) -> Option<usize> {
        let (rank, p) = self.place();
        let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let fits = total.is_some_and(|total| total <= most(size));
        if counts.len() == p && counts[rank] == own && fits {
            return total;
        }
        self.refuse_counts(counts, own, call);
        None
    }

    /// Checks the lengths of an all-to-all's two buffers of the signature's elements, and the
    /// counts for each rank that sum to them, of which the own ones are of one block.
    #[inline(always)]
    fn check_pairs(
        &mut self,
        call: CallAt,
        (sent, to): (usize, &[usize]),
        (received, from): (usize, &[usize]),
    ) -> bool {
        let (rank, p) = self.place();
        let sums = to.iter().zip(from).try_fold((0usize, 0usize), |(a, b), (&to, &from)| {
            Some((a.checked_add(to)?, b.checked_add(from)?))
        });
        let fits = to.len() == p
            && from.len() == p
            && to[rank] == from[rank]
            && sums == Some((sent, received));
        fits || self.refuse_pairs(call, (sent, to), (received, from))
    }

    #[cold]
    #[inline(never)]
    fn refuse_pairs(
        &mut self,
        call: CallAt,
        (sent, to): (usize, &[usize]),
        (received, from): (usize, &[usize]),
    ) -> bool {
        let size = call.0.element_size;
        let own = to.get(self.place().0).copied().unwrap_or(0);
        let Some(total) = self.check_counts(to, own, size, call) else { return false };
        if !self.check_len("the input", sent, Some(total), call, total) {
            return false;
        }
        // The own block: as many elements are sent as received.
        let Some(total) = self.check_counts(from, own, size, call) else { return false };
        self.check_len("the output", received, Some(total), call, total)
    }

    #[cold]
    #[inline(never)]
    fn refuse_counts(&mut self, counts: &[usize], own: usize, call: CallAt) {
        let (rank, p) = self.place();
        let what = if counts.len() != p {
            format!("{} counts for {p} ranks", counts.len())
        } else if counts[rank] != own {
            format!("the own buffer has {own} elements, counts[{rank}] says {}", counts[rank])
        } else {
            "the counts sum to more than memory can hold".to_string()
        };
        self.wrong_argument(call, own, what);
    }
}

impl Checks for Comm {
    #[inline(always)]
    fn place(&self) -> (usize, usize) {
        (self.port.rank(), self.port.size())
    }

    fn wrong_argument(&mut self, call: CallAt, len: usize, what: String) {
        self.wrong(call, len, what);
    }
}

impl Comm {
    /// Checks one count per rank of elements of `size` bytes, the same on all ranks, the own one
    /// being `own`; returns the facts that follow from them, the sum being that of a slice that
    /// there can be. The usual ones are those of the call before.
    #[inline(always)]
    pub(super) fn check_common_counts(
        &mut self,
        counts: &[usize],
        own: usize,
        size: usize,
        call: CallAt,
    ) -> Option<CountFacts> {
        if self.numbers_counts()
            && let Some(facts) = self.port.counts_again(counts)
            && counts.get(self.port.rank()) == Some(&own)
            && counts.len() == self.port.size()
            && facts.total <= most(size)
        {
            return Some(facts);
        }
        self.check_new_counts(counts, own, size, call)
    }

    #[cold]
    #[inline(never)]
    fn check_new_counts(
        &mut self,
        counts: &[usize],
        own: usize,
        size: usize,
        call: CallAt,
    ) -> Option<CountFacts> {
        self.check_counts(counts, own, size, call)?;
        let digest = match self.numbers_counts() {
            true => self.digest_of(counts),
            false => Digest::NONE,
        };
        CountFacts::of(counts, digest)
    }
}

/// The most elements of so many bytes that a slice can have.
const fn most(size: usize) -> usize {
    match (isize::MAX as usize).checked_div(size) {
        Some(most) => most,
        None => usize::MAX,
    }
}
