//! Collectives of neighbours.
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, or their requests are complete, as the standard asks of them.

use super::arguments::{Blocks, Buffer, Caller, TypedBlocks};
use crate::rt::comm::Comm;
use crate::rt::desk::{self, Edge, Exchanged, Way};
use crate::rt::error::Outcome;
use crate::rt::neighbours::Edges;
use crate::rt::p2p::{Ask, Kind, Req};
use crate::rt::types::Place;
use std::sync::Arc;

/// What a rank gives and takes, by its edges.
fn exchanged(edges: &Edges, gives: Vec<Place>, takes: Vec<Place>) -> Exchanged {
    let mut ways = Vec::with_capacity(gives.len() + takes.len());
    let mut some = |edges: &[Option<Edge>], places: Vec<Place>, gives: bool| {
        for (edge, place) in edges.iter().zip(places) {
            ways.extend(edge.map(|edge| Way { edge, gives, place }));
        }
    };
    some(&edges.targets, gives, true);
    some(&edges.sources, takes, false);
    Exchanged { ways, is_exact: false }
}

fn start(caller: Caller<'_>, comm: &Comm, all: Exchanged) -> Arc<Req> {
    let (owner, site) = (caller.me, caller.site);
    let req = caller.request(Ask { owner, site, kind: Kind::Neighbours, ..Ask::default() });
    // SAFETY: see the head of the file.
    unsafe { desk::start(&caller.world, comm, site, all, &req) };
    req
}

/// What a rank gives along its edges, and where it takes.
type Along = (Vec<Place>, Vec<Place>);

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

fn all_gather(caller: Caller<'_>, data: Buffer, room: Buffer, edges: &Edges) -> Outcome<Along> {
    let gives = same(caller, data, edges.targets.len())?;
    let takes = rows(caller, room, edges.sources.len())?;
    Ok((gives, takes))
}

fn all_gather_v(caller: Caller<'_>, data: Buffer, room: Blocks, edges: &Edges) -> Outcome<Along> {
    let gives = same(caller, data, edges.targets.len())?;
    let takes = room.some(caller, edges.sources.len())?;
    Ok((gives, takes))
}

fn all_to_all(caller: Caller<'_>, data: Buffer, room: Buffer, edges: &Edges) -> Outcome<Along> {
    let gives = rows(caller, data, edges.targets.len())?;
    let takes = rows(caller, room, edges.sources.len())?;
    Ok((gives, takes))
}

fn all_to_all_v(caller: Caller<'_>, data: Blocks, room: Blocks, edges: &Edges) -> Outcome<Along> {
    let gives = data.some(caller, edges.targets.len())?;
    let takes = room.some(caller, edges.sources.len())?;
    Ok((gives, takes))
}

fn all_to_all_w(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    edges: &Edges,
) -> Outcome<Along> {
    let gives = data.some(caller, edges.targets.len())?;
    let takes = room.some(caller, edges.sources.len())?;
    Ok((gives, takes))
}

macro_rules! both {
    ($($name:ident $started:ident $what:ident $data:ty, $room:ty;)*) => {$(
        pub(super) fn $name(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome {
            let edges = Edges::of(comm)?;
            let (gives, takes) = $what(caller, data, room, edges)?;
            // SAFETY: see the head of the file.
            unsafe { caller.on(comm).exchange_edges(edges, gives, &takes) }
        }

        pub(super) fn $started(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome<Arc<Req>> {
            let edges = Edges::of(comm)?;
            let (gives, takes) = $what(caller, data, room, edges)?;
            Ok(start(caller, comm, exchanged(edges, gives, takes)))
        }
    )*};
}
both! {
    neighbor_allgather ineighbor_allgather all_gather Buffer, Buffer;
    neighbor_allgatherv ineighbor_allgatherv all_gather_v Buffer, Blocks;
    neighbor_alltoall ineighbor_alltoall all_to_all Buffer, Buffer;
    neighbor_alltoallv ineighbor_alltoallv all_to_all_v Blocks, Blocks;
    neighbor_alltoallw ineighbor_alltoallw all_to_all_w TypedBlocks, TypedBlocks;
}
