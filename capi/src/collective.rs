//! The collectives. All ranks of a communicator call them, in the same order, with arguments that
//! agree; lengths count elements.

use crate::call::{
    From, IN_PLACE, Quick, apart, are_usual, call, input, is_usual, output, phx_comm, quick_call,
    rank_number,
};
use crate::error::phx_err;
use crate::types::{
    PHX_F64, PHX_I32, PHX_I64, PHX_MAX, PHX_MIN, PHX_SUM, Reduction, Type, phx_op, phx_type,
    with_type,
};
use phalanx::op::{self, Operator};
use phalanx::raw::{Operation, ReductionCut, ReductionMemory};
use phalanx::{Comm, Element, raw};
use std::ffi::{c_char, c_int, c_void};

/// One count for each rank, in Rust elements.
///
/// # Safety
/// `counts` is null, or has one for each rank.
pub(crate) unsafe fn counts_of(
    comm: &Comm,
    counts: *const usize,
    ty: Type,
) -> Result<Vec<usize>, String> {
    // SAFETY: by the contract.
    let counts = unsafe { input::<usize>("the list of counts", counts.cast(), comm.size())? };
    counts.iter().map(|&n| ty.count(n)).collect()
}

/// The sum of counts, if memory can hold so many elements.
pub(crate) fn sum(counts: &[usize], ty: Type) -> Result<usize, String> {
    let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
    let size = if ty.is_bytes() { 1 } else { ty.size };
    let fits = |&total: &usize| total.checked_mul(size).is_some_and(|b| b <= isize::MAX as usize);
    total.filter(fits).ok_or_else(|| "the counts sum to more than memory can hold".into())
}

/// As many elements as all ranks have together, `n` each.
#[inline(always)]
pub(crate) fn of_all(comm: &Comm, n: usize, ty: Type) -> Result<usize, String> {
    match n.checked_mul(comm.size()) {
        Some(total) => ty.count(total),
        None => Err("more elements than memory can hold".into()),
    }
}

/// Memory that is read, and memory that is written, once their pointers are looked at: so many Rust
/// elements.
///
/// # Safety
/// As [`input`] and [`output`].
pub(crate) unsafe fn two_buffers(
    ty: Type,
    (from, sent): (*const c_void, usize),
    (to, received): (*mut c_void, usize),
) -> Result<ReductionMemory, String> {
    let size = if ty.is_bytes() { 1 } else { ty.size };
    with_type!(ty, T => {
        // SAFETY: by the contract; one is enough to look at the pointer.
        unsafe {
            input::<T>("the input", from, sent.min(1))?;
            output::<T>("the output", to, received.min(1))?;
        }
    });
    apart((from, sent * size), (to, received * size))?;
    Ok(ReductionMemory { input: solid(from.cast_mut()), output: solid(to) })
}

/// The address, or one that is not null, of no elements.
fn solid(at: *mut c_void) -> *mut u8 {
    if at.is_null() { std::ptr::without_provenance_mut(64) } else { at.cast() }
}

/// Memory that is read and written.
///
/// # Safety
/// As [`output`].
pub(crate) unsafe fn one_buffer(
    ty: Type,
    buf: *mut c_void,
    n: usize,
) -> Result<ReductionMemory, String> {
    with_type!(ty, T => {
        // SAFETY: by the contract.
        unsafe { output::<T>("the buffer", buf, n.min(1))? };
    });
    Ok(ReductionMemory { input: solid(buf), output: solid(buf) })
}

/// A call that has no way of few bytes: one body for all types.
///
/// # Safety
/// As [`raw::movement`].
unsafe fn moved(
    comm: &mut Comm,
    ty: Type,
    operation: Operation,
    (cut, parameter): (ReductionCut<'_>, usize),
    (memory, within): (ReductionMemory, bool),
) {
    with_type!(ty, T => {
        // SAFETY: passed on.
        unsafe { raw::movement::<T>(comm, operation, cut, parameter, memory, within) }
    });
}

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
        let body = |comm: &mut Comm, _, at| raw::barrier(comm, at);
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
            raw::broadcast(comm, buf, root as usize, at);
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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

/// As [`usual_broadcast`], for each usual type and operator.
///
/// # Safety
/// As [`phx_broadcast_at`].
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
            raw::all_reduce(comm, it, O::default(), at);
        };
        let odd = move || noted_all_reduce::<T, O>(comm, inout, n, ty, op, file, line);
        quick_call(comm, Quick::AllReduce, (file, line), |_| 0, is_usual, body, odd)
    }
}

/// The same for a handle or an argument about which something is odd. Another rank may have found
/// nothing odd about its own handle; so it goes the same short ways.
///
/// # Safety
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// As [`phx_broadcast_at`].
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
/// [`phx_broadcast_at`].
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

