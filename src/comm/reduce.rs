//! Reductions: to one rank, to all, scattered.

use super::{Comm, call};
use crate::element::Element;
use crate::op::{Operator, Sum};

impl Comm {
    /// Combines the ranks' buffers element by element into `root`'s:
    /// `x0 (+) x1 (+) .. (+) x(p-1)`. The other ranks' buffers stay as they are.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, `root`, the
    /// operator's type.
    ///
    /// **Order.** Operands are combined in rank order, in an association that
    /// is the same for the same p, length and choice of algorithm.
    ///
    /// **Cost** small: `ceil(log2 p) (t_s + (t_w + t_c) m)` (dual of
    /// Equation 4.1, `RED-ANY`); large: every rank combines `m/p` elements of
    /// all buffers into the root's (`RED-FUSED`).
    ///
    /// # Errors
    /// A `root` that is no rank ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank() + 1, 10];
    ///     comm.reduce(&mut x, phalanx::op::Sum, 1);
    ///     x
    /// })?;
    /// assert_eq!(out, [[1, 10], [6, 30], [3, 10]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O, root: usize) {
        self.run(call::reduce(buf, op, root));
    }

    /// Combines the ranks' buffers element by element, and leaves the result
    /// in everybody's.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, the
    /// operator's type.
    ///
    /// **Order.** Operands are combined in rank order. Every rank gets the
    /// same bits; so does every run with the same p, length and choice of
    /// algorithm.
    ///
    /// **Cost** up to 1024 bytes: `ceil(log2 p)` exchanges (+ 2 where p is no
    /// power of two; `AR-ANY`, Equation 4.5), up to 40 bytes of which travel in
    /// the flag's own cache line. Up to 4 ranks, or where ranks outnumber cores,
    /// one exchange of all with all, combined in the same order. More: rank
    /// `i` combines the `i`-th part of all buffers and stores it to all,
    /// `m (t_c + t_w)` in all, each word read and written once (`AR-FUSED`).
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(4, |comm| {
    ///     let mut x = [(comm.rank() as f64 - 1.5).abs(), 1.0];
    ///     comm.all_reduce(&mut x, op::Max);
    ///     x
    /// })?;
    /// assert_eq!(out, [[1.5, 1.0]; 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// `buf` is a slice (for a number the compiler says "expected `&mut [_]`"). Of one value, or a
    /// few, by value: [`sum`](Comm::sum), [`all_reduce_values`](Comm::all_reduce_values); of a
    /// variable where it is: `std::slice::from_mut`.
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(4, |comm| {
    ///     let mut x = comm.rank();
    ///     let [total] = comm.sum([x]);
    ///     comm.all_reduce(std::slice::from_mut(&mut x), op::Max);
    ///     (total, x)
    /// })?;
    /// assert_eq!(out, [(6, 3); 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn all_reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        self.run(call::all_reduce(buf, op));
    }

    /// Combines a few values of each rank, place by place, and returns the result to all: an
    /// [`all_reduce`](Comm::all_reduce) by value, several dot products at the price of one.
    ///
    /// **Must agree on all ranks:** the element type, how many values they are, the operator's
    /// type.
    ///
    /// **Order.** Operands are combined in rank order. Every rank gets the same bits.
    ///
    /// **Cost** that of an [`all_reduce`](Comm::all_reduce) of a buffer of so many.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let r = comm.rank() as f64;
    ///     comm.all_reduce_values([r, -r], op::Max)
    /// })?;
    /// assert_eq!(out, [[2.0, 0.0]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn all_reduce_values<T: Element, const N: usize, O: Operator<T>>(
        &mut self,
        values: [T; N],
        op: O,
    ) -> [T; N] {
        self.run(call::all_reduce_values(values, op))
    }

    /// The sums over all ranks of a few values, in rank order, with the same bits on every rank. Of
    /// one value: `let [total] = comm.sum([x]);`.
    ///
    /// **Must agree on all ranks:** the element type, how many values they are.
    ///
    /// **Cost** that of an [`all_reduce`](Comm::all_reduce) of a buffer of so many.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(4, |comm| comm.sum([1.0, comm.rank() as f64]))?;
    /// assert_eq!(out, [[4.0, 6.0]; 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn sum<T: Element, const N: usize>(&mut self, values: [T; N]) -> [T; N]
    where
        Sum: Operator<T>,
    {
        self.run(call::sum(values))
    }

    /// Combines the ranks' `all` element by element, and leaves block `r` of
    /// the result, `mine.len()` elements from `r * mine.len()` on, in rank
    /// `r`'s `mine`.
    ///
    /// **Must agree on all ranks:** the element type, the lengths
    /// (`all.len() == p * mine.len()`), the operator's type.
    ///
    /// **Order.** As given by the algorithm for commutative operators, rank
    /// order for others; the same for the same p, length and choice.
    ///
    /// **Cost** small blocks: `ceil(log2 p) t_s + t_w m (p-1)` for blocks of
    /// `m` elements (`RS-ANY`, dual of Equation 4.4); else rank `r` reads block
    /// `r` of every rank once, in rank order (`RS-FUSED`).
    ///
    /// # Errors
    /// Lengths that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let all = [1, 2, 3].map(|x| x * (comm.rank() + 1));
    ///     let mut mine = [0];
    ///     comm.reduce_scatter_into(&all, &mut mine, phalanx::op::Sum);
    ///     mine[0]
    /// })?;
    /// assert_eq!(out, [6, 12, 18]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_into<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        op: O,
    ) {
        self.run(call::reduce_scatter_into(all, mine, op));
    }

    /// Combines all ranks' `all`, element by element, and leaves to rank `r`, in its `mine`, the
    /// `counts[r]` elements of the result that follow those of the ranks before it.
    ///
    /// **Must agree on all ranks:** the element type, `counts` (one per rank,
    /// summing to `all.len()`, `counts[rank] == mine.len()`), the operator's
    /// type.
    ///
    /// **Order.** As given by the algorithm for commutative operators, rank order for others; the
    /// same for the same p, counts and choice.
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
    ///     let mut mine = vec![0; [1, 2][comm.rank()]];
    ///     comm.reduce_scatter_varied_into(&[1, 2, 3], &mut mine, &[1, 2], phalanx::op::Sum);
    ///     mine
    /// })?;
    /// assert_eq!(out, [vec![2], vec![4, 6]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_varied_into<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        op: O,
    ) {
        self.run(call::reduce_scatter_varied_into(all, mine, counts, op));
    }
}
