//! Calls on nothing, on values, and on one slice.

use super::CollectiveCall;
use super::data::{MovedInPlace, ReducedInPlace, ReducedValues};
use super::kinds::{
    AllReduce, AllReduceValues, Barrier, Broadcast, ExclusiveScan, Reduce, Scan, Shift, SumValues,
};
use crate::element::Element;
use crate::op::{Operator, Sum};

/// A [`barrier`](crate::Comm::barrier): it is over when every rank has come to it, or started it.
///
/// # Examples
/// Work while the others come, in three rounds:
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     comm.requests(|scope| {
///         let (mut all_here, mut work) = (scope.set_up(call::barrier()), 0);
///         for _ in 0..3 {
///             let request = scope.start(all_here);
///             work += 14;
///             all_here = scope.wait(request);
///         }
///         work
///     })
/// })?;
/// assert_eq!(out, [42; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn barrier() -> CollectiveCall<'static, Barrier, ()> {
    CollectiveCall::new(())
}

/// A [`broadcast`](crate::Comm::broadcast): every rank's `buf` gets the elements of `root`'s.
///
/// **Must agree on all ranks:** the element type, `buf.len()`, `root`.
///
/// # Errors
/// A `root` that is no rank ends the run.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank(); 20];
///     comm.requests(|scope| {
///         let request = scope.start(call::broadcast(&mut x, 2));
///         scope.wait(request)[19]
///     })
/// })?;
/// assert_eq!(out, [2; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn broadcast<T: Element>(
    buf: &mut [T],
    root: usize,
) -> CollectiveCall<'_, Broadcast, MovedInPlace<'_, T>> {
    CollectiveCall::new(MovedInPlace(buf)).root(root)
}

/// A [`shift`](crate::Comm::shift): the elements of every rank's `buf` go to the rank `distance`
/// further on, around the end.
///
/// **Must agree on all ranks:** the element type, `buf.len()`, `distance`.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank()];
///     comm.requests(|scope| {
///         let mut round = scope.set_up(call::shift(&mut x, 1));
///         for _ in 0..2 {
///             let request = scope.start(round);
///             round = scope.wait(request);
///         }
///         round.buf()[0]
///     })
/// })?;
/// assert_eq!(out, [1, 2, 0]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn shift<T: Element>(
    buf: &mut [T],
    distance: isize,
) -> CollectiveCall<'_, Shift, MovedInPlace<'_, T>> {
    CollectiveCall::new(MovedInPlace(buf)).by(distance)
}

/// A [`reduce`](crate::Comm::reduce): all ranks' `buf` are combined, element by element and in rank
/// order, into `root`'s. The others stay as they are.
///
/// **Must agree on all ranks:** the element type, `buf.len()`, `root`, the operator's type.
///
/// # Errors
/// A `root` that is no rank ends the run.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank() + 1];
///     comm.requests(|scope| {
///         let request = scope.start(call::reduce(&mut x, op::Prod, 0));
///         scope.wait(request)[0]
///     })
/// })?;
/// assert_eq!(out, [6, 2, 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn reduce<T: Element, O: Operator<T>>(
    buf: &mut [T],
    op: O,
    root: usize,
) -> CollectiveCall<'_, Reduce, ReducedInPlace<'_, T, O>> {
    CollectiveCall::new(ReducedInPlace { buf, op }).root(root)
}

/// An [`all_reduce`](crate::Comm::all_reduce): all ranks' `buf` are combined, element by element
/// and in rank order, and every rank's gets the result.
///
/// **Must agree on all ranks:** the element type, `buf.len()`, the operator's type.
///
/// # Examples
/// A sum that is set up once, and started in each step:
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let mut x = [0.0; 4];
///     comm.requests(|scope| {
///         let mut sum = scope.set_up(call::all_reduce(&mut x, op::Sum));
///         for step in 1..=10 {
///             sum.buf_mut().fill(f64::from(step));
///             let request = scope.start(sum);
///             // .. work ..
///             sum = scope.wait(request);
///         }
///         sum.buf()[0]
///     })
/// })?;
/// assert_eq!(out, [30.0; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn all_reduce<T: Element, O: Operator<T>>(
    buf: &mut [T],
    op: O,
) -> CollectiveCall<'_, AllReduce, ReducedInPlace<'_, T, O>> {
    CollectiveCall::new(ReducedInPlace { buf, op })
}

/// An [`all_reduce`](crate::Comm::all_reduce_values) of a few values, which need no buffer: the
/// call has them, and gives the result.
///
/// **Must agree on all ranks:** the element type, how many they are, the operator's type.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let r = comm.rank() as i32;
///     comm.requests(|scope| {
///         let request = scope.start(call::all_reduce_values([r, -r], op::Max));
///         scope.wait(request)
///     })
/// })?;
/// assert_eq!(out, [[2, 0]; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn all_reduce_values<T: Element, const N: usize, O: Operator<T>>(
    values: [T; N],
    op: O,
) -> CollectiveCall<'static, AllReduceValues, ReducedValues<T, N, O>> {
    CollectiveCall::new(ReducedValues { values, op })
}

/// The [`sum`](crate::Comm::sum) over all ranks of each of a few values, which need no buffer: the
/// call has them, and gives the sums.
///
/// **Must agree on all ranks:** the element type, how many they are.
///
/// # Examples
/// ```
/// use phalanx::call;
/// let out = phalanx::run(3, |comm| {
///     comm.requests(|scope| {
///         let requests: Vec<_> = (0..100).map(|i| scope.start(call::sum([i]))).collect();
///         scope.wait_all(requests)[99]
///     })
/// })?;
/// assert_eq!(out, [[297]; 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn sum<T: Element, const N: usize>(
    values: [T; N],
) -> CollectiveCall<'static, SumValues, ReducedValues<T, N, Sum>>
where
    Sum: Operator<T>,
{
    CollectiveCall::new(ReducedValues { values, op: Sum })
}

/// A [`scan`](crate::Comm::scan): rank `r`'s `buf` gets the combination of those of the ranks
/// `0..=r`, element by element and in rank order.
///
/// **Must agree on all ranks:** the element type, `buf.len()`, the operator's type.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank() + 1];
///     comm.requests(|scope| {
///         let request = scope.start(call::scan(&mut x, op::Sum));
///         scope.wait(request)[0]
///     })
/// })?;
/// assert_eq!(out, [1, 3, 6]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn scan<T: Element, O: Operator<T>>(
    buf: &mut [T],
    op: O,
) -> CollectiveCall<'_, Scan, ReducedInPlace<'_, T, O>> {
    CollectiveCall::new(ReducedInPlace { buf, op })
}

/// An [`exclusive_scan`](crate::Comm::exclusive_scan): rank `r`'s `buf` gets the combination of
/// those of the ranks `0..r`, element by element and in rank order; rank 0's gets the operator's
/// identity, or stays as it is if that has none.
///
/// **Must agree on all ranks:** the element type, `buf.len()`, the operator's type.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank() + 1];
///     comm.requests(|scope| {
///         let request = scope.start(call::exclusive_scan(&mut x, op::Sum));
///         scope.wait(request)[0]
///     })
/// })?;
/// assert_eq!(out, [0, 1, 3]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
#[track_caller]
pub fn exclusive_scan<T: Element, O: Operator<T>>(
    buf: &mut [T],
    op: O,
) -> CollectiveCall<'_, ExclusiveScan, ReducedInPlace<'_, T, O>> {
    CollectiveCall::new(ReducedInPlace { buf, op })
}
