//! Collectives.
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, as the standard asks of them.

use super::arguments::{Blocks, Buffer, Caller, Operands, Operation, Room, TypedBlocks, root_of};
use super::between;
use super::counts::{Counts, counts_of, total_of};
use super::intercommunicators::within;
use super::started::await_started;
use crate::rt::coll::Call;
use crate::rt::comm::Comm;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::exchange::Exchange;
use crate::rt::short_message::Solid;
use crate::rt::types::{Place, bytes_at, pack};
use std::ffi::c_int;

pub(super) fn barrier(caller: Caller<'_>, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ibarrier(caller, comm)?);
    }
    caller.on(comm).barrier();
    Ok(())
}

/// A root, if it is a rank of a communicator that the library has, too: for the short ways of calls
/// whose data needs nothing but to be moved.
#[inline(always)]
fn routed_root(call: &Call<'_>, root: c_int) -> Option<usize> {
    let root = usize::try_from(root).ok()?;
    (call.is_routed() && root < call.comm.size()).then_some(root)
}

#[inline]
pub(super) fn bcast(caller: Caller<'_>, data: Buffer, root: c_int, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if let Some(root) = routed_root(&call, root)
        && let Some(solid) = data.solid()
    {
        // SAFETY: see the head of the file.
        unsafe { call.broadcast_solid(solid, root) };
        return Ok(());
    }
    any_bcast(caller, data, root, comm)
}

#[inline(never)]
fn any_bcast(caller: Caller<'_>, data: Buffer, root: c_int, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::bcast(caller, data, root, comm)?);
    }
    let place = data.place(caller)?;
    let root = root_of(comm, root)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).broadcast(&place, root) };
    Ok(())
}

/// Reduces, to the root or to all.
fn reduce_to(caller: Caller<'_>, operands: Operands, root: Option<usize>, comm: &Comm) -> Outcome {
    let reduction = operands.reduction(caller, comm)?;
    let is_target = root.is_none_or(|it| it == comm.rank);
    let target = if is_target { Some(operands.target(caller)?) } else { None };
    let call = caller.on(comm);
    // SAFETY: see the head of the file.
    unsafe {
        match reduction {
            Operation::Routed(it) => call.reduce(&it, target.as_ref(), root),
            Operation::Folded(own, op) => call.fold_all(&own, target.as_ref(), op, root),
        }
    }
    Ok(())
}

#[inline]
pub(super) fn reduce(caller: Caller<'_>, operands: Operands, root: c_int, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if call.is_routed()
        && let Ok(root) = usize::try_from(root)
        && root < comm.size()
    {
        // The others' values are combined in a copy.
        let mut room = Room::uninit();
        let room = (comm.rank != root).then_some(&mut room);
        if let Some(plain) = operands.plain(room) {
            // SAFETY: see the head of the file; the room has as many bytes.
            unsafe { call.reduce_plain(plain, Some(root)) };
            return Ok(());
        }
    }
    any_reduce(caller, operands, root, comm)
}

#[inline(never)]
fn any_reduce(caller: Caller<'_>, operands: Operands, root: c_int, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ireduce(caller, operands, root, comm)?);
    }
    reduce_to(caller, operands, Some(root_of(comm, root)?), comm)
}

#[inline(always)]
pub(super) fn allreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if call.is_routed()
        && let Some(plain) = operands.plain(None)
    {
        // SAFETY: see the head of the file.
        unsafe { call.reduce_plain(plain, None) };
        return Ok(());
    }
    any_allreduce(caller, operands, comm)
}

#[inline(never)]
fn any_allreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::iallreduce(caller, operands, comm)?);
    }
    reduce_to(caller, operands, None, comm)
}

