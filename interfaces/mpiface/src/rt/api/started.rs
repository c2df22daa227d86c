//! Collectives that are started, and complete later.

use super::arguments::{Blocks, Buffer, Caller, Operands, StatusOut, TypedBlocks, root_of};
use super::between;
use super::collectives::takes;
use super::counts::{Counts, count_of, counts_of, total_of};
use super::intercommunicators::within;
use super::requests::{finish, wait_one};
use crate::rt::awaits::Awaits;
use crate::rt::branch::Key;
use crate::rt::comm::{Comm, Shared, Terms};
use crate::rt::error::Outcome;
use crate::rt::handle::Handle;
use crate::rt::held::Hold;
use crate::rt::ops::Mark;
use crate::rt::rank::{Persistent, Starter};
use crate::rt::request::Req;
use crate::rt::started::{self, Part, Pieces, Takes};
use crate::rt::types::Place;
use std::ffi::c_int;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// All ranks' cards are needed, and all use this rank's memory if it lends it.
pub(super) const ALL: (Awaits, Awaits) = (Awaits::All, Awaits::All);

/// Lays this rank's card down; `reach`: the ranks of the cards it needs, and of the users of its
/// memory if it lends that.
pub(super) fn begin(
    caller: Caller<'_>,
    comm: &Comm,
    terms: Terms,
    part: Part,
    reach: (Awaits, Awaits),
) -> Outcome<Arc<Req>> {
    let named = part.named();
    // SAFETY: the program's buffers (`arguments.rs`), which it leaves alone until the request is
    // complete, as the standard asks of it.
    let begin = unsafe { started::start(&caller.world, comm, caller.site, terms, part, reach) };
    Ok(caller.carry_on(caller.site, begin, comm.context(), named))
}

/// Awaits a collective that was started.
pub(super) fn await_started(caller: Caller<'_>, req: Arc<Req>) -> Outcome {
    wait_one(caller, &req);
    finish(caller, req, StatusOut::IGNORED)
}

/// Keeps datatypes and operators of a call that can be started many times.
pub(super) fn held(caller: Caller<'_>, handles: &[Handle]) -> Vec<Hold> {
    handles.iter().filter_map(|it| caller.hold(*it)).collect()
}

