//! How datatypes were made, and those that are made by precision and range.

#![expect(clippy::too_many_arguments, reason = "those of the standard's functions")]

use super::counts::{Counts, count_of};
use super::datatypes::made;
use super::keep::Keep as _;
use super::prelude::*;
use crate::rt::distributed::{Axis, distributed};
use crate::rt::types::{AnyType, F90_COMPLEX, F90_INTEGER, F90_REAL, Made, Type, predefined};

pub(super) fn type_create_darray(
    caller: Caller<'_>,
    ranks: c_int,
    rank: c_int,
    n: c_int,
    sizes: Counts,
    kinds: List<c_int>,
    arguments: List<c_int>,
    grid: List<c_int>,
    order: c_int,
    old: &AnyType,
) -> Outcome<Type> {
    if n < 1 || rank < 0 || rank >= ranks {
        return error(Class::Arg, format!("rank {rank} of {ranks}, {n} dimensions"));
    }
    let (sizes, kinds): (Vec<i64>, _) = (sizes.take(n).collect(), kinds.take(n));
    let (arguments, grid) = (arguments.take(n), grid.take(n));
    let call = made(caller, standard::COMBINER_DARRAY).integers(&[ranks, rank, n]);
    let call = call.counts(sizes.iter().copied()).integers(kinds).integers(arguments);
    let call = call.integers(grid).integers(&[order]);
    let places: i64 = grid.iter().map(|it| i64::from(*it)).product();
    if places != i64::from(ranks) {
        return error(Class::Arg, format!("a grid of {places} places for {ranks} ranks"));
    }
    let mut axes = Vec::new();
    // The ranks lie in the grid with the last dimension fastest, whatever the order of the array.
    let mut rest = rank;
    for axis in (0..sizes.len()).rev() {
        let coordinate = rest % grid[axis];
        rest /= grid[axis];
        axes.push(Axis::new(sizes[axis], kinds[axis], arguments[axis], grid[axis], coordinate)?);
    }
    // Now the last dimension is the first of the list.
    if order != standard::ORDER_C {
        axes.reverse();
    }
    let new = distributed(&axes, old)?;
    Ok(new.by(call.types([old.clone()])))
}

pub(super) fn type_get_envelope(
    _: Caller<'_>,
    ty: &Type,
    integers: Out<c_int>,
    addresses: Out<c_int>,
    types: Out<c_int>,
    combiner: Out<c_int>,
) -> Outcome {
    let made = ty.made.as_deref();
    no_large_counts(made)?;
    let count = |of: fn(&Made) -> usize| made.map_or(0, |it| int(of(it)));
    integers.set(count(|it| it.integers.len()));
    addresses.set(count(|it| it.addresses.len()));
    types.set(count(|it| it.types.len()));
    combiner.set(made.map_or(standard::COMBINER_NAMED, |it| it.combiner));
    Ok(())
}

/// Large counts are told by the functions with large counts alone.
fn no_large_counts(made: Option<&Made>) -> Outcome {
    if made.is_some_and(|it| !it.counts.is_empty()) {
        let text = "the datatype was made with large counts: the function with _c tells them";
        return error(Class::Type, text);
    }
    Ok(())
}

pub(super) fn type_get_envelope_c(
    _: Caller<'_>,
    ty: &Type,
    integers: Out<i64>,
    addresses: Out<i64>,
    counts: Out<i64>,
    types: Out<i64>,
    combiner: Out<c_int>,
) -> Outcome {
    let made = ty.made.as_deref();
    let count = |of: fn(&Made) -> usize| made.map_or(0, |it| of(it) as i64);
    integers.set(count(|it| it.integers.len()));
    addresses.set(count(|it| it.addresses.len()));
    counts.set(count(|it| it.counts.len()));
    types.set(count(|it| it.types.len()));
    combiner.set(made.map_or(standard::COMBINER_NAMED, |it| it.combiner));
    Ok(())
}

pub(super) fn type_get_contents(
    caller: Caller<'_>,
    ty: &Type,
    integer_room: c_int,
    address_room: c_int,
    type_room: c_int,
    integers: Out<c_int>,
    addresses: Out<isize>,
    types: Out<Handle>,
) -> Outcome {
    no_large_counts(ty.made.as_deref())?;
    let rooms = [integer_room.into(), address_room.into(), 0, type_room.into()];
    contents(caller, ty, rooms, integers, addresses, None, types)
}

pub(super) fn type_get_contents_c(
    caller: Caller<'_>,
    ty: &Type,
    integer_room: i64,
    address_room: i64,
    count_room: i64,
    type_room: i64,
    integers: Out<c_int>,
    addresses: Out<isize>,
    counts: Out<i64>,
    types: Out<Handle>,
) -> Outcome {
    let rooms = [integer_room, address_room, count_room, type_room];
    contents(caller, ty, rooms, integers, addresses, Some(counts), types)
}