/// Reduces, and gives each rank its part; the parts are so long.
fn reduce_parts(caller: Caller<'_>, operands: Operands<&[i64]>, comm: &Comm) -> Outcome {
    let counts = operands.count;
    let call = caller.on(comm);
    let all = operands.with(total_of(counts)?);
    if let Some(plain) = all.plain(None).filter(|it| it.is_apart() && call.is_routed()) {
        let counts = counts_of(counts)?;
        // SAFETY: see the head of the file.
        unsafe { call.reduce_scatter_plain(plain, &counts) };
        return Ok(());
    }
    let reduction = all.reduction(caller, comm)?;
    let target = operands.with(counts[comm.rank]).target(caller)?;
    let counts = counts_of(counts)?;
    // SAFETY: see the head of the file.
    unsafe {
        match reduction {
            Operation::Routed(it) => call.reduce_scatter(&it, &counts, &target),
            Operation::Folded(own, op) => {
                let start: usize = counts[..comm.rank].iter().sum();
                let elements = start..start + target.count;
                call.fold_some(&own, 0..comm.size(), elements, &target, op);
            }
        }
    }
    Ok(())
}

pub(super) fn reduce_scatter(
    caller: Caller<'_>,
    operands: Operands<Counts>,
    comm: &Comm,
) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ireduce_scatter(caller, operands, comm)?);
    }
    let counts: Vec<i64> = operands.count.some(comm.size())?.collect();
    reduce_parts(caller, operands.with(&counts), comm)
}

pub(super) fn reduce_scatter_block(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ireduce_scatter_block(caller, operands, comm)?);
    }
    let counts = vec![operands.count; comm.size()];
    reduce_parts(caller, operands.with(&counts), comm)
}

fn any_scan(caller: Caller<'_>, operands: Operands, is_exclusive: bool, comm: &Comm) -> Outcome {
    within(comm)?;
    let call = caller.on(comm);
    if let Some(plain) = operands.plain(None).filter(|_| !is_exclusive && call.is_routed()) {
        // SAFETY: see the head of the file.
        unsafe { call.scan_plain(plain) };
        return Ok(());
    }
    let reduction = operands.reduction(caller, comm)?;
    let target = operands.target(caller)?;
    // SAFETY: see the head of the file.
    unsafe {
        match reduction {
            Operation::Routed(it) => call.scan(&it, &target, is_exclusive),
            Operation::Folded(own, op) => {
                let ranks = 0..comm.rank + usize::from(!is_exclusive);
                call.fold_some(&own, ranks, 0..own.count, &target, op);
            }
        }
    }
    Ok(())
}

pub(super) fn scan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    any_scan(caller, operands, false, comm)
}

pub(super) fn exscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    any_scan(caller, operands, true, comm)
}

/// Exchanges the ranks' blocks, where all of that is in one round; `own`: from where to
/// where the rank's own part goes, if it has one.
fn exchange(
    call: Call<'_>,
    it: Exchange,
    own: Option<(Place, Place)>,
    gives: impl Fn(usize) -> Place,
    takes: impl Fn(usize) -> Place,
) -> Outcome {
    let peer = peer_of_step(&call, it);
    let gives = |step| (peer(step), gives(peer(step)));
    let takes = |step| (peer(step), takes(peer(step)));
    // SAFETY: see the head of the file.
    unsafe { call.exchange(it, &[it.whole()], own, gives, takes) }
}

/// The same of blocks without gaps.
#[inline(always)]
fn exchange_solid(
    call: Call<'_>,
    it: Exchange,
    own: Option<(Solid, Solid)>,
    gives: impl Fn(usize) -> Solid + Copy,
    takes: impl Fn(usize) -> Solid + Copy,
) -> Outcome {
    let peer = peer_of_step(&call, it);
    let gives = move |step| (peer(step), gives(peer(step)));
    let takes = move |step| (peer(step), takes(peer(step)));
    // SAFETY: see the head of the file.
    unsafe { call.exchange_solid(it, own, gives, takes) }
}

/// The other rank of a step: the root, for those that it alone gives to or takes from.
#[inline(always)]
fn peer_of_step(call: &Call<'_>, it: Exchange) -> impl Fn(usize) -> usize + Copy + use<> {
    let others = call.others();
    let root = it.root.filter(|root| *root != call.comm.rank);
    move |step| root.unwrap_or_else(|| others(step))
}

