//! The choice of algorithms, and of the order of reductions.

use crate::arguments::input;
use crate::arguments::text;
use crate::names::*;
use phalanx::schedule::Algorithm;
use phalanx::topology::Extents;
use phalanx::{Choice, Comm, Order, engine};
use std::ffi::{c_char, c_int};

pub(crate) unsafe fn choose(
    comm: &mut Comm,
    name: *const c_char,
    dimensions: c_int,
    extents: *const c_int,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
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

pub(crate) unsafe fn order(comm: &mut Comm, order: c_int) -> Result<(), String> {
    let order = match order {
        PHX_ORDER_ANY => Order::default(),
        PHX_ORDER_FIXED => Order::Fixed,
        other => return Err(format!("{other} is no order")),
    };
    engine::set_order(comm, order);
    Ok(())
}
