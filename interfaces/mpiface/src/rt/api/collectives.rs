//! Collectives. Each looks at its arguments once: memory without gaps and numbers that the library
//! has an operator for go to it as they are (`buffers.rs`, `operands.rs`), in the function's own
//! code; the rest by way of places. (By places alone a call of 8 bytes, of two ranks, takes 80 to
//! 370 instructions more, of 640 to 860, and with counts of parts 500 to 1100 more, of 530 to 710:
//! `tests/cost`, of a build without these looks.)
//!
//! These are of one group of ranks; of two, the started ones are awaited (`build/calls.rs`).
//!
//! # Safety of the calls here
//! The places are the program's buffers (`arguments.rs`), which all ranks leave alone until their
//! calls return, as the standard asks of them.

use super::arguments::root_of;
use super::buffers::{Buffer, Nothing, Parts, Same};
use super::counts::Lengths;
use super::operands::{Operands, Room};
use super::prelude::*;
use super::started::{self, await_started};
use crate::rt::exchange::Exchange;
use crate::rt::overlap::{all_apart, apart};
use crate::rt::reduction::To;
use crate::rt::route::{Move, NOWHERE};
use crate::rt::types::{bytes_at, copy, pack};

pub(super) fn barrier(caller: Caller<'_>, comm: &Comm) -> Outcome {
    caller.on(comm).barrier();
    Ok(())
}

/// Moves a block for each rank, or from each: from one buffer to the other. None: this rank has
/// nothing there; or its data lies where the others' will go; or the root's stays where it is.
#[inline(always)]
fn move_blocks<const IT: usize>(
    caller: Caller<'_>,
    from: Option<Buffer>,
    to: Option<Buffer>,
    root: usize,
    comm: &Comm,
) -> Outcome {
    let (call, it) = (caller.on(comm), const { Move::ALL[IT] });
    if call.is_routed() {
        let solid = |buffer: Option<Buffer>| buffer.and_then(|it| Buffer::solid(&it));
        let blocks = match (solid(from), solid(to)) {
            (Some(from), Some(to)) if from.1 == to.1 => Some((from.0, to.0, to.1)),
            (None, Some(to)) if from.is_none() && it.may_give_nothing() => {
                Some((NOWHERE, to.0, to.1))
            }
            (Some(from), None) if to.is_none() && it == Move::Gather => {
                Some((from.0, NOWHERE, from.1))
            }
            _ => None,
        };
        // Found here at the price of an instruction or two; else in places.
        let is_apart = |(from, to, block): (usize, usize, usize)| match it {
            Move::Gather => !(to..to + (block * comm.size()).max(1)).contains(&from),
            _ => from != to,
        };
        if let Some((from, to, block)) = blocks.filter(|it| is_apart(*it)) {
            // SAFETY: see the head of the file.
            unsafe { call.move_solid::<IT>(from, to, block, root) };
            return Ok(());
        }
    }
    let again = |buffer: Option<Buffer>| buffer.map(Buffer::again);
    move_places(&caller.again(), it, (again(from), again(to)), root, comm, false)
}

/// The same of any blocks. `is_in_place`: the data lies where the result goes.
#[inline(never)]
fn move_places(
    caller: &Caller<'_>,
    it: Move,
    (from, to): (Option<Buffer>, Option<Buffer>),
    root: usize,
    comm: &Comm,
    is_in_place: bool,
) -> Outcome {
    let place = |buffer: Option<Buffer>| buffer.map(|it| it.place(*caller)).transpose();
    let (from, to) = (place(from)?, place(to)?);
    if let (Some(from), Some(to), false) = (&from, &to, is_in_place) {
        let (given, taken) = it.blocks(comm.size(), comm.rank == root);
        apart(&from.moved(0, from.count * given), &to.moved(0, to.count * taken))?;
    }
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).move_places(it, from, to, root) }
}

#[inline(always)]
pub(super) fn bcast(caller: Caller<'_>, data: Buffer, root: c_int, comm: &Comm) -> Outcome {
    let root = root_of(comm, root)?;
    move_blocks::<{ Move::Broadcast as usize }>(caller, None, Some(data), root, comm)
}

