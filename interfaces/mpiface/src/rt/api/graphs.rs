//! Graph topologies.

#![expect(clippy::too_many_arguments, reason = "those of the standard's functions")]

use super::arguments::peer_of;
use super::communicators::split;
use super::counts::count_of;
use super::keep::NewComm;
use super::prelude::*;
use crate::rt::comm::Offer;
use crate::rt::graph::{Adjacency, Graph};
use crate::rt::topo::Topology;

/// The addresses of MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY.
const UNWEIGHTED: usize = 10;
const NO_WEIGHTS: usize = 11;

fn read(comm: &Comm, n: c_int, index: List<c_int>, edges: List<c_int>) -> Outcome<Graph> {
    if count_of(n)? > comm.size() {
        return error(Class::Arg, format!("a graph of {n} ranks out of {}", comm.size()));
    }
    let index = index.take(n);
    let count = index.last().copied().unwrap_or(0);
    Graph::new(index, edges.take(count))
}

pub(super) fn graph_create(
    caller: Caller<'_>,
    old: &Comm,
    n: c_int,
    index: List<c_int>,
    edges: List<c_int>,
    _reorder: c_int,
) -> NewComm {
    let graph = read(old, n, index, edges)?;
    let color = if old.rank < graph.index.len() { 0 } else { -1 };
    split(caller, old, color, 0, Some(Topology::Graph(graph)))
}

pub(super) fn graph_map(
    _: Caller<'_>,
    comm: &Comm,
    n: c_int,
    index: List<c_int>,
    edges: List<c_int>,
) -> Outcome<c_int> {
    let graph = read(comm, n, index, edges)?;
    Ok(if comm.rank < graph.index.len() { int(comm.rank) } else { UNDEFINED })
}

fn graph(comm: &Comm) -> Outcome<&Graph> {
    match &comm.topology {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => error(Class::Topology, "the communicator has no graph"),
    }
}

pub(super) fn graphdims_get(_: Caller<'_>, comm: &Comm) -> Outcome<(c_int, c_int)> {
    let graph = graph(comm)?;
    Ok((int(graph.index.len()), int(graph.edges.len())))
}

pub(super) fn graph_get(
    _: Caller<'_>,
    comm: &Comm,
    index_room: c_int,
    edge_room: c_int,
    index: Out<c_int>,
    edges: Out<c_int>,
) -> Outcome {
    let graph = graph(comm)?;
    index.fill(graph.index.iter().copied().take(count_of(index_room)?));
    edges.fill(graph.edges.iter().copied().take(count_of(edge_room)?));
    Ok(())
}

fn node(comm: &Comm, rank: c_int) -> Outcome<&[c_int]> {
    let graph = graph(comm)?;
    match peer_of(comm, rank)? {
        Some(rank) => Ok(graph.neighbours(rank)),
        None => error(Class::Rank, "nobody has no neighbours"),
    }
}

pub(super) fn graph_neighbors_count(_: Caller<'_>, comm: &Comm, rank: c_int) -> Outcome<c_int> {
    Ok(int(node(comm, rank)?.len()))
}

pub(super) fn graph_neighbors(
    _: Caller<'_>,
    comm: &Comm,
    rank: c_int,
    room: c_int,
    neighbours: Out<c_int>,
) -> Outcome {
    neighbours.fill(node(comm, rank)?.iter().copied().take(count_of(room)?));
    Ok(())
}

/// Ranks with their weights; those that are not given are 1.
fn weighted(
    comm: &Comm,
    n: c_int,
    ranks: List<c_int>,
    weights: List<c_int>,
) -> Outcome<Vec<(c_int, c_int)>> {
    count_of(n)?;
    let ranks = ranks.take(n);
    if ranks.len() != count_of(n)? {
        return error(Class::Arg, "the list of neighbours is a null pointer");
    }
    let is_weighted = !matches!(weights.address(), 0 | UNWEIGHTED | NO_WEIGHTS);
    let weights = if is_weighted { weights.take(n) } else { &[] };
    let one = |(place, rank): (usize, &c_int)| {
        if peer_of(comm, *rank)?.is_none() {
            return error(Class::Rank, "nobody is no neighbour");
        }
        let weight = weights.get(place).copied().unwrap_or(1);
        if weight < 0 {
            return error(Class::Arg, format!("the weight {weight} is negative"));
        }
        Ok((*rank, weight))
    };
    ranks.iter().enumerate().map(one).collect()
}

