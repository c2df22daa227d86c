//! The methods that programs call all the time, as parts of the caller's code, with the location of
//! another language's call. They cost what the methods do, without the call.

use super::At;
use crate::op::Operator;
use crate::{Comm, Element};

/// [`Comm::barrier`], inlined, called at `at`.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let at = ForeignCall::kept("lib_barrier", "heat.f90", 12).location();
/// phalanx::run(2, |comm| engine::barrier(comm, at))?;
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
pub fn barrier(comm: &mut Comm, at: At) {
    comm.barrier_at(at);
}

/// [`Comm::broadcast`], inlined, called at `at`.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let at = ForeignCall::kept("lib_broadcast", "heat.f90", 13).location();
/// let out = phalanx::run(2, |comm| {
///     let mut x = [comm.rank()];
///     engine::broadcast(comm, &mut x, 1, at);
///     x
/// })?;
/// assert_eq!(out, [[1], [1]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
pub fn broadcast<T: Element>(comm: &mut Comm, buf: &mut [T], root: usize, at: At) {
    comm.broadcast_at(buf, root, at);
}

/// [`Comm::all_gather_into`], inlined, called at `at`.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let at = ForeignCall::kept("lib_all_gather", "heat.f90", 14).location();
/// let out = phalanx::run(2, |comm| {
///     let mut all = [0; 2];
///     engine::all_gather_into(comm, &[comm.rank()], &mut all, at);
///     all
/// })?;
/// assert_eq!(out, [[0, 1], [0, 1]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
pub fn all_gather_into<T: Element>(comm: &mut Comm, mine: &[T], all: &mut [T], at: At) {
    comm.all_gather_into_at(mine, all, at);
}

/// [`Comm::all_reduce`], inlined, called at `at`.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, ForeignCall};
/// let at = ForeignCall::kept("lib_all_reduce", "heat.f90", 15).location();
/// let out = phalanx::run(2, |comm| {
///     let mut x = [comm.rank() + 1];
///     engine::all_reduce(comm, &mut x, phalanx::op::Sum, at);
///     x
/// })?;
/// assert_eq!(out, [[3], [3]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline(always)]
pub fn all_reduce<T: Element, O: Operator<T>>(comm: &mut Comm, buf: &mut [T], op: O, at: At) {
    comm.all_reduce_at(buf, op, at);
}