#[inline(always)]
pub(super) fn gather(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let root = root_of(comm, root)?;
    let all = (comm.rank == root).then_some(room);
    if data.is_in_place() {
        let parts = (Some(room.block(caller, comm.rank)?), all);
        return move_places(&caller.again(), Move::Gather, parts, root, comm, true);
    }
    move_blocks::<{ Move::Gather as usize }>(caller, Some(data), all, root, comm)
}

#[inline(always)]
pub(super) fn allgather(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    let own = (!data.is_in_place()).then_some(data);
    move_blocks::<{ Move::AllGather as usize }>(caller, own, Some(room), 0, comm)
}

#[inline(always)]
pub(super) fn scatter(
    caller: Caller<'_>,
    data: Buffer,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let root = root_of(comm, root)?;
    let all = (comm.rank == root).then_some(data);
    let own = (!room.is_in_place()).then_some(room);
    move_blocks::<{ Move::Scatter as usize }>(caller, all, own, root, comm)
}

#[inline(always)]
pub(super) fn alltoall(caller: Caller<'_>, data: Buffer, room: Buffer, comm: &Comm) -> Outcome {
    let from = (!data.is_in_place()).then_some(data);
    move_blocks::<{ Move::AllToAll as usize }>(caller, from, Some(room), 0, comm)
}

/// Combines the ranks' values. `room`: for a result that this rank does not get.
#[inline(always)]
fn combine(
    caller: Caller<'_>,
    operands: Operands,
    room: Option<&mut Room>,
    to: To<'_>,
    comm: &Comm,
) -> Outcome {
    let call = caller.on(comm);
    if call.is_routed()
        && let Some(numbers) = operands.numbers(room)
        && numbers.have(to)
    {
        // SAFETY: see the head of the file; the room has as many bytes.
        unsafe { call.combine(numbers, to) };
        return Ok(());
    }
    combine_elements(caller.again(), operands, to, comm)
}

/// The same of other elements.
#[inline(never)]
fn combine_elements(caller: Caller<'_>, operands: Operands, to: To<'_>, comm: &Comm) -> Outcome {
    let reduction = operands.reduction(caller)?;
    let target = match to {
        To::Root(root) if root != comm.rank => None,
        To::Parts(counts) => Some(operands.with(counts[comm.rank] as i64).target(caller)?),
        _ => Some(operands.target(caller)?),
    };
    if let Some(target) = target.as_ref().filter(|_| !matches!(to, To::Before) || comm.rank > 0) {
        operands.apart(&operands.own(caller)?.0, target)?;
    }
    match (reduction, target) {
        (Some(it), target) if comm.size() > 1 => {
            // SAFETY: see the head of the file.
            unsafe { caller.on(comm).reduce(&it, target.as_ref(), to) };
        }
        (_, Some(target)) if comm.size() == 1 => {
            let (own, _) = operands.own(caller)?;
            if !matches!(to, To::Before) {
                // SAFETY: as above.
                unsafe { copy(&own, &target) };
            }
        }
        // The library does not take them.
        _ => return await_started(caller, started::combine(caller, operands, to, comm)?),
    }
    Ok(())
}

#[inline(always)]
pub(super) fn reduce(caller: Caller<'_>, operands: Operands, root: c_int, comm: &Comm) -> Outcome {
    let root = root_of(comm, root)?;
    // The others' values are combined in a copy.
    let mut room = Room::uninit();
    let room = (comm.rank != root).then_some(&mut room);
    combine(caller, operands, room, To::Root(root), comm)
}

#[inline(always)]
pub(super) fn allreduce(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    combine(caller, operands, None, To::All, comm)
}

/// The same in a function of its own.
#[inline(never)]
fn combine_apart(caller: Caller<'_>, operands: Operands, to: To<'_>, comm: &Comm) -> Outcome {
    combine(caller, operands, None, to, comm)
}

pub(super) fn scan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    combine_apart(caller, operands, To::Prefix, comm)
}

pub(super) fn exscan(caller: Caller<'_>, operands: Operands, comm: &Comm) -> Outcome {
    combine_apart(caller, operands, To::Before, comm)
}

