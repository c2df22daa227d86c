//! Grids of ranks, and the exchange of halos.

use crate::arguments::{input, output};
use crate::call::{From, call, call_for, look};
use crate::error::{Answer, answer, fail};
use crate::group::split_by;
use crate::handle::Table;
use crate::names::*;
use crate::types::{Type, with_type};
use phalanx::Comm;
use phalanx::dist::Halo;
use phalanx::engine::Lock;
use phalanx::topology::Cartesian;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

struct Grid {
    comm: usize,
    rank: usize,
    grid: Cartesian,
}

impl Grid {
    fn comm(&self) -> *mut phx_comm {
        self.comm as *mut phx_comm
    }
}

static GRIDS: Table<Lock<Option<Arc<Grid>>>> = Table::new(4);

fn find(cart: *const phx_cart) -> Result<Arc<Grid>, phx_err> {
    let found = GRIDS.find(cart as usize as u64);
    let found = found.and_then(|grid| grid.with(|grid| grid.clone()));
    found.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such grid: it is null, or was freed"))
}

pub(crate) unsafe fn cart(
    comm: *mut phx_comm,
    from: From,
    dimensions: c_int,
    extents: *const c_int,
    periodic: *const c_int,
    cart: *mut *mut phx_cart,
) -> Answer {
    let make = |on: &mut Comm| {
        let dimensions = usize::try_from(dimensions).ok().filter(|n| (1..=64).contains(n));
        let dimensions = dimensions.ok_or("a grid has 1 to 64 dimensions")?;
        // SAFETY: by the contract.
        let (extents, periodic) = unsafe {
            let extents = input::<c_int>("the list of extents", extents.cast(), dimensions)?;
            (extents, input::<c_int>("the list of periods", periodic.cast(), dimensions)?)
        };
        let extent = |&n: &c_int| usize::try_from(n).map_err(|_| format!("an extent of {n}"));
        let extents = extents.iter().map(extent).collect::<Result<Vec<_>, _>>()?;
        let periodic: Vec<bool> = periodic.iter().map(|&n| n != 0).collect();
        Ok(Grid {
            comm: comm as usize,
            rank: on.rank(),
            grid: on.cart(&extents, &periodic).grid().clone(),
        })
    };
    // SAFETY: by the contract.
    let grid = unsafe { call_for(comm, from, cart, make)? };
    let (handle, place) = GRIDS.reserve()?;
    place.with(|place| *place = Some(Arc::new(grid)));
    GRIDS.publish(handle);
    // SAFETY: by the contract.
    unsafe { *cart = handle as usize as *mut phx_cart };
    Ok(())
}

pub(crate) fn cart_free(cart: *mut phx_cart) -> Answer {
    let handle = cart as usize as u64;
    let Some(place) = GRIDS.find(handle).filter(|_| GRIDS.retire(handle)) else {
        return find(cart).map(|_| ());
    };
    drop(place.with(Option::take));
    GRIDS.recycle(handle);
    Ok(())
}

pub(crate) unsafe fn cart_extents(cart: *const phx_cart, extents: *mut c_int) -> Answer {
    let grid = find(cart)?;
    if extents.is_null() {
        return Err(fail(PHX_ERR_ARGUMENT, "phx_cart_extents: null"));
    }
    for (d, &extent) in grid.grid.dims().iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { *extents.add(d) = extent as c_int };
    }
    Ok(())
}

pub(crate) unsafe fn cart_coordinates(
    cart: *const phx_cart,
    rank: c_int,
    coordinates: *mut c_int,
) -> Answer {
    let grid = find(cart)?;
    let rank = if rank == -1 { grid.rank } else { rank as usize };
    if rank >= grid.grid.ranks() || coordinates.is_null() {
        return Err(fail(PHX_ERR_ARGUMENT, "phx_cart_coordinates: no such rank, or null"));
    }
    for (d, at) in grid.grid.coordinates(rank).into_iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { *coordinates.add(d) = at as c_int };
    }
    Ok(())
}