/// Collects the ranks' `n` elements in `root`'s `all`, in rank order. Elsewhere `all` may be null.
/// `mine` may be `PHX_IN_PLACE` on all ranks: see [`phx_gather_in_place_at`].
///
/// # Safety
/// `mine` has `n` elements of `ty`, the root's `all` has `n` for each rank; they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_gather_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_gather", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let is_root = comm.rank() == root;
            let total = if is_root { of_all(comm, n, ty)? } else { 0 };
            let n = ty.count(n)?;
            let memory = two_buffers(ty, (mine, n), (all, total))?;
            let cut = (ReductionCut::Equal(n), root);
            moved(comm, ty, Operation::Gather, cut, (memory, false));
            Ok(())
        })
    }
}

/// The same in place: the root's `data` has all blocks, its own where it belongs; the others' has
/// their `n` elements.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_gather_in_place_at(
    comm: *mut phx_comm,
    data: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_gather_in_place", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let block = ty.count(n)?;
            let is_root = comm.rank() == root;
            let total = if is_root { of_all(comm, n, ty)? } else { block };
            let mut memory = one_buffer(ty, data, total)?;
            if is_root {
                let size = if ty.is_bytes() { 1 } else { ty.size };
                memory.input = memory.input.wrapping_add(root * block * size);
            }
            let cut = (ReductionCut::Equal(block), root);
            moved(comm, ty, Operation::Gather, cut, (memory, true));
            Ok(())
        })
    }
}

/// Collects the ranks' elements, `counts[r]` of rank r, in `root`'s `all`. Elsewhere `all` may be
/// null; `counts` are the same on all ranks.
///
/// # Safety
/// `mine` has as many elements of `ty` as the rank's count, the root's `all` has all; they do not
/// overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_gatherv_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    all: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_gatherv", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let counts = counts_of(comm, counts, ty)?;
            let total = sum(&counts, ty)?;
            let (n, total) = (counts[comm.rank()], if comm.rank() == root { total } else { 0 });
            let memory = two_buffers(ty, (mine, n), (all, total))?;
            let cut = (ReductionCut::Varied(&counts), root);
            moved(comm, ty, Operation::Gather, cut, (memory, false));
            Ok(())
        })
    }
}

/// Hands `root`'s `all`, of `n` elements for each rank, out: block r to rank r's `mine`. Elsewhere
/// `all` may be null.
///
/// # Safety
/// `mine` has `n` elements of `ty`, the root's `all` has `n` for each rank; they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_scatter_at(
    comm: *mut phx_comm,
    all: *const c_void,
    mine: *mut c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_scatter", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let total = if comm.rank() == root { of_all(comm, n, ty)? } else { 0 };
            let n = ty.count(n)?;
            let memory = two_buffers(ty, (all, total), (mine, n))?;
            let cut = (ReductionCut::Equal(n), root);
            moved(comm, ty, Operation::Scatter, cut, (memory, false));
            Ok(())
        })
    }
}

/// The same with `counts[r]` elements for rank r.
///
/// # Safety
/// As there, `counts` having one for each rank, the same on all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_scatterv_at(
    comm: *mut phx_comm,
    all: *const c_void,
    mine: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    root: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_scatterv", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let counts = counts_of(comm, counts, ty)?;
            let total = sum(&counts, ty)?;
            let (n, total) = (counts[comm.rank()], if comm.rank() == root { total } else { 0 });
            let memory = two_buffers(ty, (all, total), (mine, n))?;
            let cut = (ReductionCut::Varied(&counts), root);
            moved(comm, ty, Operation::Scatter, cut, (memory, false));
            Ok(())
        })
    }
}

/// Collects the ranks' `n` elements in everybody's `all`, in rank order. With `PHX_IN_PLACE` for
/// `mine`, on all ranks, the own block is in `all` already, where it belongs.
///
/// # Safety
/// `mine` has `n` elements of `ty`, `all` has `n` for each rank; they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_gather_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    if ty != PHX_F64 {
        // SAFETY: by the contract.
        return unsafe { other_all_gather(comm, mine, n, all, ty, file, line) };
    }
    // SAFETY: by the contract.
    unsafe { usual_all_gather::<f64>(comm, mine, n, all, ty, file, line) }
}

/// The same for types other than double.
///
/// # Safety
/// As [`phx_all_gather_at`].
#[inline(never)]
unsafe extern "C" fn other_all_gather(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    match ty {
        // SAFETY: by the contract.
        PHX_I32 => unsafe { usual_all_gather::<i32>(comm, mine, n, all, ty, file, line) },
        // SAFETY: by the contract.
        PHX_I64 => unsafe { usual_all_gather::<i64>(comm, mine, n, all, ty, file, line) },
        // SAFETY: by the contract.
        _ => unsafe { any_all_gather(comm, mine, n, all, ty, file, line) },
    }
}

