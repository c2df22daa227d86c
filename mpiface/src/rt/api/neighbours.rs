//! Collectives of neighbours. The blocking ones are started, and awaited.
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, or their requests are complete, as the standard asks of them.

use super::arguments::{Blocks, Buffer, Caller, TypedBlocks};
use super::started::{await_started, begin};
use crate::rt::comm::{Comm, Terms};
use crate::rt::error::Outcome;
use crate::rt::neighbours::{Edge, Edges, Exchanged};
use crate::rt::p2p::Req;
use crate::rt::started::Part;
use crate::rt::types::Place;
use std::sync::Arc;

fn exchange(
    caller: Caller<'_>,
    comm: &Comm,
    edges: &Edges,
    gives: Vec<Place>,
    takes: Vec<Place>,
) -> Outcome<Arc<Req>> {
    let some = |edges: &[Option<Edge>], places: Vec<Place>| {
        edges.iter().zip(places).filter_map(|(edge, place)| Some(((*edge)?, place))).collect()
    };
    let all = Exchanged { gives: some(&edges.targets, gives), takes: some(&edges.sources, takes) };
    begin(caller, comm, Terms::default(), Part::Neighbours(all))
}

/// As many such buffers, one behind the other.
fn rows(caller: Caller<'_>, buffer: Buffer, n: usize) -> Outcome<Vec<Place>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let first = buffer.place(caller)?;
    Ok((0..n).map(|it| first.moved((it * first.count) as isize, first.count)).collect())
}

/// The same for each.
fn same(caller: Caller<'_>, buffer: Buffer, n: usize) -> Outcome<Vec<Place>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    Ok(vec![buffer.place(caller)?; n])
}

pub(super) fn ineighbor_allgather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let edges = Edges::of(comm)?;
    let gives = same(caller, data, edges.targets.len())?;
    let takes = rows(caller, room, edges.sources.len())?;
    exchange(caller, comm, &edges, gives, takes)
}

pub(super) fn ineighbor_allgatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let edges = Edges::of(comm)?;
    let gives = same(caller, data, edges.targets.len())?;
    let takes = room.some(caller, edges.sources.len())?;
    exchange(caller, comm, &edges, gives, takes)
}

pub(super) fn ineighbor_alltoall(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let edges = Edges::of(comm)?;
    let gives = rows(caller, data, edges.targets.len())?;
    let takes = rows(caller, room, edges.sources.len())?;
    exchange(caller, comm, &edges, gives, takes)
}

pub(super) fn ineighbor_alltoallv(
    caller: Caller<'_>,
    data: Blocks,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let edges = Edges::of(comm)?;
    let gives = data.some(caller, edges.targets.len())?;
    let takes = room.some(caller, edges.sources.len())?;
    exchange(caller, comm, &edges, gives, takes)
}

pub(super) fn ineighbor_alltoallw(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let edges = Edges::of(comm)?;
    let gives = data.some(caller, edges.targets.len())?;
    let takes = room.some(caller, edges.sources.len())?;
    exchange(caller, comm, &edges, gives, takes)
}

macro_rules! blocking {
    ($($name:ident $started:ident $data:ty, $room:ty;)*) => {$(
        pub(super) fn $name(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome {
            await_started(caller, $started(caller, data, room, comm)?)
        }
    )*};
}
blocking! {
    neighbor_allgather ineighbor_allgather Buffer, Buffer;
    neighbor_allgatherv ineighbor_allgatherv Buffer, Blocks;
    neighbor_alltoall ineighbor_alltoall Buffer, Buffer;
    neighbor_alltoallv ineighbor_alltoallv Blocks, Blocks;
    neighbor_alltoallw ineighbor_alltoallw TypedBlocks, TypedBlocks;
}