pub(super) fn reduce_scatter(
    caller: Caller<'_>,
    operands: Operands<impl Lengths>,
    comm: &Comm,
) -> Outcome {
    let (all, counts) = operands.count.lengths(comm.size())?;
    combine_apart(caller, operands.with(all), To::Parts(&counts), comm)
}

/// Exchanges parts, of which there are so many: of each step the other rank, and the number of the
/// part. `own`: the number of those that go from the rank to itself, if any do.
#[inline(always)]
pub(super) fn exchange<G: Parts, T: Parts>(
    caller: Caller<'_>,
    comm: &Comm,
    it: Exchange<'_>,
    own: Option<usize>,
    (gives, takes): ((G, usize), (T, usize)),
    (give, take): (impl Fn(usize) -> Step + Copy, impl Fn(usize) -> Step + Copy),
) -> Outcome {
    if gives.0.address() != takes.0.address()
        && let Some(given) = gives.0.solid(gives.1)
        && let Some(taken) = takes.0.solid(takes.1)
    {
        let gives = move |step| {
            let (peer, part) = give(step);
            (peer, given(part))
        };
        let takes = move |step| {
            let (peer, part) = take(step);
            (peer, taken(part))
        };
        let own = own.map(|it| (given(it), taken(it)));
        // SAFETY: see the head of the file.
        return unsafe { caller.on(comm).exchange(it, own, gives, takes) };
    }
    let (gives, takes) = ((gives.0.again(), gives.1), (takes.0.again(), takes.1));
    exchange_places(&caller.again(), comm, Exchange { ..it }, own, (gives, takes))
}

/// The other rank of a step, and the number of the part there.
type Step = (usize, usize);

/// The same of any parts, along edges or among all.
#[inline(never)]
fn exchange_places<G: Parts, T: Parts>(
    caller: &Caller<'_>,
    comm: &Comm,
    it: Exchange<'_>,
    own: Option<usize>,
    (gives, takes): ((G, usize), (T, usize)),
) -> Outcome {
    let given = gives.0.places(*caller, gives.1)?;
    let taken = takes.0.places(*caller, takes.1)?;
    let own = own.map(|it| (given(it), taken(it)));
    let (edges, others) = (comm.edges().ok(), steps(*caller, comm, it.root));
    let edges = edges.filter(|_| it.is_along_edges);
    let give = |step| edges.map_or_else(|| others(step), |edges| edges.given[step]);
    let take = |step| edges.map_or_else(|| others(step), |edges| edges.taken[step]);
    let gives: &dyn Fn(usize) -> _ = &|step| (give(step).0, given(give(step).1));
    let takes: &dyn Fn(usize) -> _ = &|step| (take(step).0, taken(take(step).1));
    let (data, room) = ((0..it.gives).map(|it| gives(it).1), (0..it.takes).map(|it| takes(it).1));
    let (from, to): (Vec<Place>, Vec<Place>) = own.iter().cloned().unzip();
    all_apart(data.chain(from), room.chain(to))?;
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).exchange(it, own, gives, takes) }
}

/// The other rank of a step, and its part: the root, for those that it alone gives to or takes
/// from; else each, of which a rank begins with the next one.
#[inline(always)]
fn steps(
    caller: Caller<'_>,
    comm: &Comm,
    root: Option<usize>,
) -> impl Fn(usize) -> Step + Copy + use<> {
    let others = caller.on(comm).others();
    let root = root.filter(|root| *root != comm.rank);
    move |step| {
        let peer = root.unwrap_or_else(|| others(step));
        (peer, peer)
    }
}

/// An exchange with the root: of parts that it gives, or takes, one for each rank.
#[inline(always)]
fn with_root<G: Parts, T: Parts>(
    caller: Caller<'_>,
    comm: &Comm,
    (root, gives, takes): (usize, usize, usize),
    own: Option<usize>,
    (given, taken): (G, T),
) -> Outcome {
    let (it, n) = (among(Some(root), gives, takes), comm.size());
    let others = caller.on(comm).others();
    let step = move |step| {
        let peer = if own.is_some() { others(step) } else { root };
        (peer, peer)
    };
    exchange(caller, comm, it, own, ((given, n), (taken, n)), (step, step))
}

