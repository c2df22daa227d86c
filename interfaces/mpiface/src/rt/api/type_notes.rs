//! Attributes and names of datatypes.

use super::arguments::{Caller, Out, TextOut};
use super::attributes::hand_over;
use crate::rt::attributes::{self, Kind};
use crate::rt::error::Outcome;
use crate::rt::handle::Handle;
use std::ffi::{c_int, c_void};

pub(super) fn type_set_attr(
    caller: Caller<'_>,
    ty: Handle,
    key: c_int,
    value: *mut c_void,
) -> Outcome {
    caller.ty(ty)?;
    attributes::set(caller.rank, caller.type_note(ty).holder(ty), key, value as usize)
}

pub(super) fn type_get_attr(
    caller: Caller<'_>,
    ty: Handle,
    key: c_int,
    value: *mut c_void,
    flag: Out<c_int>,
) -> Outcome {
    caller.ty(ty)?;
    attributes::check(caller.rank, key, Kind::Type)?;
    hand_over(attributes::get(caller.type_note(ty).holder(ty), key), value, flag);
    Ok(())
}

pub(super) fn type_delete_attr(caller: Caller<'_>, ty: Handle, key: c_int) -> Outcome {
    caller.ty(ty)?;
    attributes::delete(caller.rank, caller.type_note(ty).holder(ty), key)
}

pub(super) fn type_set_name(caller: Caller<'_>, ty: Handle, name: &str) -> Outcome {
    caller.ty(ty)?;
    *caller.type_note(ty).name.borrow_mut() = Some(name.to_owned());
    Ok(())
}

pub(super) fn type_get_name(caller: Caller<'_>, ty: Handle, name: TextOut) -> Outcome {
    let known = caller.ty(ty)?;
    let own = if known.handle == 0 { "" } else { known.name };
    let given = caller.has_type_note(ty).then(|| caller.type_note(ty));
    let given = given.and_then(|it| it.name.borrow().clone());
    name.set(given.as_deref().unwrap_or(own), 128);
    Ok(())
}