pub(crate) fn cart_neighbour(cart: *const phx_cart, dimension: c_int, by: c_int) -> c_int {
    let Ok(grid) = find(cart) else { return -1 };
    let dimension = usize::try_from(dimension).unwrap_or(usize::MAX);
    if dimension >= grid.grid.dims().len() {
        fail(PHX_ERR_ARGUMENT, "phx_cart_neighbour: no such dimension");
        return -1;
    }
    let (_, to) = grid.grid.shift(grid.rank, dimension, by as isize);
    to.map_or(-1, |rank| rank as c_int)
}

pub(crate) unsafe fn exchange_halo(
    cart: *const phx_cart,
    from: From,
    field: *mut c_void,
    ty: phx_type,
    extents: *const usize,
    width: usize,
    corners: c_int,
) -> Answer {
    let one = |grid: &Grid| Ok(vec![width; grid.grid.dims().len()]);
    // SAFETY: by the contract.
    unsafe { exchange(cart, from, (&raw const field, 1), ty, (extents, corners), one) }
}

pub(crate) unsafe fn exchange_halos(
    cart: *const phx_cart,
    from: From,
    fields: *const *mut c_void,
    n: c_int,
    ty: phx_type,
    extents: *const usize,
    widths: *const usize,
    corners: c_int,
) -> Answer {
    // SAFETY: by the contract.
    let each = |grid: &Grid| unsafe {
        let dimensions = grid.grid.dims().len();
        Ok(input::<usize>("the list of widths", widths.cast(), dimensions)?.to_vec())
    };
    // SAFETY: by the contract.
    unsafe { exchange(cart, from, (fields, n), ty, (extents, corners), each) }
}

/// # Safety
/// As [`phx_exchange_halos_at`].
unsafe fn exchange(
    cart: *const phx_cart,
    from: From,
    (fields, n): (*const *mut c_void, c_int),
    ty: phx_type,
    (extents, corners): (*const usize, c_int),
    widths: impl FnOnce(&Grid) -> Result<Vec<usize>, String>,
) -> Answer {
    let grid = find(cart)?;
    look(grid.comm(), |_| ())?;
    // SAFETY: passed on.
    answer(unsafe {
        call(grid.comm(), from, |comm| {
            let ty = Type::of(ty)?;
            if ty.is_bytes() && ty.size > 1 {
                return Err("a halo is of numbers, not of PHX_BYTES(n)".into());
            }
            let (dims, periodic) = (grid.grid.dims(), grid.grid.periodic());
            let extents = input::<usize>("the list of extents", extents.cast(), dims.len())?;
            let widths = widths(&grid)?;
            let total = extents.iter().zip(&widths).try_fold(1usize, |total, (&n, width)| {
                total.checked_mul(width.checked_mul(2)?.checked_add(n)?)
            });
            ty.count(total.ok_or("more cells than memory can hold")?)?;
            let n = usize::try_from(n).map_err(|_| format!("{n} fields"))?;
            let fields = input::<*mut c_void>("the list of fields", fields.cast(), n)?;
            if (1..n).any(|k| fields[..k].contains(&fields[k])) {
                return Err("a field is in the list twice".into());
            }
            let halo = Halo::with_widths(extents, &widths);
            let halo = if corners != 0 { halo.with_corners() } else { halo };
            with_type!(ty, T => {
                let slice = |&field: &*mut c_void| output::<T>("a field", field, halo.len());
                let mut fields = fields.iter().map(slice).collect::<Result<Vec<_>, _>>()?;
                comm.cart(dims, periodic).exchange_halos(&mut fields, &halo);
            });
            Ok(())
        })
    })
}

pub(crate) unsafe fn cart_sub(
    cart: *const phx_cart,
    from: From,
    keep: *const c_int,
    part: *mut *mut phx_comm,
) -> Answer {
    let grid = find(cart)?;
    look(grid.comm(), |_| ())?;
    // SAFETY: by the contract.
    unsafe {
        split_by(grid.comm(), from, part, |comm| {
            let (dims, periodic) = (grid.grid.dims(), grid.grid.periodic());
            let keep = input::<c_int>("the list of dimensions", keep.cast(), dims.len())?;
            let keep: Vec<bool> = keep.iter().map(|&it| it != 0).collect();
            Ok(comm.cart(dims, periodic).sub(&keep))
        })
    }
}
