//! Collectives that are started, or set up.

use super::{Scope, Work, launch, phx_request, phx_requests, within};
use crate::arguments::{IN_PLACE, rank_number};
use crate::call::From;
use crate::collective::{counts_of, of_all, one_buffer, sum, two_buffers};
use crate::error::phx_err;
use crate::types::{Type, phx_op, phx_type, prepared_combining, with_type};
use phalanx::engine::{MemoryCall, MemoryCut, Operation, PreparedCall, ReductionMemory};
use std::ffi::{c_char, c_int, c_void};

/// A call that moves elements of a type.
fn moving(
    ty: Type,
    operation: Operation,
    cut: MemoryCut,
    parameter: usize,
    memory: ReductionMemory,
) -> PreparedCall {
    let call = MemoryCall { operation, cut, parameter, memory };
    with_type!(ty, T => PreparedCall::moving::<T>(call))
}

/// Starts a barrier; if `persistent`, sets it up.
///
/// # Safety
/// `request` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_barrier_at(
    scope: *mut phx_requests,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_barrier", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let work = match persistent {
                0 => Work::Started(Box::new(scope.barrier())),
                _ => Work::Idle(Box::new(scope.persistent_barrier())),
            };
            state.keep(None, work, request);
            Ok(())
        })
    }
}

/// Starts a broadcast; if `persistent`, sets it up.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody else uses until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_broadcast_at(
    scope: *mut phx_requests,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_broadcast", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let n = ty.count(n)?;
            let (memory, cut) = (one_buffer(ty, buf, n)?, MemoryCut::Vector(n));
            let call = moving(ty, Operation::Broadcast, cut, root, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a shift; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_shift_at(
    scope: *mut phx_requests,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    by: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_shift", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            let n = ty.count(n)?;
            let by = (by as isize).rem_euclid(scope.comm().size() as isize) as usize;
            let (memory, cut) = (one_buffer(ty, buf, n)?, MemoryCut::Vector(n));
            let call = moving(ty, Operation::Shift, cut, by, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// # Safety
/// As [`phx_start_broadcast_at`].
unsafe fn combine_in_place(
    scope: *mut phx_requests,
    from: From,
    (operation, root): (Operation, c_int),
    (inout, n): (*mut c_void, usize),
    (ty, op): (phx_type, phx_op),
    request: (c_int, *mut phx_request),
) -> phx_err {
    // SAFETY: passed on.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, parameter) = (Type::of(ty)?, rank_number("root", root)?);
            ty.count(n)?;
            let (memory, cut) = (one_buffer(ty, inout, n)?, MemoryCut::Vector(n));
            let call = MemoryCall { operation, cut, parameter, memory };
            launch((scope, state), prepared_combining(call, ty, op)?, request, at);
            Ok(())
        })
    }
}

