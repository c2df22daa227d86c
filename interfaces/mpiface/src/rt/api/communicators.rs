//! Communicators.

use super::groups::{SAME, UNEQUAL, alike};
use super::infos::{find, set_hints};
use super::intercommunicators::{divide_both, split_both};
use super::keep::{Keep as _, NewComm, NewGroup, NewRequest};
use super::prelude::*;
use super::sessions::members;
use super::started::ibarrier;
use crate::rt::attributes;
use crate::rt::branch::Key;
use crate::rt::comm::{Offer, Shared};
use crate::rt::handlers::Handler;
use crate::rt::standard::{
    self, COMM_TYPE_HW_GUIDED as HW_GUIDED, COMM_TYPE_HW_UNGUIDED as HW_UNGUIDED,
    COMM_TYPE_RESOURCE_GUIDED as RESOURCE_GUIDED, COMM_TYPE_SHARED as SHARED,
};
use crate::rt::started::close;
use crate::rt::topo::Topology;

/// This rank's part of a new communicator, if it is in it.
fn part(
    caller: Caller<'_>,
    old: &Comm,
    (shared, library): (Option<Arc<Shared>>, Option<phalanx::Comm>),
    topology: Option<Topology>,
) -> Option<Rc<Comm>> {
    let shared = shared?;
    let me = shared.members.iter().position(|it| *it == caller.me).unwrap_or(0);
    Some(Comm::new(shared, me, old.errhandler.get(), topology, library))
}

/// Divides a communicator by colours (none for a negative one), in the order of the keys.
pub(super) fn split(
    caller: Caller<'_>,
    old: &Comm,
    color: i64,
    key: i64,
    topology: Option<Topology>,
) -> NewComm {
    let call = caller.on(old);
    let all = call.numbers(color, key);
    let mut members: Vec<usize> =
        (0..all.len()).filter(|it| color >= 0 && all[*it].0 == color).collect();
    members.sort_by_key(|it| (all[*it].1, *it));
    Ok(part(caller, old, call.divide(&members), topology))
}

pub(super) fn comm_rank(_: Caller<'_>, comm: &Comm) -> Outcome<c_int> {
    Ok(int(comm.own_rank()))
}

pub(super) fn comm_size(_: Caller<'_>, comm: &Comm) -> Outcome<c_int> {
    Ok(int(comm.own().len()))
}

pub(super) fn comm_dup(caller: Caller<'_>, old: &Comm) -> NewComm {
    let new = match &old.sides {
        Some(sides) => {
            let places = |it: &std::ops::Range<usize>| it.clone().collect::<Vec<usize>>();
            divide_both(caller, old, &places(&sides.own), &places(&sides.other))
        }
        None => split(caller, old, 0, 0, old.topology.clone())?,
    };
    new.as_ref().map_or(Ok(()), |new| copy_attributes(caller, old, new))?;
    Ok(new)
}

fn copy_attributes(caller: Caller<'_>, old: &Comm, new: &Comm) -> Outcome {
    attributes::copy(caller.rank, old.holder(), new.holder())
}

pub(super) fn comm_dup_with_info(caller: Caller<'_>, old: &Comm, info: Handle) -> NewComm {
    let new = comm_dup(caller, old)?;
    if let Some(new) = &new
        && info != standard::INFO_NULL
    {
        set_hints(caller, &new.hints, info)?;
    }
    Ok(new)
}

/// The new communicator is known at once: its shared part is made by the first that comes. It may
/// be used when all have come: that is the event which the request awaits.
pub(super) fn comm_idup_with_info(
    caller: Caller<'_>,
    old: &Comm,
    info: Handle,
    handle: Out<Handle>,
) -> NewRequest {
    let key = Key::Duplicate(old.shared.context, old.next_made());
    let members = || old.shared.members.clone();
    let world = &caller.world;
    let shared = caller.rank.run.branches.take(key, old.size(), || match old.is_inter() {
        true => Shared::new(world, members()),
        false => Shared::branch(world, caller.me, members()),
    });
    let errors = old.errhandler.get();
    let new = match &old.sides {
        Some(sides) => Comm::between(shared, old.rank, errors, sides.clone()),
        None => {
            // SAFETY: the program uses it when the request is complete.
            let library = unsafe { shared.take_seat(world, caller.me) };
            Comm::new(shared, old.rank, errors, old.topology.clone(), library)
        }
    };
    copy_attributes(caller, old, &new)?;
    if info != standard::INFO_NULL {
        set_hints(caller, &new.hints, info)?;
    }
    handle.set(Some(new).keep(caller));
    ibarrier(caller, old)
}

pub(super) fn comm_idup(caller: Caller<'_>, old: &Comm, handle: Out<Handle>) -> NewRequest {
    comm_idup_with_info(caller, old, standard::INFO_NULL, handle)
}

pub(super) fn comm_create_group(
    caller: Caller<'_>,
    old: &Comm,
    group: &[usize],
    tag: c_int,
) -> NewComm {
    if tag < 0 {
        return error(Class::Tag, format!("the tag {tag} is negative"));
    }
    if group.iter().any(|it| !old.shared.members.contains(it)) {
        return error(Class::Group, "a rank of the group is not in the communicator");
    }
    Ok(of_group(caller, (old.shared.context, tag), group, old.errhandler.get()))
}

/// A number for a tag that is a text; negative, as no program's tag is.
pub(super) fn number_of(text: &str) -> c_int {
    // FNV-1a: equal texts have equal numbers on all ranks, others seldom.
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    -1 - (text.bytes().fold(0x811c_9dc5, step) >> 2).cast_signed()
}

