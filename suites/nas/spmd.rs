//! The methods of [`Comm`] that the kernels need, under their own names, so that the same kernel
//! also runs on the ranks of several nodes (`interfaces/mpi/examples/nas.rs`).

use phalanx::{Comm, Element, Peers};
use std::ops::Range;

/// Everybody's slices, during [`Spmd::with_peers`].
pub(crate) trait Shown<T> {
    /// Rank `rank`'s slice.
    fn of(&self, rank: usize) -> &[T];
}

pub(crate) trait Spmd {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    fn barrier(&mut self);
    /// The sums over all ranks, the same bits on each.
    fn sum<const N: usize>(&mut self, x: [f64; N]) -> [f64; N];
    /// Calls `f` with everybody's slices; returns when all ranks' `f` have.
    fn with_peers<T: Element, R>(&mut self, mine: &[T], f: impl FnOnce(&dyn Shown<T>) -> R) -> R;

    /// This rank's part of `0..len`.
    fn part(&self, len: usize) -> Range<usize> {
        part(len, self.rank(), self.size())
    }
}

/// Rank `rank`'s part of `0..len`: contiguous, in rank order, as even as can be.
pub(crate) fn part(len: usize, rank: usize, size: usize) -> Range<usize> {
    len * rank / size..len * (rank + 1) / size
}

impl<T: Element> Shown<T> for Peers<'_, T> {
    fn of(&self, rank: usize) -> &[T] {
        &self[rank]
    }
}

impl Spmd for Comm {
    fn rank(&self) -> usize {
        Comm::rank(self)
    }

    fn size(&self) -> usize {
        Comm::size(self)
    }

    // So that errors and records name the kernels' lines, and not these.
    #[inline]
    #[track_caller]
    fn barrier(&mut self) {
        Comm::barrier(self);
    }

    #[inline]
    #[track_caller]
    fn sum<const N: usize>(&mut self, x: [f64; N]) -> [f64; N] {
        Comm::sum(self, x)
    }

    #[inline]
    #[track_caller]
    fn with_peers<T: Element, R>(&mut self, mine: &[T], f: impl FnOnce(&dyn Shown<T>) -> R) -> R {
        Comm::with_peers(self, mine, |all| f(&all))
    }
}
