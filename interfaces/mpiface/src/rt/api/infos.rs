//! Lists of keys and values. Nothing in here reads them: they are the program's.

use super::arguments::{Caller, Out, RawText, int, text};
use crate::rt::comm::{Comm, Hints};
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::Handle;
use crate::rt::standard::{self, MAX_INFO_KEY as MAX_KEY, MAX_INFO_VAL as MAX_VALUE};
use std::ffi::{CStr, c_char, c_int};

/// A list of keys and values.
type Info = Vec<(String, String)>;

/// A key or a value of an info; none of a null pointer.
#[derive(Clone, Debug)]
pub(super) struct InfoText(Option<String>);

impl InfoText {
    /// # Safety
    /// As `text`.
    pub(super) unsafe fn new(at: *const c_char) -> InfoText {
        // SAFETY: passed on.
        InfoText((!at.is_null()).then(|| unsafe { text(at) }))
    }

    /// As a key, which has some letters, and no more than the standard's number of them.
    pub(super) fn key(&self) -> Outcome<&str> {
        match self.0.as_deref() {
            Some(key) if (1..MAX_KEY).contains(&key.len()) => Ok(key),
            Some("") => error(Class::InfoKey, "the key is empty"),
            Some(key) => {
                let (length, most) = (key.len(), MAX_KEY - 1);
                error(Class::InfoKey, format!("the key has {length} bytes, at most are {most}"))
            }
            None => error(Class::InfoKey, "the key is a null pointer"),
        }
    }

    /// As a value, which may be empty.
    pub(super) fn value(&self) -> Outcome<&str> {
        match self.0.as_deref() {
            Some(value) if value.len() < MAX_VALUE => Ok(value),
            Some(value) => {
                let (length, most) = (value.len(), MAX_VALUE - 1);
                error(Class::InfoValue, format!("the value has {length} bytes, at most are {most}"))
            }
            None => error(Class::InfoValue, "the value is a null pointer"),
        }
    }
}

/// Does something with a list; those that are predefined are empty.
pub(super) fn list<R>(
    caller: Caller<'_>,
    info: Handle,
    run: impl FnOnce(&mut Info) -> R,
) -> Outcome<R> {
    if info == standard::INFO_ENV {
        return Ok(run(&mut Info::new()));
    }
    match caller.infos.borrow_mut().get_mut(info) {
        Some(list) => Ok(run(list)),
        None => error(Class::Info, format!("{info:#x} is no info")),
    }
}

/// The value of a key, if the list has it.
pub(super) fn find(caller: Caller<'_>, info: Handle, key: &str) -> Outcome<Option<String>> {
    let value = |list: &mut Info| list.iter().find(|it| it.0 == key).map(|it| it.1.clone());
    list(caller, info, value)
}

fn can_write(text: RawText) -> Outcome {
    match text.is_there() {
        true => Ok(()),
        false => error(Class::Arg, "the room for the text is a null pointer"),
    }
}

pub(super) fn info_create(caller: Caller<'_>) -> Outcome<Handle> {
    Ok(caller.infos.borrow_mut().insert(Info::new()))
}

pub(super) fn info_dup(caller: Caller<'_>, info: Handle) -> Outcome<Handle> {
    let copy = list(caller, info, |list| list.clone())?;
    Ok(caller.infos.borrow_mut().insert(copy))
}

pub(super) fn info_free(caller: Caller<'_>, info: Out<Handle>) -> Outcome {
    if caller.infos.borrow_mut().remove(info.get()).is_none() {
        return error(Class::Info, format!("{:#x} is no info", info.get()));
    }
    info.set(standard::INFO_NULL);
    Ok(())
}

pub(super) fn info_set(
    caller: Caller<'_>,
    info: Handle,
    key: &InfoText,
    value: &InfoText,
) -> Outcome {
    let (key, value) = (key.key()?.to_owned(), value.value()?.to_owned());
    if info == standard::INFO_ENV {
        return error(Class::Info, "MPI_INFO_ENV cannot be changed");
    }
    list(caller, info, |list| match list.iter_mut().find(|it| it.0 == key) {
        Some(old) => old.1 = value,
        None => list.push((key, value)),
    })
}

