//! Distributions of elements over ranks: contiguous blocks, and blocks dealt out cyclically.

use crate::sorted::Arrange;
use std::fmt;
use std::ops::Range;

/// A way of sharing out elements `0..len` among ranks.
///
/// # Examples
/// ```
/// use phalanx::dist::{Block, BlockCyclic, Distribution};
/// fn owners(d: &impl Distribution) -> Vec<usize> {
///     (0..d.len()).map(|i| d.owner(i)).collect()
/// }
/// assert_eq!(owners(&Block::new(7, 3)), [0, 0, 1, 1, 2, 2, 2]);
/// assert_eq!(owners(&BlockCyclic::new(7, 2, 3)), [0, 0, 1, 1, 2, 2, 0]);
/// ```
pub trait Distribution {
    /// Elements in all.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// The rank that has element `i`.
    ///
    /// # Panics
    /// If there is no such element.
    fn owner(&self, i: usize) -> usize;

    /// The place of element `i` among its owner's.
    ///
    /// # Panics
    /// If there is no such element.
    fn local(&self, i: usize) -> usize;

    /// How many elements rank `rank` has.
    fn count(&self, rank: usize) -> usize;

    /// The runs of elements that rank `rank` has, in ascending order.
    fn ranges(&self, rank: usize) -> impl Iterator<Item = Range<usize>>;

    /// All counts, in rank order: what the `_varied` collectives take.
    ///
    /// ```
    /// use phalanx::dist::{Block, Distribution};
    /// assert_eq!(Block::new(7, 3).counts(), [2, 2, 3]);
    /// ```
    fn counts(&self) -> Vec<usize> {
        (0..self.ranks()).map(|rank| self.count(rank)).collect()
    }

    /// The elements that rank `rank` has, in the order of their places.
    ///
    /// ```
    /// use phalanx::dist::{BlockCyclic, Distribution};
    /// let mine: Vec<usize> = BlockCyclic::new(10, 2, 2).indices(1).collect();
    /// assert_eq!(mine, [2, 3, 6, 7]);
    /// ```
    fn indices(&self, rank: usize) -> impl Iterator<Item = usize> {
        self.ranges(rank).flatten()
    }

    /// `data` cut up: for each rank its runs, to be given to the ranks by
    /// [`Team::run_with`](crate::Team::run_with).
    ///
    /// ```
    /// use phalanx::dist::{BlockCyclic, Distribution};
    /// let mut data = vec![0; 7];
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let mut parts = BlockCyclic::new(7, 2, 2).parts_mut(&mut data);
    /// team.run_with(&mut parts, |comm, mine| {
    ///     mine.iter_mut().for_each(|run| run.fill(comm.rank()));
    /// })?;
    /// assert_eq!(data, [0, 0, 1, 1, 0, 0, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `data` has not as many elements.
    fn parts_mut<'a, T>(&self, data: &'a mut [T]) -> Vec<Vec<&'a mut [T]>> {
        assert_eq!(data.len(), self.len(), "elements of the data and of the distribution");
        let runs = |rank| self.ranges(rank).map(move |run| (run.start, run.len(), rank));
        let mut runs: Vec<_> = (0..self.ranks()).flat_map(runs).collect();
        runs.arrange();
        let mut parts: Vec<Vec<&mut [T]>> = (0..self.ranks()).map(|_| Vec::new()).collect();
        let mut rest = data;
        for (_, len, rank) in runs {
            let (run, tail) = std::mem::take(&mut rest).split_at_mut(len);
            parts[rank].push(run);
            rest = tail;
        }
        parts
    }
}

/// One run of elements for each rank, as equal as possible: the parts of
/// [`Team::run_chunks`](crate::Team::run_chunks).
///
/// # Examples
/// ```
/// use phalanx::dist::{Block, Distribution};
/// let rows = Block::new(10, 4);
/// assert_eq!(rows.range(1), 2..5);
/// assert_eq!((rows.owner(7), rows.local(7)), (3, 0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    len: usize,
    unit: usize,
    ranks: usize,
}

