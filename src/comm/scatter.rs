//! One-to-all personalised communication.

use super::{Comm, call};
use crate::element::Element;

impl Comm {
    /// Cuts `root`'s `all` into blocks of `mine.len()` elements and copies
    /// block `r` to rank `r`'s `mine`. On the other ranks `all` is not looked
    /// at and may be empty.
    ///
    /// **Must agree on all ranks:** the element type, `mine.len()`, `root`;
    /// there `all.len() == p * mine.len()`.
    ///
    /// **Cost** small blocks: `ceil(log2 p) t_s + t_w m (p-1)` (`SC-ANY`,
    /// Equation 4.6); others: every rank copies its block from the root's
    /// buffer, `t_s + t_w m` (`SC-FUSED`).
    ///
    /// # Errors
    /// A `root` that is no rank, or a wrong length, ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let all = if comm.rank() == 2 { vec![10, 11, 12] } else { vec![] };
    ///     let mut mine = [0];
    ///     comm.scatter_into(&all, &mut mine, 2);
    ///     mine[0]
    /// })?;
    /// assert_eq!(out, [10, 11, 12]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_into<T: Element>(&mut self, all: &[T], mine: &mut [T], root: usize) {
        self.run(call::scatter_into(all, mine, root));
    }

    /// Cuts `root`'s `all` into a block for each rank: rank `r` gets, in its `mine`, the
    /// `counts[r]` elements that follow the blocks of the ranks before it. The other ranks' `all`
    /// is not looked at.
    ///
    /// **Must agree on all ranks:** the element type, `root`, `counts` (one
    /// per rank, `counts[rank] == mine.len()`, on the root summing to
    /// `all.len()`).
    ///
    /// **Cost** that of blocks that are all as long as the longest; the counts are compared with
    /// those that this rank has given before (`p` words; eight lists are remembered), new ones with
    /// the other ranks', in full, once.
    ///
    /// # Errors
    /// Counts that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let all = if comm.rank() == 0 { vec![1, 2, 3] } else { vec![] };
    ///     let mut mine = vec![0; [1, 2][comm.rank()]];
    ///     comm.scatter_varied_into(&all, &mut mine, &[1, 2], 0);
    ///     mine
    /// })?;
    /// assert_eq!(out, [vec![1], vec![2, 3]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_varied_into<T: Element>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        root: usize,
    ) {
        self.run(call::scatter_varied_into(all, mine, counts, root));
    }
}
