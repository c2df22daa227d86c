//! The functions that solvers call all the time, on few bytes of a usual type: one look sees if
//! anything can be wrong, and the Rust call stands in C's function. Where something is odd, `odd`
//! does the whole of it, and says what.

use crate::arguments::{are_usual, is_usual};
use crate::call::{Quick, quick_call};
use crate::names::*;
use crate::types::Type;
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element, engine};
use std::ffi::{c_char, c_int, c_void};

/// The caller's file and line.
type Line = (*const c_char, c_int);

#[inline(always)]
pub(crate) unsafe fn barrier(comm: *mut phx_comm, at: Line, odd: impl Fn() -> phx_err) -> phx_err {
    let body = |comm: &mut Comm, _, at| engine::barrier(comm, at);
    // SAFETY: by the contract.
    unsafe { quick_call(comm, Quick::Barrier, at, |_| 0, |_| true, body, odd) }
}

#[inline(always)]
pub(crate) unsafe fn broadcast<T: Element>(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    _: phx_type,
    root: c_int,
    at: Line,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let is_usual = move |_| is_usual::<T>(buf, n) && root >= 0;
    // SAFETY: by the contract.
    unsafe {
        let body = move |comm: &mut Comm, _, at| {
            let buf = std::slice::from_raw_parts_mut(buf.cast::<T>(), n);
            engine::broadcast(comm, buf, root as usize, at);
        };
        quick_call(comm, Quick::Broadcast, at, |_| 0, is_usual, body, odd)
    }
}

#[inline(always)]
pub(crate) unsafe fn all_reduce<T: Element, O: Operator<T> + Default>(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    _: phx_type,
    _: phx_op,
    at: Line,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let is_usual = move |_| is_usual::<T>(inout, n);
    // SAFETY: by the contract.
    unsafe {
        let body = move |comm: &mut Comm, _, at| {
            let it = std::slice::from_raw_parts_mut(inout.cast::<T>(), n);
            engine::all_reduce(comm, it, O::default(), at);
        };
        quick_call(comm, Quick::AllReduce, at, |_| 0, is_usual, body, odd)
    }
}

#[inline(always)]
pub(crate) unsafe fn all_gather<T: Element>(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    _: phx_type,
    at: Line,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let is_usual = move |ranks| are_usual::<T>(mine, all, n, ranks);
    // SAFETY: by the contract.
    unsafe {
        let body = move |comm: &mut Comm, ranks: usize, at| {
            let mine = std::slice::from_raw_parts(mine.cast::<T>(), n);
            let all = std::slice::from_raw_parts_mut(all.cast::<T>(), n * ranks);
            engine::all_gather_into(comm, mine, all, at);
        };
        quick_call(comm, Quick::AllGather, at, Comm::size, is_usual, body, odd)
    }
}

/// An all-reduce of a usual type and operator that came here by a handle about which something was
/// odd. Another rank may have found nothing odd about its own; so it goes the same short ways.
/// Returns false, and has done nothing, if it is not one.
///
/// # Safety
/// `inout` has `n` elements of the type, if it is not null and aligned.
pub(crate) unsafe fn combined(
    comm: &mut Comm,
    ty: Type,
    op: phx_op,
    inout: *mut c_void,
    n: usize,
) -> bool {
    const F64: u8 = PHX_F64 as u8;
    const I32: u8 = PHX_I32 as u8;
    const I64: u8 = PHX_I64 as u8;
    // SAFETY: passed on.
    unsafe {
        match ty.kind {
            F64 => combined_of::<f64>(comm, op, inout, n),
            I32 => combined_of::<i32>(comm, op, inout, n),
            I64 => combined_of::<i64>(comm, op, inout, n),
            _ => false,
        }
    }
}

/// # Safety
/// As [`combined`].
unsafe fn combined_of<T: Element>(comm: &mut Comm, op: phx_op, inout: *mut c_void, n: usize) -> bool
where
    op::Sum: Operator<T>,
    op::Min: Operator<T>,
    op::Max: Operator<T>,
{
    if !is_usual::<T>(inout, n) {
        return false;
    }
    // SAFETY: by the contract; it was looked at.
    let all = unsafe { std::slice::from_raw_parts_mut(inout.cast::<T>(), n) };
    match op {
        PHX_SUM => comm.all_reduce(all, op::Sum),
        PHX_MIN => comm.all_reduce(all, op::Min),
        PHX_MAX => comm.all_reduce(all, op::Max),
        _ => return false,
    }
    true
}
