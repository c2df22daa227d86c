//! Attributes and names of communicators.

use super::arguments::{Caller, Out, TextOut};
use crate::rt::comm::Comm;
use crate::rt::error::Outcome;
use crate::rt::p2p::{ANY_SOURCE, PROC_NULL};
use crate::rt::rank::fixed;
use std::ffi::{c_int, c_void};

/// The predefined attributes of the world.
fn predefined(key: c_int, ranks: usize) -> Option<c_int> {
    match key {
        501 => Some(c_int::MAX),
        502 => Some(ANY_SOURCE),
        503 => Some(PROC_NULL),
        504 => Some(1),
        505 => c_int::try_from(ranks).ok(),
        506 => Some(0),
        507 => Some(0x3fff),
        _ => None,
    }
}

pub(super) fn comm_get_attr(
    caller: Caller<'_>,
    _: &Comm,
    key: c_int,
    value: *mut c_void,
    flag: Out<c_int>,
) -> Outcome {
    let found = predefined(key, caller.world.slots.len());
    flag.set(c_int::from(found.is_some()));
    if let Some(number) = found {
        // The standard hands out the address of a number that lives for ever.
        // SAFETY: the standard's argument is the address of a pointer.
        unsafe { *value.cast::<*const c_int>() = Box::leak(Box::new(number)) };
    }
    Ok(())
}
pub(super) use comm_get_attr as attr_get;

pub(super) fn comm_set_name(_: Caller<'_>, comm: &Comm, name: &str) -> Outcome {
    *comm.name.borrow_mut() = Some(name.to_owned());
    Ok(())
}

pub(super) fn comm_get_name(caller: Caller<'_>, comm: &Comm, name: TextOut) -> Outcome {
    let is = |handle| caller.comm(handle).is_ok_and(|it| std::ptr::eq(&*it, comm));
    let own = match () {
        () if is(fixed::COMM_WORLD) => "MPI_COMM_WORLD",
        () if is(fixed::COMM_SELF) => "MPI_COMM_SELF",
        () => "",
    };
    name.set(comm.name.borrow().as_deref().unwrap_or(own), 128);
    Ok(())
}