pub(super) fn info_delete(caller: Caller<'_>, info: Handle, key: &InfoText) -> Outcome {
    let key = key.key()?;
    if find(caller, info, key)?.is_none() {
        return error(Class::InfoNokey, format!("the info has no key {key:?}"));
    }
    list(caller, info, |list| list.retain(|it| it.0 != key))
}

pub(super) fn info_get(
    caller: Caller<'_>,
    info: Handle,
    key: &InfoText,
    length: c_int,
    value: RawText,
    flag: Out<c_int>,
) -> Outcome {
    let found = find(caller, info, key.key()?)?;
    let Ok(room) = usize::try_from(length) else {
        return error(Class::Arg, format!("the length {length} is negative"));
    };
    can_write(value)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(text) = found {
        value.set(&text, room + 1);
    }
    Ok(())
}

pub(super) fn info_get_valuelen(
    caller: Caller<'_>,
    info: Handle,
    key: &InfoText,
    length: Out<c_int>,
    flag: Out<c_int>,
) -> Outcome {
    let found = find(caller, info, key.key()?)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(text) = found {
        length.set(int(text.len()));
    }
    Ok(())
}

pub(super) fn info_get_nkeys(caller: Caller<'_>, info: Handle) -> Outcome<c_int> {
    list(caller, info, |list| int(list.len()))
}

pub(super) fn info_get_nthkey(caller: Caller<'_>, info: Handle, n: c_int, key: RawText) -> Outcome {
    let name = |list: &mut Info| usize::try_from(n).ok().and_then(|n| Some(list.get(n)?.0.clone()));
    let Some(name) = list(caller, info, name)? else {
        return error(Class::Arg, format!("the info has no key of number {n}"));
    };
    can_write(key)?;
    key.set(&name, MAX_KEY);
    Ok(())
}

pub(super) fn info_get_string(
    caller: Caller<'_>,
    info: Handle,
    key: &InfoText,
    room: Out<c_int>,
    value: RawText,
    flag: Out<c_int>,
) -> Outcome {
    let found = find(caller, info, key.key()?)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(text) = found {
        let length = usize::try_from(room.get()).unwrap_or(0);
        if length > 0 {
            can_write(value)?;
            value.set(&text, length);
        }
        room.set(int(text.len() + 1));
    }
    Ok(())
}

pub(super) fn info_create_env(
    caller: Caller<'_>,
    count: c_int,
    arguments: Out<*mut c_char>,
) -> Outcome<Handle> {
    let mut info = vec![("maxprocs".to_owned(), caller.world.slots.len().to_string())];
    if count > 0 {
        // SAFETY: the arguments of a program's main.
        let name = unsafe { CStr::from_ptr(arguments.get()) };
        info.insert(0, ("command".to_owned(), name.to_string_lossy().into_owned()));
    }
    Ok(caller.infos.borrow_mut().insert(info))
}

/// The standard's hints for communicators.
const OF_COMMUNICATORS: [&str; 4] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
];

/// The standard's hints for windows, and their values unless the program says so; none of these is
/// used here.
pub(super) const OF_WINDOWS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shm", "true"),
    ("alloc_shared_noncontig", ""),
];

/// Sets a communicator's or window's hints: those of the standard; a key that nobody knows is
/// ignored.
pub(super) fn set_hints(caller: Caller<'_>, hints: &Hints, info: Handle) -> Outcome {
    let new = list(caller, info, |it| it.clone())?;
    let mut all = hints.borrow_mut();
    let of_windows = || OF_WINDOWS.iter().map(|it| it.0);
    let is_known = |key: &str| OF_COMMUNICATORS.into_iter().chain(of_windows()).any(|it| it == key);
    for (key, value) in new.into_iter().filter(|it| is_known(&it.0)) {
        match all.iter_mut().find(|it| it.0 == key) {
            Some(old) => old.1 = value,
            None => all.push((key, value)),
        }
    }
    Ok(())
}

/// A new info of a communicator's or window's hints.
pub(super) fn get_hints(caller: Caller<'_>, hints: &Hints) -> Handle {
    let all = hints.borrow().clone();
    caller.infos.borrow_mut().insert(all)
}

pub(super) fn comm_set_info(caller: Caller<'_>, comm: &Comm, info: Handle) -> Outcome {
    set_hints(caller, &comm.hints, info)
}

pub(super) fn comm_get_info(caller: Caller<'_>, comm: &Comm) -> Outcome<Handle> {
    Ok(get_hints(caller, &comm.hints))
}
