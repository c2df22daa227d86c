//! Collectives that move a block for each rank, or of each: gather, scatter, all-gather,
//! all-to-all.

use super::buffers::{counts_of, of_all, one_buffer, sum, two_buffers};
use super::moved;
use crate::arguments::{IN_PLACE, apart, are_usual, input, output, rank_number};
use crate::call::{From, Quick, call, phx_comm, quick_call};
use crate::error::phx_err;
use crate::types::{PHX_F64, PHX_I32, PHX_I64, Type, phx_type, with_type};
use phalanx::engine::{Operation, ReductionCut};
use phalanx::{Comm, Element, engine};
use std::ffi::{c_char, c_int, c_void};

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

/// As `usual_broadcast`.
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
            engine::all_gather_into(comm, mine, all, at);
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
