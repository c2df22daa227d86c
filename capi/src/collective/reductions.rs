//! Collectives that combine the ranks' elements: reduce, all-reduce, scans, reduce-scatter.

use super::buffers::one_buffer;
use crate::arguments::{apart, input, is_usual, output, rank_number};
use crate::call::{From, Quick, call, phx_comm, quick_call};
use crate::error::phx_err;
use crate::types::{
    PHX_F64, PHX_I32, PHX_I64, PHX_MAX, PHX_MIN, PHX_SUM, Reduction, Type, phx_op, phx_type,
    with_type,
};
use phalanx::engine::{Operation, ReductionCut, ReductionMemory};
use phalanx::op::Operator;
use phalanx::{Comm, Element, engine, op};
use std::ffi::{c_char, c_int, c_void};

/// The memory of `n` elements of `ty` that are combined in place.
///
/// # Safety
/// As [`output`].
#[inline(always)]
unsafe fn in_place(buf: *mut c_void, n: usize, ty: Type) -> Result<ReductionMemory, String> {
    ty.count(n)?;
    // SAFETY: passed on.
    unsafe { one_buffer(ty, buf, n) }
}

/// Combines the ranks' `n` elements, element by element in rank order, into `root`'s.
///
/// # Safety
/// As `phx_broadcast_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_reduce_at(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_reduce", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let memory = in_place(inout, n, ty)?;
            let cut = ReductionCut::Vector(n);
            Reduction { operation: Operation::Reduce, cut, root, memory }.run(comm, ty, op)
        })
    }
}

/// Combines the ranks' `n` elements, element by element in rank order, and leaves the result in
/// everybody's buffer, the same bits.
///
/// # Safety
/// As `phx_broadcast_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_reduce_at(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // What solvers call all the time goes the short ways of few bytes; sums of doubles first.
    if ty != PHX_F64 || op != PHX_SUM {
        // SAFETY: by the contract.
        return unsafe { other_all_reduce(comm, inout, n, ty, op, file, line) };
    }
    // SAFETY: by the contract.
    unsafe { usual_all_reduce::<f64, op::Sum>(comm, inout, n, ty, op, file, line) }
}

/// The same for other types and operators than sums of doubles.
///
/// # Safety
/// As `phx_broadcast_at`.
#[inline(never)]
unsafe extern "C" fn other_all_reduce(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // (Each is there once, so that all that it does is in one body.)
    let jump = match (ty, op) {
        (PHX_F64, PHX_MIN) => jump_all_reduce::<f64, op::Min>,
        (PHX_F64, PHX_MAX) => jump_all_reduce::<f64, op::Max>,
        (PHX_I32, PHX_SUM) => jump_all_reduce::<i32, op::Sum>,
        (PHX_I32, PHX_MIN) => jump_all_reduce::<i32, op::Min>,
        (PHX_I32, PHX_MAX) => jump_all_reduce::<i32, op::Max>,
        (PHX_I64, PHX_SUM) => jump_all_reduce::<i64, op::Sum>,
        (PHX_I64, PHX_MIN) => jump_all_reduce::<i64, op::Min>,
        (PHX_I64, PHX_MAX) => jump_all_reduce::<i64, op::Max>,
        _ => any_all_reduce,
    };
    // SAFETY: by the contract.
    unsafe { jump(comm, inout, n, ty, op, file, line) }
}

/// [`usual_all_reduce`], a function of its own.
///
/// # Safety
/// As `phx_broadcast_at`.
unsafe extern "C" fn jump_all_reduce<T: Element, O: Operator<T> + Default>(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe { usual_all_reduce::<T, O>(comm, inout, n, ty, op, file, line) }
}

/// As `usual_broadcast`, for each usual type and operator.
///
/// # Safety
/// As `phx_broadcast_at`.
#[inline(always)]
unsafe fn usual_all_reduce<T: Element, O: Operator<T> + Default>(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        let is_usual = move |_| is_usual::<T>(inout, n);
        let body = move |comm: &mut Comm, _, at| {
            let it = std::slice::from_raw_parts_mut(inout.cast::<T>(), n);
            engine::all_reduce(comm, it, O::default(), at);
        };
        let odd = move || noted_all_reduce::<T, O>(comm, inout, n, ty, op, file, line);
        quick_call(comm, Quick::AllReduce, (file, line), |_| 0, is_usual, body, odd)
    }
}

/// The same for a handle or an argument about which something is odd. Another rank may have found
/// nothing odd about its own handle; so it goes the same short ways.
///
/// # Safety
/// As `phx_broadcast_at`.
#[cold]
#[inline(never)]
unsafe extern "C" fn noted_all_reduce<T: Element, O: Operator<T> + Default>(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        call(comm, From { function: "phx_all_reduce", file, line }, |comm| {
            if !is_usual::<T>(inout, n) {
                return all_reduce(comm, (inout, n), ty, op);
            }
            comm.all_reduce(std::slice::from_raw_parts_mut(inout.cast::<T>(), n), O::default());
            Ok(())
        })
    }
}

