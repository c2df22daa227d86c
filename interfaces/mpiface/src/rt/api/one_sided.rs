//! Access to other ranks' windows. Every call has moved its data when it returns, so those that
//! give a request (`Rput` and the like, of locked targets only) are these, with one that is
//! complete (`build/calls.rs`).
//!
//! # Safety of the calls here
//! Origins and results are the program's buffers (`arguments.rs`). A target lies in memory that a
//! rank has given to the window, in its bounds (`Win::target`); the program keeps others from it
//! as the standard asks, by fences, locks, and the rest.

#![expect(clippy::too_many_arguments, reason = "those of the standard's functions")]

use super::buffers::{Buffer, Remote};
use super::counts::count_of;
use super::epochs::may_poll;
use super::prelude::*;
use super::windows::place;
use crate::rt::basic::Element;
use crate::rt::standard::NO_OP;
use crate::rt::types::{AnyType, copy};
use crate::rt::window::{Accumulation, Win, compare_and_swap as swap};
use crate::rt::window_part::Part;

/// A target's part of the window, and the memory there.
type Target<'a> = (&'a Arc<Part>, Place);

/// The target's memory; none of MPI_PROC_NULL.
fn target<'a>(caller: Caller<'_>, win: &'a Win, remote: Remote) -> Outcome<Option<Target<'a>>> {
    let Remote { rank, displacement, count, ty } = remote;
    let (count, ty) = (count_of(count)?, caller.ty(ty)?);
    match place(win, rank)? {
        Some(rank) => win.target(rank, displacement, count, ty, caller.is_requested).map(Some),
        None => Ok(None),
    }
}

/// Refuses an origin that is longer than its target.
fn fits(given: &Place, room: &Place) -> Outcome {
    if given.bytes() <= room.bytes() {
        return Ok(());
    }
    let (given, room) = (given.bytes(), room.bytes());
    error(Class::Truncate, format!("{given} bytes do not fit {room} bytes"))
}

pub(super) fn put(caller: Caller<'_>, data: Buffer, remote: Remote, win: &Win) -> Outcome {
    let origin = data.place(caller)?;
    if let Some((_, target)) = target(caller, win, remote)? {
        fits(&origin, &target)?;
        // SAFETY: see the head of the file.
        unsafe { copy(&origin, &target) };
    }
    Ok(())
}

pub(super) fn get(caller: Caller<'_>, room: Buffer, remote: Remote, win: &Win) -> Outcome {
    may_poll(caller);
    let origin = room.place(caller)?;
    if let Some((_, target)) = target(caller, win, remote)? {
        fits(&target, &origin)?;
        // SAFETY: see the head of the file.
        unsafe { copy(&target, &origin) };
    }
    Ok(())
}

/// Combines data with the target's, whose former value goes to the room.
fn combine(
    caller: Caller<'_>,
    data: Option<Buffer>,
    room: Option<Buffer>,
    remote: Remote,
    op: Handle,
    win: &Win,
) -> Outcome {
    let ty = caller.ty(remote.ty)?;
    let accumulation = Accumulation::new(op, &ty)?;
    let result = room.map(|it| it.place(caller)).transpose()?;
    let origin = match data {
        Some(data) => data.place(caller)?,
        // Nothing is given where nothing changes.
        None => Place { address: 0, count: 0, ty },
    };
    let Some((part, target)) = target(caller, win, remote)? else { return Ok(()) };
    fits(&origin, &target)?;
    result.as_ref().map_or(Ok(()), |it| fits(&target, it))?;
    // SAFETY: see the head of the file.
    unsafe { accumulation.run(part, &origin, result.as_ref(), &target) };
    Ok(())
}

pub(super) fn accumulate(
    caller: Caller<'_>,
    data: Buffer,
    remote: Remote,
    op: Handle,
    win: &Win,
) -> Outcome {
    combine(caller, Some(data), None, remote, op, win)
}

pub(super) fn get_accumulate(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    remote: Remote,
    op: Handle,
    win: &Win,
) -> Outcome {
    may_poll(caller);
    combine(caller, (op != NO_OP).then_some(data), Some(room), remote, op, win)
}

/// One element at a displacement.
fn one(ty: &AnyType, at: *const c_void) -> Place {
    Place { address: at as usize, count: 1, ty: ty.clone() }
}

pub(super) fn fetch_and_op(
    caller: Caller<'_>,
    origin: *const c_void,
    result: *mut c_void,
    ty: &AnyType,
    rank: c_int,
    displacement: isize,
    op: Handle,
    win: &Win,
) -> Outcome {
    may_poll(caller);
    if !ty.is_known() {
        return error(Class::Type, "only a predefined datatype can be fetched");
    }
    let accumulation = Accumulation::new(op, ty)?;
    let Some(rank) = place(win, rank)? else { return Ok(()) };
    let (part, target) = win.target(rank, displacement, 1, ty.clone(), false)?;
    let (origin, result) = (one(ty, origin), one(ty, result));
    // SAFETY: see the head of the file.
    unsafe { accumulation.run(part, &origin, Some(&result), &target) };
    Ok(())
}

/// Whether the standard allows these elements for MPI_Compare_and_swap.
fn may_swap(element: Element) -> bool {
    use Element::*;
    matches!(element, I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64 | Bool | Byte)
}

pub(super) fn compare_and_swap(
    caller: Caller<'_>,
    origin: *const c_void,
    compare: *const c_void,
    result: *mut c_void,
    ty: &AnyType,
    rank: c_int,
    displacement: isize,
    win: &Win,
) -> Outcome {
    may_poll(caller);
    if !ty.is_known() || !ty.element.is_some_and(may_swap) {
        let text = "only integers, logical values and bytes can be compared and swapped";
        return error(Class::Type, text);
    }
    let Some(rank) = place(win, rank)? else { return Ok(()) };
    let (part, target) = win.target(rank, displacement, 1, ty.clone(), false)?;
    // SAFETY: see the head of the file.
    unsafe { swap(part, (origin as usize, compare as usize, result as usize), &target) };
    Ok(())
}
