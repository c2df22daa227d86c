//! Communicators.

use super::UNDEFINED;
use super::arguments::{Caller, Out, int};
use super::groups::{SAME, alike};
use crate::rt::attributes;
use crate::rt::comm::{Comm, Shared};
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::Handle;
use crate::rt::rank::fixed;
use crate::rt::topo::Cart;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

/// MPI_COMM_TYPE_SHARED.
const SHARED: c_int = 221;

/// This rank's part of a new communicator, if it is in it.
fn part(
    caller: Caller<'_>,
    old: &Comm,
    (shared, library): (Option<Arc<Shared>>, Option<phalanx::Comm>),
    cart: Option<Cart>,
) -> Option<Rc<Comm>> {
    let shared = shared?;
    let me = shared.members.iter().position(|it| *it == caller.me).unwrap_or(0);
    Some(Comm::new(shared, me, old.errhandler.get(), cart, library))
}

/// Divides a communicator by colours (none for a negative one), in the order of the keys.
pub(super) fn split(
    caller: Caller<'_>,
    old: &Comm,
    color: i64,
    key: i64,
    cart: Option<Cart>,
) -> Outcome<Option<Rc<Comm>>> {
    let call = caller.on(old);
    let all = call.numbers(color, key);
    let mut members: Vec<usize> =
        (0..all.len()).filter(|it| color >= 0 && all[*it].0 == color).collect();
    members.sort_by_key(|it| (all[*it].1, *it));
    Ok(part(caller, old, call.divide(&members), cart))
}

pub(super) fn comm_rank(_: Caller<'_>, comm: &Comm, rank: Out<c_int>) -> Outcome {
    rank.set(int(comm.rank));
    Ok(())
}

pub(super) fn comm_size(_: Caller<'_>, comm: &Comm, size: Out<c_int>) -> Outcome {
    size.set(int(comm.size()));
    Ok(())
}

pub(super) fn comm_dup(caller: Caller<'_>, old: &Comm) -> Outcome<Option<Rc<Comm>>> {
    let new = split(caller, old, 0, 0, old.cart.clone())?;
    new.as_ref().map_or(Ok(()), |new| attributes::copy(caller.rank, old, new))?;
    Ok(new)
}

pub(super) fn comm_dup_with_info(
    caller: Caller<'_>,
    old: &Comm,
    _info: Handle,
) -> Outcome<Option<Rc<Comm>>> {
    comm_dup(caller, old)
}

pub(super) fn comm_split(
    caller: Caller<'_>,
    old: &Comm,
    color: c_int,
    key: c_int,
) -> Outcome<Option<Rc<Comm>>> {
    if color < 0 && color != UNDEFINED {
        return error(Class::Arg, format!("the colour {color} is negative"));
    }
    split(caller, old, i64::from(color), i64::from(key), None)
}

pub(super) fn comm_split_type(
    caller: Caller<'_>,
    old: &Comm,
    kind: c_int,
    key: c_int,
    _info: Handle,
) -> Outcome<Option<Rc<Comm>>> {
    // All ranks share one memory; other kinds of hardware are not told apart.
    let color = if kind == SHARED { 0 } else { -1 };
    split(caller, old, color, i64::from(key), None)
}

pub(super) fn comm_create(
    caller: Caller<'_>,
    old: &Comm,
    group: &[usize],
) -> Outcome<Option<Rc<Comm>>> {
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
    if comm == fixed::COMM_WORLD || comm == fixed::COMM_SELF {
        return error(Class::Comm, "a predefined communicator cannot be freed");
    }
    attributes::delete_all(caller.rank, caller.comm(comm)?.as_ref())?;
    caller.comms.borrow_mut().remove(comm);
    handle.set(fixed::COMM_NULL);
    Ok(())
}

pub(super) fn comm_group(_: Caller<'_>, comm: &Comm) -> Outcome<Vec<usize>> {
    Ok(comm.shared.members.clone())
}

pub(super) fn comm_compare(_: Caller<'_>, one: &Comm, two: &Comm, result: Out<c_int>) -> Outcome {
    let is_same = Arc::ptr_eq(&one.shared, &two.shared);
    result.set(if is_same { SAME } else { alike(&one.shared.members, &two.shared.members) });
    Ok(())
}

pub(super) fn comm_test_inter(_: Caller<'_>, _: &Comm, flag: Out<c_int>) -> Outcome {
    flag.set(0);
    Ok(())
}
