//! Sessions: MPI without MPI_Init, for libraries of which none knows of the others. A session has
//! two sets of processes; groups of them make communicators (MPI_Comm_create_from_group).

use super::arguments::RawText;
use super::infos::list;
use super::keep::NewGroup;
use super::prelude::*;
use crate::rt::handlers::Attached;
use crate::rt::rank::Session;
use std::cell::Cell;

/// The standard's sets of processes.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The key of the level of threads.
const LEVEL: &str = "thread_level";

/// The most that is given, in words.
const SERIALIZED: &str = "MPI_THREAD_SERIALIZED";

pub(super) fn session_init(
    caller: Caller<'_>,
    info: Handle,
    errhandler: Handle,
) -> Outcome<Rc<Session>> {
    let errhandler = Attached::new(caller.handler(errhandler)?);
    let mut hints = match info {
        standard::INFO_NULL => Vec::new(),
        info => list(caller, info, |list| list.clone())?,
    };
    let level = hints.iter_mut().find(|it| it.0 == LEVEL);
    match level {
        Some(level) if level.1 == "MPI_THREAD_MULTIPLE" => level.1 = SERIALIZED.to_owned(),
        Some(_) => {}
        None => hints.push((LEVEL.to_owned(), "MPI_THREAD_SINGLE".to_owned())),
    }
    caller.sessions_open(1);
    Ok(Rc::new(Session { hints, errhandler, handle: Cell::default() }))
}

pub(super) fn session_finalize(caller: Caller<'_>, session: Out<Handle>) -> Outcome {
    caller.session(session.get())?;
    caller.sessions.borrow_mut().remove(session.get());
    session.set(standard::SESSION_NULL);
    caller.sessions_open(-1);
    Ok(())
}

pub(super) fn session_get_info(caller: Caller<'_>, session: &Session) -> Outcome<Handle> {
    Ok(caller.infos.borrow_mut().insert(session.hints.clone()))
}

pub(super) fn session_get_num_psets(
    _: Caller<'_>,
    _session: &Session,
    _info: Handle,
) -> Outcome<c_int> {
    Ok(int(SETS.len()))
}

pub(super) fn session_get_nth_pset(
    _: Caller<'_>,
    _session: &Session,
    _info: Handle,
    n: c_int,
    length: Out<c_int>,
    name: RawText,
) -> Outcome {
    let Some(set) = usize::try_from(n).ok().and_then(|it| SETS.get(it)) else {
        return error(Class::Arg, format!("{n} is none of {} sets of processes", SETS.len()));
    };
    // A length of zero asks for the length.
    if let Some(room) = usize::try_from(length.get()).ok().filter(|it| *it > 0) {
        name.set(set, room);
    }
    length.set(int(set.len() + 1));
    Ok(())
}

/// The ranks of a set; its name's letters may be of any case.
pub(super) fn members(caller: Caller<'_>, name: &str) -> NewGroup {
    match SETS.iter().position(|it| it.eq_ignore_ascii_case(name)) {
        Some(0) => Ok((0..caller.world.slots.len()).collect()),
        Some(_) => Ok(vec![caller.me]),
        None => error(Class::Arg, format!("there is no set of processes {name:?}")),
    }
}

pub(super) fn session_get_pset_info(
    caller: Caller<'_>,
    _session: &Session,
    name: &str,
) -> Outcome<Handle> {
    let size = members(caller, name)?.len().to_string();
    Ok(caller.infos.borrow_mut().insert(vec![("mpi_size".to_owned(), size)]))
}

pub(super) fn group_from_session_pset(
    caller: Caller<'_>,
    _session: &Session,
    name: &str,
) -> NewGroup {
    members(caller, name)
}
