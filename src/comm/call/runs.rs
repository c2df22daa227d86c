//! Calls that another communicator than [`Comm`](crate::Comm) makes.

use super::data::CallData;
use super::{CallKind, CollectiveCall};
use crate::element::Element;
use crate::op::Operator;

/// What makes calls as [`Comm`](crate::Comm) does, by methods of the same names: a communicator of
/// a layer above. [`run_by`] takes a [call](crate::call) apart for it.
///
/// # Examples
/// `phalanx-nodes` has one, whose ranks are on several nodes: `NodeComm::run`.
/// See [`run_by`].
pub trait Runs {
    /// Does what [`Comm::barrier`](crate::Comm::barrier) does.
    fn barrier(&mut self);
    /// Does what [`Comm::broadcast`](crate::Comm::broadcast) does.
    fn broadcast<T: Element>(&mut self, buf: &mut [T], root: usize);
    /// Does what [`Comm::shift`](crate::Comm::shift) does.
    fn shift<T: Element>(&mut self, buf: &mut [T], distance: isize);
    /// Does what [`Comm::reduce`](crate::Comm::reduce) does.
    fn reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O, root: usize);
    /// Does what [`Comm::all_reduce`](crate::Comm::all_reduce) does.
    fn all_reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O);
    /// Does what [`Comm::scan`](crate::Comm::scan) does.
    fn scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O);
    /// Does what [`Comm::exclusive_scan`](crate::Comm::exclusive_scan) does.
    fn exclusive_scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O);
    /// Does what [`Comm::reduce_scatter_into`](crate::Comm::reduce_scatter_into) does.
    fn reduce_scatter<T: Element, O: Operator<T>>(&mut self, all: &[T], mine: &mut [T], op: O);
    /// Does what
    /// [`Comm::reduce_scatter_varied_into`](crate::Comm::reduce_scatter_varied_into) does.
    fn reduce_scatter_varied<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        op: O,
    );
    /// Does what [`Comm::all_gather_into`](crate::Comm::all_gather_into) does.
    fn all_gather<T: Element>(&mut self, mine: &[T], all: &mut [T]);
    /// Does what [`Comm::all_gather_varied_into`](crate::Comm::all_gather_varied_into) does.
    fn all_gather_varied<T: Element>(&mut self, mine: &[T], all: &mut [T], counts: &[usize]);
    /// Does what [`Comm::all_to_all_into`](crate::Comm::all_to_all_into) does.
    fn all_to_all<T: Element>(&mut self, send: &[T], recv: &mut [T]);
    /// Does what [`Comm::all_to_all_varied_into`](crate::Comm::all_to_all_varied_into) does.
    fn all_to_all_varied<T: Element>(&mut self, send: (&[T], &[usize]), recv: (&mut [T], &[usize]));
    /// Does what [`Comm::gather_into`](crate::Comm::gather_into) does.
    fn gather<T: Element>(&mut self, mine: &[T], all: &mut [T], root: usize);
    /// Does what [`Comm::gather_varied_into`](crate::Comm::gather_varied_into) does.
    fn gather_varied<T: Element>(
        &mut self,
        mine: &[T],
        all: &mut [T],
        counts: &[usize],
        root: usize,
    );
    /// Does what [`Comm::scatter_into`](crate::Comm::scatter_into) does.
    fn scatter<T: Element>(&mut self, all: &[T], mine: &mut [T], root: usize);
    /// Does what [`Comm::scatter_varied_into`](crate::Comm::scatter_varied_into) does.
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