/// Each rank with each other.
#[inline(always)]
fn among_all(comm: &Comm) -> Exchange {
    let others = comm.size() - 1;
    Exchange { root: None, gives: others, takes: others, is_exact: true }
}

/// The ranks give the root a part each.
#[inline(always)]
fn to_root(comm: &Comm, root: usize) -> Exchange {
    let takes = if comm.rank == root { comm.size() - 1 } else { 0 };
    Exchange { root: Some(root), gives: (comm.rank != root).into(), takes, is_exact: true }
}

/// The root gives the ranks a part each.
#[inline(always)]
fn from_root(comm: &Comm, root: usize) -> Exchange {
    let Exchange { gives: takes, takes: gives, .. } = to_root(comm, root);
    Exchange { gives, takes, ..to_root(comm, root) }
}

/// Of no part.
const NO_PART: Solid = (0, 0);

/// Where the ranks' parts go; not the own one if it lies in place.
pub(super) fn takes(comm: &Comm, parts: Vec<Place>, is_in_place: bool) -> Vec<Option<Place>> {
    let is_kept = |peer| is_in_place && peer == comm.rank;
    parts.into_iter().enumerate().map(|(peer, it)| (!is_kept(peer)).then_some(it)).collect()
}

#[inline]
pub(super) fn gather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let call = caller.on(comm);
    if let Some(root) = routed_root(&call, root)
        && let Some(own) = data.solid()
    {
        let all = if comm.rank == root { room.solid() } else { Some((0, own.1)) };
        // The blocks' lengths agree, and the own one lies elsewhere.
        let is_apart = |(at, block): (usize, usize)| {
            block == own.1 && !(at..at + (block * comm.size()).max(1)).contains(&own.0)
        };
        if let Some((at, _)) = all.filter(|it| is_apart(*it)) {
            // SAFETY: see the head of the file.
            unsafe { call.gather_solid(own, (comm.rank == root).then_some(at), root) };
            return Ok(());
        }
    }
    any_gather(caller, data, room, root, comm)
}

#[inline(never)]
fn any_gather(caller: Caller<'_>, data: Buffer, room: Buffer, root: c_int, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::igather(caller, data, room, root, comm)?);
    }
    let root = root_of(comm, root)?;
    let all = if comm.rank == root { Some(room.whole(caller, comm)?) } else { None };
    let own = if data.is_in_place() { room.part(caller, comm)? } else { data.place(caller)? };
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).gather(&own, all.as_ref(), root) }
}

#[inline(always)]
pub(super) fn gatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let call = caller.on(comm);
    if let Some(root) = routed_root(&call, root)
        && let Some(own) = data.solid()
    {
        if comm.rank != root {
            let it = Exchange { root: Some(root), gives: 1, takes: 0, is_exact: true };
            return exchange_solid(call, it, None, move |_| own, |_| NO_PART);
        }
        if let Some(parts) = room.solid(comm.size()) {
            let it = to_root(comm, root);
            return exchange_solid(call, it, Some((own, parts(root))), |_| NO_PART, parts);
        }
    }
    any_gatherv(caller, data, room, root, comm)
}

#[inline(never)]
fn any_gatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::igatherv(caller, data, room, root, comm)?);
    }
    let root = root_of(comm, root)?;
    let is_in_place = data.is_in_place();
    let is_root = comm.rank == root;
    let parts = if is_root { Some(room.parts(caller, comm.size())?) } else { None };
    let own = if is_in_place { None } else { Some(data.place(caller)?) };
    let (call, it) = (caller.on(comm), to_root(comm, root));
    match (own, parts) {
        (Some(own), None) => exchange(call, it, None, |_| own.clone(), |_| own.clone()),
        (own, Some(parts)) => {
            let own = own.map(|own| (own, parts.at(root)));
            exchange(call, it, own, |peer| parts.at(peer), |peer| parts.at(peer))
        }
        (None, None) => error(Class::Buffer, "MPI_IN_PLACE at a rank that is not the root"),
    }
}