/// The root's exchange with the others, of which its own part stays where it is; an error of
/// others, whose data lies in no buffer.
#[cold]
#[inline(never)]
fn without_own<G: Parts, T: Parts>(
    caller: &Caller<'_>,
    comm: &Comm,
    (root, gives, takes): (usize, usize, usize),
    (given, taken): (G, T),
) -> Outcome {
    if comm.rank != root {
        return error(Class::Buffer, "MPI_IN_PLACE at a rank that is not the root");
    }
    let (it, n) = (among(Some(root), gives, takes), comm.size());
    exchange_places(caller, comm, it, None, ((given, n), (taken, n)))
}

/// An exchange of so many parts.
#[inline(always)]
fn among(root: Option<usize>, gives: usize, takes: usize) -> Exchange<'static> {
    Exchange { root, gives, takes, is_along_edges: false, rounds: &[] }
}

#[inline(always)]
pub(super) fn gatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: impl Parts,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let (root, others) = (root_of(comm, root)?, comm.size() - 1);
    if data.is_in_place() {
        return without_own(&caller.again(), comm, (root, 0, others), (Nothing, room.again()));
    }
    let given = Same(data, 0);
    match comm.rank == root {
        true => with_root(caller, comm, (root, 0, others), Some(root), (given, room)),
        false => with_root(caller, comm, (root, 1, 0), None, (given, Nothing)),
    }
}

#[inline(always)]
pub(super) fn scatterv(
    caller: Caller<'_>,
    data: impl Parts,
    room: Buffer,
    root: c_int,
    comm: &Comm,
) -> Outcome {
    let (root, others) = (root_of(comm, root)?, comm.size() - 1);
    if room.is_in_place() {
        return without_own(&caller.again(), comm, (root, others, 0), (data.again(), Nothing));
    }
    let taken = Same(room, 0);
    match comm.rank == root {
        true => with_root(caller, comm, (root, others, 0), Some(root), (data, taken)),
        false => with_root(caller, comm, (root, 0, 1), None, (Nothing, taken)),
    }
}

#[inline(always)]
pub(super) fn allgatherv(
    caller: Caller<'_>,
    data: Buffer,
    room: impl Parts,
    comm: &Comm,
) -> Outcome {
    let (it, n) = (among(None, comm.size() - 1, comm.size() - 1), comm.size());
    if data.is_in_place() {
        let parts = ((Same(room.again(), comm.rank), n), (room.again(), n));
        return exchange_places(&caller.again(), comm, it, None, parts);
    }
    let step = steps(caller, comm, None);
    exchange(caller, comm, it, Some(comm.rank), ((Same(data, 0), n), (room, n)), (step, step))
}

#[inline(always)]
pub(super) fn alltoallv<P: Parts>(caller: Caller<'_>, data: P, room: P, comm: &Comm) -> Outcome {
    if data.is_in_place() {
        return alltoallv_in_place(&caller.again(), room.again(), comm);
    }
    let (it, n) = (among(None, comm.size() - 1, comm.size() - 1), comm.size());
    let step = steps(caller, comm, None);
    exchange(caller, comm, it, Some(comm.rank), ((data, n), (room, n)), (step, step))
}

/// The same of data that lies where the others' will go: a copy of it is given.
#[inline(never)]
fn alltoallv_in_place(caller: &Caller<'_>, room: impl Parts, comm: &Comm) -> Outcome {
    let (it, step) = (among(None, comm.size() - 1, comm.size() - 1), steps(*caller, comm, None));
    let taken = room.places(*caller, comm.size())?;
    // SAFETY: see the head of the file.
    let kept: Vec<Vec<u8>> = (0..comm.size()).map(|it| unsafe { pack(&taken(it)) }).collect();
    let given = |it: usize| bytes_at(kept[it].as_ptr() as usize, kept[it].len());
    let gives: &dyn Fn(usize) -> _ = &|at| (step(at).0, given(step(at).1));
    let takes: &dyn Fn(usize) -> _ = &|at| (step(at).0, taken(step(at).1));
    // SAFETY: see the head of the file.
    unsafe { caller.on(comm).exchange(it, None, gives, takes) }
}
