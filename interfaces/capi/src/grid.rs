//! Grids of ranks, and the exchange of halos.

use crate::arguments::{extents_of, output, place};
use crate::call::look;
use crate::error::{Answer, fail};
use crate::names::*;
use crate::objects::Objects;
use crate::types::{Type, with_type};
use phalanx::Comm;
use phalanx::dist::Halo;
use phalanx::topology::Cartesian;
use std::ffi::{c_int, c_void};

pub(crate) static CARTS: Objects<Cartesian> = Objects::new(4, "grid", |cart| CARTS.free(cart));

pub(crate) fn cart(
    comm: &mut Comm,
    extents: &[c_int],
    periodic: &[c_int],
) -> Result<Cartesian, String> {
    if !(1..=64).contains(&extents.len()) {
        return Err("a grid has 1 to 64 dimensions".into());
    }
    let extents = extents_of(extents)?;
    let periodic: Vec<bool> = periodic.iter().map(|&n| n != 0).collect();
    Ok(comm.cart(&extents, &periodic).grid().clone())
}

/// Stores numbers of a grid, one for each of its dimensions.
///
/// # Safety
/// `to` is null or has room for them.
unsafe fn store(
    function: &str,
    to: *mut c_int,
    numbers: impl IntoIterator<Item = usize>,
) -> Answer {
    place(to).map_err(|what| fail(PHX_ERR_ARGUMENT, format!("{function}: {what}")))?;
    for (d, number) in numbers.into_iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { *to.add(d) = number as c_int };
    }
    Ok(())
}

pub(crate) unsafe fn cart_extents(cart: *const phx_cart, extents: *mut c_int) -> Answer {
    let (_, grid) = CARTS.find(cart)?;
    // SAFETY: by the contract.
    unsafe { store("phx_cart_extents", extents, grid.dims().iter().copied()) }
}

pub(crate) unsafe fn cart_coordinates(
    cart: *const phx_cart,
    rank: c_int,
    coordinates: *mut c_int,
) -> Answer {
    let (comm, grid) = CARTS.find(cart)?;
    let rank = if rank == -1 { look(comm, Comm::rank)? } else { rank as usize };
    if rank >= grid.ranks() {
        return Err(fail(PHX_ERR_ARGUMENT, "phx_cart_coordinates: no such rank"));
    }
    // SAFETY: by the contract.
    unsafe { store("phx_cart_coordinates", coordinates, grid.coordinates(rank)) }
}

pub(crate) fn cart_neighbour(cart: *const phx_cart, dimension: c_int, by: c_int) -> c_int {
    let found = CARTS.find(cart).and_then(|(comm, grid)| Ok((look(comm, Comm::rank)?, grid)));
    let Ok((rank, grid)) = found else { return -1 };
    let dimension = usize::try_from(dimension).unwrap_or(usize::MAX);
    if dimension >= grid.dims().len() {
        fail(PHX_ERR_ARGUMENT, "phx_cart_neighbour: no such dimension");
        return -1;
    }
    let (_, to) = grid.shift(rank, dimension, by as isize);
    to.map_or(-1, |rank| rank as c_int)
}

pub(crate) unsafe fn exchange_halo(
    comm: &mut Comm,
    grid: &Cartesian,
    field: *mut c_void,
    ty: Type,
    extents: &[usize],
    width: usize,
    corners: c_int,
) -> Result<(), String> {
    let widths = vec![width; grid.dims().len()];
    // SAFETY: by the contract.
    unsafe { exchange_halos(comm, grid, &[field], ty, extents, &widths, corners) }
}

pub(crate) unsafe fn exchange_halos(
    comm: &mut Comm,
    grid: &Cartesian,
    fields: &[*mut c_void],
    ty: Type,
    extents: &[usize],
    widths: &[usize],
    corners: c_int,
) -> Result<(), String> {
    if ty.is_bytes() && ty.size > 1 {
        return Err("a halo is of numbers, not of PHX_BYTES(n)".into());
    }
    let (dims, periodic) = (grid.dims(), grid.periodic());
    let total = extents.iter().zip(widths).try_fold(1usize, |total, (&n, width)| {
        total.checked_mul(width.checked_mul(2)?.checked_add(n)?)
    });
    ty.count(total.ok_or("more cells than memory can hold")?)?;
    if (1..fields.len()).any(|k| fields[..k].contains(&fields[k])) {
        return Err("a field is in the list twice".into());
    }
    let halo = Halo::with_widths(extents, widths);
    let halo = if corners != 0 { halo.with_corners() } else { halo };
    with_type!(ty, T => {
        // SAFETY: by the contract.
        let slice = |&it: &*mut c_void| unsafe { output::<T>("a field", it, halo.len()) };
        let mut fields = fields.iter().map(slice).collect::<Result<Vec<_>, _>>()?;
        comm.cart(dims, periodic).exchange_halos(&mut fields, &halo);
    });
    Ok(())
}

pub(crate) fn cart_sub(comm: &mut Comm, grid: &Cartesian, keep: &[c_int]) -> Result<Comm, String> {
    let keep: Vec<bool> = keep.iter().map(|&it| it != 0).collect();
    Ok(comm.cart(grid.dims(), grid.periodic()).sub(&keep))
}
