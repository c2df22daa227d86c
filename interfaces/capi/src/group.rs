//! Parts of a communicator's ranks, and the end of a run on purpose.

use crate::arguments::text;
use crate::names::*;
use phalanx::Comm;
use phalanx::machine::Level;
use std::ffi::{c_char, c_int};

pub(crate) fn split(comm: &mut Comm, color: c_int, key: c_int) -> Result<Option<Comm>, String> {
    if color < -1 {
        return Err(format!("color {color}: colors are 0 to {}, and -1 is none", c_int::MAX));
    }
    // Order is kept, also that of negative keys. (Those without a color are a group of theirs.)
    let part = comm.split(color as usize, (i64::from(key) - i64::from(c_int::MIN)) as usize);
    Ok((color >= 0).then_some(part))
}

pub(crate) fn split_level(comm: &mut Comm, level: c_int) -> Result<Comm, String> {
    let level = match level {
        PHX_LEVEL_CORE => Level::Core,
        PHX_LEVEL_CACHE => Level::L3,
        PHX_LEVEL_NUMA => Level::Numa,
        PHX_LEVEL_PACKAGE => Level::Package,
        other => return Err(format!("{other} is no level")),
    };
    Ok(comm.split_by(level))
}

pub(crate) unsafe fn fail(_: &mut Comm, why: *const c_char) -> Result<(), String> {
    // SAFETY: by the contract.
    Err(unsafe { text(why) })
}
