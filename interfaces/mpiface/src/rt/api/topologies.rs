//! Cartesian topologies.

use super::arguments::peer_of;
use super::communicators::split;
use super::counts::{count_of, counts_of};
use super::keep::NewComm;
use super::prelude::*;
use crate::rt::topo::{self, Cart, Topology, ranks_of};

fn grid(comm: &Comm) -> Outcome<&Cart> {
    let no = || Error::new(Class::Topology, "the communicator has no grid");
    comm.cart().ok_or_else(no)
}

pub(super) fn topo_test(_: Caller<'_>, comm: &Comm) -> Outcome<c_int> {
    Ok(match comm.topology {
        Some(Topology::Cart(_)) => standard::CART,
        Some(Topology::Graph(_)) => standard::GRAPH,
        Some(Topology::Adjacency(_)) => standard::DIST_GRAPH,
        None => UNDEFINED,
    })
}

pub(super) fn dims_create(_: Caller<'_>, nodes: c_int, n: c_int, dims: Out<c_int>) -> Outcome {
    let Ok(nodes) = usize::try_from(nodes) else {
        return error(Class::Arg, "the number of ranks is negative");
    };
    let mut wanted = dims.copied(n);
    topo::dims_create(nodes, &mut wanted)?;
    dims.fill(wanted);
    Ok(())
}

pub(super) fn cart_create(
    caller: Caller<'_>,
    old: &Comm,
    n: c_int,
    dims: List<c_int>,
    periods: List<c_int>,
    _reorder: c_int,
) -> NewComm {
    let dims = counts_of(dims.take(n))?;
    let total = ranks_of(&dims);
    if n < 0 || total > old.size() || total == 0 {
        return error(Class::Dims, format!("a grid of {total} ranks out of {}", old.size()));
    }
    let color = if old.rank < total { 0 } else { -1 };
    let periods: Vec<bool> = periods.take(n).iter().map(|it| *it != 0).collect();
    let cart = Cart::new(&dims, &periods);
    split(caller, old, color, 0, Some(Topology::Cart(cart)))
}

pub(super) fn cart_coords(
    _: Caller<'_>,
    comm: &Comm,
    of: c_int,
    room: c_int,
    coords: Out<c_int>,
) -> Outcome {
    let of = peer_of(comm, of)?.unwrap_or(0);
    let all = grid(comm)?.coords(of);
    coords.fill(all.into_iter().take(count_of(room)?).map(int));
    Ok(())
}

pub(super) fn cart_rank(_: Caller<'_>, comm: &Comm, coords: List<c_int>) -> Outcome<c_int> {
    let cart = grid(comm)?;
    let coords: Vec<isize> =
        coords.take(int(cart.dims().len())).iter().map(|it| *it as isize).collect();
    let no = || Error::new(Class::Arg, format!("no rank has the coordinates {coords:?}"));
    cart.rank(&coords).map(int).ok_or_else(no)
}

pub(super) fn cart_shift(
    _: Caller<'_>,
    comm: &Comm,
    direction: c_int,
    by: c_int,
) -> Outcome<(c_int, c_int)> {
    let cart = grid(comm)?;
    let Some(axis) = usize::try_from(direction).ok().filter(|it| *it < cart.dims().len()) else {
        return error(Class::Dims, format!("the grid has no dimension {direction}"));
    };
    let (from, to) = cart.shift(comm.rank, axis, by as isize);
    Ok((from.map_or(PROC_NULL, int), to.map_or(PROC_NULL, int)))
}

pub(super) fn cart_sub(caller: Caller<'_>, old: &Comm, remain: List<c_int>) -> NewComm {
    let cart = grid(old)?;
    let kept: Vec<bool> = remain.take(int(cart.dims().len())).iter().map(|it| *it != 0).collect();
    let (sub, which) = cart.sub(old.rank, &kept);
    split(caller, old, which as i64, 0, Some(Topology::Cart(sub)))
}

pub(super) fn cart_get(
    _: Caller<'_>,
    comm: &Comm,
    room: c_int,
    dims: Out<c_int>,
    periods: Out<c_int>,
    coords: Out<c_int>,
) -> Outcome {
    let cart = grid(comm)?;
    let room = count_of(room)?;
    dims.fill(cart.dims().iter().take(room).map(|it| int(*it)));
    periods.fill(cart.periods().iter().take(room).map(|it| c_int::from(*it)));
    coords.fill(cart.coords(comm.rank).into_iter().take(room).map(int));
    Ok(())
}

pub(super) fn cartdim_get(_: Caller<'_>, comm: &Comm) -> Outcome<c_int> {
    Ok(int(grid(comm)?.dims().len()))
}

pub(super) fn cart_map(
    _: Caller<'_>,
    comm: &Comm,
    n: c_int,
    dims: List<c_int>,
    _periods: List<c_int>,
) -> Outcome<c_int> {
    let total = ranks_of(&counts_of(dims.take(n))?);
    if n < 0 || total > comm.size() || total == 0 {
        return error(Class::Dims, format!("a grid of {total} ranks out of {}", comm.size()));
    }
    Ok(if comm.rank < total { int(comm.rank) } else { UNDEFINED })
}
