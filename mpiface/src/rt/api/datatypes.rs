//! Derived datatypes: constructors, sizes, bounds. Each keeps the arguments that it was made of.

use super::UNDEFINED;
use super::arguments::{Caller, List, Out, Status, StatusOut, count_of, counts_of, int};
use super::keep::Keep as _;
use crate::rt::attributes;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::Handle;
use crate::rt::rank::fixed;
use crate::rt::types::{AnyType, Type};
use std::ffi::c_int;

/// MPI_ORDER_C: the last dimension is the fastest.
const ORDER_C: c_int = 12;

/// MPI_COMBINER_DUP.
const DUP: c_int = 102;

/// A number of blocks, each so many bytes from the last.
fn vector(count: c_int, length: c_int, step: isize, old: &Type) -> Outcome<Type> {
    Type::rows(count_of(count)?, count_of(length)?, step, old, "a vector type")
}

/// Blocks at displacements in bytes.
fn indexed(
    lengths: impl IntoIterator<Item = usize>,
    displacements: impl IntoIterator<Item = isize>,
    old: &Type,
) -> Outcome<Type> {
    let parts = displacements.into_iter().zip(lengths).map(|(at, length)| (at, length, old));
    Type::structure(parts, "an indexed type")
}

/// Displacements in a type's extents, in bytes.
fn in_bytes<'a>(displacements: &'a [c_int], old: &'a Type) -> impl Iterator<Item = isize> + 'a {
    displacements.iter().map(|it| *it as isize * old.extent)
}

pub(super) fn type_contiguous(_: Caller<'_>, count: c_int, old: &AnyType) -> Outcome<Type> {
    let new = Type::structure([(0, count_of(count)?, &**old)], "a contiguous type")?;
    Ok(new.by(103, vec![count], Vec::new(), vec![old.clone()]))
}

pub(super) fn type_vector(
    _: Caller<'_>,
    count: c_int,
    length: c_int,
    stride: c_int,
    old: &AnyType,
) -> Outcome<Type> {
    let new = vector(count, length, stride as isize * old.extent, old)?;
    Ok(new.by(104, vec![count, length, stride], Vec::new(), vec![old.clone()]))
}

pub(super) fn type_create_hvector(
    _: Caller<'_>,
    count: c_int,
    length: c_int,
    stride: isize,
    old: &AnyType,
) -> Outcome<Type> {
    let new = vector(count, length, stride, old)?;
    Ok(new.by(105, vec![count, length], vec![stride], vec![old.clone()]))
}
pub(super) use type_create_hvector as type_hvector;

pub(super) fn type_indexed(
    _: Caller<'_>,
    count: c_int,
    lengths: List<c_int>,
    displacements: List<c_int>,
    old: &AnyType,
) -> Outcome<Type> {
    count_of(count)?;
    let (lengths, at) = (lengths.take(count), displacements.take(count));
    let new = indexed(counts_of(lengths)?, in_bytes(at, old), old)?;
    Ok(new.by(106, [&[count], lengths, at].concat(), Vec::new(), vec![old.clone()]))
}

pub(super) fn type_create_hindexed(
    _: Caller<'_>,
    count: c_int,
    lengths: List<c_int>,
    displacements: List<isize>,
    old: &AnyType,
) -> Outcome<Type> {
    count_of(count)?;
    let (lengths, at) = (lengths.take(count), displacements.take(count).to_vec());
    let new = indexed(counts_of(lengths)?, at.iter().copied(), old)?;
    Ok(new.by(107, [&[count], lengths].concat(), at, vec![old.clone()]))
}
pub(super) use type_create_hindexed as type_hindexed;

pub(super) fn type_create_indexed_block(
    _: Caller<'_>,
    count: c_int,
    length: c_int,
    displacements: List<c_int>,
    old: &AnyType,
) -> Outcome<Type> {
    let lengths = std::iter::repeat_n(count_of(length)?, count_of(count)?);
    let at = displacements.take(count);
    let new = indexed(lengths, in_bytes(at, old), old)?;
    Ok(new.by(108, [&[count, length], at].concat(), Vec::new(), vec![old.clone()]))
}

