//! The functions that solvers call all the time, on few bytes of a usual type: one look sees if
//! anything can be wrong, and the Rust call stands in C's function. Where something is odd, `odd`
//! does the whole of it, and says the fault.

use crate::arguments::{are_usual, is_usual};
use crate::call::{From, quick_call};
use crate::names::*;
use crate::types::Type;
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element, call, engine};
use std::ffi::{c_int, c_void};

#[inline(always)]
pub(crate) unsafe fn barrier(
    comm: *mut phx_comm,
    from: From,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let body = |comm: &mut Comm, _, at| comm.run(engine::made_at(call::barrier(), at));
    // SAFETY: by the contract.
    unsafe { quick_call::<0>(comm, from, |_| 0, |_| true, body, odd) }
}

#[inline(always)]
pub(crate) unsafe fn broadcast<T: Element>(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    _: phx_type,
    root: c_int,
    from: From,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let is_usual = move |_| is_usual::<T>(buf, n) && root >= 0;
    // SAFETY: by the contract.
    unsafe {
        let body = move |comm: &mut Comm, _, at| {
            let buf = std::slice::from_raw_parts_mut(buf.cast::<T>(), n);
            comm.run(engine::made_at(call::broadcast(buf, root as usize), at));
        };
        quick_call::<1>(comm, from, |_| 0, is_usual, body, odd)
    }
}

#[inline(always)]
pub(crate) unsafe fn all_reduce<T: Element, O: Operator<T> + Default>(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    _: phx_type,
    _: phx_op,
    from: From,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let is_usual = move |_| is_usual::<T>(inout, n);
    // SAFETY: by the contract.
    unsafe {
        let body = move |comm: &mut Comm, _, at| {
            let it = std::slice::from_raw_parts_mut(inout.cast::<T>(), n);
            comm.run(engine::made_at(call::all_reduce(it, O::default()), at));
        };
        quick_call::<2>(comm, from, |_| 0, is_usual, body, odd)
    }
}

#[inline(always)]
pub(crate) unsafe fn all_gather<T: Element>(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    _: phx_type,
    from: From,
    odd: impl Fn() -> phx_err,
) -> phx_err {
    let is_usual = move |ranks| are_usual::<T>(mine, all, n, ranks);
    // SAFETY: by the contract.
    unsafe {
        let body = move |comm: &mut Comm, ranks: usize, at| {
            let mine = std::slice::from_raw_parts(mine.cast::<T>(), n);
            let all = std::slice::from_raw_parts_mut(all.cast::<T>(), n * ranks);
            comm.run(engine::made_at(call::all_gather_into(mine, all), at));
        };
        quick_call::<3>(comm, from, Comm::size, is_usual, body, odd)
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
    macro_rules! by {
        ($T:ty) => {{
            if !is_usual::<$T>(inout, n) {
                return false;
            }
            // SAFETY: by the contract; it was looked at.
            let all = unsafe { std::slice::from_raw_parts_mut(inout.cast::<$T>(), n) };
            match op {
                PHX_SUM => comm.all_reduce(all, op::Sum),
                PHX_MIN => comm.all_reduce(all, op::Min),
                PHX_MAX => comm.all_reduce(all, op::Max),
                _ => return false,
            }
        }};
    }
    match ty.name() {
        PHX_F64 => by!(f64),
        PHX_I32 => by!(i32),
        PHX_I64 => by!(i64),
        _ => return false,
    }
    true
}
