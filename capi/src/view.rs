//! Views: all ranks' memory, looked at where it is.

use crate::arguments::{input, rank_number};
use crate::call::{From, call, phx_comm};
use crate::error::phx_err;
use crate::types::{Type, phx_type, with_type};
use std::ffi::{c_char, c_int, c_void};

/// A rank's part of a view.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct phx_part {
    /// Its elements, to be read only.
    pub data: *const c_void,
    /// How many.
    pub n: usize,
}

/// What looks at a view: one part for each rank, which are there until it returns. It makes no call
/// on the communicator.
#[allow(non_camel_case_types)]
pub type phx_look_fn = Option<
    unsafe extern "C-unwind" fn(parts: *const phx_part, ranks: c_int, argument: *mut c_void),
>;

/// Shows `n` elements to all ranks, and calls `look` with everybody's, where they are: an
/// all-gather that copies nothing. Returns when all ranks' functions have returned. Lengths may
/// differ.
///
/// # Safety
/// `mine` has `n` elements of `ty`, which nobody changes meanwhile; `look` may be called with
/// `argument`; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_with_peers_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    ty: phx_type,
    look: phx_look_fn,
    argument: *mut c_void,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_with_peers", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let look = look.ok_or("the function is null")?;
            let n = ty.count(n)?;
            let size = if ty.is_bytes() { ty.size } else { 1 };
            with_type!(ty, T => {
                let mine = input::<T>("the buffer", mine, n)?;
                comm.with_peers(mine, |all| {
                    let part = |it: &[T]| phx_part { data: it.as_ptr().cast(), n: it.len() / size };
                    let parts: Vec<phx_part> = all.iter().map(part).collect();
                    look(parts.as_ptr(), parts.len() as c_int, argument);
                });
            });
            Ok(())
        })
    }
}

/// Shows `root`'s `n` elements to all ranks: `look` gets one part, the root's, where it is. A
/// broadcast that copies nothing. Elsewhere `data` and `n` are not looked at.
///
/// # Safety
/// The root's `data` has `n` elements of `ty`, which nobody changes meanwhile; else as
/// [`phx_with_peers_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_with_root_at(
    comm: *mut phx_comm,
    data: *const c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    look: phx_look_fn,
    argument: *mut c_void,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_with_root", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let look = look.ok_or("the function is null")?;
            let n = if comm.rank() == root { ty.count(n)? } else { 0 };
            let size = if ty.is_bytes() { ty.size } else { 1 };
            with_type!(ty, T => {
                let data = input::<T>("the buffer", data, n)?;
                comm.with_root(data, root, |it| {
                    let part = phx_part { data: it.as_ptr().cast(), n: it.len() / size };
                    look(&raw const part, 1, argument);
                });
            });
            Ok(())
        })
    }
}