/// The blocks that each gives and gets, if both have as many bytes that only need to be moved.
#[inline(always)]
fn solid_blocks(call: &Call<'_>, data: &Buffer, room: &Buffer) -> Option<[(usize, usize); 2]> {
    let (own, all) = (data.solid()?, room.solid()?);
    (own.1 == all.1 && call.is_routed()).then_some([own, all])
}

#[inline]
pub(super) fn allgather(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if let Some([own, all]) = solid_blocks(&call, &data, &room) {
        // SAFETY: see the head of the file.
        unsafe { call.all_gather_solid(own, all.0) };
        return Ok(());
    }
    any_allgather(caller, data, room, comm)
}

#[inline(never)]
fn any_allgather(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::iallgather(caller, data, room, comm)?);
    }
    let own = if data.is_in_place() { None } else { Some(data.place(caller)?) };
    let all = room.whole(caller, comm)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).all_gather(own.as_ref(), &all) }
}

#[inline(always)]
pub(super) fn allgatherv(caller: Caller<'_>, data: Buffer, room: Blocks, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if call.is_routed()
        && let Some(own) = data.solid()
        && let Some(parts) = room.solid(comm.size())
    {
        return exchange_solid(
            call,
            among_all(comm),
            Some((own, parts(comm.rank))),
            move |_| own,
            parts,
        );
    }
    any_allgatherv(caller, data, room, comm)
}

#[inline(never)]
fn any_allgatherv(caller: Caller<'_>, data: Buffer, room: Blocks, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::iallgatherv(caller, data, room, comm)?);
    }
    let parts = room.parts(caller, comm.size())?;
    let is_in_place = data.is_in_place();
    let own = if is_in_place { parts.at(comm.rank) } else { data.place(caller)? };
    let kept = (!is_in_place).then(|| (own.clone(), parts.at(comm.rank)));
    exchange(caller.on(comm), among_all(comm), kept, |_| own.clone(), |peer| parts.at(peer))
}

#[inline]
pub(super) fn scatter(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let call = caller.on(comm);
    if let Some(root) = routed_root(&call, root)
        && let Some(own) = room.solid()
    {
        let all = if comm.rank == root { data.solid() } else { Some((0, own.1)) };
        if let Some((at, _)) = all.filter(|it| it.1 == own.1) {
            // SAFETY: see the head of the file.
            unsafe { call.scatter_solid((comm.rank == root).then_some(at), own, root) };
            return Ok(());
        }
    }
    any_scatter(caller, data, room, root, comm)
}

#[inline(never)]
fn any_scatter(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::iscatter(caller, data, room, root, comm)?);
    }
    let root = root_of(comm, root)?;
    let all = if comm.rank == root { Some(data.whole(caller, comm)?) } else { None };
    let own = if room.is_in_place() { None } else { Some(room.place(caller)?) };
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).scatter(all.as_ref(), own.as_ref(), root) }
}

#[inline(always)]
pub(super) fn scatterv(
    caller: Caller<'_>,
    data: Blocks,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let call = caller.on(comm);
    if let Some(root) = routed_root(&call, root)
        && let Some(own) = room.solid()
    {
        if comm.rank != root {
            let it = Exchange { root: Some(root), gives: 0, takes: 1, is_exact: true };
            return exchange_solid(call, it, None, |_| NO_PART, move |_| own);
        }
        if let Some(parts) = data.solid(comm.size()) {
            let it = from_root(comm, root);
            return exchange_solid(call, it, Some((parts(root), own)), parts, |_| NO_PART);
        }
    }
    any_scatterv(caller, data, room, root, comm)
}

