//! Derived datatypes: constructors, sizes, bounds. Each keeps the arguments that it was made of.

use super::arguments::Status;
use super::counts::{Counts, count_of};
use super::keep::Keep as _;
use super::prelude::*;
use crate::rt::attributes::{self, Kind};
use crate::rt::types::{AnyType, Made, Type};

/// The call, as a program may ask for it.
pub(super) fn made(caller: Caller<'_>, combiner: c_int) -> Made {
    Made::new(combiner, caller.is_large)
}

/// Blocks at displacements in bytes.
fn indexed(
    lengths: impl IntoIterator<Item = i64>,
    displacements: impl IntoIterator<Item = isize>,
    old: &Type,
) -> Outcome<Type> {
    let mut is_negative = false;
    let lengths = lengths.into_iter().map(|it| {
        is_negative |= it < 0;
        usize::try_from(it).unwrap_or(0)
    });
    let parts = displacements.into_iter().zip(lengths).map(|(at, length)| (at, length, old));
    let new = Type::structure(parts, "an indexed type")?;
    if is_negative {
        return error(Class::Count, "a block has a negative length");
    }
    Ok(new)
}

/// A displacement in a type's extents, in bytes.
fn in_bytes(displacement: i64, old: &Type) -> isize {
    (displacement as isize).saturating_mul(old.extent)
}

