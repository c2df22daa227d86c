//! Parts of a communicator's ranks, and the end of a run on purpose.

use crate::call::{From, adopt, call, phx_comm, text};
use crate::error::{PHX_OK, phx_err};
use phalanx::machine::Level;
use std::ffi::{c_char, c_int};

/// Ranks of one core.
pub const PHX_LEVEL_CORE: c_int = 0;
/// Ranks of one third-level cache.
pub const PHX_LEVEL_CACHE: c_int = 1;
/// Ranks of one NUMA node.
pub const PHX_LEVEL_NUMA: c_int = 2;
/// Ranks of one package.
pub const PHX_LEVEL_PACKAGE: c_int = 3;

/// # Safety
/// `part` is null or valid; the file is null or a string that stays.
pub(crate) unsafe fn split(
    comm: *mut phx_comm,
    from: From,
    part: *mut *mut phx_comm,
    f: impl FnOnce(&mut phalanx::Comm) -> Result<phalanx::Comm, String>,
) -> phx_err {
    let mut child = None;
    // SAFETY: passed on.
    let code = unsafe {
        call(comm, from, |comm| {
            if part.is_null() {
                return Err("the place of the result is null".into());
            }
            child = Some(f(comm)?);
            Ok(())
        })
    };
    match child {
        Some(child) if code == PHX_OK => match adopt(comm, child) {
            Ok(handle) => {
                // SAFETY: passed on.
                unsafe { *part = handle };
                PHX_OK
            }
            Err(code) => code,
        },
        _ => code,
    }
}

/// Splits the ranks into groups of one color each; a rank's number in its group is by key, then by
/// its number here. The group's communicator is freed by `phx_comm_free`, or with this one.
///
/// # Safety
/// `part` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_split_at(
    comm: *mut phx_comm,
    color: c_int,
    key: c_int,
    part: *mut *mut phx_comm,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_split", file, line };
    // Order is kept, also that of negative ones.
    let number = |n: c_int| (i64::from(n) - i64::from(c_int::MIN)) as usize;
    // SAFETY: by the contract.
    unsafe { split(comm, from, part, |comm| Ok(comm.split(number(color), number(key)))) }
}

/// Splits the ranks by where they run: `PHX_LEVEL_CORE`, `_CACHE`, `_NUMA` or `_PACKAGE`. Of
/// threads of the user's own it is not known, and all stay together.
///
/// # Safety
/// As [`phx_split_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_split_level_at(
    comm: *mut phx_comm,
    level: c_int,
    part: *mut *mut phx_comm,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_split_level", file, line };
    let by = |comm: &mut phalanx::Comm| {
        let level = match level {
            PHX_LEVEL_CORE => Level::Core,
            PHX_LEVEL_CACHE => Level::L3,
            PHX_LEVEL_NUMA => Level::Numa,
            PHX_LEVEL_PACKAGE => Level::Package,
            other => return Err(format!("{other} is no level")),
        };
        Ok(comm.split_by(level))
    };
    // SAFETY: by the contract.
    unsafe { split(comm, from, part, by) }
}

/// Ends the run for a reason of the program's own: all ranks' calls fail, and `phx_run` returns
/// `PHX_ERR_ARGUMENT` with this text, unless another cause came first.
///
/// # Safety
/// `why` is null or a string; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_fail_at(
    comm: *mut phx_comm,
    why: *const c_char,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_fail", file, line };
    // SAFETY: by the contract.
    unsafe { call(comm, from, |_| Err(text(why))) }
}

/// Ends the run on purpose: the next call of every rank fails, and `phx_run` returns
/// `PHX_ERR_CANCELLED`.
///
/// # Safety
/// `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_cancel_at(
    comm: *mut phx_comm,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_cancel", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            comm.cancel();
            Ok(())
        })
    }
}
