//! Communicators between two groups, and those made of them.
//!
//! An intercommunicator's shared part has the members of both groups, in the same order on both
//! sides: so meetings and started collectives know it as one communicator, while messages and the
//! functions that a program sees go from one side to the other.

use super::arguments::peer_of;
use super::communicators::{number_of, of_group};
use super::keep::{NewComm, NewGroup};
use super::prelude::*;
use crate::rt::comm::{Offer, Shared, Sides};

/// This rank's part of a new intercommunicator of some members of one: `own` of this side, `other`
/// of the other one. All ranks of both sides call it.
pub(super) fn divide_both(
    caller: Caller<'_>,
    old: &Comm,
    own: &[usize],
    other: &[usize],
) -> Option<Rc<Comm>> {
    let is_first = old.own().start == 0;
    let is_there = own.contains(&old.rank) && !other.is_empty();
    let both = || if is_first { [own, other].concat() } else { [other, own].concat() };
    let members = if is_there { both() } else { Vec::new() };
    let shared = caller.on(old).share(&members, |it| Shared::new(&caller.world, it))?;
    let rank = members.iter().position(|it| *it == old.rank)?;
    let (first, second) =
        if is_first { (own.len(), other.len()) } else { (other.len(), own.len()) };
    let (low, high) = (0..first, first..first + second);
    let (own, other) = if is_first { (low, high) } else { (high, low) };
    Some(Comm::between(shared, rank, old.errhandler.get(), Sides { own, other }))
}

/// Divides both sides of an intercommunicator by colours.
pub(super) fn split_both(caller: Caller<'_>, old: &Comm, color: i64, key: i64) -> Option<Rc<Comm>> {
    let all = caller.on(old).numbers(color, key);
    let alike = |places: std::ops::Range<usize>| {
        let mut found: Vec<usize> = places.filter(|it| color >= 0 && all[*it].0 == color).collect();
        found.sort_by_key(|it| (all[*it].1, *it));
        found
    };
    divide_both(caller, old, &alike(old.own()), &alike(old.peers()))
}

pub(super) fn intercomm_create(
    caller: Caller<'_>,
    local: &Comm,
    leader: c_int,
    peer: Handle,
    remote: c_int,
    tag: c_int,
) -> NewComm {
    let Some(leader) = usize::try_from(leader).ok().filter(|it| *it < local.size()) else {
        return error(Class::Rank, format!("the leader {leader} is none of {}", local.size()));
    };
    let call = caller.on(local);
    let mut offer = Offer::Nothing;
    if local.rank == leader {
        let peer = caller.comm(peer)?;
        let Some(other) = peer_of(&peer, remote)?.map(|it| peer.peer(it)) else {
            return error(Class::Rank, "the other group has no leader");
        };
        let (between, members) = ((peer.shared.context, tag), local.shared.members.clone());
        let (world, ends) = (&caller.world, (caller.me, other));
        if other != caller.me
            && let Some(both) =
                caller.rank.run.branches.join(world, caller.site, between, ends, members)
        {
            offer = Offer::Comm(both);
        }
    }
    let mut offers = call.offers(offer);
    let Offer::Comm(shared) = offers.swap_remove(leader) else {
        return error(Class::Comm, "a rank is in both groups");
    };
    let (all, own) = (shared.members.len(), local.size());
    let is_first = shared.members[..own] == local.shared.members[..];
    let sides = match is_first {
        true => Sides { own: 0..own, other: own..all },
        false => Sides { own: all - own..all, other: 0..all - own },
    };
    let rank = sides.own.start + local.rank;
    Ok(Some(Comm::between(shared, rank, local.errhandler.get(), sides)))
}

#[expect(clippy::too_many_arguments, reason = "the standard's")]
pub(super) fn intercomm_create_from_groups(
    caller: Caller<'_>,
    own: &[usize],
    leader: c_int,
    other: &[usize],
    remote: c_int,
    tag: &str,
    _info: Handle,
    errhandler: Handle,
) -> NewComm {
    let (tag, errhandler) = (number_of(tag), caller.handler(errhandler)?);
    let Some(local) = of_group(caller, (0, tag), own, errhandler) else {
        return error(Class::Group, "this rank is not in its group");
    };
    let Some(remote) = usize::try_from(remote).ok().and_then(|it| other.get(it)) else {
        return error(Class::Rank, format!("the leader {remote} is none of {}", other.len()));
    };
    intercomm_create(caller, &local, leader, standard::COMM_WORLD, int(*remote), tag)
}

fn sides(comm: &Comm) -> Outcome<&Sides> {
    let no = || Error::new(Class::Comm, "this is no communicator between two groups");
    comm.sides.as_ref().ok_or_else(no)
}

pub(super) fn intercomm_merge(caller: Caller<'_>, old: &Comm, high: c_int) -> NewComm {
    sides(old)?;
    let call = caller.on(old);
    let all = call.numbers(i64::from(high != 0), 0);
    let split = old.own().start.max(old.peers().start);
    let (mut first, second): (Vec<usize>, Vec<usize>) = (0..old.size()).partition(|it| *it < split);
    // Of two groups that say the same, the first one comes first, on both sides.
    if all[0].0 > all[split].0 {
        first = [second, first].concat();
    } else {
        first.extend(second);
    }
    let (shared, library) = call.join(&first);
    let rank = first.iter().position(|it| *it == old.rank);
    let (Some(shared), Some(rank)) = (shared, rank) else {
        return error(Class::Other, "the communicator was not made");
    };
    Ok(Some(Comm::new(shared, rank, old.errhandler.get(), None, library)))
}

pub(super) fn comm_remote_size(_: Caller<'_>, comm: &Comm) -> Outcome<c_int> {
    Ok(int(sides(comm)?.other.len()))
}

pub(super) fn comm_remote_group(_: Caller<'_>, comm: &Comm) -> NewGroup {
    Ok(comm.shared.members[sides(comm)?.other.clone()].to_vec())
}
