//! Parts of a communicator's ranks, and the end of a run on purpose.

use crate::arguments::text;
use crate::call::{From, adopt, call_for};
use crate::error::Answer;
use crate::names::*;
use phalanx::Comm;
use phalanx::machine::Level;
use std::ffi::{c_char, c_int};

/// # Safety
/// `part` is null or valid; the file is null or a string that stays.
pub(crate) unsafe fn split_by(
    comm: *mut phx_comm,
    from: From,
    part: *mut *mut phx_comm,
    f: impl FnOnce(&mut Comm) -> Result<Comm, String>,
) -> Answer {
    // SAFETY: passed on.
    unsafe {
        let child = call_for(comm, from, part, f)?;
        *part = adopt(comm, child)?;
    }
    Ok(())
}

pub(crate) unsafe fn split(
    comm: *mut phx_comm,
    from: From,
    color: c_int,
    key: c_int,
    part: *mut *mut phx_comm,
) -> Answer {
    // Order is kept, also that of negative ones.
    let number = |n: c_int| (i64::from(n) - i64::from(c_int::MIN)) as usize;
    // SAFETY: by the contract.
    unsafe { split_by(comm, from, part, |comm| Ok(comm.split(number(color), number(key)))) }
}

pub(crate) unsafe fn split_level(
    comm: *mut phx_comm,
    from: From,
    level: c_int,
    part: *mut *mut phx_comm,
) -> Answer {
    let by = |comm: &mut Comm| {
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
    unsafe { split_by(comm, from, part, by) }
}

pub(crate) unsafe fn fail(_: &mut Comm, why: *const c_char) -> Result<(), String> {
    // SAFETY: by the contract.
    Err(unsafe { text(why) })
}

pub(crate) unsafe fn cancel(comm: &mut Comm) -> Result<(), String> {
    comm.cancel();
    Ok(())
}
