//! Collectives that are started, and complete later.

use super::arguments::{Blocks, Buffer, Caller, Operands, StatusOut, TypedBlocks, root_of};
use super::between;
use super::collectives::takes;
use super::counts::{Counts, count_of, counts_of, total_of};
use super::intercommunicators::within;
use super::requests::{finish, wait_one};
use crate::rt::comm::{Comm, Offer, Terms};
use crate::rt::error::Outcome;
use crate::rt::ops::Mark;
use crate::rt::p2p::{Ask, Kind, Req};
use crate::rt::rank::{Persistent, Starter};
use crate::rt::started::{self, Part};
use crate::rt::types::{Place, bytes_at, pack};
use std::cell::Cell;
use std::ffi::c_int;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Lays this rank's card down.
pub(super) fn begin(
    caller: Caller<'_>,
    comm: &Comm,
    terms: Terms,
    part: Part,
) -> Outcome<Arc<Req>> {
    let (owner, site) = (caller.me, caller.site);
    let req = caller.request(Ask { owner, site, kind: Kind::Collective, ..Ask::default() });
    // SAFETY: the program's buffers (`arguments.rs`), which it leaves alone until the request is
    // complete, as the standard asks of it.
    unsafe { started::start(&caller.world, comm, site, terms, part, &req) };
    Ok(req)
}

/// Awaits a collective that was started.
pub(super) fn await_started(caller: Caller<'_>, req: Arc<Req>) -> Outcome {
    wait_one(caller, &req);
    finish(caller, req, StatusOut::IGNORED)
}

/// A collective that can be started many times.
pub(super) fn again(
    comm: Rc<Comm>,
    start: impl Fn(Caller<'_>) -> Outcome<Arc<Req>> + 'static,
) -> Outcome<Persistent> {
    let start = Starter(Box::new(move |rank, site| start(Caller { rank, site, is_large: false })));
    let (number, starts) = (comm.next_started(), Cell::new(0));
    Ok(Persistent::Collective { comm, number, starts, start })
}

fn exchange(
    caller: Caller<'_>,
    comm: &Comm,
    root: Option<usize>,
    offer: Offer,
    takes: Vec<Option<Place>>,
) -> Outcome<Arc<Req>> {
    let terms = Terms { root, ..Terms::default() };
    begin(caller, comm, terms, Part::Exchange { offer, takes, kept: Vec::new() })
}

fn from_root(comm: &Comm, root: usize, room: Option<Place>) -> Vec<Option<Place>> {
    let mut takes: Vec<Option<Place>> = (0..comm.size()).map(|_| None).collect();
    takes[root] = room;
    takes
}

/// A buffer's parts for each rank, one behind the other.
fn parts(caller: Caller<'_>, comm: &Comm, buffer: Buffer) -> Outcome<Vec<Place>> {
    let first = buffer.place(caller)?;
    let count = first.count;
    Ok((0..comm.size()).map(|it| first.moved((it * count) as isize, count)).collect())
}

pub(super) fn ibarrier(caller: Caller<'_>, comm: &Comm) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ibarrier(caller, comm);
    }
    exchange(caller, comm, None, Offer::Nothing, Vec::new())
}

pub(super) fn ibcast(
    caller: Caller<'_>,
    data: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::bcast(caller, data, root, comm);
    }
    let (place, root) = (data.place(caller)?, root_of(comm, root)?);
    let terms = Terms { root: Some(root), bytes: Some(place.bytes()), op: Mark::None };
    let is_root = comm.rank == root;
    let takes = from_root(comm, root, (!is_root).then(|| place.clone()));
    let offer = if is_root { Offer::Same(place) } else { Offer::Nothing };
    begin(caller, comm, terms, Part::Exchange { offer, takes, kept: Vec::new() })
}

/// Every rank's data at the root, where the parts lie.
fn gather_parts(
    caller: Caller<'_>,
    data: Buffer,
    parts: impl FnOnce() -> Outcome<Vec<Place>>,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let root = root_of(comm, root)?;
    let is_in_place = data.is_in_place();
    let takes = if comm.rank == root { takes(comm, parts()?, is_in_place) } else { Vec::new() };
    let offer = if is_in_place { Offer::Nothing } else { Offer::Same(data.place(caller)?) };
    exchange(caller, comm, Some(root), offer, takes)
}

pub(super) fn igather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::igather(caller, data, room, root, comm);
    }
    gather_parts(caller, data, || parts(caller, comm, room), root, comm)
}

pub(super) fn igatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::igatherv(caller, data, room, root, comm);
    }
    gather_parts(caller, data, || room.each(caller, comm), root, comm)
}

/// The root's parts for each.
fn scatter_parts(
    caller: Caller<'_>,
    parts: impl FnOnce() -> Outcome<Vec<Place>>,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let root = root_of(comm, root)?;
    let offer = if comm.rank == root { Offer::Each(parts()?.into()) } else { Offer::Nothing };
    let room = if room.is_in_place() { None } else { Some(room.place(caller)?) };
    exchange(caller, comm, Some(root), offer, from_root(comm, root, room))
}