/// A collective that can be started many times: on a communicator of its own, as ranks may start
/// several in different orders. It is compared, and named, as the call that makes it here: ranks
/// may start one by different functions.
pub(super) fn again(
    caller: Caller<'_>,
    comm: &Rc<Comm>,
    held: Vec<Hold>,
    start: impl Fn(Caller<'_>, &Comm) -> Outcome<Arc<Req>> + 'static,
) -> Outcome<Persistent> {
    let key = Key::Persistent(comm.shared.context, comm.next_made());
    let make = || Shared::new(&caller.world, comm.shared.members.clone());
    let comm = comm.apart(caller.rank.run.branches.take(key, comm.size(), make));
    let site = caller.site;
    let start = move |rank: &_, comm: &_| start(Caller { rank, site, is_large: false }, comm);
    Ok(Persistent::Collective { comm, start: Starter(Box::new(start)), _held: held })
}

/// Starts an exchange: with a root, that one awaits all, if it takes, and the others the root, if
/// they take; else all await all. Offers of others than the root are for the root alone.
fn exchange(
    caller: Caller<'_>,
    comm: &Comm,
    terms: Terms,
    offer: Pieces,
    takes: Takes,
) -> Outcome<Arc<Req>> {
    let awaits = match (terms.root, &takes) {
        (None, _) => Awaits::All,
        (_, Takes::Nothing) => Awaits::Nobody,
        (_, Takes::One(root, _)) => Awaits::one(*root),
        _ => Awaits::All,
    };
    let users = terms.root.filter(|it| *it != comm.rank).map_or(Awaits::All, Awaits::one);
    let part = Part::Exchange { offer, takes, is_in_place: false };
    begin(caller, comm, terms, part, (awaits, users))
}

fn of_root(root: usize) -> Terms {
    Terms { root: Some(root), ..Terms::default() }
}

pub(super) fn ibarrier(caller: Caller<'_>, comm: &Comm) -> Outcome<Arc<Req>> {
    if comm.is_inter() {
        return between::ibarrier(caller, comm);
    }
    begin(caller, comm, Terms::default(), Part::nothing(), ALL)
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
    let (offer, takes) = match comm.rank == root {
        true => (Pieces::Same(place), Takes::Nothing),
        false => (Pieces::Nothing, Takes::One(root, place)),
    };
    exchange(caller, comm, terms, offer, takes)
}

/// Every rank's data at the root, where the parts lie.
fn gather_parts(
    caller: Caller<'_>,
    data: Buffer,
    takes: impl FnOnce(bool) -> Outcome<Takes>,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let root = root_of(comm, root)?;
    let is_in_place = data.is_in_place();
    let takes = if comm.rank == root { takes(is_in_place)? } else { Takes::Nothing };
    let offer = if is_in_place { Pieces::Nothing } else { Pieces::Same(data.place(caller)?) };
    exchange(caller, comm, of_root(root), offer, takes)
}

/// The parts taken from each rank, one behind the other; not from the own one if it lies in place.
fn even(comm: &Comm, first: Place, is_in_place: bool) -> Takes {
    if is_in_place { Takes::EvenBut(comm.rank, first) } else { Takes::Even(first) }
}

fn each(comm: &Comm, parts: Vec<Place>, is_in_place: bool) -> Takes {
    Takes::Each(takes(comm, parts, is_in_place))
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
    let takes = |is_in_place| Ok(even(comm, room.place(caller)?, is_in_place));
    gather_parts(caller, data, takes, root, comm)
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
    let takes = |is_in_place| Ok(each(comm, room.each(caller, comm)?, is_in_place));
    gather_parts(caller, data, takes, root, comm)
}

/// The root's parts for each.
fn scatter_parts(
    caller: Caller<'_>,
    parts: impl FnOnce() -> Outcome<Pieces>,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let root = root_of(comm, root)?;
    let offer = if comm.rank == root { parts()? } else { Pieces::Nothing };
    let takes = match room.is_in_place() {
        true => Takes::Nothing,
        false => Takes::One(root, room.place(caller)?),
    };
    exchange(caller, comm, of_root(root), offer, takes)
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
    scatter_parts(caller, || Ok(Pieces::Even(data.place(caller)?)), room, root, comm)
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
    scatter_parts(caller, || Ok(Pieces::Each(data.each(caller, comm)?)), room, root, comm)
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
    let (first, is_in_place) = (room.place(caller)?, data.is_in_place());
    let own = match is_in_place {
        true => first.moved((comm.rank * first.count) as isize, first.count),
        false => data.place(caller)?,
    };
    let takes = even(comm, first, is_in_place);
    exchange(caller, comm, Terms::default(), Pieces::Same(own), takes)
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
    let (parts, is_in_place) = (room.each(caller, comm)?, data.is_in_place());
    let own = if is_in_place { parts[comm.rank].clone() } else { data.place(caller)? };
    let takes = each(comm, parts, is_in_place);
    exchange(caller, comm, Terms::default(), Pieces::Same(own), takes)
}

/// Each rank gives each a part; `from` is `None` if the data lies where the others' will go.
fn all_to_all_parts(
    caller: Caller<'_>,
    from: Option<Vec<Place>>,
    room: Vec<Place>,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    let is_in_place = from.is_none();
    let offer = Pieces::Each(from.unwrap_or_else(|| room.clone()));
    let part = Part::Exchange { offer, takes: each(comm, room, false), is_in_place };
    begin(caller, comm, Terms::default(), part, ALL)
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
    let (room, is_in_place) = (room.place(caller)?, data.is_in_place());
    let offer = Pieces::Even(if is_in_place { room.clone() } else { data.place(caller)? });
    let part = Part::Exchange { offer, takes: Takes::Even(room), is_in_place };
    begin(caller, comm, Terms::default(), part, ALL)
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

/// A reduction, with its result of these ranks, from this element on, to so many elements.
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
    let awaits = match &gives {
        None => Awaits::Nobody,
        Some((_, ranks, _)) => Awaits::Range(0, ranks.end as u32),
    };
    begin(caller, comm, terms, Part::Fold { own, op, gives }, (awaits, Awaits::All))
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
