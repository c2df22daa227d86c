//! Data together with the cut by which a region has them.

use super::{Block, GeneralBlock, chunk};
use std::ops::Range;

/// Slices, and the blocks that they are cut into for a region
/// ([`Team::run_chunks`](crate::Team::run_chunks)): made by [`Block::cut`], [`GeneralBlock::cut`],
/// [`Dynamic::cut`]. Slices without a cut have equal blocks, those of [`Block::new`].
#[derive(Clone, Copy, Debug)]
#[must_use = "it is an argument of a region, such as `run_chunks`"]
pub struct Cut<'a, D> {
    pub(crate) data: D,
    pub(crate) blocks: Blocks<'a>,
}

/// Blocks of any length that ranks take as they come, in ascending order: for work that is uneven,
/// of a length that nobody knows before, or beside other programs. Made by [`dynamic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dynamic {
    length: usize,
}

/// Blocks of `length` elements (the last may have fewer), each taken by the rank that is free next.
///
/// A rank takes a block by one atomic addition, whose line travels from core to core: some 100 ns,
/// so a block is best 5 us of work or more.
///
/// # Panics
/// If the length is 0.
///
/// # Examples
/// ```
/// use phalanx::{Team, dist::dynamic};
/// let team = Team::builder().ranks(2).build()?;
/// let mut primes = vec![false; 1000];
/// team.run_chunks(dynamic(64).cut(&mut primes), |_, mine, at| {
///     for (n, is_prime) in (at..).zip(mine) {
///         *is_prime = n > 1 && (2..n).all(|d| n % d > 0); // the longer, the larger n
///     }
/// })?;
/// assert_eq!(primes.iter().filter(|&&is_prime| is_prime).count(), 168);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[track_caller]
pub const fn dynamic(length: usize) -> Dynamic {
    assert!(length > 0, "dynamic(0): blocks need 1 element or more");
    Dynamic { length }
}

impl Dynamic {
    /// `data`, a slice or a tuple of slices, in such blocks.
    pub const fn cut<D>(self, data: D) -> Cut<'static, D> {
        Cut { data, blocks: Blocks::Dynamic(self.length) }
    }
}

impl Block {
    /// `data`, a slice or a tuple of slices, in these blocks.
    ///
    /// ```
    /// use phalanx::{Team, dist::Block};
    /// let team = Team::builder().ranks(2).build()?;
    /// let mut matrix = vec![0; 3 * 100]; // three rows: none is cut
    /// let lengths = team.run_chunks(Block::aligned(300, 2, 100).cut(&mut matrix), |_, rows, at| {
    ///     rows.fill(at / 100);
    ///     rows.len()
    /// })?;
    /// assert_eq!((lengths, matrix[299]), (vec![100, 200], 1));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub const fn cut<D>(self, data: D) -> Cut<'static, D> {
        Cut { data, blocks: Blocks::Aligned(self) }
    }
}

impl GeneralBlock {
    /// `data`, a slice or a tuple of slices, in these blocks.
    ///
    /// ```
    /// use phalanx::{Team, dist::GeneralBlock};
    /// let team = Team::builder().ranks(2).build()?;
    /// let (mut x, y) = ([0; 6], [1, 2, 3, 4, 5, 6]);
    /// let uneven = GeneralBlock::of_counts([4, 2]);
    /// team.run_chunks(uneven.cut((&mut x, &y)), |comm, (x, y), at| {
    ///     x.iter_mut().zip(y).for_each(|(x, y)| *x = 100 * comm.rank() + 10 * at + y);
    /// })?;
    /// assert_eq!(x, [1, 2, 3, 4, 145, 146]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub const fn cut<D>(&self, data: D) -> Cut<'_, D> {
        Cut { data, blocks: Blocks::General(self) }
    }
}

/// A cut, of a number of elements and ranks that a region knows.
#[derive(Clone, Copy, Debug)]
pub enum Blocks<'a> {
    Equal,
    Aligned(Block),
    General(&'a GeneralBlock),
    /// Of so many elements; each is taken by any rank.
    Dynamic(usize),
}

impl Blocks<'_> {
    /// How many blocks `len` elements have among `ranks` ranks; why not, if the cut is of others.
    /// There is always a block, if only an empty one.
    pub(crate) fn count(&self, len: usize, ranks: usize) -> Result<usize, String> {
        use super::Distribution;
        let given = match self {
            Blocks::Equal => return Ok(ranks),
            Blocks::Dynamic(length) => {
                // Of elements without bytes; a rank that asks in vain counts on.
                let count = len.div_ceil(*length).max(1);
                let is_counted = count < usize::MAX / 2;
                return is_counted
                    .then_some(count)
                    .ok_or_else(|| format!("{count} blocks are too many"));
            }
            Blocks::Aligned(blocks) => (blocks.len(), blocks.ranks()),
            Blocks::General(blocks) => (blocks.len(), blocks.ranks()),
        };
        if given == (len, ranks) {
            return Ok(ranks);
        }
        let (cut, among) = given;
        Err(format!(
            "the cut is of {cut} elements among {among} ranks, but there are {len} elements and \
             {ranks} ranks"
        ))
    }

    /// Block `at` of `len` elements among `ranks` ranks: within them, and apart from the others.
    #[inline(always)]
    pub(crate) fn range(&self, at: usize, len: usize, ranks: usize) -> Range<usize> {
        match self {
            Blocks::Equal => chunk(len, at, ranks),
            Blocks::Aligned(blocks) => blocks.range(at),
            Blocks::General(blocks) => blocks.range(at),
            Blocks::Dynamic(length) => {
                let from = at.saturating_mul(*length).min(len);
                from..from.saturating_add(*length).min(len)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_and_make_up_all() {
        for ranks in 1..6 {
            for len in [0, 1, 2, 7, 64, 1000] {
                let general = GeneralBlock::of_weights(len, (0..ranks).map(|rank| rank as f64));
                assert!(Blocks::Dynamic(1).count(usize::MAX, ranks).is_err());
                let cuts = [Blocks::Equal, Blocks::Dynamic(1), Blocks::Dynamic(usize::MAX)];
                let aligned = Blocks::Aligned(Block::aligned(len, ranks, 16));
                let more = [Blocks::Dynamic(3), aligned, Blocks::General(&general)];
                for cut in cuts.into_iter().chain(more) {
                    let count = cut.count(len, ranks).unwrap();
                    let all: Vec<usize> =
                        (0..count).flat_map(|at| cut.range(at, len, ranks)).collect();
                    assert!(count > 0 && all.into_iter().eq(0..len), "{cut:?} of {len} on {ranks}");
                }
                assert!(aligned.count(len + 1, ranks).is_err());
                assert!(Blocks::General(&general).count(len, ranks + 1).is_err());
            }
        }
    }
}