impl Block {
    /// `len` elements among `ranks` ranks, rank `r` having `len*r/ranks ..
    /// len*(r+1)/ranks`.
    ///
    /// # Panics
    /// If there are no ranks.
    #[track_caller]
    pub fn new(len: usize, ranks: usize) -> Self {
        Block::aligned(len, ranks, 1)
    }

    /// `len` elements among `ranks` ranks, cut at multiples of `unit` only: of 256 for
    /// [`fixed_sum`](crate::Comm::fixed_sum), which then has no cut blocks to
    /// mend; of a cache line's elements where ranks write next to each other.
    ///
    /// ```
    /// use phalanx::dist::{Block, Distribution};
    /// assert_eq!(Block::aligned(1000, 3, 256).counts(), [256, 256, 488]);
    /// ```
    ///
    /// # Panics
    /// If there are no ranks, or the unit is 0.
    #[track_caller]
    pub fn aligned(len: usize, ranks: usize, unit: usize) -> Self {
        assert!(ranks > 0, "a distribution among no ranks");
        assert!(unit > 0, "a distribution cut at multiples of 0");
        Block { len, unit, ranks }
    }

    /// The elements of rank `rank`; none beyond the last rank.
    pub fn range(&self, rank: usize) -> Range<usize> {
        if rank >= self.ranks {
            return self.len..self.len;
        }
        let run = chunk(self.len.div_ceil(self.unit), rank, self.ranks);
        let at = |unit: usize| unit.saturating_mul(self.unit).min(self.len);
        at(run.start)..at(run.end)
    }
}

/// The part of `len` elements that rank `rank` of `p` has.
pub(crate) fn chunk(len: usize, rank: usize, p: usize) -> Range<usize> {
    // In two factors, so that the product stays small; among more than 2^32 ranks it may not.
    let cut = |r: usize| match (len % p).checked_mul(r) {
        Some(rest) => len / p * r + rest / p,
        None => (len as u128 * r as u128 / p as u128) as usize,
    };
    cut(rank)..cut(rank + 1)
}

impl Distribution for Block {
    fn len(&self) -> usize {
        self.len
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    #[inline]
    fn owner(&self, i: usize) -> usize {
        assert!(i < self.len, "element {i} of {}", self.len);
        // The largest r with units * r / ranks <= unit.
        let (units, p) = (self.len.div_ceil(self.unit) as u128, self.ranks as u128);
        (((i / self.unit + 1) as u128 * p - 1) / units) as usize
    }

    #[inline]
    fn local(&self, i: usize) -> usize {
        i - self.range(self.owner(i)).start
    }

    fn count(&self, rank: usize) -> usize {
        self.range(rank).len()
    }

    fn ranges(&self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(self.range(rank)).filter(|run| !run.is_empty())
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} on {}", self.len, self.ranks)?;
        if self.unit > 1 { write!(f, ", at multiples of {})", self.unit) } else { f.write_str(")") }
    }
}

/// Blocks of equal length dealt round: block `k` to rank `k mod p`, as ScaLAPACK
/// has rows and columns of matrices of which less and less is worked on. With
/// blocks of one element, the cyclic distribution.
///
/// # Examples
/// ```
/// use phalanx::dist::{BlockCyclic, Distribution};
/// let rows = BlockCyclic::new(10, 2, 2); // 0 0 1 1 0 0 1 1 0 0
/// assert_eq!(rows.counts(), [6, 4]);
/// assert_eq!((rows.owner(7), rows.local(7)), (1, 3));
/// assert_eq!(rows.global(1, 3), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockCyclic {
    len: usize,
    block: usize,
    ranks: usize,
}

impl BlockCyclic {
    /// `len` elements in blocks of `block` among `ranks` ranks.
    ///
    /// # Panics
    /// If there are no ranks, or blocks of nothing.
    #[track_caller]
    pub fn new(len: usize, block: usize, ranks: usize) -> Self {
        assert!(ranks > 0, "a distribution among no ranks");
        assert!(block > 0, "a distribution in blocks of no elements");
        BlockCyclic { len, block, ranks }
    }

    /// Elements of a block (the last one may have fewer).
    pub fn block(&self) -> usize {
        self.block
    }