pub(super) fn dist_graph_create_adjacent(
    caller: Caller<'_>,
    old: &Comm,
    sources: c_int,
    source_list: List<c_int>,
    source_weights: List<c_int>,
    targets: c_int,
    target_list: List<c_int>,
    target_weights: List<c_int>,
    _info: Handle,
    _reorder: c_int,
) -> NewComm {
    let own = Adjacency {
        sources: weighted(old, sources, source_list, source_weights)?,
        targets: weighted(old, targets, target_list, target_weights)?,
        is_weighted: source_weights.address() != UNWEIGHTED,
    };
    split(caller, old, 0, 0, Some(Topology::Adjacency(own)))
}

pub(super) fn dist_graph_create(
    caller: Caller<'_>,
    old: &Comm,
    n: c_int,
    sources: List<c_int>,
    degrees: List<c_int>,
    targets: List<c_int>,
    weights: List<c_int>,
    _info: Handle,
    _reorder: c_int,
) -> NewComm {
    count_of(n)?;
    let degrees = degrees.take(n);
    let degree_sum = degrees.iter().try_fold(0_usize, |sum, it| Ok(sum + count_of(*it)?))?;
    let own_sources = weighted(old, n, sources, List::NONE)?;
    let targets = weighted(old, int(degree_sum), targets, weights)?;
    // Each edge: from, to, and its weight.
    let mut edges = Vec::new();
    let mut rest = targets.iter();
    for ((source, _), degree) in own_sources.iter().zip(degrees) {
        for (target, weight) in rest.by_ref().take(*degree as usize) {
            edges.extend([*source as usize, *target as usize, *weight as usize]);
        }
    }
    let mut own =
        Adjacency { is_weighted: weights.address() != UNWEIGHTED, ..Adjacency::default() };
    for offer in caller.on(old).offers(Offer::Ranks(edges.into())) {
        let Offer::Ranks(edges) = offer else { continue };
        for edge in edges.chunks(3) {
            if edge[1] == old.rank {
                own.sources.push((int(edge[0]), int(edge[2])));
            }
            if edge[0] == old.rank {
                own.targets.push((int(edge[1]), int(edge[2])));
            }
        }
    }
    split(caller, old, 0, 0, Some(Topology::Adjacency(own)))
}

fn adjacency(comm: &Comm) -> Outcome<&Adjacency> {
    match &comm.topology {
        Some(Topology::Adjacency(own)) => Ok(own),
        _ => error(Class::Topology, "the communicator has no graph of the distributed kind"),
    }
}

pub(super) fn dist_graph_neighbors_count(
    _: Caller<'_>,
    comm: &Comm,
    sources: Out<c_int>,
    targets: Out<c_int>,
    is_weighted: Out<c_int>,
) -> Outcome {
    let own = adjacency(comm)?;
    sources.set(int(own.sources.len()));
    targets.set(int(own.targets.len()));
    is_weighted.set(c_int::from(own.is_weighted));
    Ok(())
}

pub(super) fn dist_graph_neighbors(
    _: Caller<'_>,
    comm: &Comm,
    source_room: c_int,
    sources: Out<c_int>,
    source_weights: Out<c_int>,
    target_room: c_int,
    targets: Out<c_int>,
    target_weights: Out<c_int>,
) -> Outcome {
    let own = adjacency(comm)?;
    let give = |list: &[(c_int, c_int)], room, ranks: Out<c_int>, weights: Out<c_int>| {
        let some = || list.iter().take(usize::try_from(room).unwrap_or(0));
        ranks.fill(some().map(|it| it.0));
        if own.is_weighted && !matches!(weights.address(), 0 | UNWEIGHTED | NO_WEIGHTS) {
            weights.fill(some().map(|it| it.1));
        }
    };
    give(&own.sources, source_room, sources, source_weights);
    give(&own.targets, target_room, targets, target_weights);
    Ok(())
}
