//! Collectives of neighbours: started, and awaited by the blocking ones.
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, or their requests are complete, as the standard asks of them.

use super::arguments::{Blocks, Buffer, Caller, StatusOut, TypedBlocks};
use super::requests::finish;
use crate::rt::comm::Comm;
use crate::rt::desk::{self, Edge, Exchanged, Exchanging, Way};
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

fn start(caller: Caller<'_>, comm: &Comm, all: Exchanged, is_awaited: bool) -> Arc<Req> {
    let (owner, site) = (caller.me, caller.site);
    let req = caller.request(Ask { owner, site, kind: Kind::Neighbours, ..Ask::default() });
    // SAFETY: see the head of the file.
    unsafe { desk::start(&caller.world, comm, site, all, is_awaited, &req) };
    req
}

/// Exchanges it, and awaits the neighbours: what is long for this rank, it copies itself.
fn exchange(caller: Caller<'_>, comm: &Comm, all: Exchanged) -> Outcome {
    let req = start(caller, comm, all, true);
    let own = &comm.shared.desks()[comm.rank];
    while !req.is_done() {
        let seen = own.brought();
        desk::serve(&caller.world, comm);
        let holds = || req.is_done() || own.brought() > seen;
        let condition = || {
            let (shared, rank, req) = (Arc::clone(&comm.shared), comm.rank, Arc::clone(&req));
            Arc::new(Exchanging { shared, rank, seen, req }) as _
        };
        caller.world.wait(caller.me, caller.site, None, holds, condition);
    }
    finish(caller, req, StatusOut::IGNORED)
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

fn all_gather(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome<Exchanged> {
    let edges = Edges::of(comm)?;
    let gives = same(caller, data, edges.targets.len())?;
    Ok(exchanged(&edges, gives, rows(caller, room, edges.sources.len())?))
}

fn all_gather_v(caller: Caller<'_>, data: Buffer, room: Blocks, comm: &Comm) -> Outcome<Exchanged> {
    let edges = Edges::of(comm)?;
    let gives = same(caller, data, edges.targets.len())?;
    Ok(exchanged(&edges, gives, room.some(caller, edges.sources.len())?))
}

fn all_to_all(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome<Exchanged> {
    let edges = Edges::of(comm)?;
    let gives = rows(caller, data, edges.targets.len())?;
    Ok(exchanged(&edges, gives, rows(caller, room, edges.sources.len())?))
}

fn all_to_all_v(caller: Caller<'_>, data: Blocks, room: Blocks, comm: &Comm) -> Outcome<Exchanged> {
    let edges = Edges::of(comm)?;
    let gives = data.some(caller, edges.targets.len())?;
    Ok(exchanged(&edges, gives, room.some(caller, edges.sources.len())?))
}

fn all_to_all_w(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome<Exchanged> {
    let edges = Edges::of(comm)?;
    let gives = data.some(caller, edges.targets.len())?;
    Ok(exchanged(&edges, gives, room.some(caller, edges.sources.len())?))
}

macro_rules! both {
    ($($name:ident $started:ident $what:ident $data:ty, $room:ty;)*) => {$(
        pub(super) fn $name(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome {
            exchange(caller, comm, $what(caller, data, room, comm)?)
        }

        pub(super) fn $started(
            caller: Caller<'_>,
            data: $data,
            room: $room,
            comm: &Comm,
        ) -> Outcome<Arc<Req>> {
            Ok(start(caller, comm, $what(caller, data, room, comm)?, false))
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
