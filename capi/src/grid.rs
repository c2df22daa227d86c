//! Grids of ranks, and the exchange of halos.

use crate::arguments::{input, output};
use crate::call::{From, call, look, phx_comm};
use crate::error::{PHX_ERR_ARGUMENT, PHX_ERR_HANDLE, PHX_OK, fail, phx_err};
use crate::group::split;
use crate::handle::Table;
use crate::types::{Type, phx_type, with_type};
use phalanx::dist::Halo;
use phalanx::engine::Lock;
use phalanx::topology::Cartesian;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// A grid of ranks. Only pointers to it are used, and they are no addresses.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct phx_cart {
    _nothing: [u8; 0],
}

struct Grid {
    comm: usize,
    rank: usize,
    grid: Cartesian,
}

static GRIDS: Table<Lock<Option<Arc<Grid>>>> = Table::new(4);

fn find(cart: *const phx_cart) -> Result<Arc<Grid>, phx_err> {
    let found = GRIDS.find(cart as usize as u64);
    let found = found.and_then(|grid| grid.with(|grid| grid.clone()));
    found.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such grid: it is null, or was freed"))
}

/// The communicator as a grid of `dimensions` dimensions with the extents `extents` (0: chosen),
/// the last the fastest; `periodic` says which wrap around. Ranks keep their numbers; nothing is
/// sent.
///
/// # Safety
/// `extents` and `periodic` have one number for each dimension; `cart` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_cart_at(
    comm: *mut phx_comm,
    dimensions: c_int,
    extents: *const c_int,
    periodic: *const c_int,
    cart: *mut *mut phx_cart,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_cart", file, line };
    let mut made = None;
    // SAFETY: by the contract.
    let code = unsafe {
        call(comm, from, |on| {
            if cart.is_null() {
                return Err("the place of the result is null".into());
            }
            let dimensions = usize::try_from(dimensions).ok().filter(|n| (1..=64).contains(n));
            let dimensions = dimensions.ok_or("a grid has 1 to 64 dimensions")?;
            let extents = input::<c_int>("the list of extents", extents.cast(), dimensions)?;
            let periodic = input::<c_int>("the list of periods", periodic.cast(), dimensions)?;
            let extent = |&n: &c_int| usize::try_from(n).map_err(|_| format!("an extent of {n}"));
            let extents = extents.iter().map(extent).collect::<Result<Vec<_>, _>>()?;
            let periodic: Vec<bool> = periodic.iter().map(|&n| n != 0).collect();
            let grid = on.cart(&extents, &periodic).grid().clone();
            made = Some(Grid { comm: comm as usize, rank: on.rank(), grid });
            Ok(())
        })
    };
    if let (PHX_OK, Some(grid)) = (code, made) {
        let (handle, place) = match GRIDS.reserve() {
            Ok(place) => place,
            Err(code) => return code,
        };
        place.with(|place| *place = Some(Arc::new(grid)));
        GRIDS.publish(handle);
        // SAFETY: by the contract.
        unsafe { *cart = handle as usize as *mut phx_cart };
    }
    code
}

/// Frees a grid. Its communicator stays.
#[unsafe(no_mangle)]
pub extern "C" fn phx_cart_free(cart: *mut phx_cart) -> phx_err {
    let handle = cart as usize as u64;
    let Some(place) = GRIDS.find(handle).filter(|_| GRIDS.retire(handle)) else {
        return find(cart).err().unwrap_or(PHX_OK);
    };
    drop(place.with(Option::take));
    GRIDS.recycle(handle);
    PHX_OK
}

/// The extents of the grid, one for each of its dimensions.
///
/// # Safety
/// `extents` is null or has room for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_cart_extents(cart: *const phx_cart, extents: *mut c_int) -> phx_err {
    match find(cart) {
        Ok(_) if extents.is_null() => fail(PHX_ERR_ARGUMENT, "phx_cart_extents: null"),
        Ok(grid) => {
            for (d, &extent) in grid.grid.dims().iter().enumerate() {
                // SAFETY: by the contract.
                unsafe { *extents.add(d) = extent as c_int };
            }
            PHX_OK
        }
        Err(code) => code,
    }
}

