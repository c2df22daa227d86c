//! Windows: their making, hints and end.

use super::communicators::split;
use super::counts::CountOut;
use super::epochs::only_fences;
use super::infos::{OF_WINDOWS, find, get_hints, set_hints};
use super::keep::NewGroup;
use super::prelude::*;
use crate::rt::attributes;
use crate::rt::comm::Offer;
use crate::rt::standard::{WIN_FLAVOR_DYNAMIC as DYNAMIC, WIN_FLAVOR_SHARED as SHARED};
use crate::rt::window::Win;
use crate::rt::window_part::{Memory, Part};

fn window(
    caller: Caller<'_>,
    comm: &Comm,
    info: Handle,
    memory: (usize, usize, usize),
    made: Option<Arc<Memory>>,
    flavor: c_int,
) -> Outcome<Rc<Win>> {
    let part = Part::new(caller.me, comm.size(), memory, made);
    let offers = caller.on(comm).offers(Offer::Window(Arc::new(part)));
    let part = |it| match it {
        Offer::Window(part) => Some(part),
        _ => None,
    };
    let parts = offers.into_iter().filter_map(part).collect();
    let Some(own) = split(caller, comm, 0, 0, None)? else {
        return error(Class::Comm, "the communicator was not made");
    };
    let win = Win::new(own, parts, flavor);
    let given = OF_WINDOWS.iter().filter(|it| !it.1.is_empty());
    let given = given.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    *win.hints.borrow_mut() = given.collect();
    if info != standard::INFO_NULL {
        set_hints(caller, &win.hints, info)?;
    }
    Ok(Rc::new(win))
}

/// The bytes and the unit that a program gives.
fn sizes(size: isize, unit: i64) -> Outcome<(usize, usize)> {
    let Ok(bytes) = usize::try_from(size) else {
        return error(Class::Size, format!("the size {size} is negative"));
    };
    match usize::try_from(unit) {
        Ok(unit) if unit > 0 => Ok((bytes, unit)),
        _ => error(Class::Disp, format!("the unit {unit} is not positive")),
    }
}

pub(super) fn win_create(
    caller: Caller<'_>,
    base: *mut c_void,
    size: isize,
    unit: i64,
    info: Handle,
    comm: &Comm,
) -> Outcome<Rc<Win>> {
    let (size, unit) = sizes(size, unit)?;
    if base.is_null() && size > 0 {
        return error(Class::Base, "the memory is a null pointer");
    }
    window(caller, comm, info, (base as usize, size, unit), None, standard::WIN_FLAVOR_CREATE)
}

fn memory(bytes: usize) -> Outcome<Arc<Memory>> {
    let no = || Error::new(Class::NoMem, format!("no memory for {bytes} bytes"));
    Memory::new(bytes).map(Arc::new).ok_or_else(no)
}

/// Gives the program an address.
fn give(at: *mut c_void, address: usize) {
    // SAFETY: the standard's argument is the address of a pointer.
    unsafe { *at.cast::<usize>() = address };
}

pub(super) fn win_allocate(
    caller: Caller<'_>,
    size: isize,
    unit: i64,
    info: Handle,
    comm: &Comm,
    base: *mut c_void,
) -> Outcome<Rc<Win>> {
    let (size, unit) = sizes(size, unit)?;
    let made = memory(size)?;
    let at = made.address();
    let win =
        window(caller, comm, info, (at, size, unit), Some(made), standard::WIN_FLAVOR_ALLOCATE)?;
    give(base, at);
    Ok(win)
}

/// Whether the parts of a shared window need not follow each other: then a part of no bytes has no
/// place, as MPICH's suite has it.
fn is_apart(caller: Caller<'_>, info: Handle) -> Outcome<bool> {
    let hint = || find(caller, info, "alloc_shared_noncontig");
    Ok(info != standard::INFO_NULL && hint()?.is_some_and(|it| it == "true"))
}

