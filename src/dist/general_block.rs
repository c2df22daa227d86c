//! Contiguous blocks of given lengths.

use super::Distribution;
use std::fmt;
use std::ops::Range;

/// One run of elements for each rank, of any length: HPF's generalized blocks (`GEN_BLOCK`). For
/// rows of a sparse matrix with as many entries on each rank, for ranks on unlike cores, for parts
/// that have halos.
///
/// # Examples
/// ```
/// use phalanx::dist::{Distribution, GeneralBlock};
/// let rows = GeneralBlock::of_counts([4, 0, 3]);
/// assert_eq!((rows.len(), rows.ranks(), rows.range(2)), (7, 3, 4..7));
/// assert_eq!((rows.owner(5), rows.local(5)), (2, 1));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GeneralBlock {
    /// Where the ranks' runs begin, and the last one's end.
    cuts: Box<[usize]>,
}

impl GeneralBlock {
    /// As many elements for each rank as `counts` says, in rank order.
    ///
    /// # Panics
    /// If there are no counts, or `usize` does not hold their sum.
    #[track_caller]
    pub fn of_counts(counts: impl IntoIterator<Item = usize>) -> Self {
        let mut cuts = vec![0_usize];
        for count in counts {
            let next = cuts[cuts.len() - 1].checked_add(count);
            cuts.push(next.expect("more elements than can be counted"));
        }
        assert!(cuts.len() > 1, "a distribution among no ranks");
        GeneralBlock { cuts: cuts.into() }
    }

    /// `len` elements in proportion to `weights`, in rank order: for ranks on unlike cores. (A core
    /// has a [class](crate::machine::Core::kind); the speed of a class in a loop is measured best.)
    ///
    /// # Panics
    /// If there are no weights, or one is negative, infinite or not a number. If all are 0, the
    /// last rank has everything.
    ///
    /// # Examples
    /// Cores of efficiency have a third of the others' share:
    /// ```
    /// use phalanx::{Team, dist::{Distribution, GeneralBlock}};
    /// assert_eq!(GeneralBlock::of_weights(10, [3.0, 1.0, 1.0]).counts(), [6, 2, 2]);
    ///
    /// let team = Team::builder().ranks(2).build()?;
    /// let machine = team.machine();
    /// let weight = |pu: Option<usize>| match pu.and_then(|pu| machine.core_of(pu)) {
    ///     Some(core) if machine.cores()[core].is_efficiency => 1.0,
    ///     _ => 3.0,
    /// };
    /// let weights = team.bindings().into_iter().map(|it| weight(it.pu));
    /// let mut x = vec![1.0; 1000];
    /// team.run_chunks(GeneralBlock::of_weights(1000, weights).cut(&mut x), |_, mine, _| {
    ///     mine.fill(2.0);
    /// })?;
    /// assert_eq!(x, vec![2.0; 1000]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn of_weights(len: usize, weights: impl IntoIterator<Item = f64>) -> Self {
        let mut all = Vec::new();
        for weight in weights {
            assert!(weight.is_finite() && weight >= 0.0, "a weight of {weight}");
            all.push(weight);
        }
        assert!(!all.is_empty(), "a distribution among no ranks");
        // So much smaller, as many as memory holds have a sum; their shares are the same.
        let is_counted = all.iter().sum::<f64>().is_finite();
        let (scale, mut sum) = (if is_counted { 1.0 } else { f64::EPSILON.powi(2) }, 0.0);
        all.iter_mut().for_each(|weight| {
            sum += *weight * scale;
            *weight = sum;
        });
        // (0 of 0 is not a number, which is converted to 0.) Sums ascend, and so do their shares.
        let share = |before: f64| match before / sum {
            1.0 => len,
            part => ((part * len as f64).round() as usize).min(len),
        };
        let mut cuts = vec![0];
        cuts.extend(all.iter().map(|&sum| share(sum)));
        cuts[all.len()] = len;
        GeneralBlock { cuts: cuts.into() }
    }

    /// The elements of rank `rank`; none beyond the last rank.
    ///
    /// ```
    /// assert_eq!(phalanx::dist::GeneralBlock::of_counts([4, 3]).range(1), 4..7);
    /// ```
    pub fn range(&self, rank: usize) -> Range<usize> {
        match self.cuts.get(rank..) {
            Some(&[from, to, ..]) => from..to,
            _ => self.len()..self.len(),
        }
    }
}