pub(super) fn comm_create_from_group(
    caller: Caller<'_>,
    group: &[usize],
    tag: &str,
    _info: Handle,
    errhandler: Handle,
) -> NewComm {
    Ok(of_group(caller, (0, number_of(tag)), group, caller.handler(errhandler)?))
}

/// The communicator of a group: all members call this with the same numbers; none if this
/// rank is not one of them.
pub(super) fn of_group(
    caller: Caller<'_>,
    (context, tag): (u32, c_int),
    group: &[usize],
    errhandler: Handler,
) -> Option<Rc<Comm>> {
    let place = group.iter().position(|it| *it == caller.me)?;
    let key = Key::Group(context, tag, group.to_vec());
    let (world, me) = (&caller.world, caller.me);
    let make = || Shared::branch(world, me, group.to_vec());
    let shared = caller.rank.run.branches.take(key, group.len(), make);
    // SAFETY: all come together before anybody has the communicator.
    let library = unsafe { shared.take_seat(world, me) };
    let new = Comm::new(shared, place, errhandler, None, library);
    new.come(world, caller.site);
    Some(new)
}

pub(super) fn comm_split(caller: Caller<'_>, old: &Comm, color: c_int, key: c_int) -> NewComm {
    if color < 0 && color != UNDEFINED {
        return error(Class::Arg, format!("the colour {color} is negative"));
    }
    split_any(caller, old, i64::from(color), i64::from(key))
}

/// Divides a communicator of one group, or both groups of one.
fn split_any(caller: Caller<'_>, old: &Comm, color: i64, key: i64) -> NewComm {
    match old.is_inter() {
        true => Ok(split_both(caller, old, color, key)),
        false => split(caller, old, color, key, None),
    }
}

pub(super) fn comm_split_type(
    caller: Caller<'_>,
    old: &Comm,
    kind: c_int,
    key: c_int,
    info: Handle,
) -> NewComm {
    let value = |key| match info {
        standard::INFO_NULL => Ok(None),
        info => find(caller, info, key),
    };
    // All ranks share one memory; other kinds of hardware are not told apart.
    let of_hardware = || Ok(value("mpi_hw_resource_type")?.filter(|it| it == "mpi_shared_memory"));
    // Each set of processes has a first one.
    let of_set = || Ok(value("mpi_pset_name")?.and_then(|it| members(caller, &it).ok()?.pop()));
    let color = match kind {
        SHARED => 0,
        HW_GUIDED | RESOURCE_GUIDED if of_hardware()?.is_some() => 0,
        RESOURCE_GUIDED => of_set()?.map_or(-1, |it| it as i64),
        UNDEFINED | HW_GUIDED | HW_UNGUIDED => -1,
        _ => return error(Class::Arg, format!("{kind} is no kind of a division")),
    };
    split_any(caller, old, color, i64::from(key))
}

pub(super) fn comm_create(caller: Caller<'_>, old: &Comm, group: &[usize]) -> NewComm {
    if let Some(sides) = &old.sides {
        let of = |range: std::ops::Range<usize>| &old.shared.members[range];
        if group.iter().any(|it| !of(sides.own.clone()).contains(it)) {
            return error(Class::Group, "a rank of the group is not in the local group");
        }
        let offers = caller.on(old).offers(Offer::Ranks(group.into()));
        let other = match &offers[sides.other.start] {
            Offer::Ranks(other) => other.to_vec(),
            _ => Vec::new(),
        };
        let place = |it: &usize| old.shared.members.iter().position(|other| other == it);
        let places = |list: &[usize]| list.iter().filter_map(place).collect::<Vec<usize>>();
        return Ok(divide_both(caller, old, &places(group), &places(&other)));
    }
    let index = |it: &usize| old.shared.members.iter().position(|other| other == it);
    let members: Vec<usize> = group.iter().filter_map(index).collect();
    if members.len() != group.len() {
        return error(Class::Group, "a rank of the group is not in the communicator");
    }
    let members = if members.contains(&old.rank) { members } else { Vec::new() };
    Ok(part(caller, old, caller.on(old).divide(&members), None))
}

pub(super) fn comm_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    let comm = handle.get();
    if comm == standard::COMM_WORLD || comm == standard::COMM_SELF {
        return error(Class::Comm, "a predefined communicator cannot be freed");
    }
    if !caller.comms.borrow().is_given(comm) {
        return error(Class::Comm, format!("{comm:#x} is no communicator"));
    }
    let freed = caller.comm(comm)?;
    attributes::delete_all(caller.rank, freed.holder())?;
    close(&freed, false);
    drop(freed);
    caller.comms.borrow_mut().free(comm);
    handle.set(standard::COMM_NULL);
    caller.sweep()
}

/// No rank was started by another program.
pub(super) fn comm_get_parent(_: Caller<'_>) -> Outcome<Handle> {
    Ok(standard::COMM_NULL)
}

pub(super) fn comm_group(_: Caller<'_>, comm: &Comm) -> NewGroup {
    Ok(comm.shared.members[comm.own()].to_vec())
}

pub(super) fn comm_compare(_: Caller<'_>, one: &Comm, two: &Comm) -> Outcome<c_int> {
    let group = |comm: &Comm, is_own| {
        let places = if is_own { comm.own() } else { comm.peers() };
        comm.shared.members[places].to_vec()
    };
    let both = |is_own| alike(&group(one, is_own), &group(two, is_own));
    Ok(match () {
        () if Arc::ptr_eq(&one.shared, &two.shared) => SAME,
        () if one.is_inter() != two.is_inter() => UNEQUAL,
        // The worse of the two, which are in this order.
        () => both(true).max(both(false)),
    })
}

pub(super) fn comm_test_inter(_: Caller<'_>, comm: &Comm) -> Outcome<c_int> {
    Ok(c_int::from(comm.is_inter()))
}
