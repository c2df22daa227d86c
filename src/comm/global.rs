//! Distributed vectors that all ranks read by global index.

use super::{Comm, Peers};
use crate::element::Element;
use crate::shared::Signature;
use std::fmt;
use std::ops::{Index, Range};
use std::panic::Location;

/// A vector of which every rank has the elements that follow those of the rank
/// before, during [`Comm::with_global`].
pub struct Global<'a, T> {
    peers: Peers<'a, T>,
    /// Where each rank's part begins; at the end, where the last one ends.
    starts: &'a [usize],
}

impl<'a, T> Global<'a, T> {
    /// Of `peers`, whose parts begin at [`starts`].
    pub(super) fn new(peers: Peers<'a, T>, starts: &'a [usize]) -> Self {
        Global { peers, starts }
    }

    /// Calls `f` with the vector that these slices are, one after the other.
    pub(crate) fn of<R>(peers: Peers<'_, T>, f: impl for<'g> FnOnce(Global<'g, T>) -> R) -> R {
        let starts = starts(peers.iter().map(<[T]>::len));
        f(Global::new(peers, &starts))
    }

    /// Elements in all.
    ///
    /// ```
    /// phalanx::run(3, |comm| comm.with_global(&[1, 2], |x| assert_eq!(x.len(), 6)))?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Whether there are none.
    ///
    /// ```
    /// phalanx::run(3, |comm| comm.with_global::<u8, _>(&[], |x| assert!(x.is_empty())))?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i`, if there is one. Finding its owner takes `log2 p` steps.
    ///
    /// ```
    /// phalanx::run(2, |comm| comm.with_global(&[comm.rank()], |x| {
    ///     assert_eq!((x.get(1), x.get(2)), (Some(&1), None));
    /// }))?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn get(&self, i: usize) -> Option<&'a T> {
        // The last rank that begins at or before i; not an empty one.
        let rank = self.starts.partition_point(|&start| start <= i) - 1;
        self.peers.get(rank)?.get(i - self.starts[rank])
    }

    /// Elements `range` as the owners have them, piece by piece.
    ///
    /// ```
    /// let pieces = phalanx::run(3, |comm| comm.with_global(&[7; 4], |x| {
    ///     x.slices(2..9).map(<[i32]>::len).collect::<Vec<_>>()
    /// }))?;
    /// assert_eq!(pieces[0], [2, 4, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the range ends beyond the last element.
    pub fn slices(&self, range: Range<usize>) -> impl Iterator<Item = &'a [T]> {
        let n = self.len();
        assert!(range.start <= range.end && range.end <= n, "elements {range:?} of {n}");
        let bounds = self.starts.windows(2).map(|w| (w[0], w[1]));
        self.peers.iter().zip(bounds).filter_map(move |(part, (start, end))| {
            let (from, to) = (range.start.max(start), range.end.min(end));
            (from < to).then(|| &part[from - start..to - start])
        })
    }

    /// All elements in order.
    ///
    /// ```
    /// let sums = phalanx::run(3, |comm| {
    ///     comm.with_global(&[comm.rank(), 10], |x| x.iter().sum::<usize>())
    /// })?;
    /// assert_eq!(sums, [33; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &'a T> {
        self.peers.iter().flatten()
    }
}

impl<T> Index<usize> for Global<'_, T> {
    type Output = T;

    fn index(&self, i: usize) -> &T {
        self.get(i).unwrap_or_else(|| panic!("element {i} of {}", self.len()))
    }
}

impl<T> fmt::Debug for Global<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Global").field("starts", &self.starts).finish()
    }
}

/// Where parts of these lengths begin, one after the other; at the end, where the last one ends.
pub(super) fn starts(lens: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0];
    // Slices of elements without a size may have any length.
    starts.extend(lens.scan(0usize, |end, len| {
        *end = end.saturating_add(len);
        Some(*end)
    }));
    starts
}

impl Comm {
    /// Shows `mine` to all ranks, and calls `f` with a vector that is all ranks' slices, one after
    /// the other: everybody can read it where it is, under global indices, until all have done so.
    ///
    /// **Must agree on all ranks:** the element type. Lengths may differ.
    ///
    /// **Cost** that of [`with_peers`](Comm::with_peers), `2 (p-1)` looks; `log2 p` steps for each
    /// element looked up. Where the same elements
    /// are needed again and again, a plan costs less:
    /// [`ghosts_of_columns`](Comm::ghosts_of_columns).
    ///
    /// # Examples
    /// A product with a matrix of which each rank has some rows:
    /// ```
    /// use phalanx::dist::{Block, Distribution};
    /// let n = 6;
    /// let out = phalanx::run(3, |comm| {
    ///     let (rank, rows) = (comm.rank(), Block::new(n, comm.size()));
    ///     let x: Vec<usize> = rows.indices(rank).collect();
    ///     // Row i has a 1 in columns i and n - 1 - i.
    ///     comm.with_global(&x, |x| {
    ///         rows.indices(rank).map(|i| x[i] + x[n - 1 - i]).collect::<Vec<_>>()
    ///     })
    /// })?;
    /// assert_eq!(out.concat(), [5; 6]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn with_global<T: Element, R>(
        &mut self,
        mine: &[T],
        f: impl for<'a> FnOnce(Global<'a, T>) -> R,
    ) -> R {
        let sig = const { &Signature::of::<T>("with_global", "") };
        self.show_all((sig, Location::caller()), mine, |peers| Global::of(peers, f))
    }
}