pub(super) fn iscatter(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::iscatter(caller, data, room, root, comm);
    }
    scatter_parts(caller, || parts(caller, comm, data), room, root, comm)
}

pub(super) fn iscatterv(
    caller: Caller<'_>,
    data: Blocks,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::iscatterv(caller, data, room, root, comm);
    }
    scatter_parts(caller, || data.each(caller, comm), room, root, comm)
}

fn all_gather_parts(
    caller: Caller<'_>,
    data: Buffer,
    parts: Vec<Place>,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let is_in_place = data.is_in_place();
    let own = if is_in_place { parts[comm.rank].clone() } else { data.place(caller)? };
    exchange(caller, comm, None, Offer::Same(own), takes(comm, parts, is_in_place))
}

pub(super) fn iallgather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::iallgather(caller, data, room, comm);
    }
    all_gather_parts(caller, data, parts(caller, comm, room)?, comm)
}

pub(super) fn iallgatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::iallgatherv(caller, data, room, comm);
    }
    all_gather_parts(caller, data, room.each(caller, comm)?, comm)
}

/// Each rank gives each a part; `from` is `None` if the data lies where the others' will go.
fn all_to_all_parts(
    caller: Caller<'_>,
    from: Option<Vec<Place>>,
    room: Vec<Place>,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    // SAFETY: the program's buffers, read while the call lasts.
    let packed = |it: &Place| unsafe { pack(it) };
    let kept: Vec<Vec<u8>> = match from {
        Some(_) => Vec::new(),
        None => room.iter().map(packed).collect(),
    };
    let offer = match from {
        Some(parts) => Offer::Each(parts.into()),
        None => {
            Offer::Each(kept.iter().map(|it| bytes_at(it.as_ptr() as usize, it.len())).collect())
        }
    };
    let takes = takes(comm, room, false);
    begin(caller, comm, Terms::default(), Part::Exchange { offer, takes, kept })
}

pub(super) fn ialltoall(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ialltoall(caller, data, room, comm);
    }
    let from = if data.is_in_place() { None } else { Some(parts(caller, comm, data)?) };
    all_to_all_parts(caller, from, parts(caller, comm, room)?, comm)
}

pub(super) fn ialltoallv(
    caller: Caller<'_>,
    data: Blocks,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ialltoallv(caller, data, room, comm);
    }
    let from = if data.is_in_place() { None } else { Some(data.each(caller, comm)?) };
    all_to_all_parts(caller, from, room.each(caller, comm)?, comm)
}

pub(super) fn ialltoallw(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ialltoallw(caller, data, room, comm);
    }
    let from = if data.is_in_place() { None } else { Some(data.each(caller, comm)?) };
    all_to_all_parts(caller, from, room.each(caller, comm)?, comm)
}

/// A reduction, whose result of these ranks, from this element on, goes to so many elements.
fn fold(
    caller: Caller<'_>,
    operands: Operands,
    root: Option<usize>,
    gives: Option<(i64, Range<usize>, usize)>,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let (own, op) = operands.own(caller)?;
    let gives = match gives {
        Some((count, ranks, start)) => Some((operands.with(count).target(caller)?, ranks, start)),
        None => None,
    };
    let terms = Terms { root, op: op.mark(), bytes: Some(own.bytes()) };
    begin(caller, comm, terms, Part::Fold { own, op, gives })
}

pub(super) fn ireduce(
    caller: Caller<'_>,
    operands: Operands,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ireduce(caller, operands, root, comm);
    }
    let root = root_of(comm, root)?;
    let gives = (comm.rank == root).then_some((operands.count, 0..comm.size(), 0));
    fold(caller, operands, Some(root), gives, comm)
}

pub(super) fn iallreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::iallreduce(caller, operands, comm);
    }
    fold(caller, operands, None, Some((operands.count, 0..comm.size(), 0)), comm)
}

pub(super) fn iscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome<Arc<Req>> {
    within(comm)?;
    fold(caller, operands, None, Some((operands.count, 0..comm.rank + 1, 0)), comm)
}

pub(super) fn iexscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome<Arc<Req>> {
    within(comm)?;
    fold(caller, operands, None, Some((operands.count, 0..comm.rank, 0)), comm)
}

fn reduce_parts(caller: Caller<'_>, operands: Operands<&[i64]>, comm: &Comm) -> Outcome<Arc<Req>> {
    let counts = operands.count;
    let total = total_of(counts)?;
    let start = counts_of(&counts[..comm.rank])?.iter().sum();
    let own = counts[comm.rank];
    count_of(own)?;
    fold(caller, operands.with(total), None, Some((own, 0..comm.size(), start)), comm)
}

pub(super) fn ireduce_scatter(
    caller: Caller<'_>,
    operands: Operands<Counts>,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ireduce_scatter(caller, operands, comm);
    }
    let counts: Vec<i64> = operands.count.some(comm.size())?.collect();
    reduce_parts(caller, operands.with(&counts), comm)
}

pub(super) fn ireduce_scatter_block(
    caller: Caller<'_>,
    operands: Operands,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ireduce_scatter_block(caller, operands, comm);
    }
    let counts = vec![operands.count; comm.size()];
    reduce_parts(caller, operands.with(&counts), comm)
}