/// The same for all types and operators.
///
/// # Safety
/// As `phx_broadcast_at`.
#[cold]
#[inline(never)]
unsafe extern "C" fn any_all_reduce(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        call(comm, From { function: "phx_all_reduce", file, line }, |comm| {
            all_reduce(comm, (inout, n), ty, op)
        })
    }
}

/// # Safety
/// As `phx_broadcast_at`.
#[inline(never)]
unsafe fn all_reduce(
    comm: &mut Comm,
    (inout, n): (*mut c_void, usize),
    ty: phx_type,
    op: phx_op,
) -> Result<(), String> {
    let ty = Type::of(ty)?;
    // SAFETY: passed on.
    unsafe {
        let memory = in_place(inout, n, ty)?;
        let (operation, cut) = (Operation::AllReduce, ReductionCut::Vector(n));
        Reduction { operation, cut, root: 0, memory }.run(comm, ty, op)
    }
}

/// # Safety
/// As `phx_broadcast_at`.
unsafe fn scan(
    comm: *mut phx_comm,
    from: From,
    operation: Operation,
    (inout, n): (*mut c_void, usize),
    (ty, op): (phx_type, phx_op),
) -> phx_err {
    // SAFETY: passed on.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let memory = in_place(inout, n, ty)?;
            Reduction { operation, cut: ReductionCut::Vector(n), root: 0, memory }.run(comm, ty, op)
        })
    }
}

/// Leaves in rank r's buffer the combination of those of ranks 0 to r.
///
/// # Safety
/// As `phx_broadcast_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_scan_at(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_scan", file, line };
    // SAFETY: by the contract.
    unsafe { scan(comm, from, Operation::Scan, (inout, n), (ty, op)) }
}

/// Leaves in rank r's buffer the combination of those of ranks 0 to r-1; in rank 0's what changes
/// nothing (0 for a sum), or what it was where there is no such element.
///
/// # Safety
/// As `phx_broadcast_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_exclusive_scan_at(
    comm: *mut phx_comm,
    inout: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_exclusive_scan", file, line };
    // SAFETY: by the contract.
    unsafe { scan(comm, from, Operation::ExclusiveScan, (inout, n), (ty, op)) }
}

/// # Safety
/// As [`phx_reduce_scatter_at`].
unsafe fn reduce_scatter_memory(
    (all, total): (*const c_void, usize),
    (mine, n): (*mut c_void, usize),
    ty: Type,
) -> Result<ReductionMemory, String> {
    with_type!(ty, T => {
        // SAFETY: by the contract; one is enough to look at the pointer.
        unsafe {
            input::<T>("the input", all, total.min(1))?;
            output::<T>("the output", mine, n.min(1))?;
        }
    });
    apart((all, total * ty.size), (mine, n * ty.size))?;
    Ok(ReductionMemory { input: all.cast(), output: mine.cast() })
}

/// Combines the ranks' `all`, of `n` elements for each rank, and leaves block r of the result in
/// rank r's `mine`.
///
/// # Safety
/// `all` has `n` elements of `ty` for each rank, `mine` has `n`, and they do not overlap; else as
/// `phx_broadcast_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_reduce_scatter_at(
    comm: *mut phx_comm,
    all: *const c_void,
    mine: *mut c_void,
    n: usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_reduce_scatter", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let total = n.checked_mul(comm.size()).ok_or("more elements than memory can hold")?;
            ty.count(total)?;
            let memory = reduce_scatter_memory((all, total), (mine, n), ty)?;
            let (operation, cut) = (Operation::ReduceScatter, ReductionCut::Equal(n));
            Reduction { operation, cut, root: 0, memory }.run(comm, ty, op)
        })
    }
}

/// The same with `counts[r]` elements for rank r.
///
/// # Safety
/// As there, `counts` having one for each rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_reduce_scatterv_at(
    comm: *mut phx_comm,
    all: *const c_void,
    mine: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    op: phx_op,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_reduce_scatterv", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let counts = input::<usize>("the list of counts", counts.cast(), comm.size())?;
            let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
            let total = total.ok_or("the counts sum to more than memory can hold")?;
            ty.count(total)?;
            let n = counts[comm.rank()];
            let memory = reduce_scatter_memory((all, total), (mine, n), ty)?;
            let (operation, cut) = (Operation::ReduceScatter, ReductionCut::Varied(counts));
            Reduction { operation, cut, root: 0, memory }.run(comm, ty, op)
        })
    }
}
