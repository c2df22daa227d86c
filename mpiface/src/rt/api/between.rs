//! Collectives of intercommunicators: what one group gives, the other gets. All are started; the
//! blocking ones are awaited.
//!
//! # Safety of the calls here
//! See `started.rs`.

use super::arguments::{Blocks, Buffer, Caller, Operands, TypedBlocks};
use super::counts::{Counts, count_of, counts_of, total_of};
use super::started::begin;
use crate::rt::awaits::Awaits;
use crate::rt::comm::{Comm, Terms};
use crate::rt::desk::{self, Exchanged, Way};
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::fixed;
use crate::rt::operator::Operator;
use crate::rt::p2p::{Ask, Kind, PROC_NULL, Req};
use crate::rt::started::Part;
use crate::rt::types::{Place, bytes_at};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

/// MPI_ROOT.
const ROOT: c_int = -4;

/// What a rank is in a collective with a root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The root.
    Root,
    /// In the root's group.
    Idle,
    /// In the other group: the root's place among the members.
    Peer(usize),
}

impl Role {
    fn of(comm: &Comm, root: c_int) -> Outcome<Role> {
        let others = comm.peers();
        match usize::try_from(root) {
            Ok(root) if root < others.len() => Ok(Role::Peer(others.start + root)),
            _ if root == ROOT => Ok(Role::Root),
            _ if root == PROC_NULL => Ok(Role::Idle),
            _ => error(Class::Root, format!("the root {root} is none of {} ranks", others.len())),
        }
    }
}

/// Exchanges these places, with these members.
fn exchange(
    caller: Caller<'_>,
    comm: &Comm,
    gives: Vec<(usize, Place)>,
    takes: Vec<(usize, Place)>,
) -> Outcome<Arc<Req>> {
    let (owner, site) = (caller.me, caller.site);
    let (kind, context) = (Kind::Collective, comm.shared.context);
    let req = caller.request(Ask { owner, site, kind, context, ..Ask::default() });
    let way = |gives: bool| move |(member, place)| Way { edge: (member, 0), gives, place };
    let ways = gives.into_iter().map(way(true)).chain(takes.into_iter().map(way(false)));
    let all = Exchanged { ways: ways.collect(), is_exact: true };
    let call = comm.next_call(site);
    // SAFETY: see the head of the file.
    unsafe { desk::start(&caller.world, comm.shared.desks(), comm.rank, call, all, &req) };
    Ok(req)
}

/// These places, each of a rank of the other group.
fn others(comm: &Comm, parts: Vec<Place>) -> Vec<(usize, Place)> {
    comm.peers().zip(parts).collect()
}

/// The same place, of each rank of the other group.
fn all_others(comm: &Comm, place: &Place) -> Vec<(usize, Place)> {
    comm.peers().map(|it| (it, place.clone())).collect()
}

/// A part of a buffer for each rank of the other group.
fn parts(caller: Caller<'_>, comm: &Comm, buffer: Buffer) -> Outcome<Vec<Place>> {
    let first = buffer.place(caller)?;
    let count = first.count;
    Ok((0..comm.peers().len()).map(|it| first.moved((it * count) as isize, count)).collect())
}

pub(super) fn bcast(
    caller: Caller<'_>,
    data: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    match Role::of(comm, root)? {
        Role::Root => exchange(caller, comm, all_others(comm, &data.place(caller)?), Vec::new()),
        Role::Idle => exchange(caller, comm, Vec::new(), Vec::new()),
        Role::Peer(root) => exchange(caller, comm, Vec::new(), vec![(root, data.place(caller)?)]),
    }
}

pub(super) fn gather(
    caller: Caller<'_>,
    data: Buffer,
    room: impl FnOnce() -> Outcome<Vec<Place>>,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    match Role::of(comm, root)? {
        Role::Root => exchange(caller, comm, Vec::new(), others(comm, room()?)),
        Role::Idle => exchange(caller, comm, Vec::new(), Vec::new()),
        Role::Peer(root) => exchange(caller, comm, vec![(root, data.place(caller)?)], Vec::new()),
    }
}

pub(super) fn igather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    gather(caller, data, || parts(caller, comm, room), root, comm)
}

