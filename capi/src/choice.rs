//! The choice of algorithms, and of the order of reductions.

use crate::arguments::input;
use crate::call::{From, call, phx_comm, text};
use crate::error::phx_err;
use phalanx::schedule::Algorithm;
use phalanx::topology::Extents;
use phalanx::{Choice, Order, engine};
use std::ffi::{c_char, c_int};

/// Reductions combine in an order that the library chooses: the same for all ranks.
pub const PHX_ORDER_ANY: c_int = 0;
/// Reductions combine in one order, whatever the number of ranks, their places and the algorithm.
pub const PHX_ORDER_FIXED: c_int = 1;

/// Chooses how later collectives of the communicator are done. `name`: null or "auto", the
/// library's choice; "ring", "tree", "hypercube"; "mesh", of so many `extents`, which multiply to
/// the number of ranks; or the name of an algorithm, which takes extents if it is on a mesh.
/// Nothing is sent; all ranks choose the same. Started calls are done as ever.
///
/// # Safety
/// `name` is null or a string; `extents` has one number for each dimension; `file` is null or a
/// string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_choose_at(
    comm: *mut phx_comm,
    name: *const c_char,
    dimensions: c_int,
    extents: *const c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_choose", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let dimensions = usize::try_from(dimensions).ok().filter(|&n| n <= 64);
            let dimensions = dimensions.ok_or("a mesh has 0 to 64 dimensions")?;
            let extents = input::<c_int>("the list of extents", extents.cast(), dimensions)?;
            let mesh = match extents {
                [] => None,
                some => Some(mesh(some, comm.size())?),
            };
            let choice = match (text(name).as_str(), mesh) {
                ("" | "auto", None) => None,
                ("ring", None) => Some(Choice::Ring),
                ("tree", None) => Some(Choice::Tree),
                ("hypercube", None) => Some(Choice::Hypercube),
                ("mesh", Some(mesh)) => Some(Choice::Mesh(mesh)),
                ("mesh", None) => return Err("a mesh needs extents".into()),
                (name, mesh) => {
                    let algorithm = name.parse::<Algorithm>().map_err(|error| error.to_string())?;
                    Some(match mesh {
                        Some(mesh) => Choice::AlgorithmOnMesh(algorithm, mesh),
                        None => Choice::Algorithm(algorithm),
                    })
                }
            };
            engine::choose(comm, choice);
            Ok(())
        })
    }
}

fn mesh(extents: &[c_int], ranks: usize) -> Result<Extents, String> {
    let extent = |&n: &c_int| usize::try_from(n).map_err(|_| format!("an extent of {n}"));
    let extents = extents.iter().map(extent).collect::<Result<Vec<_>, _>>()?;
    let product = extents.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    if product != Some(ranks) {
        return Err(format!("the extents {extents:?} do not multiply to {ranks} ranks"));
    }
    Extents::new(extents).map_err(|error| error.to_string())
}

/// Chooses the order in which later reductions of the communicator combine: `PHX_ORDER_ANY` or
/// `PHX_ORDER_FIXED`. Nothing is sent; all ranks choose the same.
///
/// # Safety
/// `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_order_at(
    comm: *mut phx_comm,
    order: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_order", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let order = match order {
                PHX_ORDER_ANY => Order::default(),
                PHX_ORDER_FIXED => Order::Fixed,
                other => return Err(format!("{other} is no order")),
            };
            engine::set_order(comm, order);
            Ok(())
        })
    }
}
