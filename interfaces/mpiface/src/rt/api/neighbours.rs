//! Collectives of neighbours.
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, or their requests are complete, as the standard asks of them.

use super::arguments::{Blocks, Buffer, Caller, Parts, TypedBlocks};
use super::started::begin;
use crate::rt::awaits::Awaits;
use crate::rt::comm::{Comm, Terms};
use crate::rt::edges::{Edge, Edges, peers};
use crate::rt::error::Outcome;
use crate::rt::request::Req;
use crate::rt::short_message::Solid;
use crate::rt::started::{Part, Pieces, Takes};
use crate::rt::types::{Place, bytes_at};
use std::sync::Arc;

/// How many ranks a rank gives to, on a communicator with a grid or graph.
pub(super) fn targets(comm: &Comm) -> usize {
    comm.edges().map_or(0, |it| it.targets.len())
}

/// How many it takes from.
pub(super) fn sources(comm: &Comm) -> usize {
    comm.edges().map_or(0, |it| it.sources.len())
}

/// The places of these edges.
fn along(edges: &[Option<Edge>], places: &Along<'_>) -> Vec<(Edge, Place)> {
    let all = edges.iter().enumerate();
    all.filter_map(|(index, edge)| edge.map(|edge| (edge, places.at(index)))).collect()
}

fn start(
    caller: Caller<'_>,
    comm: &Comm,
    edges: &Edges,
    (gives, takes): (&Along<'_>, &Along<'_>),
) -> Outcome<Arc<Req>> {
    let offer = Pieces::Edges(along(&edges.targets, gives));
    let takes = Takes::Edges(along(&edges.sources, takes));
    let part = Part::Exchange { offer, takes, is_in_place: false };
    let rank = comm.rank as u32;
    comm.shared.board().know(comm.rank, || (peers(&edges.sources), peers(&edges.targets)));
    let reach = (Awaits::Givers(rank), Awaits::Takers(rank));
    begin(caller, comm, Terms::default(), part, reach)
}

/// A rank's places, one for each of its edges on a side.
enum Along<'a> {
    /// The same for each.
    Same(Place),
    /// One behind the other: the first.
    Rows(Place),
    /// By counts and displacements.
    Parts(Parts<'a>),
    /// A list.
    Each(Vec<Place>),
    /// There are no edges.
    Nothing,
}

impl Along<'_> {
    /// The place of an edge.
    fn at(&self, index: usize) -> Place {
        match self {
            Along::Same(place) => place.clone(),
            Along::Rows(first) => first.moved((index * first.count) as isize, first.count),
            Along::Parts(parts) => parts.at(index),
            Along::Each(places) => places[index].clone(),
            Along::Nothing => bytes_at(0, 0),
        }
    }

    /// As many such buffers, one behind the other.
    fn rows<'a>(caller: Caller<'_>, buffer: Buffer, n: usize) -> Outcome<Along<'a>> {
        Ok(if n == 0 { Along::Nothing } else { Along::Rows(buffer.place(caller)?) })
    }

    fn same<'a>(caller: Caller<'_>, buffer: Buffer, n: usize) -> Outcome<Along<'a>> {
        Ok(if n == 0 { Along::Nothing } else { Along::Same(buffer.place(caller)?) })
    }

    fn parts<'a>(caller: Caller<'_>, blocks: Blocks, n: usize) -> Outcome<Along<'a>> {
        Ok(Along::Parts(blocks.parts(caller, n)?))
    }

    fn each<'a>(caller: Caller<'_>, blocks: TypedBlocks, n: usize) -> Outcome<Along<'a>> {
        Ok(Along::Each(blocks.some(caller, n)?))
    }
}

/// The same without gaps, if they are such.
mod solid {
    use super::{Blocks, Buffer, Solid, TypedBlocks};

    #[inline(always)]
    pub(super) fn rows(buffer: &Buffer, _: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        let first = buffer.solid()?;
        Some(move |index| (first.0 + index * first.1, first.1))
    }

    #[inline(always)]
    pub(super) fn same(buffer: &Buffer, _: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        let first = buffer.solid()?;
        Some(move |_| first)
    }

    #[inline(always)]
    pub(super) fn each(blocks: &TypedBlocks, n: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        blocks.solid(n)
    }

    #[inline(always)]
    pub(super) fn parts(blocks: &Blocks, n: usize) -> Option<impl Fn(usize) -> Solid + Copy> {
        blocks.solid(n)
    }
}

/// The way of parts without gaps, if neither side has any.
macro_rules! short {
    ($gives:ident, $takes:ident, $call:expr, $edges:ident, $data:ident, $room:ident) => {
        if let Some(gives) = solid::$gives(&$data, $edges.targets.len())
            && let Some(takes) = solid::$takes(&$room, $edges.sources.len())
        {
            // SAFETY: see the head of the file.
            return unsafe { $call.exchange_solid_edges($edges, gives, takes) };
        }
    };
}

macro_rules! both {
    ($($name:ident $started:ident $data:ty => $gives:ident, $room:ty => $takes:ident;)*) => {$(
        #[inline]
        pub(super) fn $name(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome {
            let edges = comm.edges()?;
            short!($gives, $takes, caller.on(comm), edges, data, room);
            let gives = Along::$gives(caller, data, edges.targets.len())?;
            let takes = Along::$takes(caller, room, edges.sources.len())?;
            // SAFETY: see the head of the file.
            unsafe { caller.on(comm).exchange_edges(edges, |it| gives.at(it), |it| takes.at(it)) }
        }

        pub(super) fn $started(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome<Arc<Req>> {
            let edges = comm.edges()?;
            let gives = Along::$gives(caller, data, edges.targets.len())?;
            let takes = Along::$takes(caller, room, edges.sources.len())?;
            start(caller, comm, edges, (&gives, &takes))
        }
    )*};
}
both! {
    neighbor_allgather ineighbor_allgather Buffer => same, Buffer => rows;
    neighbor_allgatherv ineighbor_allgatherv Buffer => same, Blocks => parts;
    neighbor_alltoall ineighbor_alltoall Buffer => rows, Buffer => rows;
    neighbor_alltoallv ineighbor_alltoallv Blocks => parts, Blocks => parts;
    neighbor_alltoallw ineighbor_alltoallw TypedBlocks => each, TypedBlocks => each;
}