/// Where a rank is in the grid; the own one for rank -1.
///
/// # Safety
/// `coordinates` is null or has room for one number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_cart_coordinates(
    cart: *const phx_cart,
    rank: c_int,
    coordinates: *mut c_int,
) -> phx_err {
    let grid = match find(cart) {
        Ok(grid) => grid,
        Err(code) => return code,
    };
    let rank = if rank == -1 { grid.rank } else { rank as usize };
    if rank >= grid.grid.ranks() || coordinates.is_null() {
        return fail(PHX_ERR_ARGUMENT, "phx_cart_coordinates: no such rank, or null");
    }
    for (d, at) in grid.grid.coordinates(rank).into_iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { *coordinates.add(d) = at as c_int };
    }
    PHX_OK
}

/// The rank that is `by` steps from this one in a dimension; -1 if there is none, or for a wrong
/// handle or dimension.
#[unsafe(no_mangle)]
pub extern "C" fn phx_cart_neighbour(cart: *const phx_cart, dimension: c_int, by: c_int) -> c_int {
    let Ok(grid) = find(cart) else { return -1 };
    let dimension = usize::try_from(dimension).unwrap_or(usize::MAX);
    if dimension >= grid.grid.dims().len() {
        fail(PHX_ERR_ARGUMENT, "phx_cart_neighbour: no such dimension");
        return -1;
    }
    let (_, to) = grid.grid.shift(grid.rank, dimension, by as isize);
    to.map_or(-1, |rank| rank as c_int)
}

/// Fills the halo of the rank's part of a field from its neighbours. The part has `extents` own
/// cells, in row-major order, with `width` cells of halo around them in every dimension; `corners`:
/// the corners, too. All ranks call it.
///
/// # Safety
/// `field` has the cells of own part and halo, of `ty`, which nobody else uses meanwhile; `extents`
/// has one number for each dimension of the grid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_exchange_halo_at(
    cart: *const phx_cart,
    field: *mut c_void,
    ty: phx_type,
    extents: *const usize,
    width: usize,
    corners: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_exchange_halo", file, line };
    let one = |grid: &Grid| Ok(vec![width; grid.grid.dims().len()]);
    // SAFETY: by the contract.
    unsafe { exchange(cart, from, (&raw const field, 1), ty, (extents, corners), one) }
}

/// The same for several fields at once, of one shape, with a width of its own in each dimension.
///
/// # Safety
/// `fields` has `n` pointers, `extents` and `widths` have one number for each dimension of the
/// grid; else as [`phx_exchange_halo_at`], for each field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_exchange_halos_at(
    cart: *const phx_cart,
    fields: *const *mut c_void,
    n: c_int,
    ty: phx_type,
    extents: *const usize,
    widths: *const usize,
    corners: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_exchange_halos", file, line };
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
) -> phx_err {
    let grid = match find(cart) {
        Ok(grid) => grid,
        Err(code) => return code,
    };
    let handle = grid.comm as *mut phx_comm;
    if let Err(code) = look(handle, |_| ()) {
        return code;
    }
    // SAFETY: passed on.
    unsafe {
        call(handle, from, |comm| {
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
    }
}

/// The part of the grid's ranks that differ from this one in the dimensions with `keep[d]` only, as
/// a communicator of its own, to be freed by `phx_comm_free`. All ranks call it.
///
/// # Safety
/// `keep` has one number for each dimension; `part` is null or valid; `file` is null or a string
/// that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_cart_sub_at(
    cart: *const phx_cart,
    keep: *const c_int,
    part: *mut *mut phx_comm,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let grid = match find(cart) {
        Ok(grid) => grid,
        Err(code) => return code,
    };
    let from = From { function: "phx_cart_sub", file, line };
    let handle = grid.comm as *mut phx_comm;
    if let Err(code) = look(handle, |_| ()) {
        return code;
    }
    // SAFETY: by the contract.
    unsafe {
        split(handle, from, part, |comm| {
            let (dims, periodic) = (grid.grid.dims(), grid.grid.periodic());
            let keep = input::<c_int>("the list of dimensions", keep.cast(), dims.len())?;
            let keep: Vec<bool> = keep.iter().map(|&it| it != 0).collect();
            Ok(comm.cart(dims, periodic).sub(&keep))
        })
    }
}