/// Starts a reduction to `root`; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_reduce_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_reduce", file, line };
    let (what, request) = ((Operation::Reduce, root), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts an all-reduce; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_reduce_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_reduce", file, line };
    let (what, request) = ((Operation::AllReduce, 0), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts a scan; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_scan_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_scan", file, line };
    let (what, request) = ((Operation::Scan, 0), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts an exclusive scan; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_broadcast_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_exclusive_scan_at(
    scope: *mut phx_requests,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_exclusive_scan", file, line };
    let (what, request) = ((Operation::ExclusiveScan, 0), (persistent, request));
    // SAFETY: by the contract.
    unsafe { combine_in_place(scope, from, what, (inout, n), (ty, op), request) }
}

/// Starts a reduce-scatter of `n` elements for each rank, or, if `counts` is not null, of
/// `counts[r]` for rank r; if `persistent`, sets it up.
///
/// # Safety
/// `all` has the elements of `ty` of all blocks, `mine` those of the own one; they do not overlap,
/// and nobody uses `mine` until the call was waited for. `counts` is null or has one for each rank,
/// and is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_reduce_scatter_at(
    scope: *mut phx_requests,
    all: *const c_void,
    mine: *mut c_void,
    n: usize,
    counts: *const usize,
    ty: phx_type,
    op: phx_op,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_reduce_scatter", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            // An operator's elements are whole, also those of bytes.
            let size = if ty.is_bytes() { ty.size } else { 1 };
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let memory = two_buffers(ty, (all, total), (mine, own))?;
            let cut = match cut {
                MemoryCut::Equal(n) => MemoryCut::Equal(n / size),
                MemoryCut::Varied(counts) => {
                    MemoryCut::Varied(counts.into_iter().map(|n| n / size).collect())
                }
                other => other,
            };
            let operation = Operation::ReduceScatter;
            let call = MemoryCall { operation, cut, parameter: 0, memory };
            let call = prepared_combining(call, ty, op)?;
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// The own block, all, and how they are cut: in equal ones of `n`, or by counts, if they are not
/// null. In Rust elements.
///
/// # Safety
/// `counts` is null, or has one for each rank.
unsafe fn blocks(
    scope: &mut Scope,
    n: usize,
    counts: *const usize,
    ty: Type,
) -> Result<(usize, usize, MemoryCut), String> {
    let comm = scope.comm();
    if counts.is_null() {
        let (own, total) = (ty.count(n)?, of_all(comm, n, ty)?);
        return Ok((own, total, MemoryCut::Equal(own)));
    }
    // SAFETY: by the contract.
    let counts = unsafe { counts_of(comm, counts, ty)? };
    let (own, total) = (counts[comm.rank()], sum(&counts, ty)?);
    Ok((own, total, MemoryCut::Varied(counts)))
}

#[cold]
fn not_in_place() -> String {
    "a started call that moves blocks is not in place".into()
}

/// Starts an all-gather of `n` elements of each rank, or, if `counts` is not null, of `counts[r]`
/// of rank r; if `persistent`, sets it up.
///
/// # Safety
/// `mine` has the own block's elements of `ty`, `all` those of all; they do not overlap, and nobody
/// uses `all` until the call was waited for. `counts` is null or has one for each rank, and is
/// copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_gather_at(
    scope: *mut phx_requests,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            if mine == IN_PLACE {
                return Err(not_in_place());
            }
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let memory = two_buffers(ty, (mine, own), (all, total))?;
            let call = moving(ty, Operation::AllGather, cut, 0, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a gather to `root`, of blocks as those of [`phx_start_all_gather_at`].
///
/// # Safety
/// As there; `all` is looked at on the root only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_gather_at(
    scope: *mut phx_requests,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let total = if scope.comm().rank() == root { total } else { 0 };
            let memory = two_buffers(ty, (mine, own), (all, total))?;
            let call = moving(ty, Operation::Gather, cut, root, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts a scatter from `root`, of blocks as those of [`phx_start_all_gather_at`].
///
/// # Safety
/// As there; `all` is looked at on the root only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_scatter_at(
    scope: *mut phx_requests,
    all: *const c_void,
    mine: *mut c_void,
    n: usize,
    counts: *const usize,
    ty: phx_type,
    root: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_scatter", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let (own, total, cut) = blocks(scope, n, counts, ty)?;
            let total = if scope.comm().rank() == root { total } else { 0 };
            let memory = two_buffers(ty, (all, total), (mine, own))?;
            let call = moving(ty, Operation::Scatter, cut, root, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts an all-to-all of blocks of `n` elements; if `persistent`, sets it up.
///
/// # Safety
/// Both have `n` elements of `ty` for each rank, do not overlap, and nobody uses `recv` until the
/// call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_to_all_at(
    scope: *mut phx_requests,
    send: *const c_void,
    recv: *mut c_void,
    n: usize,
    ty: phx_type,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_to_all", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            if send == IN_PLACE {
                return Err(not_in_place());
            }
            let (_, total, cut) = blocks(scope, n, std::ptr::null(), ty)?;
            let memory = two_buffers(ty, (send, total), (recv, total))?;
            let call = moving(ty, Operation::AllToAll, cut, 0, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}

/// Starts an all-to-all of blocks of different lengths; if `persistent`, sets it up.
///
/// # Safety
/// As [`phx_start_all_to_all_at`], with as many elements as the counts sum to; both lists have one
/// count for each rank, and are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_all_to_allv_at(
    scope: *mut phx_requests,
    send: *const c_void,
    send_counts: *const usize,
    recv: *mut c_void,
    recv_counts: *const usize,
    ty: phx_type,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_all_to_allv", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let ty = Type::of(ty)?;
            let send_counts = counts_of(scope.comm(), send_counts, ty)?;
            let recv_counts = counts_of(scope.comm(), recv_counts, ty)?;
            let (sent, received) = (sum(&send_counts, ty)?, sum(&recv_counts, ty)?);
            let memory = two_buffers(ty, (send, sent), (recv, received))?;
            let cut = MemoryCut::Pairs(send_counts, recv_counts);
            let call = moving(ty, Operation::AllToAll, cut, 0, memory);
            launch((scope, state), call, (persistent, request), at);
            Ok(())
        })
    }
}
