//! The barrier, and vectors that travel whole: broadcast and shift.

use super::buffers::one_buffer;
use super::moved;
use crate::arguments::{is_usual, output, rank_number};
use crate::call::{From, Quick, call, phx_comm, quick_call};
use crate::error::phx_err;
use crate::types::{PHX_F64, PHX_I32, PHX_I64, Type, phx_type, with_type};
use phalanx::engine::{Operation, ReductionCut};
use phalanx::{Comm, Element, engine};
use std::ffi::{c_char, c_int, c_void};

/// Returns when all ranks have called it: what they did before is seen by all.
///
/// # Safety
/// `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_barrier_at(
    comm: *mut phx_comm,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        let odd = || noted_barrier(comm, file, line);
        let body = |comm: &mut Comm, _, at| engine::barrier(comm, at);
        quick_call(comm, Quick::Barrier, (file, line), |_| 0, |_| true, body, odd)
    }
}

/// The same for a handle about which something is odd.
///
/// # Safety
/// As [`phx_barrier_at`].
#[cold]
#[inline(never)]
unsafe extern "C" fn noted_barrier(
    comm: *mut phx_comm,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        call(comm, From { function: "phx_barrier", file, line }, |comm| {
            comm.barrier();
            Ok(())
        })
    }
}

/// Copies `root`'s `n` elements to all.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody else uses meanwhile; `file` is null or a string
/// that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_broadcast_at(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    if ty != PHX_F64 {
        // SAFETY: by the contract.
        return unsafe { other_broadcast(comm, buf, n, ty, root, file, line) };
    }
    // SAFETY: by the contract.
    unsafe { usual_broadcast::<f64>(comm, buf, n, ty, root, file, line) }
}

/// The same for types other than double.
///
/// # Safety
/// As [`phx_broadcast_at`].
#[inline(never)]
unsafe extern "C" fn other_broadcast(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    match ty {
        // SAFETY: by the contract.
        PHX_I32 => unsafe { usual_broadcast::<i32>(comm, buf, n, ty, root, file, line) },
        // SAFETY: by the contract.
        PHX_I64 => unsafe { usual_broadcast::<i64>(comm, buf, n, ty, root, file, line) },
        // SAFETY: by the contract.
        _ => unsafe { any_broadcast(comm, buf, n, ty, root, file, line) },
    }
}

/// For each usual type, with all that a small call does in one body.
///
/// # Safety
/// As [`phx_broadcast_at`].
#[inline(always)]
unsafe fn usual_broadcast<T: Element>(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        let is_usual = move |_| is_usual::<T>(buf, n) && root >= 0;
        let body = move |comm: &mut Comm, _, at| {
            let buf = std::slice::from_raw_parts_mut(buf.cast::<T>(), n);
            engine::broadcast(comm, buf, root as usize, at);
        };
        let odd = move || any_broadcast(comm, buf, n, ty, root, file, line);
        quick_call(comm, Quick::Broadcast, (file, line), |_| 0, is_usual, body, odd)
    }
}

/// The same for all types.
///
/// # Safety
/// As [`phx_broadcast_at`].
#[cold]
#[inline(never)]
unsafe extern "C" fn any_broadcast(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        call(comm, From { function: "phx_broadcast", file, line }, |comm| {
            broadcast(comm, (buf, n), ty, rank_number("root", root)?)
        })
    }
}

/// # Safety
/// As [`phx_broadcast_at`].
#[inline(never)]
unsafe fn broadcast(
    comm: &mut Comm,
    (buf, n): (*mut c_void, usize),
    ty: phx_type,
    root: usize,
) -> Result<(), String> {
    let ty = Type::of(ty)?;
    let n = ty.count(n)?;
    // SAFETY: passed on.
    with_type!(ty, T => comm.broadcast(unsafe { output::<T>("the buffer", buf, n)? }, root));
    Ok(())
}

/// Passes `n` elements on by `by` ranks, in a circle: rank r's go to rank r + by.
///
/// # Safety
/// As [`phx_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_shift_at(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    by: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_shift", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let n = ty.count(n)?;
            let by = (by as isize).rem_euclid(comm.size() as isize) as usize;
            let (memory, cut) = (one_buffer(ty, buf, n)?, (ReductionCut::Vector(n), by));
            moved(comm, ty, Operation::Shift, cut, (memory, false));
            Ok(())
        })
    }
}
