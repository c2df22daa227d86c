//! Lists of keys and values. Nothing in here reads them: they are the program's.

use super::arguments::{Caller, Out, RawText, int};
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::Handle;
use crate::rt::rank::fixed;
use std::ffi::c_int;

/// A list of keys and values.
type Info = Vec<(String, String)>;

/// Does something with a list; those that are predefined are empty.
fn with<R>(caller: Caller<'_>, info: Handle, run: impl FnOnce(&mut Info) -> R) -> Outcome<R> {
    if info == fixed::INFO_ENV {
        return Ok(run(&mut Info::new()));
    }
    match caller.infos.borrow_mut().get_mut(info) {
        Some(list) => Ok(run(list)),
        None => error(Class::Arg, format!("{info:#x} is no info")),
    }
}

fn find(caller: Caller<'_>, info: Handle, key: &str) -> Outcome<Option<String>> {
    let value = |list: &mut Info| list.iter().find(|it| it.0 == key).map(|it| it.1.clone());
    with(caller, info, value)
}

pub(super) fn info_create(caller: Caller<'_>, info: Out<Handle>) -> Outcome {
    info.set(caller.infos.borrow_mut().insert(Info::new()));
    Ok(())
}

pub(super) fn info_dup(caller: Caller<'_>, info: Handle) -> Outcome<Handle> {
    let copy = with(caller, info, |list| list.clone())?;
    Ok(caller.infos.borrow_mut().insert(copy))
}

pub(super) fn info_free(caller: Caller<'_>, info: Out<Handle>) -> Outcome {
    if caller.infos.borrow_mut().remove(info.get()).is_none() {
        return error(Class::Arg, format!("{:#x} is no info", info.get()));
    }
    info.set(fixed::INFO_NULL);
    Ok(())
}

pub(super) fn info_set(caller: Caller<'_>, info: Handle, key: &str, value: &str) -> Outcome {
    let (key, value) = (key.to_owned(), value.to_owned());
    with(caller, info, |list| match list.iter_mut().find(|it| it.0 == key) {
        Some(old) => old.1 = value,
        None => list.push((key, value)),
    })
}

pub(super) fn info_delete(caller: Caller<'_>, info: Handle, key: &str) -> Outcome {
    if find(caller, info, key)?.is_none() {
        return error(Class::Arg, format!("the info has no key {key:?}"));
    }
    with(caller, info, |list| list.retain(|it| it.0 != key))
}

pub(super) fn info_get(
    caller: Caller<'_>,
    info: Handle,
    key: &str,
    length: c_int,
    value: RawText,
    flag: Out<c_int>,
) -> Outcome {
    let found = find(caller, info, key)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(text) = found {
        value.set(&text, usize::try_from(length).unwrap_or(0) + 1);
    }
    Ok(())
}

pub(super) fn info_get_valuelen(
    caller: Caller<'_>,
    info: Handle,
    key: &str,
    length: Out<c_int>,
    flag: Out<c_int>,
) -> Outcome {
    let found = find(caller, info, key)?;
    flag.set(c_int::from(found.is_some()));
    if let Some(text) = found {
        length.set(int(text.len()));
    }
    Ok(())
}

pub(super) fn info_get_nkeys(caller: Caller<'_>, info: Handle, count: Out<c_int>) -> Outcome {
    count.set(with(caller, info, |list| int(list.len()))?);
    Ok(())
}

pub(super) fn info_get_nthkey(caller: Caller<'_>, info: Handle, n: c_int, key: RawText) -> Outcome {
    let name = |list: &mut Info| usize::try_from(n).ok().and_then(|n| Some(list.get(n)?.0.clone()));
    let Some(name) = with(caller, info, name)? else {
        return error(Class::Arg, format!("the info has no key of number {n}"));
    };
    key.set(&name, 256);
    Ok(())
}