pub(super) fn igatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    gather(caller, data, || room.some(caller, comm.peers().len()), root, comm)
}

fn scatter(
    caller: Caller<'_>,
    data: impl FnOnce() -> Outcome<Vec<Place>>,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    match Role::of(comm, root)? {
        Role::Root => exchange(caller, comm, others(comm, data()?), Vec::new()),
        Role::Idle => exchange(caller, comm, Vec::new(), Vec::new()),
        Role::Peer(root) => exchange(caller, comm, Vec::new(), vec![(root, room.place(caller)?)]),
    }
}

pub(super) fn iscatter(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    scatter(caller, || parts(caller, comm, data), room, root, comm)
}

pub(super) fn iscatterv(
    caller: Caller<'_>,
    data: Blocks,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    scatter(caller, || data.some(caller, comm.peers().len()), room, root, comm)
}

pub(super) fn iallgather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let takes = others(comm, parts(caller, comm, room)?);
    exchange(caller, comm, all_others(comm, &data.place(caller)?), takes)
}

pub(super) fn iallgatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let takes = others(comm, room.some(caller, comm.peers().len())?);
    exchange(caller, comm, all_others(comm, &data.place(caller)?), takes)
}

pub(super) fn ialltoall(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let takes = others(comm, parts(caller, comm, room)?);
    exchange(caller, comm, others(comm, parts(caller, comm, data)?), takes)
}

pub(super) fn ialltoallv(
    caller: Caller<'_>,
    data: Blocks,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let n = comm.peers().len();
    let takes = others(comm, room.some(caller, n)?);
    exchange(caller, comm, others(comm, data.some(caller, n)?), takes)
}

pub(super) fn ialltoallw(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let n = comm.peers().len();
    let takes = others(comm, room.some(caller, n)?);
    exchange(caller, comm, others(comm, data.some(caller, n)?), takes)
}

pub(super) fn ibarrier(caller: Caller<'_>, comm: &Comm) -> Outcome<Arc<Req>> {
    begin(caller, comm, Terms::default(), Part::nothing(), Awaits::All)
}

/// What a rank gives that has no values.
const NONE: Operator = Operator::Known(fixed::OP_NULL, crate::rt::basic::Element::Byte);

fn fold(
    caller: Caller<'_>,
    comm: &Comm,
    (own, op): (Place, Operator),
    gives: Option<(Place, Range<usize>, usize)>,
) -> Outcome<Arc<Req>> {
    begin(caller, comm, Terms::default(), Part::Fold { own, op, gives }, Awaits::All)
}

pub(super) fn ireduce(
    caller: Caller<'_>,
    operands: Operands,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let nothing = || bytes_at(0, 0);
    match Role::of(comm, root)? {
        Role::Root => {
            let gives = (operands.target(caller)?, comm.peers(), 0);
            let op = operands.result_operator(caller)?;
            fold(caller, comm, (nothing(), op), Some(gives))
        }
        Role::Idle => fold(caller, comm, (nothing(), NONE), None),
        Role::Peer(_) => fold(caller, comm, operands.own(caller)?, None),
    }
}

pub(super) fn iallreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome<Arc<Req>> {
    let gives = (operands.target(caller)?, comm.peers(), 0);
    fold(caller, comm, operands.own(caller)?, Some(gives))
}

fn reduce_parts(caller: Caller<'_>, operands: Operands<&[i64]>, comm: &Comm) -> Outcome<Arc<Req>> {
    let counts = operands.count;
    let total = total_of(counts)?;
    let start = counts_of(&counts[..comm.own_rank()])?.iter().sum();
    let own = counts[comm.own_rank()];
    count_of(own)?;
    let gives = (operands.with(own).target(caller)?, comm.peers(), start);
    fold(caller, comm, operands.with(total).own(caller)?, Some(gives))
}

pub(super) fn ireduce_scatter(
    caller: Caller<'_>,
    operands: Operands<Counts>,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let counts: Vec<i64> = operands.count.some(comm.own().len())?.collect();
    reduce_parts(caller, operands.with(&counts), comm)
}

pub(super) fn ireduce_scatter_block(
    caller: Caller<'_>,
    operands: Operands,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let counts = vec![operands.count; comm.own().len()];
    reduce_parts(caller, operands.with(&counts), comm)
}