pub(super) fn type_contiguous(caller: Caller<'_>, count: i64, old: &AnyType) -> Outcome<Type> {
    let new = Type::structure([(0, count_of(count)?, &**old)], "a contiguous type")?;
    let call = made(caller, standard::COMBINER_CONTIGUOUS).counts([count]);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_vector(
    caller: Caller<'_>,
    count: i64,
    length: i64,
    stride: i64,
    old: &AnyType,
) -> Outcome<Type> {
    let step = in_bytes(stride, old);
    let new = Type::rows(count_of(count)?, count_of(length)?, step, old, "a vector type")?;
    let call = made(caller, standard::COMBINER_VECTOR).counts([count, length, stride]);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_create_hvector(
    caller: Caller<'_>,
    count: i64,
    length: i64,
    stride: isize,
    old: &AnyType,
) -> Outcome<Type> {
    let new = Type::rows(count_of(count)?, count_of(length)?, stride, old, "a vector type")?;
    let call = made(caller, standard::COMBINER_HVECTOR).counts([count, length]).places([stride]);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_indexed(
    caller: Caller<'_>,
    count: i64,
    lengths: Counts,
    displacements: Counts,
    old: &AnyType,
) -> Outcome<Type> {
    count_of(count)?;
    let (lengths, at) = (lengths.take(count), displacements.take(count));
    let new = indexed(lengths.clone(), at.clone().map(|it| in_bytes(it, old)), old)?;
    let call = made(caller, standard::COMBINER_INDEXED).counts([count]).counts(lengths).counts(at);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_create_hindexed(
    caller: Caller<'_>,
    count: i64,
    lengths: Counts,
    displacements: List<isize>,
    old: &AnyType,
) -> Outcome<Type> {
    count_of(count)?;
    let (lengths, at) = (lengths.take(count), displacements.take(count).iter().copied());
    let new = indexed(lengths.clone(), at.clone(), old)?;
    let call = made(caller, standard::COMBINER_HINDEXED).counts([count]).counts(lengths).places(at);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_create_indexed_block(
    caller: Caller<'_>,
    count: i64,
    length: i64,
    displacements: Counts,
    old: &AnyType,
) -> Outcome<Type> {
    count_of(length)?;
    let at = displacements.take(count);
    let lengths = std::iter::repeat_n(length, count_of(count)?);
    let new = indexed(lengths, at.clone().map(|it| in_bytes(it, old)), old)?;
    let call = made(caller, standard::COMBINER_INDEXED_BLOCK).counts([count, length]).counts(at);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_create_hindexed_block(
    caller: Caller<'_>,
    count: i64,
    length: i64,
    displacements: List<isize>,
    old: &AnyType,
) -> Outcome<Type> {
    count_of(length)?;
    let at = displacements.take(count).iter().copied();
    let new = indexed(std::iter::repeat_n(length, count_of(count)?), at.clone(), old)?;
    let call = made(caller, standard::COMBINER_HINDEXED_BLOCK).counts([count, length]).places(at);
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_create_struct(
    caller: Caller<'_>,
    count: i64,
    lengths: Counts,
    displacements: List<isize>,
    types: List<Handle>,
) -> Outcome<Type> {
    count_of(count)?;
    let (lengths, at) = (lengths.take(count), displacements.take(count).iter().copied());
    let types: Outcome<Vec<AnyType>> = types.take(count).iter().map(|it| caller.ty(*it)).collect();
    let types = types?;
    if lengths.clone().any(|it| it < 0) {
        return error(Class::Count, "a block has a negative length");
    }
    let parts = at.clone().zip(lengths.clone()).zip(&types);
    let parts = parts.map(|((at, length), ty)| (at, length as usize, &**ty));
    let new = Type::structure(parts, "a structure type")?.padded();
    Ok(new.by(made(caller, standard::COMBINER_STRUCT)
        .counts([count])
        .counts(lengths)
        .places(at)
        .types(types)))
}

pub(super) fn type_create_subarray(
    caller: Caller<'_>,
    n: c_int,
    sizes: Counts,
    parts: Counts,
    starts: Counts,
    order: c_int,
    old: &AnyType,
) -> Outcome<Type> {
    let (sizes, parts, starts): (Vec<i64>, Vec<i64>, Vec<i64>) =
        (sizes.take(n).collect(), parts.take(n).collect(), starts.take(n).collect());
    let bad =
        |i: usize| sizes[i] < 1 || parts[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - parts[i];
    if n < 1 || (0..sizes.len()).any(bad) {
        return error(Class::Arg, "the part does not lie within the array");
    }
    let mut ty = Type::clone(old);
    let (mut stride, mut offset) = (ty.extent, 0_isize);
    // From the fastest dimension to the slowest, each makes a vector of the last.
    let mut axes: Vec<usize> = (0..sizes.len()).collect();
    if order == standard::ORDER_C {
        axes.reverse();
    }
    for axis in axes {
        let next = Type::rows(parts[axis] as usize, 1, stride, &ty, "a subarray type")?;
        let before = (starts[axis] as isize).checked_mul(stride);
        let before = before.and_then(|it| it.checked_add(offset));
        let all = (sizes[axis] as isize).checked_mul(stride);
        let (Some(before), Some(all)) = (before, all) else {
            return error(Class::Arg, "the array is larger than the address space");
        };
        (offset, stride) = (before, all);
        ty = next.resized(0, stride);
    }
    let placed = Type::structure([(offset, 1, &ty)], "a subarray type")?;
    let call = made(caller, standard::COMBINER_SUBARRAY).integers(&[n]);
    let call = call.counts(sizes).counts(parts).counts(starts);
    Ok(placed.resized(0, stride).by(call.integers(&[order]).types([old.clone()])))
}

pub(super) fn type_create_resized(
    caller: Caller<'_>,
    old: &AnyType,
    lb: isize,
    extent: isize,
) -> Outcome<Type> {
    let call = made(caller, standard::COMBINER_RESIZED).places([lb, extent]).types([old.clone()]);
    Ok(old.resized(lb, extent).by(call))
}

pub(super) fn type_dup(caller: Caller<'_>, handle: Handle) -> Outcome<Handle> {
    let old = caller.ty(handle)?;
    let call = made(caller, standard::COMBINER_DUP).types([old.clone()]);
    let made = Type::clone(&old).by(call).keep(caller);
    let (from, to) = (caller.type_note(handle), caller.type_note(made));
    let copied =
        attributes::copy(caller.rank, from.holder(Kind::Type, handle), to.holder(Kind::Type, made));
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
    if !caller.types.borrow().is_given(at) {
        return error(Class::Type, format!("{at:#x} is no derived datatype"));
    }
    if !caller.types.borrow().is_held(at) {
        caller.delete_type_note(at)?;
    }
    caller.types.borrow_mut().free(at);
    handle.set(standard::DATATYPE_NULL);
    caller.sweep()
}

pub(super) fn type_size(_: Caller<'_>, ty: &Type) -> Outcome<usize> {
    Ok(ty.size)
}

pub(super) fn type_get_extent(_: Caller<'_>, ty: &Type) -> Outcome<(isize, isize)> {
    Ok((ty.lb, ty.extent))
}

pub(super) fn type_extent(_: Caller<'_>, ty: &Type) -> Outcome<isize> {
    Ok(ty.extent)
}

pub(super) fn type_get_true_extent(_: Caller<'_>, ty: &Type) -> Outcome<(isize, isize)> {
    let (low, high) = ty.true_bounds();
    Ok((low, high - low))
}

pub(super) fn get_count(_: Caller<'_>, status: &Status, ty: &Type) -> Outcome<Option<usize>> {
    let bytes = status.bytes();
    Ok(match ty.size {
        0 => Some(0),
        size => bytes.is_multiple_of(size).then_some(bytes / size),
    })
}

pub(super) fn get_elements(_: Caller<'_>, status: &Status, ty: &Type) -> Outcome<Option<usize>> {
    Ok(ty.elements_in(status.bytes()))
}

pub(super) fn status_set_elements_x(
    _: Caller<'_>,
    status: StatusOut,
    ty: &Type,
    count: i64,
) -> Outcome {
    status.set_bytes(ty.bytes_of(count_of(count)?));
    Ok(())
}

pub(super) fn status_set_cancelled(_: Caller<'_>, status: StatusOut, flag: c_int) -> Outcome {
    status.set_cancelled(flag != 0);
    Ok(())
}

pub(super) fn type_lb(_: Caller<'_>, ty: &Type) -> Outcome<isize> {
    Ok(ty.lb)
}

pub(super) fn type_ub(_: Caller<'_>, ty: &Type) -> Outcome<isize> {
    Ok(ty.lb + ty.extent)
}
