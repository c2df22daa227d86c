//! Calls on blocks, of one length or of different ones.

use super::CollectiveCall;
use super::data::{MovedInto, ReducedInto};
use super::input::Input;
use super::kinds::{
    AllGather, AllGatherVaried, AllToAll, AllToAllVaried, Gather, GatherVaried, ReduceScatter,
    ReduceScatterVaried, Scatter, ScatterVaried,
};
use crate::element::Element;
use crate::op::Operator;

/// A [`reduce_scatter_into`](crate::Comm::reduce_scatter_into): all ranks' `all` are combined,
/// element by element, and rank `r`'s `mine` gets block `r` of the result, `mine.len()` elements.
///
/// **Must agree on all ranks:** the element type, the lengths (`all.len() == p * mine.len()`), the
/// operator's type.
///
/// # Errors
/// Lengths that do not fit end the run.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let (all, mut mine) = ([comm.rank(); 3], [0]);
///     comm.requests(|scope| {
///         let request = scope.start(call::reduce_scatter_into(&all, &mut mine, op::Sum));
///         scope.wait(request)[0]
///     })
/// })?;
/// assert_eq!(out, [3; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn reduce_scatter_into<'a, T: Element, I: Input<'a, T>, O: Operator<T>>(
    all: I,
    mine: &'a mut [T],
    op: O,
) -> CollectiveCall<'a, ReduceScatter, ReducedInto<'a, T, I::Slice, O>> {
    CollectiveCall::new(ReducedInto { from: all.slice(), to: mine, op })
}

/// A [`reduce_scatter_varied_into`](crate::Comm::reduce_scatter_varied_into): all ranks' `all` are
/// combined, element by element, and rank `r`'s `mine` gets the `counts[r]` elements of the result
/// that follow those of the ranks before it.
///
/// **Must agree on all ranks:** the element type, `counts` (one per rank, summing to `all.len()`,
/// `counts[rank] == mine.len()`), the operator's type.
///
/// # Errors
/// Counts that do not fit end the run.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(2, |comm| {
///     let (all, mut mine) = ([1, 2, 3], vec![0; [1, 2][comm.rank()]]);
///     comm.requests(|scope| {
///         let sums = call::reduce_scatter_varied_into(&all, &mut mine, &[1, 2], op::Sum);
///         let request = scope.start(sums);
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, [vec![2], vec![4, 6]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn reduce_scatter_varied_into<'a, T: Element, I: Input<'a, T>, O: Operator<T>>(
    all: I,
    mine: &'a mut [T],
    counts: &'a [usize],
    op: O,
) -> CollectiveCall<'a, ReduceScatterVaried, ReducedInto<'a, T, I::Slice, O>> {
    CollectiveCall::new(ReducedInto { from: all.slice(), to: mine, op }).blocks(counts, &[])
}

/// An [`all_gather_into`](crate::Comm::all_gather_into): every rank's `mine` goes, in rank order,
/// to everybody's `all`.
///
/// **Must agree on all ranks:** the element type, the lengths (`all.len() == p * mine.len()`).
///
/// # Errors
/// Lengths that do not fit end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let (mine, mut all) = ([comm.rank()], [9; 3]);
///     comm.requests(|scope| {
///         let request = scope.start(call::all_gather_into(&mine, &mut all));
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, vec![[0, 1, 2]; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn all_gather_into<'a, T: Element, I: Input<'a, T>>(
    mine: I,
    all: &'a mut [T],
) -> CollectiveCall<'a, AllGather, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: mine.slice(), to: all })
}

/// An [`all_gather_varied_into`](crate::Comm::all_gather_varied_into): every rank's `mine`, of
/// `counts[rank]` elements, goes, in rank order, to everybody's `all`.
///
/// **Must agree on all ranks:** the element type, `counts` (one per rank, summing to `all.len()`,
/// `counts[rank] == mine.len()`).
///
/// # Errors
/// Counts that do not fit end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let (mine, mut all) = (vec![comm.rank(); comm.rank()], [9; 3]);
///     comm.requests(|scope| {
///         let blocks = call::all_gather_varied_into(&mine, &mut all, &[0, 1, 2]);
///         let request = scope.start(blocks);
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, vec![[1, 2, 2]; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn all_gather_varied_into<'a, T: Element, I: Input<'a, T>>(
    mine: I,
    all: &'a mut [T],
    counts: &'a [usize],
) -> CollectiveCall<'a, AllGatherVaried, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: mine.slice(), to: all }).blocks(counts, &[])
}

/// An [`all_to_all_into`](crate::Comm::all_to_all_into): block `j` of every rank's `send` goes to
/// rank `j`, whose `recv` gets one of every rank, in rank order.
///
/// **Must agree on all ranks:** the element type, the lengths (of both the same, a multiple of p).
///
/// # Errors
/// Lengths that do not fit end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let (send, mut recv) = ([10 * comm.rank(); 3], [9; 3]);
///     comm.requests(|scope| {
///         let request = scope.start(call::all_to_all_into(&send, &mut recv));
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, vec![[0, 10, 20]; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn all_to_all_into<'a, T: Element, I: Input<'a, T>>(
    send: I,
    recv: &'a mut [T],
) -> CollectiveCall<'a, AllToAll, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: send.slice(), to: recv })
}

/// An [`all_to_all_varied_into`](crate::Comm::all_to_all_varied_into): `send_counts[j]` elements of
/// every rank's `send` go to rank `j`, whose `recv` gets those of every rank, in rank order.
///
/// **Must agree on all ranks:** the element type; and `recv_counts[j]` is rank `j`'s
/// `send_counts[rank]`.
///
/// # Errors
/// Counts that do not fit end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// // Rank r sends r + 1 elements to everybody.
/// let out = phalanx::run(2, |comm| {
///     let n = comm.rank() + 1;
///     let (send, counts, mut recv) = (vec![n; 2 * n], [n, n], [0; 3]);
///     comm.requests(|scope| {
///         let blocks = call::all_to_all_varied_into(&send, &counts, &mut recv, &[1, 2]);
///         let request = scope.start(blocks);
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, vec![[1, 2, 2]; 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn all_to_all_varied_into<'a, T: Element, I: Input<'a, T>>(
    send: I,
    send_counts: &'a [usize],
    recv: &'a mut [T],
    recv_counts: &'a [usize],
) -> CollectiveCall<'a, AllToAllVaried, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: send.slice(), to: recv }).blocks(send_counts, recv_counts)
}

/// A [`gather_into`](crate::Comm::gather_into): every rank's `mine` goes, in rank order, to
/// `root`'s `all`. The others' `all` is not looked at.
///
/// **Must agree on all ranks:** the element type, `mine.len()` (at the root
/// `all.len() == p * mine.len()`), `root`.
///
/// # Errors
/// A `root` that is no rank, and lengths that do not fit, end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let (mine, mut all) = ([comm.rank()], [9; 3]);
///     comm.requests(|scope| {
///         let request = scope.start(call::gather_into(&mine, &mut all, 0));
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, [[0, 1, 2], [9, 9, 9], [9, 9, 9]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn gather_into<'a, T: Element, I: Input<'a, T>>(
    mine: I,
    all: &'a mut [T],
    root: usize,
) -> CollectiveCall<'a, Gather, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: mine.slice(), to: all }).root(root)
}

/// A [`gather_varied_into`](crate::Comm::gather_varied_into): every rank's `mine`, of
/// `counts[rank]` elements, goes, in rank order, to `root`'s `all`. What the others have as `all`
/// is not looked at.
///
/// **Must agree on all ranks:** the element type, `counts` (one per rank, at the root summing to
/// `all.len()`, `counts[rank] == mine.len()`), `root`.
///
/// # Errors
/// A `root` that is no rank, and counts that do not fit, end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(2, |comm| {
///     let mine = vec![comm.rank(); comm.rank() + 1];
///     let mut all = vec![9; if comm.rank() == 1 { 3 } else { 0 }];
///     comm.requests(|scope| {
///         let request = scope.start(call::gather_varied_into(&mine, &mut all, &[1, 2], 1));
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out[1], [0, 1, 1]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn gather_varied_into<'a, T: Element, I: Input<'a, T>>(
    mine: I,
    all: &'a mut [T],
    counts: &'a [usize],
    root: usize,
) -> CollectiveCall<'a, GatherVaried, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: mine.slice(), to: all }).blocks(counts, &[]).root(root)
}

