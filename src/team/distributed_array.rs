//! Arrays that are cut among a team's ranks, each part in its rank's memory.

use super::filled_memory::{FilledMemory, RankPlaces};
use super::handle::Team;
use crate::dist::Distribution;
use crate::error::Error;
use crate::machine::limits;
use crate::mailbox::{FreshMemory, HugePages};
use std::fmt;
use std::ops::{Deref, DerefMut, Range};

/// An array of which each rank of a team has a part, in the memory next to its core: made by
/// [`Team::distributed`].
///
/// The caller has it as one slice, in the order of the ranks: first the elements of rank 0, then
/// those of rank 1, each rank's in the order of their [places](Distribution::local). Where each
/// rank has one run of elements ([`Block`](crate::dist::Block),
/// [`GeneralBlock`](crate::dist::GeneralBlock)), that is the order of the elements; element `i` of
/// another distribution is `x.part(d.owner(i))[d.local(i)]`.
///
/// [`parts_mut`](DistributedArray::parts_mut) lends the ranks their parts for a run; in between the
/// array stays as it is, and where it is. Any team of as many ranks may have it. (A part lies next
/// to a rank of the team that has made it: where another team has its ranks elsewhere, they come
/// farther.)
///
/// On a machine with one memory it is an array in huge pages; elements of any type will do, with
/// destructors, too.
///
/// # Examples
/// Two arrays, through several runs:
/// ```
/// use phalanx::{Team, dist::Block};
/// let team = Team::builder().ranks(3).build()?;
/// let rows = Block::new(1000, 3);
/// let mut x = team.distributed(&rows, |i| i as f64)?;
/// let mut y = team.distributed(&rows, |_| 0.0)?;
/// for _ in 0..2 {
///     let mut parts: Vec<_> = x.parts_mut().into_iter().zip(y.parts_mut()).collect();
///     team.run_with(&mut parts, |comm, (x, y)| {
///         let norm = comm.fixed_dot(x, x, rows.range(comm.rank()).start).sqrt();
///         y.iter_mut().zip(&**x).for_each(|(y, x)| *y += x / norm);
///     })?;
/// }
/// assert!((y.iter().map(|y| y * y).sum::<f64>() - 4.0).abs() < 1e-12); // one slice
/// # Ok::<(), phalanx::Error>(())
/// ```
/// While the ranks have their parts, nobody has the whole:
/// ```compile_fail
/// # use phalanx::{Team, dist::Block};
/// # let team = Team::builder().ranks(2).build().unwrap();
/// let mut x = team.distributed(&Block::new(8, 2), |i| i).unwrap();
/// let mut parts = x.parts_mut();
/// let first = x[0];
/// team.run_with(&mut parts, |_, mine| mine.fill(1)).unwrap();
/// ```
pub struct DistributedArray<T> {
    elements: FilledMemory<T>,
    /// Where the ranks' parts begin, and the last one's end.
    starts: Box<[usize]>,
}