pub(super) fn type_create_hindexed_block(
    _: Caller<'_>,
    count: c_int,
    length: c_int,
    displacements: List<isize>,
    old: &AnyType,
) -> Outcome<Type> {
    let lengths = std::iter::repeat_n(count_of(length)?, count_of(count)?);
    let at = displacements.take(count).to_vec();
    let new = indexed(lengths, at.iter().copied(), old)?;
    Ok(new.by(109, vec![count, length], at, vec![old.clone()]))
}

pub(super) fn type_create_struct(
    caller: Caller<'_>,
    count: c_int,
    lengths: List<c_int>,
    displacements: List<isize>,
    types: List<Handle>,
) -> Outcome<Type> {
    count_of(count)?;
    let (integers, at) = ([&[count], lengths.take(count)].concat(), displacements.take(count));
    let lengths = counts_of(lengths.take(count))?;
    let types: Outcome<Vec<AnyType>> = types.take(count).iter().map(|it| caller.ty(*it)).collect();
    let types = types?;
    let parts = at.iter().zip(&lengths).zip(&types);
    let parts = parts.map(|((at, length), ty)| (*at, *length, &**ty));
    let new = Type::structure(parts, "a structure type")?.padded();
    Ok(new.by(110, integers, at.to_vec(), types))
}
pub(super) use type_create_struct as type_struct;

pub(super) fn type_create_subarray(
    _: Caller<'_>,
    n: c_int,
    sizes: List<c_int>,
    parts: List<c_int>,
    starts: List<c_int>,
    order: c_int,
    old: &AnyType,
) -> Outcome<Type> {
    let (sizes, parts, starts) = (sizes.take(n), parts.take(n), starts.take(n));
    let bad =
        |i: usize| sizes[i] < 1 || parts[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - parts[i];
    if n < 1 || (0..sizes.len()).any(bad) {
        return error(Class::Arg, "the part does not lie within the array");
    }
    let integers = [&[n], sizes, parts, starts, &[order]].concat();
    let mut ty = Type::clone(old);
    let (mut stride, mut offset) = (ty.extent, 0_isize);
    // From the fastest dimension to the slowest, each makes a vector of the last.
    let mut axes: Vec<usize> = (0..sizes.len()).collect();
    if order == ORDER_C {
        axes.reverse();
    }
    for axis in axes {
        let next = Type::rows(parts[axis] as usize, 1, stride, &ty, "a subarray type")?;
        offset += starts[axis] as isize * stride;
        stride *= sizes[axis] as isize;
        ty = next.resized(0, stride);
    }
    let placed = Type::structure([(offset, 1, &ty)], "a subarray type")?;
    Ok(placed.resized(0, stride).by(111, integers, Vec::new(), vec![old.clone()]))
}

pub(super) fn type_create_resized(
    _: Caller<'_>,
    old: &AnyType,
    lb: isize,
    extent: isize,
) -> Outcome<Type> {
    Ok(old.resized(lb, extent).by(116, Vec::new(), vec![lb, extent], vec![old.clone()]))
}

pub(super) fn type_dup(caller: Caller<'_>, handle: Handle) -> Outcome<Handle> {
    let old = caller.ty(handle)?;
    let new = Type::clone(&old).by(DUP, Vec::new(), Vec::new(), vec![old]);
    let made = new.keep(caller);
    let (from, to) = (caller.type_note(handle), caller.type_note(made));
    let copied = attributes::copy(caller.rank, from.holder(handle), to.holder(made));
    copied.map(|()| made)
}

pub(super) fn type_commit(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    caller.ty(handle.get())?;
    Ok(())
}

pub(super) fn type_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    let at = handle.get();
    let is_f90 = caller.types.borrow().get(at).is_some_and(|it| it.is_known());
    if is_f90 {
        return error(Class::Type, "a predefined datatype cannot be freed");
    }
    if caller.types.borrow().get(at).is_some() && caller.has_type_note(at) {
        attributes::delete_all(caller.rank, caller.type_note(at).holder(at))?;
        caller.forget_type_note(at);
    }
    if caller.types.borrow_mut().remove(handle.get()).is_none() {
        return error(Class::Type, format!("{:#x} is no derived datatype", handle.get()));
    }
    handle.set(fixed::DATATYPE_NULL);
    Ok(())
}

