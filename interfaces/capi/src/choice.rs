//! The choice of algorithms, and of the order of reductions.

use crate::arguments::{extents_of, text};
use crate::names::*;
use phalanx::schedule::Algorithm;
use phalanx::topology::Extents;
use phalanx::{Choice, Comm, Order, engine};
use std::ffi::{c_char, c_int};

pub(crate) unsafe fn choose(
    comm: &mut Comm,
    name: *const c_char,
    extents: &[c_int],
) -> Result<(), String> {
    let mesh = match extents {
        [] => None,
        some => Some(mesh(some, comm.size())?),
    };
    // SAFETY: by the contract.
    let name = unsafe { text(name) };
    let choice = match (name.as_str(), mesh) {
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

fn mesh(extents: &[c_int], ranks: usize) -> Result<Extents, String> {
    let extents = extents_of(extents)?;
    let product = extents.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    if product != Some(ranks) {
        return Err(format!("the extents {extents:?} do not multiply to {ranks} ranks"));
    }
    Extents::new(extents).map_err(|error| error.to_string())
}

pub(crate) fn order(comm: &mut Comm, order: c_int) -> Result<(), String> {
    let order = match order {
        PHX_ORDER_ANY => Order::default(),
        PHX_ORDER_FIXED => Order::Fixed,
        other => return Err(format!("{other} is no order")),
    };
    engine::set_order(comm, order);
    Ok(())
}
