//! Attributes and names of communicators.

use super::arguments::{Caller, Out, TextOut, int};
use crate::rt::attributes::{self, Kind};
use crate::rt::comm::Comm;
use crate::rt::envelope::{ANY_SOURCE, PROC_NULL};
use crate::rt::error::Outcome;
use crate::rt::handle::fixed;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// MPI_LASTUSEDCODE.
const LAST_USED_CODE: c_int = 507;

/// Gives an attribute's value, if there is one.
pub(super) fn hand_over(found: Option<usize>, value: *mut c_void, flag: Out<c_int>) {
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        // SAFETY: the standard's argument is the address of a pointer.
        unsafe { *value.cast::<usize>() = found };
    }
}

/// The predefined attributes of the world: numbers that live for ever, as programs get their
/// addresses.
fn predefined(key: c_int, ranks: usize) -> Option<&'static c_int> {
    static UNIVERSE: OnceLock<c_int> = OnceLock::new();
    match key {
        501 => Some(&c_int::MAX),
        502 => Some(&ANY_SOURCE),
        503 => Some(&PROC_NULL),
        504 => Some(&1),
        505 => Some(UNIVERSE.get_or_init(|| int(ranks))),
        506 => Some(&0),
        _ => None,
    }
}

pub(super) fn comm_get_attr(
    caller: Caller<'_>,
    comm: &Comm,
    key: c_int,
    value: *mut c_void,
    flag: Out<c_int>,
) -> Outcome {
    let ranks = caller.world.slots.len();
    let known = match key {
        LAST_USED_CODE => Some(caller.codes.borrow().last()),
        _ => predefined(key, ranks).map(|it| std::ptr::from_ref(it) as usize),
    };
    if known.is_none() {
        attributes::check(caller.rank, key, Kind::Comm)?;
    }
    hand_over(known.or_else(|| attributes::get(comm.holder(), key)), value, flag);
    Ok(())
}
pub(super) use comm_get_attr as attr_get;

pub(super) fn comm_set_attr(
    caller: Caller<'_>,
    comm: &Comm,
    key: c_int,
    value: *mut c_void,
) -> Outcome {
    attributes::set(caller.rank, comm.holder(), key, value as usize)
}
pub(super) use comm_set_attr as attr_put;

pub(super) fn comm_delete_attr(caller: Caller<'_>, comm: &Comm, key: c_int) -> Outcome {
    attributes::delete(caller.rank, comm.holder(), key)
}
pub(super) use comm_delete_attr as attr_delete;

macro_rules! keys {
    ($($create:ident $free:ident $kind:expr;)*) => {$(
        pub(super) fn $create(
            caller: Caller<'_>,
            copy: *const c_void,
            delete: *const c_void,
            key: Out<c_int>,
            extra: *mut c_void,
        ) -> Outcome {
            // SAFETY: the program's functions, of the types that the standard asks for.
            key.set(unsafe { caller.keys.borrow_mut().add($kind, copy, delete, extra) });
            Ok(())
        }

        pub(super) fn $free(caller: Caller<'_>, key: Out<c_int>) -> Outcome {
            caller.keys.borrow_mut().free(key.get(), $kind)?;
            // MPI_KEYVAL_INVALID.
            key.set(0);
            Ok(())
        }
    )*};
}
keys! {
    comm_create_keyval comm_free_keyval Kind::Comm;
    type_create_keyval type_free_keyval Kind::Type;
    win_create_keyval win_free_keyval Kind::Window;
}
pub(super) use comm_create_keyval as keyval_create;

pub(super) use comm_free_keyval as keyval_free;

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
