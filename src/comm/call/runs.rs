//! Calls that another communicator than [`Comm`](crate::Comm) makes.

use super::data::CallData;
use super::{CallKind, CollectiveCall};
use crate::element::Element;
use crate::op::Operator;

/// A maker of calls as [`Comm`](crate::Comm) does, by methods of the same names: a communicator of
/// a layer above. [`run_by`] takes a [call](crate::call) apart for it.
///
/// # Examples
/// `phalanx-nodes` has one, whose ranks are on several nodes: `NodeComm::run`.
/// See [`run_by`].
pub trait Runs {
    /// Makes the call of [`Comm::barrier`](crate::Comm::barrier).
    fn barrier(&mut self);
    /// Makes the call of [`Comm::broadcast`](crate::Comm::broadcast).
    fn broadcast<T: Element>(&mut self, buf: &mut [T], root: usize);
    /// Makes the call of [`Comm::shift`](crate::Comm::shift).
    fn shift<T: Element>(&mut self, buf: &mut [T], distance: isize);
    /// Makes the call of [`Comm::reduce`](crate::Comm::reduce).
    fn reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O, root: usize);
    /// Makes the call of [`Comm::all_reduce`](crate::Comm::all_reduce).
    fn all_reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O);
    /// Makes the call of [`Comm::scan`](crate::Comm::scan).
    fn scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O);
    /// Makes the call of [`Comm::exclusive_scan`](crate::Comm::exclusive_scan).
    fn exclusive_scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O);
    /// Makes the call of [`Comm::reduce_scatter_into`](crate::Comm::reduce_scatter_into).
    fn reduce_scatter<T: Element, O: Operator<T>>(&mut self, all: &[T], mine: &mut [T], op: O);
    /// Makes the call of
    /// [`Comm::reduce_scatter_varied_into`](crate::Comm::reduce_scatter_varied_into).
    fn reduce_scatter_varied<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        op: O,
    );
    /// Makes the call of [`Comm::all_gather_into`](crate::Comm::all_gather_into).
    fn all_gather<T: Element>(&mut self, mine: &[T], all: &mut [T]);
    /// Makes the call of [`Comm::all_gather_varied_into`](crate::Comm::all_gather_varied_into).
    fn all_gather_varied<T: Element>(&mut self, mine: &[T], all: &mut [T], counts: &[usize]);
    /// Makes the call of [`Comm::all_to_all_into`](crate::Comm::all_to_all_into).
    fn all_to_all<T: Element>(&mut self, send: &[T], recv: &mut [T]);
    /// Makes the call of [`Comm::all_to_all_varied_into`](crate::Comm::all_to_all_varied_into).
    fn all_to_all_varied<T: Element>(&mut self, send: (&[T], &[usize]), recv: (&mut [T], &[usize]));
    /// Makes the call of [`Comm::gather_into`](crate::Comm::gather_into).
    fn gather<T: Element>(&mut self, mine: &[T], all: &mut [T], root: usize);
    /// Makes the call of [`Comm::gather_varied_into`](crate::Comm::gather_varied_into).
    fn gather_varied<T: Element>(
        &mut self,
        mine: &[T],
        all: &mut [T],
        counts: &[usize],
        root: usize,
    );
    /// Makes the call of [`Comm::scatter_into`](crate::Comm::scatter_into).
    fn scatter<T: Element>(&mut self, all: &[T], mine: &mut [T], root: usize);
    /// Makes the call of [`Comm::scatter_varied_into`](crate::Comm::scatter_varied_into).
    fn scatter_varied<T: Element>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        root: usize,
    );
}

/// Makes a [call](crate::call) by the method of `by` for it.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, Runs};
/// use phalanx::{call, op};
///
/// fn sum_by(by: &mut impl Runs) -> f64 {
///     engine::run_by(call::all_reduce(&mut [1.0], op::Sum), by)[0]
/// }
/// ```
#[track_caller]
pub fn run_by<'a, K: CallKind, D: CallData<'a>>(
    call: CollectiveCall<'a, K, D>,
    by: &mut impl Runs,
) -> D::Gives {
    call.data.run_by::<K, _>(&call.said, by)
}