impl Distribution for GeneralBlock {
    fn len(&self) -> usize {
        self.cuts[self.cuts.len() - 1]
    }

    fn ranks(&self) -> usize {
        self.cuts.len() - 1
    }

    /// A binary search.
    fn owner(&self, i: usize) -> usize {
        assert!(i < self.len(), "element {i} of {}", self.len());
        self.cuts.partition_point(|&cut| cut <= i) - 1
    }

    fn local(&self, i: usize) -> usize {
        i - self.cuts[self.owner(i)]
    }

    fn count(&self, rank: usize) -> usize {
        self.range(rank).len()
    }

    fn ranges(&self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(self.range(rank)).filter(|run| !run.is_empty())
    }
}

impl fmt::Debug for GeneralBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeneralBlock({} on {}", self.len(), self.ranks())?;
        let counts = self.cuts.windows(2).map(|run| run[1] - run[0]);
        f.write_str(": ")?;
        f.debug_list().entries(counts).finish()?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_one_owner() {
        for counts in [&[0][..], &[3], &[0, 2, 0, 0, 5, 0], &[1, 1, 1], &[0, 0]] {
            let blocks = GeneralBlock::of_counts(counts.iter().copied());
            assert_eq!((blocks.counts(), blocks.ranks()), (counts.to_vec(), counts.len()));
            let listed: Vec<_> = (0..counts.len()).flat_map(|rank| blocks.indices(rank)).collect();
            assert!(listed.iter().copied().eq(0..blocks.len()));
            for i in 0..blocks.len() {
                let owner = blocks.owner(i);
                assert_eq!(blocks.range(owner).start + blocks.local(i), i);
                assert!(blocks.range(owner).contains(&i));
            }
            assert!(blocks.range(counts.len()).is_empty() && blocks.range(usize::MAX).is_empty());
        }
    }

    #[test]
    fn shares_are_in_proportion() {
        let counts =
            |len, weights: &[f64]| GeneralBlock::of_weights(len, weights.iter().copied()).counts();
        assert_eq!(counts(7, &[1.0, 0.0, 2.5]), [2, 0, 5]);
        assert_eq!(counts(0, &[1.0, 1.0]), [0, 0]);
        assert_eq!(counts(5, &[0.0, 0.0]), [0, 5]);
        assert_eq!(counts(usize::MAX, &[1.0, 1e-300]), [usize::MAX, 0]);
        // A sum beyond all numbers, and one of the smallest.
        assert_eq!(counts(9, &[f64::MAX; 3]), [3, 3, 3]);
        assert_eq!(counts(6, &[f64::MAX, 1.0, f64::MAX]), [3, 0, 3]);
        assert_eq!(counts(8, &[f64::MAX, f64::MAX / 2.0, f64::MAX / 2.0, 0.0]), [4, 2, 2, 0]);
        assert_eq!(counts(9, &[5e-324, 1e-323, 0.0]), [3, 6, 0]);
        // A rank of weight 0 has nothing, also where `f64` does not have the length.
        assert_eq!(counts((1 << 53) + 1, &[1.0, -0.0]), [(1 << 53) + 1, 0]);
        assert_eq!(counts(usize::MAX - 1, &[0.0, 1.0, 0.0]), [0, usize::MAX - 1, 0]);
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        for bad in [f64::INFINITY, f64::NAN, -5e-324, f64::NEG_INFINITY] {
            let made =
                std::panic::catch_unwind(|| GeneralBlock::of_weights(9, [1.0, bad, f64::MAX]));
            assert!(made.is_err(), "{bad}");
        }
    }

    #[test]
    #[should_panic(expected = "more elements than can be counted")]
    fn counts_beyond_counting() {
        GeneralBlock::of_counts([usize::MAX, 1]);
    }
}
