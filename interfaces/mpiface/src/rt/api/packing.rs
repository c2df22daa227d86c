//! Pack and unpack, as data lies here, and in the portable format.

use super::buffers::Buffer;
use super::counts::{CountOut, count_of};
use super::prelude::*;
use crate::rt::external;
use crate::rt::types::{self, Type, bytes_at, copy};

/// The part of the packed bytes that begins at a position, as long as the data of `data`.
fn at(packed: *const c_void, room: i64, position: CountOut, data: &Place) -> Outcome<Place> {
    let (start, room) = (count_of(position.get())?, count_of(room)?);
    let length = data.bytes();
    let end = start.saturating_add(length);
    if end > room {
        let text = format!("{length} bytes from {start} on do not lie within the {room}");
        return error(Class::Truncate, text);
    }
    position.set(end);
    Ok(bytes_at(packed as usize + start, length))
}

pub(super) fn pack(
    caller: Caller<'_>,
    data: Buffer,
    packed: *mut c_void,
    room: i64,
    position: CountOut,
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
    room: i64,
    position: CountOut,
    data: Buffer,
    _: &Comm,
) -> Outcome {
    let data = data.place(caller)?;
    let from = at(packed, room, position, &data)?;
    // SAFETY: both are memory of the program, as the standard asks of these arguments.
    unsafe { copy(&from, &data) };
    Ok(())
}

pub(super) fn pack_size(_: Caller<'_>, count: i64, ty: &Type, _: &Comm) -> Outcome<usize> {
    Ok(count_of(count)?.saturating_mul(ty.size))
}

/// Checks the name of the format; gives the part of the packed bytes that begins at a position, as
/// long as this data in the portable format.
fn outside(
    format: &str,
    packed: *const c_void,
    room: isize,
    position: Out<isize>,
    data: &Place,
) -> Outcome<Place> {
    known(format)?;
    let length = (data.count * data.ty.signature.outside()) as isize;
    let start = position.get();
    if start < 0 || start.saturating_add(length) > room {
        let text = format!("{length} bytes from {start} on do not lie within the {room}");
        return error(Class::Truncate, text);
    }
    position.set(start + length);
    Ok(bytes_at((packed as usize).wrapping_add_signed(start), length as usize))
}

fn known(format: &str) -> Outcome {
    match format {
        "external32" => Ok(()),
        _ => error(Class::Arg, format!("{format:?} is no format: \"external32\" is")),
    }
}

pub(super) fn pack_external(
    caller: Caller<'_>,
    format: &str,
    data: Buffer,
    packed: *mut c_void,
    room: isize,
    position: Out<isize>,
) -> Outcome {
    let data = data.place(caller)?;
    let to = outside(format, packed, room, position, &data)?;
    // SAFETY: both are memory of the program, as the standard asks of these arguments.
    unsafe {
        let made = external::to_outside(&data.ty.signature, data.count, &types::pack(&data));
        types::unpack(&made, &to);
    }
    Ok(())
}

pub(super) fn unpack_external(
    caller: Caller<'_>,
    format: &str,
    packed: *const c_void,
    room: isize,
    position: Out<isize>,
    data: Buffer,
) -> Outcome {
    let data = data.place(caller)?;
    let from = outside(format, packed, room, position, &data)?;
    // SAFETY: both are memory of the program, as the standard asks of these arguments.
    unsafe {
        let made = external::to_inside(&data.ty.signature, data.count, &types::pack(&from));
        types::unpack(&made, &data);
    }
    Ok(())
}

pub(super) fn pack_external_size(
    _: Caller<'_>,
    format: &str,
    count: i64,
    ty: &Type,
) -> Outcome<isize> {
    known(format)?;
    Ok((count_of(count)? * ty.signature.outside()) as isize)
}