    /// The element at place `local` of rank `rank`.
    ///
    /// # Panics
    /// If the rank has no such place.
    pub fn global(&self, rank: usize, local: usize) -> usize {
        assert!(local < self.count(rank), "place {local} of rank {rank} in {self:?}");
        (local / self.block * self.ranks + rank) * self.block + local % self.block
    }
}

impl Distribution for BlockCyclic {
    fn len(&self) -> usize {
        self.len
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    #[inline]
    fn owner(&self, i: usize) -> usize {
        assert!(i < self.len, "element {i} of {}", self.len);
        i / self.block % self.ranks
    }

    #[inline]
    fn local(&self, i: usize) -> usize {
        assert!(i < self.len, "element {i} of {}", self.len);
        i / self.block / self.ranks * self.block + i % self.block
    }

    fn count(&self, rank: usize) -> usize {
        let (whole, rest) = (self.len / self.block, self.len % self.block);
        let own = match rank.cmp(&(whole % self.ranks)) {
            std::cmp::Ordering::Less => self.block,
            std::cmp::Ordering::Equal => rest,
            std::cmp::Ordering::Greater => 0,
        };
        if rank < self.ranks { whole / self.ranks * self.block + own } else { 0 }
    }

    fn ranges(&self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        let BlockCyclic { len, block, ranks } = *self;
        let blocks = if rank < ranks { len.div_ceil(block) } else { 0 };
        (rank..blocks).step_by(ranks).map(move |k| {
            let start = k * block;
            start..start.saturating_add(block).min(len)
        })
    }
}

impl fmt::Debug for BlockCyclic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockCyclic({} in blocks of {} on {})", self.len, self.block, self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ranks_than_any_machine_has() {
        let (len, p) = (usize::MAX - 5, usize::MAX / 2);
        assert_eq!(chunk(len, 0, p), 0..1);
        assert_eq!(chunk(len, p - 1, p).end, len);
        assert!((p / 2..p / 2 + 9).all(|r| (1..=2).contains(&chunk(len, r, p).len())));
    }

    /// Every element has one owner and one place; counts and runs agree.
    fn is_sound(d: &(impl Distribution + fmt::Debug)) {
        let mut next = vec![0; d.ranks()];
        for i in 0..d.len() {
            let r = d.owner(i);
            assert_eq!(d.local(i), next[r], "{d:?}, element {i}");
            next[r] += 1;
        }
        assert_eq!(d.counts(), next, "{d:?}");
        for (rank, &count) in next.iter().enumerate() {
            let own: Vec<usize> = d.indices(rank).collect();
            assert_eq!(own.len(), count);
            assert!(own.iter().all(|&i| d.owner(i) == rank));
            assert!(d.ranges(rank).all(|run| !run.is_empty()));
        }
        let mut data: Vec<usize> = vec![usize::MAX; d.len()];
        for (rank, parts) in d.parts_mut(&mut data).into_iter().enumerate() {
            parts.into_iter().for_each(|run| run.fill(rank));
        }
        assert!(data.iter().enumerate().all(|(i, &r)| r == d.owner(i)), "{d:?}");
    }

    #[test]
    fn distributions_are_sound() {
        for p in 1..9 {
            for n in [0, 1, 2, 5, 7, 8, 16, 63, 100] {
                for k in [1, 2, 3, 8, 200] {
                    is_sound(&Block::aligned(n, p, k));
                    let cyclic = BlockCyclic::new(n, k, p);
                    is_sound(&cyclic);
                    for i in 0..n {
                        assert_eq!(cyclic.global(cyclic.owner(i), cyclic.local(i)), i);
                    }
                }
            }
        }
        let huge = Block::new(usize::MAX, 1000);
        assert_eq!(huge.owner(usize::MAX - 1), 999);
        assert_eq!(huge.range(999).end, usize::MAX);
        assert_eq!((huge.range(1000).len(), BlockCyclic::new(9, 2, 2).count(2)), (0, 0));
        let half = usize::MAX / 2 + 1;
        for (rank, run) in [(0, 0..half), (1, half..usize::MAX)] {
            assert!(BlockCyclic::new(usize::MAX, half, 2).ranges(rank).eq([run]));
        }
    }
}
