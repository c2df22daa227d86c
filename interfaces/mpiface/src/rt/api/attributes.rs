//! Attributes and names of communicators, datatypes and windows.

use super::arguments::TextOut;
use super::prelude::*;
use crate::rt::attributes::{self, Holder, Kind, Note};
use crate::rt::envelope::ANY_SOURCE;
use crate::rt::window::Win;
use std::sync::OnceLock;

/// An object that has attributes and a name.
pub(super) trait HasNote {
    /// For its attributes.
    fn holder(&self) -> Holder<'_>;

    /// The address of an attribute that the standard gives it.
    fn predefined(&self, caller: Caller<'_>, key: c_int) -> Option<usize>;

    /// Its name, if the program has given it none.
    fn own_name(&self, caller: Caller<'_>) -> &'static str;
}

/// The address of a number.
fn number(it: &c_int) -> usize {
    std::ptr::from_ref(it) as usize
}

impl HasNote for Comm {
    fn holder(&self) -> Holder<'_> {
        Comm::holder(self)
    }

    /// Those of the world: numbers that live for ever, as programs get their addresses.
    fn predefined(&self, caller: Caller<'_>, key: c_int) -> Option<usize> {
        static UNIVERSE: OnceLock<c_int> = OnceLock::new();
        Some(number(match key {
            standard::TAG_UB => &c_int::MAX,
            standard::IO => &ANY_SOURCE,
            standard::HOST => &PROC_NULL,
            standard::WTIME_IS_GLOBAL => &1,
            standard::UNIVERSE_SIZE => UNIVERSE.get_or_init(|| int(caller.world.slots.len())),
            standard::APPNUM => &0,
            standard::LASTUSEDCODE => return Some(caller.codes.borrow().last()),
            _ => return None,
        }))
    }

    fn own_name(&self, caller: Caller<'_>) -> &'static str {
        let is = |handle| caller.comm(handle).is_ok_and(|it| std::ptr::eq(&*it, self));
        match () {
            () if is(standard::COMM_WORLD) => "MPI_COMM_WORLD",
            () if is(standard::COMM_SELF) => "MPI_COMM_SELF",
            () => "",
        }
    }
}

impl HasNote for Win {
    fn holder(&self) -> Holder<'_> {
        Win::holder(self)
    }

    fn predefined(&self, _: Caller<'_>, key: c_int) -> Option<usize> {
        Some(match key {
            standard::WIN_BASE => self.own().base,
            standard::WIN_SIZE => std::ptr::from_ref(&self.numbers.0) as usize,
            standard::WIN_DISP_UNIT => number(&self.numbers.1),
            standard::WIN_CREATE_FLAVOR => number(&self.flavor),
            standard::WIN_MODEL => number(&standard::WIN_UNIFIED),
            _ => return None,
        })
    }

    fn own_name(&self, _: Caller<'_>) -> &'static str {
        ""
    }
}

/// A datatype's attributes and name.
pub(super) struct NotedType {
    handle: Handle,
    note: Rc<Note>,
    name: &'static str,
}

impl Caller<'_> {
    /// For the attributes of the datatype of a handle.
    pub(super) fn noted(self, handle: Handle) -> Outcome<NotedType> {
        let ty = self.ty(handle)?;
        let name = if ty.handle == 0 { "" } else { ty.name };
        Ok(NotedType { handle, note: self.type_note(handle), name })
    }
}

impl HasNote for NotedType {
    fn holder(&self) -> Holder<'_> {
        self.note.holder(Kind::Type, self.handle)
    }

    fn predefined(&self, _: Caller<'_>, _: c_int) -> Option<usize> {
        None
    }

    fn own_name(&self, _: Caller<'_>) -> &'static str {
        self.name
    }
}

pub(super) fn comm_get_attr(
    caller: Caller<'_>,
    on: &impl HasNote,
    key: c_int,
    value: *mut c_void,
    flag: Out<c_int>,
) -> Outcome {
    let mut found = on.predefined(caller, key);
    if found.is_none() {
        attributes::check(caller.rank, key, on.holder().kind)?;
        found = attributes::get(on.holder(), key);
    }
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        // SAFETY: the standard's argument is the address of a pointer.
        unsafe { *value.cast::<usize>() = found };
    }
    Ok(())
}

pub(super) fn comm_set_attr(
    caller: Caller<'_>,
    on: &impl HasNote,
    key: c_int,
    value: *mut c_void,
) -> Outcome {
    attributes::set(caller.rank, on.holder(), key, value as usize)
}

pub(super) fn comm_delete_attr(caller: Caller<'_>, on: &impl HasNote, key: c_int) -> Outcome {
    attributes::delete(caller.rank, on.holder(), key)
}

pub(super) fn comm_set_name(_: Caller<'_>, on: &impl HasNote, name: &str) -> Outcome {
    *on.holder().note.name.borrow_mut() = Some(name.to_owned());
    Ok(())
}

pub(super) fn comm_get_name(caller: Caller<'_>, on: &impl HasNote, name: TextOut) -> Outcome {
    let given = on.holder().note.name.borrow();
    name.set(given.as_deref().unwrap_or(on.own_name(caller)), standard::MAX_OBJECT_NAME);
    Ok(())
}

macro_rules! keys {
    ($($create:ident $free:ident $kind:expr;)*) => {$(
        pub(super) fn $create(
            caller: Caller<'_>,
            copy: *const c_void,
            delete: *const c_void,
            key: Out<c_int>,
            extra: *mut c_void,
        ) -> Outcome {
            // SAFETY: the program's functions, of the types that the standard asks for.
            key.set(unsafe { caller.keys.borrow_mut().add($kind, copy, delete, extra) });
            Ok(())
        }

        pub(super) fn $free(caller: Caller<'_>, key: Out<c_int>) -> Outcome {
            caller.keys.borrow_mut().free(key.get(), $kind)?;
            key.set(standard::KEYVAL_INVALID);
            Ok(())
        }
    )*};
}
keys! {
    comm_create_keyval comm_free_keyval Kind::Comm;
    type_create_keyval type_free_keyval Kind::Type;
    win_create_keyval win_free_keyval Kind::Window;
}