#[inline(never)]
fn any_scatterv(
    caller: Caller<'_>,
    data: Blocks,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::iscatterv(caller, data, room, root, comm)?);
    }
    let root = root_of(comm, root)?;
    let is_root = comm.rank == root;
    let parts = if is_root { Some(data.parts(caller, comm.size())?) } else { None };
    let own = if room.is_in_place() { None } else { Some(room.place(caller)?) };
    let (call, it) = (caller.on(comm), from_root(comm, root));
    match (parts, own) {
        (None, Some(own)) => exchange(call, it, None, |_| own.clone(), |_| own.clone()),
        (Some(parts), own) => {
            let own = own.map(|own| (parts.at(root), own));
            exchange(call, it, own, |peer| parts.at(peer), |peer| parts.at(peer))
        }
        (None, None) => error(Class::Buffer, "MPI_IN_PLACE at a rank that is not the root"),
    }
}

/// Each rank gives each a part; `parts` is `None` if the data lies where the others' will go.
fn all_to_all_parts(
    caller: Caller<'_>,
    parts: Option<impl Fn(usize) -> Place>,
    room: impl Fn(usize) -> Place,
    comm: &Comm,
) -> Outcome {
    let (call, it, rank) = (caller.on(comm), among_all(comm), comm.rank);
    if let Some(parts) = parts {
        return exchange(call, it, Some((parts(rank), room(rank))), parts, room);
    }
    // SAFETY: see the head of the file.
    let kept: Vec<Vec<u8>> = (0..comm.size()).map(|it| unsafe { pack(&room(it)) }).collect();
    let gives = |peer: usize| bytes_at(kept[peer].as_ptr() as usize, kept[peer].len());
    exchange(call, it, None, gives, room)
}

#[inline]
pub(super) fn alltoall(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if let Some([from, to]) = solid_blocks(&call, &data, &room) {
        // SAFETY: see the head of the file.
        unsafe { call.all_to_all_solid(from, to.0) };
        return Ok(());
    }
    any_alltoall(caller, data, room, comm)
}

#[inline(never)]
fn any_alltoall(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ialltoall(caller, data, room, comm)?);
    }
    let from = if data.is_in_place() { None } else { Some(data.whole(caller, comm)?) };
    let to = room.whole(caller, comm)?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).all_to_all(from.as_ref(), &to) }
}

#[inline(always)]
pub(super) fn alltoallv(caller: Caller<'_>, data: Blocks, room: Blocks, comm: &Comm) -> Outcome {
    let call = caller.on(comm);
    if call.is_routed()
        && let Some(from) = data.solid(comm.size())
        && let Some(to) = room.solid(comm.size())
    {
        return exchange_solid(
            call,
            among_all(comm),
            Some((from(comm.rank), to(comm.rank))),
            from,
            to,
        );
    }
    any_alltoallv(caller, data, room, comm)
}

#[inline(never)]
fn any_alltoallv(caller: Caller<'_>, data: Blocks, room: Blocks, comm: &Comm) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ialltoallv(caller, data, room, comm)?);
    }
    let n = comm.size();
    let parts = if data.is_in_place() { None } else { Some(data.parts(caller, n)?) };
    let room = room.parts(caller, n)?;
    let parts = parts.as_ref().map(|it| |peer| it.at(peer));
    all_to_all_parts(caller, parts, |peer| room.at(peer), comm)
}

pub(super) fn alltoallw(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome {
    if comm.is_inter() {
        return await_started(caller, between::ialltoallw(caller, data, room, comm)?);
    }
    let (call, rank) = (caller.on(comm), comm.rank);
    if call.is_routed()
        && let Some(from) = data.solid(comm.size())
        && let Some(to) = room.solid(comm.size())
    {
        return exchange_solid(call, among_all(comm), Some((from(rank), to(rank))), from, to);
    }
    let parts = if data.is_in_place() { None } else { Some(data.each(caller, comm)?) };
    let room = room.each(caller, comm)?;
    let parts = parts.as_ref().map(|it| |peer: usize| it[peer].clone());
    all_to_all_parts(caller, parts, |peer| room[peer].clone(), comm)
}
