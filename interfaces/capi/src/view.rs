//! Views: all ranks' memory, looked at where it is.

use crate::names::*;
use crate::types::{Elements, with_type};
use phalanx::Comm;
use std::ffi::{c_int, c_void};

pub(crate) unsafe fn with_peers(
    comm: &mut Comm,
    mine: Elements,
    look: phx_look_fn,
    argument: *mut c_void,
) -> Result<(), String> {
    let (look, parts) = (look.ok_or("the function is null")?, mine.ty.parts());
    // SAFETY: by the contract.
    with_type!(mine.ty, T => comm.with_peers(unsafe { mine.input::<T>("the buffer")? }, |all| {
        let part = |it: &[T]| phx_part { data: it.as_ptr().cast(), n: it.len() / parts };
        let all: Vec<phx_part> = all.iter().map(part).collect();
        // SAFETY: by the contract.
        unsafe { look(all.as_ptr(), all.len() as c_int, argument) };
    }));
    Ok(())
}

pub(crate) unsafe fn with_root(
    comm: &mut Comm,
    data: Elements,
    root: usize,
    look: phx_look_fn,
    argument: *mut c_void,
) -> Result<(), String> {
    let (look, parts) = (look.ok_or("the function is null")?, data.ty.parts());
    let data = Elements { n: if comm.rank() == root { data.n } else { 0 }, ..data };
    // SAFETY: by the contract.
    with_type!(data.ty, T => comm.with_root(unsafe { data.input::<T>("the buffer")? }, root, |it| {
        let part = phx_part { data: it.as_ptr().cast(), n: it.len() / parts };
        // SAFETY: by the contract.
        unsafe { look(&raw const part, 1, argument) };
    }));
    Ok(())
}
