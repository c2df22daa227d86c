//! Collectives of intercommunicators: data of one group, for the other. All are started; the
//! blocking ones are awaited.
//!
//! # Safety of the calls here
//! See `started.rs`.

use super::arguments::{Blocks, Buffer, Caller, Operands, TypedBlocks};
use super::counts::{Counts, count_of, counts_of, total_of};
use super::started::{ALL, begin};
use crate::rt::awaits::Awaits;
use crate::rt::comm::{Comm, Terms};
use crate::rt::envelope::PROC_NULL;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::fixed;
use crate::rt::operator::Operator;
use crate::rt::request::Req;
use crate::rt::started::{Part, Pieces, Takes};
use crate::rt::types::{Place, bytes_at};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

/// MPI_ROOT.
const ROOT: c_int = -4;

/// A rank's part in a collective with a root.
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

/// The other group.
fn others(comm: &Comm) -> Awaits {
    Awaits::Range(comm.peers().start as u32, comm.peers().len() as u32)
}

/// Exchanges these, with all of the other group or with its root.
fn exchange(
    caller: Caller<'_>,
    comm: &Comm,
    offer: Pieces,
    takes: Takes,
    with: Awaits,
) -> Outcome<Arc<Req>> {
    let awaits = if matches!(takes, Takes::Nothing) { Awaits::Nobody } else { with };
    let part = Part::Exchange { offer, takes, is_in_place: false };
    begin(caller, comm, Terms::default(), part, (awaits, with))
}

/// The root's group but the root: it gives and takes nothing.
fn idle(caller: Caller<'_>, comm: &Comm) -> Outcome<Arc<Req>> {
    exchange(caller, comm, Pieces::Nothing, Takes::Nothing, Awaits::Nobody)
}

/// A piece for each rank of the other group.
fn each(comm: &Comm, parts: Vec<Place>) -> Pieces {
    let mut all = vec![bytes_at(0, 0); comm.size()];
    all[comm.peers()].clone_from_slice(&parts);
    Pieces::Each(all)
}

/// From each rank of the other group to such a place.
fn from_each(comm: &Comm, parts: Vec<Place>) -> Takes {
    let mut all = vec![None; comm.size()];
    comm.peers().zip(parts).for_each(|(it, place)| all[it] = Some(place));
    Takes::Each(all)
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
        Role::Root => {
            let offer = Pieces::Same(data.place(caller)?);
            exchange(caller, comm, offer, Takes::Nothing, others(comm))
        }
        Role::Idle => idle(caller, comm),
        Role::Peer(root) => take_from(caller, comm, root, data),
    }
}

/// The root's data goes there.
fn take_from(caller: Caller<'_>, comm: &Comm, root: usize, room: Buffer) -> Outcome<Arc<Req>> {
    let takes = Takes::One(root, room.place(caller)?);
    exchange(caller, comm, Pieces::Nothing, takes, Awaits::one(root))
}

pub(super) fn gather(
    caller: Caller<'_>,
    data: Buffer,
    room: impl FnOnce() -> Outcome<Vec<Place>>,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    match Role::of(comm, root)? {
        Role::Root => {
            exchange(caller, comm, Pieces::Nothing, from_each(comm, room()?), others(comm))
        }
        Role::Idle => idle(caller, comm),
        Role::Peer(root) => {
            let offer = Pieces::Same(data.place(caller)?);
            exchange(caller, comm, offer, Takes::Nothing, Awaits::one(root))
        }
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
        Role::Root => exchange(caller, comm, each(comm, data()?), Takes::Nothing, others(comm)),
        Role::Idle => idle(caller, comm),
        Role::Peer(root) => take_from(caller, comm, root, room),
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
    let takes = from_each(comm, parts(caller, comm, room)?);
    exchange(caller, comm, Pieces::Same(data.place(caller)?), takes, others(comm))
}

pub(super) fn iallgatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let takes = from_each(comm, room.some(caller, comm.peers().len())?);
    exchange(caller, comm, Pieces::Same(data.place(caller)?), takes, others(comm))
}

pub(super) fn ialltoall(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let takes = from_each(comm, parts(caller, comm, room)?);
    exchange(caller, comm, each(comm, parts(caller, comm, data)?), takes, others(comm))
}

pub(super) fn ialltoallv(
    caller: Caller<'_>,
    data: Blocks,
    room: Blocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let n = comm.peers().len();
    let takes = from_each(comm, room.some(caller, n)?);
    exchange(caller, comm, each(comm, data.some(caller, n)?), takes, others(comm))
}

pub(super) fn ialltoallw(
    caller: Caller<'_>,
    data: TypedBlocks,
    room: TypedBlocks,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let n = comm.peers().len();
    let takes = from_each(comm, room.some(caller, n)?);
    exchange(caller, comm, each(comm, data.some(caller, n)?), takes, others(comm))
}

pub(super) fn ibarrier(caller: Caller<'_>, comm: &Comm) -> Outcome<Arc<Req>> {
    begin(caller, comm, Terms::default(), Part::nothing(), ALL)
}

/// The data of a rank that has no values.
const NONE: Operator = Operator::Known(fixed::OP_NULL, crate::rt::basic::Element::Byte);

fn fold(
    caller: Caller<'_>,
    comm: &Comm,
    (own, op): (Place, Operator),
    gives: Option<(Place, Range<usize>, usize)>,
) -> Outcome<Arc<Req>> {
    begin(caller, comm, Terms::default(), Part::Fold { own, op, gives }, ALL)
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