/// One piece of memory, in which the ranks' parts follow each other.
pub(super) fn win_allocate_shared(
    caller: Caller<'_>,
    size: isize,
    unit: i64,
    info: Handle,
    comm: &Comm,
    base: *mut c_void,
) -> Outcome<Rc<Win>> {
    let is_apart = is_apart(caller, info)?;
    let (size, unit) = sizes(size, unit)?;
    let call = caller.on(comm);
    let all: Vec<usize> = call.numbers(size as i64, 0).iter().map(|it| it.0 as usize).collect();
    let mut offer = Offer::Nothing;
    if comm.rank == 0 {
        let made = memory(all.iter().sum())?;
        let part = Part::new(caller.me, 0, (made.address(), 0, unit), Some(made));
        offer = Offer::Window(Arc::new(part));
    }
    let mut offers = call.offers(offer);
    let Offer::Window(first) = offers.swap_remove(0) else {
        return error(Class::Other, "the memory was not made");
    };
    let before: usize = all[..comm.rank].iter().sum();
    let at = if size == 0 && is_apart { 0 } else { first.base + before };
    let win = window(caller, comm, info, (at, size, unit), first.memory.clone(), SHARED)?;
    give(base, at);
    Ok(win)
}

/// All ranks share their memory, so this answers for any window that has some.
pub(super) fn win_shared_query(
    _: Caller<'_>,
    win: &Win,
    rank: c_int,
    size: Out<isize>,
    unit: CountOut,
    base: *mut c_void,
) -> Outcome {
    if win.flavor == DYNAMIC {
        return error(Class::RmaFlavor, "a dynamic window has no memory of its own to ask for");
    }
    let part = match place(win, rank)? {
        Some(rank) => &win.parts[rank],
        // The first that has memory.
        None => win.parts.iter().find(|it| it.size > 0).unwrap_or(&win.parts[0]),
    };
    size.set(part.size as isize);
    unit.set(part.unit);
    // Of no bytes: where they would be, unless the parts are apart.
    give(base, part.base);
    Ok(())
}

pub(super) fn win_create_dynamic(
    caller: Caller<'_>,
    info: Handle,
    comm: &Comm,
) -> Outcome<Rc<Win>> {
    window(caller, comm, info, (0, 0, 1), None, DYNAMIC)
}

fn dynamic(win: &Win) -> Outcome<&Part> {
    match win.flavor {
        DYNAMIC => Ok(win.own()),
        _ => error(Class::RmaFlavor, "the window is not dynamic"),
    }
}

pub(super) fn win_attach(_: Caller<'_>, win: &Win, base: *mut c_void, size: isize) -> Outcome {
    let (size, _) = sizes(size, 1)?;
    dynamic(win)?.attach(base as usize, size)
}

pub(super) fn win_detach(_: Caller<'_>, win: &Win, base: *const c_void) -> Outcome {
    dynamic(win)?.detach(base as usize)
}

pub(super) fn win_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    let win = caller.win(handle.get())?;
    only_fences(&win)?;
    attributes::delete_all(caller.rank, win.holder())?;
    caller.on(&win.comm).barrier();
    caller.wins.borrow_mut().remove(handle.get());
    handle.set(standard::WIN_NULL);
    Ok(())
}

pub(super) fn win_get_group(_: Caller<'_>, win: &Win) -> NewGroup {
    Ok(win.comm.shared.members.clone())
}

/// The place of a rank; none for MPI_PROC_NULL.
pub(super) fn place(win: &Win, rank: c_int) -> Outcome<Option<usize>> {
    match usize::try_from(rank) {
        Ok(rank) if rank < win.parts.len() => Ok(Some(rank)),
        _ if rank == PROC_NULL => Ok(None),
        _ => error(Class::Rank, format!("rank {rank} is none of {} ranks", win.parts.len())),
    }
}

pub(super) fn win_set_info(caller: Caller<'_>, win: &Win, info: Handle) -> Outcome {
    set_hints(caller, &win.hints, info)
}

pub(super) fn win_get_info(caller: Caller<'_>, win: &Win) -> Outcome<Handle> {
    Ok(get_hints(caller, &win.hints))
}
