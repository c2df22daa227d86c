//! Reductions: to one rank, to all, scattered.

use super::Comm;
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition};
use crate::fabric::{Signature, reduction};
use crate::op::Operator;
use crate::schedule::Operation;
use std::panic::Location;

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
        let sig = reduction!("reduce" meets "reduce", T, O, "to root");
        let at = Location::caller();
        if !self.check_rank("root", root, sig, at, buf.len()) {
            return;
        }
        let call = Call::new(Operation::Reduce, sig, at, Partition::Vector(buf.len())).root(root);
        self.carry_out(call.combining(Buffers::InPlace(buf), &op));
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
        self.all_reduce_at(buf, op, Location::caller());
    }

    /// The same, called at `at`, inlined: for interfaces of other languages.
    #[inline(always)]
    pub(crate) fn all_reduce_at<T: Element, O: Operator<T>>(
        &mut self,
        buf: &mut [T],
        op: O,
        at: &'static Location<'static>,
    ) {
        self.all_reduce_as(reduction!("all_reduce" meets "all_reduce", T, O, ""), buf, op, at);
    }

    /// The same as a call of the method of `sig`.
    #[inline(always)]
    pub(super) fn all_reduce_as<T: Element, O: Operator<T>>(
        &mut self,
        sig: &'static Signature,
        buf: &mut [T],
        op: O,
        at: &'static Location<'static>,
    ) {
        let call = Call::new(Operation::AllReduce, sig, at, Partition::Vector(buf.len()));
        self.carry_out(call.combining(Buffers::InPlace(buf), &op));
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
        let sig = reduction!("reduce_scatter_into" meets "reduce_scatter_into", T, O, "");
        let at = Location::caller();
        let len = mine.len();
        let wanted = len.checked_mul(self.size());
        if !self.check_len("the input", all.len(), wanted, sig, at, len) {
            return;
        }
        let call = Call::new(Operation::ReduceScatter, sig, at, Partition::Equal(len));
        self.carry_out(call.combining(Buffers::Apart(all, mine), &op));
    }

    /// [`reduce_scatter_into`](Comm::reduce_scatter_into) with blocks of
    /// different lengths: rank `r` gets the `counts[r]` elements that follow
    /// the blocks of the ranks before it.
    ///
    /// **Must agree on all ranks:** the element type, `counts` (one per rank,
    /// summing to `all.len()`, `counts[rank] == mine.len()`), the operator's
    /// type.
    ///
    /// **Order and cost** as there, for blocks as long as the longest, and the counts as in
    /// [`all_gather_varied_into`](Comm::all_gather_varied_into).
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
        let sig =
            reduction!("reduce_scatter_varied_into" meets "reduce_scatter_varied_into", T, O, "");
        let at = Location::caller();
        let Some(facts) = self.check_common_counts::<T>(counts, mine.len(), sig, at) else {
            return;
        };
        let total = facts.total;
        if !self.check_len("the input", all.len(), Some(total), sig, at, total) {
            return;
        }
        let call = Call::of_counts(Operation::ReduceScatter, sig, at, counts, facts.total);
        self.carry_out_varied((counts, facts), call.combining(Buffers::Apart(all, mine), &op));
    }
}
