//! Plans of neighbourhoods: copies of other ranks' elements, for sparse matrices and meshes.

use crate::arguments::{list, rank_number};
use crate::collective::sum;
use crate::names::*;
use crate::objects::Objects;
use crate::types::{Elements, Type, apart_of, with_type};
use phalanx::dist::Block;
use phalanx::{Comm, Neighborhood};
use std::ffi::c_int;

pub(crate) static PLANS: Objects<Neighborhood> = Objects::new(6, "plan", |plan| PLANS.free(plan));

pub(crate) fn plan_blocks(
    comm: &mut Comm,
    total: usize,
    indices: &[usize],
) -> Result<Neighborhood, String> {
    Ok(comm.ghosts(&Block::new(total, comm.size()), indices))
}

/// Lists of numbers for some ranks.
///
/// # Safety
/// `numbers` has as many as the counts sum to.
unsafe fn lists(
    ranks: &[c_int],
    counts: &[usize],
    numbers: *const usize,
) -> Result<Vec<(usize, Vec<usize>)>, String> {
    let total = sum(counts, Type::of(PHX_U64)?)?;
    // SAFETY: by the contract.
    let mut rest = unsafe { list("the list of numbers", numbers, total)? };
    let mut lists = Vec::with_capacity(ranks.len());
    for (&rank, &count) in ranks.iter().zip(counts) {
        let (list, tail) = rest.split_at(count);
        lists.push((rank_number("a neighbour", rank)?, list.to_vec()));
        rest = tail;
    }
    Ok(lists)
}

pub(crate) unsafe fn plan_lists(
    comm: &mut Comm,
    owned: usize,
    give_ranks: &[c_int],
    give_counts: &[usize],
    give: *const usize,
    ghosts: usize,
    want_ranks: &[c_int],
    want_counts: &[usize],
    want: *const usize,
) -> Result<Neighborhood, String> {
    // SAFETY: by the contract.
    let (gives, wants) =
        unsafe { (lists(give_ranks, give_counts, give)?, lists(want_ranks, want_counts, want)?) };
    Ok(comm.neighborhood(owned, &gives, ghosts, &wants))
}

pub(crate) fn plan_owned(plan: *const phx_plan) -> usize {
    PLANS.find(plan).map_or(0, |(_, plan)| plan.owned())
}

pub(crate) fn plan_ghosts(plan: *const phx_plan) -> usize {
    PLANS.find(plan).map_or(0, |(_, plan)| plan.ghosts())
}

pub(crate) unsafe fn plan_gather(
    comm: &mut Comm,
    plan: &Neighborhood,
    owned: Elements,
    ghosts: Elements,
) -> Result<(), String> {
    if owned.ty.is_bytes() && owned.ty.size > 1 {
        return Err("a plan is of numbers, not of PHX_BYTES(n)".into());
    }
    with_type!(owned.ty, T => {
        // SAFETY: by the contract.
        let (owned, ghosts) = unsafe { apart_of::<T>(owned, ghosts)? };
        plan.gather(comm, owned, ghosts);
    });
    Ok(())
}

pub(crate) unsafe fn plan_scatter_add(
    comm: &mut Comm,
    plan: &Neighborhood,
    ghosts: Elements,
    owned: Elements,
) -> Result<(), String> {
    macro_rules! of {
        ($T:ty) => {{
            // SAFETY: by the contract.
            let (ghosts, owned) = unsafe { apart_of::<$T>(ghosts, owned)? };
            plan.scatter_add(comm, ghosts, owned);
        }};
    }
    match owned.ty.name() {
        PHX_F64 => of!(f64),
        PHX_F32 => of!(f32),
        PHX_I32 => of!(i32),
        PHX_I64 => of!(i64),
        _ => return Err("ghosts are added of PHX_F64, PHX_F32, PHX_I32, PHX_I64".into()),
    }
    Ok(())
}
