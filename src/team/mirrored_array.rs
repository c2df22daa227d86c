//! Arrays of which each memory has a copy.

use super::filled_memory::{FilledMemory, RankPlaces};
use super::handle::Team;
use crate::dist::chunk;
use crate::error::Error;
use crate::mailbox::HugePages;
use std::fmt;

/// An array of which there is a copy in each memory (NUMA node) next to which a team has ranks:
/// for weights, tables and the like, which all ranks read again and again. Made by
/// [`Team::mirrored`].
///
/// On a machine with one memory there is one copy.
///
/// # Examples
/// ```
/// use phalanx::Team;
/// let team = Team::builder().ranks(3).build()?;
/// let loaded: Vec<f32> = (0..1000).map(|i| i as f32).collect();
/// let weights = team.mirrored(loaded.len(), |i| loaded[i])?;
/// drop(loaded);
/// let sums = team.run(|comm| weights.near(comm.rank()).iter().sum::<f32>())?;
/// assert_eq!(sums, [499_500.0; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct MirroredArray<T> {
    copies: Box<[FilledMemory<T>]>,
    /// By rank: which copy is near.
    of_rank: Box<[usize]>,
}

impl Team {
    /// An array of `len` elements with a copy in each memory next to which the team has ranks.
    /// Those ranks make its elements, element `i` by `make(i)`, in equal parts; in huge pages where
    /// the system has such ([`MirroredArray::huge_pages`]).
    ///
    /// `make` is called once for each element of each copy, and is to give equal values: the copies
    /// are not compared. From an array that the program has, it copies: `|i| loaded[i]`.
    ///
    /// A rank that is not bound to a core counts to the memory of the first rank that is.
    ///
    /// **Cost** one run, and the memory: once for each memory.
    ///
    /// # Errors
    /// - [`Error::Memory`] if the system has no memory for so many elements; see
    ///   [`distributed`](Team::distributed).
    /// - As [`run`](Team::run): if `make` panics, [`Error::Panicked`] has the payload.
    ///
    /// Elements that were made are dropped then.
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let squares = team.mirrored(5, |i| i * i)?;
    /// assert!(squares.copies().all(|copy| copy == [0, 1, 4, 9, 16]));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn mirrored<T: Send>(
        &self,
        len: usize,
        make: impl Fn(usize) -> T + Sync,
    ) -> Result<MirroredArray<T>, Error> {
        let of_rank = self.shared.roster().memories();
        let count = of_rank.iter().max().map_or(0, |&last| last + 1);
        let mut ranks = vec![0; count];
        // By rank: its number among those of its memory.
        let numbers: Vec<usize> = of_rank
            .iter()
            .map(|&memory| {
                ranks[memory] += 1;
                ranks[memory] - 1
            })
            .collect();
        let own = |rank: usize| chunk(len, numbers[rank], ranks[of_rank[rank]]);
        let shares: Vec<RankPlaces> =
            (0..self.size()).map(|rank| (of_rank[rank], own(rank).len())).collect();
        let memories: Result<Vec<_>, _> = (0..count).map(|_| self.fresh_memory(len, &[])).collect();
        let copies = FilledMemory::fill(self, memories?, &shares, own, make)?;
        Ok(MirroredArray { copies: copies.into(), of_rank })
    }
}

impl<T> MirroredArray<T> {
    /// The copy in the memory of rank `rank`.
    ///
    /// # Panics
    /// If the team that has made it has no such rank.
    #[inline]
    pub fn near(&self, rank: usize) -> &[T] {
        let ranks = self.of_rank.len();
        let copy = self.of_rank.get(rank);
        &self.copies[*copy.unwrap_or_else(|| panic!("rank {rank} of {ranks}"))]
    }

    /// All copies, rank 0's first.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(1).build()?;
    /// assert_eq!(team.mirrored(3, |_| 7)?.copies().len(), 1);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn copies(&self) -> impl ExactSizeIterator<Item = &[T]> {
        self.copies.iter().map(|copy| &**copy)
    }

    /// Elements of each copy.
    pub fn len(&self) -> usize {
        self.copies[0].len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the copies lie in huge pages, and if not, why: for each of them.
    ///
    /// **Cost** for each copy that of
    /// [`DistributedArray::huge_pages`](crate::DistributedArray::huge_pages).
    pub fn huge_pages(&self) -> Vec<HugePages> {
        self.copies.iter().map(FilledMemory::huge_pages).collect()
    }
}

impl<T> fmt::Debug for MirroredArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MirroredArray")
            .field("len", &self.len())
            .field("copies", &self.copies.len())
            .finish_non_exhaustive()
    }
}