impl Team {
    /// An array that is cut as `how` says: each rank makes its own elements, element `i` (the index
    /// in the whole) by `make(i)`, so that their pages lie in the memory next to its core. They are
    /// huge pages where the system has such ([`DistributedArray::huge_pages`]).
    ///
    /// A page with elements of two ranks lies with one of them. There is none where the parts begin
    /// at multiples of a page: [`Block::aligned`](crate::dist::Block::aligned), of 512 elements of
    /// 8 bytes. No huge page has elements of ranks of two memories. (Where a memory has none left,
    /// Linux may take one of the next memory.)
    ///
    /// From another array, `make` copies: `|i| old[i]`. There may be no elements. For threads of
    /// the caller's own ([`Team::external`]) there are windows:
    /// [`Comm::shared`](crate::Comm::shared).
    ///
    /// **Cost** one run, and the memory: once. Each rank asks `how` for its count and its
    /// [`indices`](Distribution::indices).
    ///
    /// # Errors
    /// - [`Error::Parts`] if `how` is for another number of ranks than the team has, or contradicts
    ///   itself: counts that do not make up its length, or lists of other lengths.
    /// - [`Error::Memory`] if the system has no memory for so many elements. (As a rule Linux
    ///   promises more than there is; it ends the process that then writes to it.)
    /// - As [`run`](Team::run): if `make` panics, [`Error::Panicked`] has the payload.
    ///
    /// Elements that were made are dropped then.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Team, dist::BlockCyclic, dist::Distribution};
    /// let team = Team::builder().ranks(2).build()?;
    /// let dealt = BlockCyclic::new(7, 2, 2); // elements 0 1 4 5 and 2 3 6
    /// let x = team.distributed(&dealt, |i| i * 10)?;
    /// assert_eq!(*x, [0, 10, 40, 50, 20, 30, 60]);
    /// assert_eq!(x.part(dealt.owner(6))[dealt.local(6)], 60);
    ///
    /// let three = BlockCyclic::new(7, 2, 3);
    /// let error = team.distributed(&three, |i| i).unwrap_err();
    /// assert!(error.to_string().starts_with("a distribution among 3 ranks for a team of 2, at "));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn distributed<T: Send>(
        &self,
        how: &(impl Distribution + Sync),
        make: impl Fn(usize) -> T + Sync,
    ) -> Result<DistributedArray<T>, Error> {
        let (len, ranks, size) = (how.len(), how.ranks(), self.size());
        if ranks != size {
            return Err(Error::parts(format_args!(
                "a distribution among {ranks} ranks for a team of {size}"
            )));
        }
        let shares: Vec<RankPlaces> = (0..size).map(|rank| (0, how.count(rank))).collect();
        let mut starts = Some(vec![0_usize]);
        for (_, count) in &shares {
            starts = starts.and_then(|mut starts| {
                starts.push(starts[starts.len() - 1].checked_add(*count)?);
                Some(starts)
            });
        }
        let Some(starts) = starts.filter(|starts| starts[size] == len) else {
            let counts: Vec<usize> = shares.iter().map(|share| share.1).collect();
            return Err(Error::parts(format_args!(
                "a distribution of {len} elements with the counts {counts:?}"
            )));
        };
        let memories = self.shared.roster().memories();
        let cuts: Vec<usize> = (1..size)
            .filter(|&rank| memories[rank] != memories[rank - 1])
            .map(|rank| starts[rank])
            .collect();
        let memory = self.fresh_memory(len, &cuts)?;
        let mut filled =
            FilledMemory::fill(self, vec![memory], &shares, |rank| how.indices(rank), make)?;
        let elements = filled.pop().expect("as many as given");
        Ok(DistributedArray { elements, starts: starts.into() })
    }

    /// Room for `len` elements; [`FreshMemory::new`] has the `cuts`.
    pub(super) fn fresh_memory<T>(
        &self,
        len: usize,
        cuts: &[usize],
    ) -> Result<FreshMemory<T>, Error> {
        FreshMemory::new(len, cuts).map_err(|refused| {
            let elements = format!("{len} elements of {} bytes", size_of::<T>());
            let limits = format!("an array of {elements}; {}", limits::in_words());
            Error::Memory { ranks: self.size(), bytes: refused.bytes, limits }
        })
    }
}

impl<T> DistributedArray<T> {
    /// The number of ranks that have parts.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let x = team.distributed(&phalanx::dist::Block::new(1, 2), |_| 'a')?;
    /// assert_eq!((x.ranks(), x.len()), (2, 1));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn ranks(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the part of rank `rank` lies in the slice.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn range(&self, rank: usize) -> Range<usize> {
        assert!(rank < self.ranks(), "rank {rank} of {}", self.ranks());
        self.starts[rank]..self.starts[rank + 1]
    }

    /// The part of rank `rank`; it may be empty.
    ///
    /// # Panics
    /// If there is no such rank.
    ///
    /// # Examples
    /// All ranks read the part of one:
    /// ```
    /// use phalanx::{Team, dist::Block};
    /// let team = Team::builder().ranks(2).build()?;
    /// let x = team.distributed(&Block::new(5, 2), |i| i)?;
    /// let sums = team.run(|_| x.part(1).iter().sum::<usize>())?;
    /// assert_eq!(sums, [9, 9]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn part(&self, rank: usize) -> &[T] {
        &self.elements[self.range(rank)]
    }

    /// The parts of all ranks, in rank order, to be lent by [`Team::run_with`].
    ///
    /// **Cost** two words for each rank.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Team, dist::GeneralBlock};
    /// let team = Team::builder().ranks(3).build()?;
    /// let mut x = team.distributed(&GeneralBlock::of_counts([2, 0, 1]), |_| 0)?;
    /// team.run_with(&mut x.parts_mut(), |comm, mine| mine.fill(comm.rank() + 1))?;
    /// assert_eq!(*x, [1, 1, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn parts_mut(&mut self) -> Vec<&mut [T]> {
        let mut rest = &mut *self.elements;
        let part = |run: &[usize]| {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(run[1] - run[0]);
            rest = tail;
            part
        };
        self.starts.windows(2).map(part).collect()
    }

    /// Whether it lies in huge pages, and if not, why.
    ///
    /// **Cost** files of the system are read: up to milliseconds.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Team, dist::Block};
    /// let team = Team::builder().ranks(2).build()?;
    /// let x = team.distributed(&Block::new(100, 2), |_| 0_u8)?;
    /// assert!(x.huge_pages().to_string().starts_with("no huge pages: "));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn huge_pages(&self) -> HugePages {
        self.elements.huge_pages()
    }
}

impl<T> Deref for DistributedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> DerefMut for DistributedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T> fmt::Debug for DistributedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedArray").field("starts", &self.starts).finish_non_exhaustive()
    }
}