/// A [`scatter_into`](crate::Comm::scatter_into): block `r` of `root`'s `all` goes to rank `r`'s
/// `mine`. The others' `all` is not looked at.
///
/// **Must agree on all ranks:** the element type, `mine.len()` (at the root
/// `all.len() == p * mine.len()`), `root`.
///
/// # Errors
/// A `root` that is no rank, and lengths that do not fit, end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let (all, mut mine) = ([5, 6, 7], [0]);
///     comm.requests(|scope| {
///         let request = scope.start(call::scatter_into(&all, &mut mine, 1));
///         scope.wait(request)[0]
///     })
/// })?;
/// assert_eq!(out, [5, 6, 7]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn scatter_into<'a, T: Element, I: Input<'a, T>>(
    all: I,
    mine: &'a mut [T],
    root: usize,
) -> CollectiveCall<'a, Scatter, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: all.slice(), to: mine }).root(root)
}

/// A [`scatter_varied_into`](crate::Comm::scatter_varied_into): rank `r`'s `mine` gets the
/// `counts[r]` elements of `root`'s `all` that follow those of the ranks before it. The others'
/// `all` is not looked at.
///
/// **Must agree on all ranks:** the element type, `counts` (one per rank, at the root summing to
/// `all.len()`, `counts[rank] == mine.len()`), `root`.
///
/// # Errors
/// A `root` that is no rank, and counts that do not fit, end the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(2, |comm| {
///     let all = if comm.rank() == 0 { vec![1, 2, 3] } else { vec![] };
///     let mut mine = vec![0; [1, 2][comm.rank()]];
///     comm.requests(|scope| {
///         let request = scope.start(call::scatter_varied_into(&all, &mut mine, &[1, 2], 0));
///         scope.wait(request).to_vec()
///     })
/// })?;
/// assert_eq!(out, [vec![1], vec![2, 3]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn scatter_varied_into<'a, T: Element, I: Input<'a, T>>(
    all: I,
    mine: &'a mut [T],
    counts: &'a [usize],
    root: usize,
) -> CollectiveCall<'a, ScatterVaried, MovedInto<'a, T, I::Slice>> {
    CollectiveCall::new(MovedInto { from: all.slice(), to: mine }).blocks(counts, &[]).root(root)
}