pub(super) fn type_size(_: Caller<'_>, ty: &Type, size: Out<c_int>) -> Outcome {
    size.set(int(ty.size));
    Ok(())
}

pub(super) fn type_get_extent(
    _: Caller<'_>,
    ty: &Type,
    lb: Out<isize>,
    extent: Out<isize>,
) -> Outcome {
    lb.set(ty.lb);
    extent.set(ty.extent);
    Ok(())
}

pub(super) fn type_extent(_: Caller<'_>, ty: &Type, extent: Out<isize>) -> Outcome {
    extent.set(ty.extent);
    Ok(())
}

pub(super) fn type_get_true_extent(
    _: Caller<'_>,
    ty: &Type,
    lb: Out<isize>,
    extent: Out<isize>,
) -> Outcome {
    let (low, high) = ty.true_bounds();
    lb.set(low);
    extent.set(high - low);
    Ok(())
}

pub(super) fn get_count(_: Caller<'_>, status: &Status, ty: &Type, count: Out<c_int>) -> Outcome {
    let bytes = status.bytes();
    count.set(match ty.size {
        0 => 0,
        size if !bytes.is_multiple_of(size) => UNDEFINED,
        size => int(bytes / size),
    });
    Ok(())
}

pub(super) fn get_elements(
    _: Caller<'_>,
    status: &Status,
    ty: &Type,
    count: Out<c_int>,
) -> Outcome {
    count.set(ty.elements_in(status.bytes()).map_or(UNDEFINED, int));
    Ok(())
}

pub(super) fn get_elements_x(
    _: Caller<'_>,
    status: &Status,
    ty: &Type,
    count: Out<i64>,
) -> Outcome {
    count.set(ty.elements_in(status.bytes()).map_or(UNDEFINED.into(), |it| it as i64));
    Ok(())
}

pub(super) fn status_set_elements_x(
    _: Caller<'_>,
    status: StatusOut,
    ty: &Type,
    count: i64,
) -> Outcome {
    let Ok(count) = usize::try_from(count) else {
        return error(Class::Count, format!("the count {count} is negative"));
    };
    status.set_bytes(ty.bytes_of(count));
    Ok(())
}

pub(super) fn status_set_elements(
    caller: Caller<'_>,
    status: StatusOut,
    ty: &Type,
    count: c_int,
) -> Outcome {
    status_set_elements_x(caller, status, ty, count.into())
}

pub(super) fn status_set_cancelled(_: Caller<'_>, status: StatusOut, flag: c_int) -> Outcome {
    status.set_cancelled(flag != 0);
    Ok(())
}

pub(super) fn type_size_x(_: Caller<'_>, ty: &Type, size: Out<i64>) -> Outcome {
    size.set(ty.size as i64);
    Ok(())
}

pub(super) fn type_get_extent_x(
    _: Caller<'_>,
    ty: &Type,
    lb: Out<i64>,
    extent: Out<i64>,
) -> Outcome {
    lb.set(ty.lb as i64);
    extent.set(ty.extent as i64);
    Ok(())
}

pub(super) fn type_get_true_extent_x(
    _: Caller<'_>,
    ty: &Type,
    lb: Out<i64>,
    extent: Out<i64>,
) -> Outcome {
    let (low, high) = ty.true_bounds();
    lb.set(low as i64);
    extent.set((high - low) as i64);
    Ok(())
}

pub(super) fn type_lb(_: Caller<'_>, ty: &Type, at: Out<isize>) -> Outcome {
    at.set(ty.lb);
    Ok(())
}

pub(super) fn type_ub(_: Caller<'_>, ty: &Type, at: Out<isize>) -> Outcome {
    at.set(ty.lb + ty.extent);
    Ok(())
}