/// As [`usual_broadcast`].
///
/// # Safety
/// As [`phx_all_gather_at`].
#[inline(always)]
unsafe fn usual_all_gather<T: Element>(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        let is_usual = move |ranks| are_usual::<T>(mine, all, n, ranks);
        let body = move |comm: &mut Comm, ranks: usize, at| {
            let mine = std::slice::from_raw_parts(mine.cast::<T>(), n);
            let all = std::slice::from_raw_parts_mut(all.cast::<T>(), n * ranks);
            raw::all_gather_into(comm, mine, all, at);
        };
        let odd = move || any_all_gather(comm, mine, n, all, ty, file, line);
        quick_call(comm, Quick::AllGather, (file, line), Comm::size, is_usual, body, odd)
    }
}

/// The same for all types.
///
/// # Safety
/// As [`phx_all_gather_at`].
#[cold]
#[inline(never)]
unsafe extern "C" fn any_all_gather(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    all: *mut c_void,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    // SAFETY: by the contract.
    unsafe {
        call(comm, From { function: "phx_all_gather", file, line }, |comm| {
            all_gather(comm, (mine, n), all, ty)
        })
    }
}

/// # Safety
/// As [`phx_all_gather_at`].
#[inline(never)]
unsafe fn all_gather(
    comm: &mut Comm,
    (mine, n): (*const c_void, usize),
    all: *mut c_void,
    ty: phx_type,
) -> Result<(), String> {
    let ty = Type::of(ty)?;
    let total = of_all(comm, n, ty)?;
    let n = ty.count(n)?;
    if mine == IN_PLACE {
        with_type!(ty, T => {
            // SAFETY: passed on.
            comm.all_gather_in_place(unsafe { output::<T>("the output", all, total)? });
        });
        return Ok(());
    }
    with_type!(ty, T => {
        // SAFETY: passed on.
        let mine = unsafe { input::<T>("the input", mine, n)? };
        apart((mine.as_ptr().cast(), size_of_val(mine)), (all, total * size_of::<T>()))?;
        // SAFETY: passed on.
        comm.all_gather_into(mine, unsafe { output::<T>("the output", all, total)? });
    });
    Ok(())
}

/// Collects the ranks' elements, `counts[r]` of rank r, in everybody's `all`.
///
/// # Safety
/// `mine` has as many elements of `ty` as the rank's count, `all` has all; they do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_gatherv_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    all: *mut c_void,
    counts: *const usize,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_all_gatherv", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let counts = counts_of(comm, counts, ty)?;
            let (n, total) = (counts[comm.rank()], sum(&counts, ty)?);
            with_type!(ty, T => {
                let mine = input::<T>("the input", mine, n)?;
                apart((mine.as_ptr().cast(), size_of_val(mine)), (all, total * size_of::<T>()))?;
                let all = output::<T>("the output", all, total)?;
                comm.all_gather_varied_into(mine, all, &counts);
            });
            Ok(())
        })
    }
}

/// Sends block r of `send` to rank r, and receives rank r's as block r of `recv`, of `n` elements
/// each. With `PHX_IN_PLACE` for `send`, on all ranks, the blocks of `recv` change places.
///
/// # Safety
/// Both have `n` elements of `ty` for each rank, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_to_all_at(
    comm: *mut phx_comm,
    send: *const c_void,
    recv: *mut c_void,
    n: usize,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_all_to_all", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let total = of_all(comm, n, ty)?;
            if send == IN_PLACE {
                with_type!(ty, T => {
                    comm.all_to_all_in_place(output::<T>("the output", recv, total)?);
                });
                return Ok(());
            }
            with_type!(ty, T => {
                let send = input::<T>("the input", send, total)?;
                apart((send.as_ptr().cast(), size_of_val(send)), (recv, total * size_of::<T>()))?;
                comm.all_to_all_into(send, output::<T>("the output", recv, total)?);
            });
            Ok(())
        })
    }
}

/// The same with blocks of different lengths: `send_counts[r]` elements to rank r, and
/// `recv_counts[r]` from it. Blocks lie one after the other.
///
/// # Safety
/// As there, both lists having one count for each rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_to_allv_at(
    comm: *mut phx_comm,
    send: *const c_void,
    send_counts: *const usize,
    recv: *mut c_void,
    recv_counts: *const usize,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_all_to_allv", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let send_counts = counts_of(comm, send_counts, ty)?;
            let recv_counts = counts_of(comm, recv_counts, ty)?;
            let (sent, received) = (sum(&send_counts, ty)?, sum(&recv_counts, ty)?);
            with_type!(ty, T => {
                let send = input::<T>("the input", send, sent)?;
                let room = received * size_of::<T>();
                apart((send.as_ptr().cast(), size_of_val(send)), (recv, room))?;
                let recv = output::<T>("the output", recv, received)?;
                comm.all_to_all_varied_into(send, &send_counts, recv, &recv_counts);
            });
            Ok(())
        })
    }
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
