//! Collectives of neighbours: a part along each edge of a grid or graph.

use super::buffers::{Buffer, Parts, Same};
use super::collectives::exchange;
use super::keep::NewRequest;
use super::prelude::*;
use super::started::begin;
use crate::rt::awaits::Awaits;
use crate::rt::comm::Terms;
use crate::rt::edges::{Edge, peers};
use crate::rt::exchange::Exchange;
use crate::rt::started::{Part, Pieces, Takes};

/// How many ranks a rank gives to, on a communicator with a grid or graph.
pub(super) fn targets(comm: &Comm) -> usize {
    comm.edges().map_or(0, |it| it.targets.len())
}

/// How many it takes from.
pub(super) fn sources(comm: &Comm) -> usize {
    comm.edges().map_or(0, |it| it.sources.len())
}

#[inline(always)]
pub(super) fn neighbor_alltoall(
    caller: Caller<'_>,
    gives: impl Parts,
    takes: impl Parts,
    comm: &Comm,
) -> Outcome {
    let edges = comm.edges()?;
    let (given, taken) = (&edges.given, &edges.taken);
    let rounds = if edges.are_plain { &[] } else { &edges.rounds[..] };
    let (m, n) = (given.len(), taken.len());
    let it = Exchange { root: None, gives: m, takes: n, is_along_edges: true, rounds };
    let parts = ((gives, edges.targets.len()), (takes, edges.sources.len()));
    exchange(caller, comm, it, None, parts, (|it| given[it], |it| taken[it]))
}

/// The places of these edges.
fn along(
    caller: Caller<'_>,
    edges: &[Option<Edge>],
    parts: impl Parts,
) -> Outcome<Vec<(Edge, Place)>> {
    let at = parts.places(caller, edges.len())?;
    let all = edges.iter().enumerate();
    Ok(all.filter_map(|(index, edge)| edge.map(|edge| (edge, at(index)))).collect())
}

pub(super) fn ineighbor_alltoall(
    caller: Caller<'_>,
    gives: impl Parts,
    takes: impl Parts,
    comm: &Comm,
) -> NewRequest {
    let edges = comm.edges()?;
    let offer = Pieces::Edges(along(caller, &edges.targets, gives)?);
    let takes = Takes::Edges(along(caller, &edges.sources, takes)?);
    let part = Part::Exchange { offer, takes, is_in_place: false };
    let rank = comm.rank as u32;
    comm.shared.board().know(comm.rank, || (peers(&edges.sources), peers(&edges.targets)));
    let reach = (Awaits::Givers(rank), Awaits::Takers(rank));
    begin(caller, comm, Terms::default(), part, reach)
}

#[inline]
pub(super) fn neighbor_allgather(
    caller: Caller<'_>,
    data: Buffer,
    room: impl Parts,
    comm: &Comm,
) -> Outcome {
    neighbor_alltoall(caller, Same(data, 0), room, comm)
}

pub(super) fn ineighbor_allgather(
    caller: Caller<'_>,
    data: Buffer,
    room: impl Parts,
    comm: &Comm,
) -> NewRequest {
    ineighbor_alltoall(caller, Same(data, 0), room, comm)
}
