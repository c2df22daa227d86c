//! Pack and unpack.

use super::arguments::{Buffer, Caller, Out, count_of, int};
use crate::rt::comm::Comm;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::types::{Place, Type, bytes_at, copy};
use std::ffi::{c_int, c_void};

/// The part of the packed bytes that begins at a position, as long as the data of `data`.
fn at(packed: *const c_void, room: c_int, position: Out<c_int>, data: &Place) -> Outcome<Place> {
    let (start, room) = (count_of(position.get())?, count_of(room)?);
    let length = data.bytes();
    let end = start.saturating_add(length);
    if end > room {
        let text = format!("{length} bytes from {start} on do not lie within the {room}");
        return error(Class::Truncate, text);
    }
    position.set(int(end));
    Ok(bytes_at(packed as usize + start, length))
}

pub(super) fn pack(
    caller: Caller<'_>,
    data: Buffer,
    packed: *mut c_void,
    room: c_int,
    position: Out<c_int>,
    _: &Comm,
) -> Outcome {
    let data = data.place(caller)?;
    let to = at(packed, room, position, &data)?;
    // SAFETY: both are memory of the program, as the standard asks of these arguments.
    unsafe { copy(&data, &to) };
    Ok(())
}

pub(super) fn unpack(
    caller: Caller<'_>,
    packed: *const c_void,
    room: c_int,
    position: Out<c_int>,
    data: Buffer,
    _: &Comm,
) -> Outcome {
    let data = data.place(caller)?;
    let from = at(packed, room, position, &data)?;
    // SAFETY: both are memory of the program, as the standard asks of these arguments.
    unsafe { copy(&from, &data) };
    Ok(())
}

pub(super) fn pack_size(
    _: Caller<'_>,
    count: c_int,
    ty: &Type,
    _: &Comm,
    size: Out<c_int>,
) -> Outcome {
    size.set(int(count_of(count)?.saturating_mul(ty.size)));
    Ok(())
}