fn contents(
    caller: Caller<'_>,
    ty: &Type,
    rooms: [i64; 4],
    integers: Out<c_int>,
    addresses: Out<isize>,
    counts: Option<Out<i64>>,
    types: Out<Handle>,
) -> Outcome {
    let Some(made) = &ty.made else {
        return error(Class::Type, "a predefined datatype has no contents");
    };
    let all = [made.integers.len(), made.addresses.len(), made.counts.len(), made.types.len()];
    for (room, has) in rooms.into_iter().zip(all) {
        if count_of(room)? < has {
            return error(Class::Arg, "the arrays are too short for the contents");
        }
    }
    integers.fill(made.integers.iter().copied());
    addresses.fill(made.addresses.iter().copied());
    if let Some(counts) = counts {
        counts.fill(made.counts.iter().copied());
    }
    types.fill(made.types.iter().map(|it| match it {
        AnyType::Basic(ty) => ty.handle,
        AnyType::Derived(ty) if ty.is_known() => {
            caller.f90.borrow().get(&f90_key(ty)).copied().unwrap_or(0)
        }
        AnyType::Derived(ty) => caller.types.borrow_mut().insert(ty.clone()),
    }));
    Ok(())
}

/// The precision and range that a datatype of Fortran 90 was asked for.
fn f90_key(ty: &Type) -> (c_int, Vec<c_int>) {
    ty.made.as_ref().map_or((0, Vec::new()), |it| (it.combiner, it.integers.clone()))
}

/// The datatype of this request, like the predefined one: one for each request.
fn f90(caller: Caller<'_>, like: Handle, combiner: c_int, asked: Vec<c_int>) -> Outcome<Handle> {
    if let Some(known) = caller.f90.borrow().get(&(combiner, asked.clone())) {
        return Ok(*known);
    }
    let Some(like) = predefined(like) else {
        return error(Class::Type, "no such datatype");
    };
    let new = Type::clone(like).by(made(caller, combiner).integers(&asked));
    let handle = new.keep(caller);
    caller.f90.borrow_mut().insert((combiner, asked), handle);
    Ok(handle)
}

/// The first of some datatypes (bound of precision, of range, handle) that suffices; a bound that
/// the program does not ask for (MPI_UNDEFINED) is a negative number.
fn sufficient(sizes: &[(c_int, c_int, Handle)], precision: c_int, range: c_int) -> Outcome<Handle> {
    let found = sizes.iter().find(|it| precision <= it.0 && range <= it.1);
    match found.filter(|_| precision >= 0 || range >= 0) {
        Some((.., handle)) => Ok(*handle),
        None => error(
            Class::Arg,
            format!("no number has a precision of {precision} digits and a range of {range}"),
        ),
    }
}

pub(super) fn type_create_f90_integer(caller: Caller<'_>, range: c_int) -> Outcome<Handle> {
    let sizes = [(0, 2, 0x2c1), (0, 4, 0x2c9), (0, 9, 0x2d1), (0, 18, 0x2d9)];
    f90(caller, sufficient(&sizes, 0, range.max(0))?, F90_INTEGER, vec![range])
}

pub(super) fn type_create_f90_real(
    caller: Caller<'_>,
    precision: c_int,
    range: c_int,
) -> Outcome<Handle> {
    let sizes = [(6, 37, 0x2d2), (15, 307, 0x2da), (33, 4931, 0x2e2)];
    f90(caller, sufficient(&sizes, precision, range)?, F90_REAL, vec![precision, range])
}

pub(super) fn type_create_f90_complex(
    caller: Caller<'_>,
    precision: c_int,
    range: c_int,
) -> Outcome<Handle> {
    let sizes = [(6, 37, 0x2db), (15, 307, 0x2e3), (33, 4931, 0x2eb)];
    f90(caller, sufficient(&sizes, precision, range)?, F90_COMPLEX, vec![precision, range])
}

pub(super) fn type_match_size(_: Caller<'_>, kind: c_int, size: c_int) -> Outcome<Handle> {
    let sizes: &[(c_int, Handle)] = match kind {
        standard::TYPECLASS_INTEGER => &[(1, 0x2c1), (2, 0x2c9), (4, 0x2d1), (8, 0x2d9)],
        standard::TYPECLASS_REAL => &[(4, 0x2d2), (8, 0x2da), (16, 0x2e2)],
        standard::TYPECLASS_COMPLEX => &[(8, 0x2db), (16, 0x2e3), (32, 0x2eb)],
        _ => &[],
    };
    let no = || Error::new(Class::Arg, format!("no datatype of class {kind} has {size} bytes"));
    sizes.iter().find(|it| it.0 == size).map(|it| it.1).ok_or_else(no)
}
