//! Views: all ranks' memory, looked at where it is.

use crate::arguments::input;
use crate::names::*;
use crate::types::{Type, with_type};
use phalanx::Comm;
use std::ffi::{c_int, c_void};

pub(crate) unsafe fn with_peers(
    comm: &mut Comm,
    mine: *const c_void,
    n: usize,
    ty: Type,
    look: phx_look_fn,
    argument: *mut c_void,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
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
    }
}

pub(crate) unsafe fn with_root(
    comm: &mut Comm,
    data: *const c_void,
    n: usize,
    ty: Type,
    root: usize,
    look: phx_look_fn,
    argument: *mut c_void,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
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
    }
}
