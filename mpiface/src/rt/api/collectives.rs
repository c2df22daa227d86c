//! Collectives.
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, as the standard asks of them.

use super::arguments::{Blocks, Buffer, Caller, List, Operands, TypedBlocks, count_of, root_of};
use crate::rt::coll::Call;
use crate::rt::comm::{Comm, Offer};
use crate::rt::error::{Class, Outcome, error};
use crate::rt::types::{Place, bytes_at, pack};
use std::ffi::c_int;

pub(super) fn barrier(caller: Caller<'_>, comm: &Comm) -> Outcome {
    caller.on(comm).barrier();
    Ok(())
}

pub(super) fn bcast(caller: Caller<'_>, data: Buffer, root: c_int, comm: &Comm) -> Outcome {
    let place = data.place(caller)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).broadcast(&place, root_of(comm, root)?) }
}

pub(super) fn reduce(caller: Caller<'_>, operands: Operands, root: c_int, comm: &Comm) -> Outcome {
    let root = root_of(comm, root)?;
    let (own, op) = operands.own(caller)?;
    let target = if comm.rank == root { Some(operands.target(caller)?) } else { None };
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).reduce(&own, target.as_ref(), op, Some(root)) };
    Ok(())
}

pub(super) fn allreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    let (own, op) = operands.own(caller)?;
    let target = operands.target(caller)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).reduce(&own, Some(&target), op, None) };
    Ok(())
}

/// Reduces, and gives each rank its part; the parts are so long.
fn reduce_parts(caller: Caller<'_>, operands: Operands<&[c_int]>, comm: &Comm) -> Outcome {
    let counts = operands.count;
    let Some(total) = counts.iter().try_fold(0, |sum: c_int, it| sum.checked_add(*it)) else {
        return error(Class::Count, "the counts together are too large");
    };
    let (own, op) = operands.with(total).own(caller)?;
    let target = operands.with(counts[comm.rank]).target(caller)?;
    let mut start = 0;
    for count in &counts[..comm.rank] {
        start += count_of(*count)?;
    }
    let elements = start..start + target.count;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).fold_some(&own, 0..comm.size(), elements, &target, op) };
    Ok(())
}

pub(super) fn reduce_scatter(
    caller: Caller<'_>,
    operands: Operands<List<c_int>>,
    comm: &Comm,
) -> Outcome {
    reduce_parts(caller, operands.with(operands.count.each(comm)?), comm)
}

pub(super) fn reduce_scatter_block(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    let counts = vec![operands.count; comm.size()];
    reduce_parts(caller, operands.with(&counts), comm)
}

pub(super) fn scan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    let (own, op) = operands.own(caller)?;
    let target = operands.target(caller)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).fold_some(&own, 0..comm.rank + 1, 0..own.count, &target, op) };
    Ok(())
}

pub(super) fn exscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    let (own, op) = operands.own(caller)?;
    let target = operands.target(caller)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).fold_some(&own, 0..comm.rank, 0..own.count, &target, op) };
    Ok(())
}

/// Exchanges what ranks offer: see `Call::exchange`.
fn exchange(call: Call<'_>, root: Option<usize>, offer: Offer, takes: &[Option<Place>]) -> Outcome {
    // SAFETY: see the head of the file.
    unsafe { call.exchange(root, offer, takes) }
}

/// What a rank offers all: nothing if its data lies in place.
fn offer(caller: Caller<'_>, data: Buffer) -> Outcome<Offer> {
    Ok(if data.is_in_place() { Offer::Nothing } else { Offer::Same(data.place(caller)?) })
}

/// Where the ranks' parts go; not the own one if it lies in place.
fn takes(comm: &Comm, parts: Vec<Place>, is_in_place: bool) -> Vec<Option<Place>> {
    let is_kept = |peer| is_in_place && peer == comm.rank;
    parts.into_iter().enumerate().map(|(peer, it)| (!is_kept(peer)).then_some(it)).collect()
}

fn gather_parts(
    caller: Caller<'_>,
    data: Buffer,
    parts: impl FnOnce() -> Outcome<Vec<Place>>,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let root = root_of(comm, root)?;
    let takes =
        if comm.rank == root { takes(comm, parts()?, data.is_in_place()) } else { Vec::new() };
    exchange(caller.on(comm), Some(root), offer(caller, data)?, &takes)
}

pub(super) fn gather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    gather_parts(caller, data, || room.each(caller, comm), root, comm)
}

pub(super) fn gatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    gather_parts(caller, data, || room.each(caller, comm), root, comm)
}

fn all_gather_parts(caller: Caller<'_>, data: Buffer, parts: Vec<Place>, comm: &Comm) -> Outcome {
    let is_in_place = data.is_in_place();
    let offer = if is_in_place {
        Offer::Same(parts[comm.rank].clone())
    } else {
        Offer::Same(data.place(caller)?)
    };
    exchange(caller.on(comm), None, offer, &takes(comm, parts, is_in_place))
}

pub(super) fn allgather(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    all_gather_parts(caller, data, room.each(caller, comm)?, comm)
}

pub(super) fn allgatherv(caller: Caller<'_>, data: Buffer, room: Blocks, comm: &Comm) -> Outcome {
    all_gather_parts(caller, data, room.each(caller, comm)?, comm)
}

fn scatter_parts(
    caller: Caller<'_>,
    parts: impl FnOnce() -> Outcome<Vec<Place>>,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let root = root_of(comm, root)?;
    let offer = if comm.rank == root { Offer::Each(parts()?.into()) } else { Offer::Nothing };
    let mut takes: Vec<Option<Place>> = (0..comm.size()).map(|_| None).collect();
    if !room.is_in_place() {
        takes[root] = Some(room.place(caller)?);
    }
    exchange(caller.on(comm), Some(root), offer, &takes)
}

pub(super) fn scatter(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    scatter_parts(caller, || data.each(caller, comm), room, root, comm)
}

pub(super) fn scatterv(
    caller: Caller<'_>,
    data: Blocks,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    scatter_parts(caller, || data.each(caller, comm), room, root, comm)
}

/// Each rank gives each a part; `parts` is `None` if the data lies where the others' will go.
fn all_to_all_parts(
    caller: Caller<'_>,
    parts: Option<Vec<Place>>,
    room: Vec<Place>,
    comm: &Comm,
) -> Outcome {
    let kept: Vec<Vec<u8>>;
    let offer = match parts {
        Some(parts) => Offer::Each(parts.into()),
        None => {
            // SAFETY: see the head of the file.
            kept = room.iter().map(|it| unsafe { pack(it) }).collect();
            let each = kept.iter().map(|it| bytes_at(it.as_ptr() as usize, it.len()));
            Offer::Each(each.collect())
        }
    };
    exchange(caller.on(comm), None, offer, &takes(comm, room, false))
}

pub(super) fn alltoall(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    let parts = if data.is_in_place() { None } else { Some(data.each(caller, comm)?) };
    all_to_all_parts(caller, parts, room.each(caller, comm)?, comm)
}

pub(super) fn alltoallv(caller: Caller<'_>, data: Blocks, room: Blocks, comm: &Comm) -> Outcome {
    let parts = if data.is_in_place() { None } else { Some(data.each(caller, comm)?) };
    all_to_all_parts(caller, parts, room.each(caller, comm)?, comm)
}

pub(super) fn alltoallw(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome {
    let parts = if data.is_in_place() { None } else { Some(data.each(caller, comm)?) };
    all_to_all_parts(caller, parts, room.each(caller, comm)?, comm)
}
