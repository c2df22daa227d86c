//! Attributes that programs hang on communicators, datatypes and windows: keys with functions that
//! copy and delete values.

use super::comm::Comm;
use super::error::{Class, Error, Outcome, error};
use super::handle::{self, Handle, Table};
pub use super::note::{Holder, Kind, Note};
use super::rank::Rank;
use crate::load::frame::Barred;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

impl Comm {
    /// For its attributes.
    pub fn holder(&self) -> Holder<'_> {
        self.note.holder(Kind::Comm, self.handle.get())
    }
}

impl Rank {
    /// The attributes of a datatype.
    pub fn type_note(&self, ty: Handle) -> Rc<Note> {
        Rc::clone(self.type_notes.borrow_mut().entry(ty).or_default())
    }

    /// Whether there is something.
    pub fn has_type_note(&self, ty: Handle) -> bool {
        self.type_notes.borrow().contains_key(&ty)
    }

    /// The datatype is no more, or will soon be.
    ///
    /// # Errors
    /// If a function that deletes an attribute fails.
    pub fn delete_type_note(&self, ty: Handle) -> Outcome {
        if !self.has_type_note(ty) {
            return Ok(());
        }
        let deleted = delete_all(self, self.type_note(ty).holder(Kind::Type, ty));
        if deleted.is_ok() {
            self.type_notes.borrow_mut().remove(&ty);
        }
        deleted
    }
}

type Copy =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// The attributes that a duplicate of a communicator gets.
#[derive(Clone, Copy, Debug)]
enum Copying {
    Nothing,
    Same,
    By(Copy),
}

/// A kind of attribute.
#[derive(Clone, Copy, Debug)]
struct AttributeKey {
    of: Kind,
    copy: Copying,
    delete: Option<Delete>,
    extra: usize,
    /// So many attributes have it.
    uses: usize,
    is_freed: bool,
}

/// A rank's keys. One that the program frees stays known while an attribute has it.
#[derive(Debug)]
pub struct Keys(Table<AttributeKey>);

impl Default for Keys {
    fn default() -> Keys {
        Keys(Table::new(handle::Kind::Key))
    }
}

impl Keys {
    /// A new key.
    ///
    /// # Safety
    /// The functions are the standard's numbers for such, or functions of the program of the types
    /// that the standard names.
    pub unsafe fn add(
        &mut self,
        of: Kind,
        copy: *const c_void,
        delete: *const c_void,
        extra: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's promise.
        let (copy, delete) = unsafe {
            let copy = match copy as usize {
                0 => Copying::Nothing,
                1 => Copying::Same,
                _ => Copying::By(std::mem::transmute::<*const c_void, Copy>(copy)),
            };
            (copy, std::mem::transmute::<*const c_void, Option<Delete>>(delete))
        };
        let extra = extra as usize;
        // Handles are as wide as an integer.
        self.0.insert(AttributeKey { of, copy, delete, extra, uses: 0, is_freed: false }) as c_int
    }

    fn get(&self, key: c_int, of: Kind) -> Outcome<AttributeKey> {
        match usize::try_from(key).ok().and_then(|it| self.0.get(it)) {
            Some(found) if found.of == of => Ok(*found),
            Some(found) => {
                error(Class::Keyval, format!("{key} is a key for {:?}, not {of:?}", found.of))
            }
            None => error(Class::Keyval, format!("{key} is no key of an attribute")),
        }
    }

    /// The program frees a key. (It may do so again while an attribute has it.)
    ///
    /// # Errors
    /// If it is none of such objects'.
    pub fn free(&mut self, key: c_int, of: Kind) -> Outcome {
        self.get(key, of)?;
        self.change(key, |it| it.is_freed = true);
        Ok(())
    }

    /// One more attribute has the key, or one less.
    fn count(&mut self, key: c_int, more: isize) {
        self.change(key, |it| it.uses = it.uses.saturating_add_signed(more));
    }

    /// Changes a key, which goes if the program has freed it, and no attribute has it.
    fn change(&mut self, key: c_int, change: impl FnOnce(&mut AttributeKey)) {
        let at = key as usize;
        let Some(known) = self.0.get_mut(at) else { return };
        change(known);
        if known.is_freed && known.uses == 0 {
            self.0.remove(at);
        }
    }
}

/// The functions of a program end with an error by their own code.
fn outcome(code: c_int, which: &str) -> Outcome {
    if code == 0 {
        return Ok(());
    }
    Err(Error::given(code, format!("the function that {which} an attribute gave {code}")))
}

/// Whether a key is known, for such objects.
///
/// # Errors
/// If it is not.
pub fn check(rank: &Rank, key: c_int, of: Kind) -> Outcome {
    rank.keys.borrow().get(key, of).map(drop)
}

/// An attribute's value.
pub fn get(on: Holder<'_>, key: c_int) -> Option<usize> {
    on.note.values.borrow().iter().find(|it| it.0 == key).map(|it| it.1)
}

/// Takes an attribute off, after its key's function.
///
/// # Errors
/// If the key is unknown, or the function fails.
pub fn delete(rank: &Rank, on: Holder<'_>, key: c_int) -> Outcome {
    let known = rank.keys.borrow().get(key, on.kind)?;
    let Some(value) = get(on, key) else { return Ok(()) };
    if let Some(function) = known.delete {
        let _barred = Barred::new();
        let (value, extra) = (value as *mut c_void, known.extra as *mut c_void);
        // SAFETY: the program's own function, as the standard calls it.
        outcome(unsafe { function(on.handle, key, value, extra) }, "deletes")?;
    }
    // The function may have set or deleted attributes itself.
    let before = on.note.values.borrow().len();
    on.note.values.borrow_mut().retain(|it| it.0 != key);
    if on.note.values.borrow().len() < before {
        rank.keys.borrow_mut().count(key, -1);
    }
    Ok(())
}

/// Takes all attributes off, the latest first.
///
/// # Errors
/// As `delete`.
pub fn delete_all(rank: &Rank, on: Holder<'_>) -> Outcome {
    loop {
        let Some((key, _)) = on.note.values.borrow().last().copied() else { return Ok(()) };
        delete(rank, on, key)?;
    }
}

/// Sets an attribute; an older value is deleted first.
///
/// # Errors
/// As `delete`.
pub fn set(rank: &Rank, on: Holder<'_>, key: c_int, value: usize) -> Outcome {
    delete(rank, on, key)?;
    put(rank, on, key, value);
    Ok(())
}

fn put(rank: &Rank, on: Holder<'_>, key: c_int, value: usize) {
    on.note.values.borrow_mut().push((key, value));
    rank.keys.borrow_mut().count(key, 1);
}

/// Gives a duplicate the attributes that their keys' functions copy.
///
/// # Errors
/// If one of these fails.
pub fn copy(rank: &Rank, old: Holder<'_>, new: Holder<'_>) -> Outcome {
    let all = old.note.values.borrow().clone();
    for (key, value) in all {
        let known = rank.keys.borrow().get(key, old.kind)?;
        let copied = match known.copy {
            Copying::Nothing => None,
            Copying::Same => Some(value),
            Copying::By(function) => {
                let (mut made, mut flag) = (0_usize, 0);
                let _barred = Barred::new();
                let (given, extra) = (value as *mut c_void, known.extra as *mut c_void);
                let (to, is_copied) = ((&raw mut made).cast(), &raw mut flag);
                // SAFETY: the program's own function, as the standard calls it.
                let code = unsafe { function(old.handle, key, extra, given, to, is_copied) };
                outcome(code, "copies")?;
                (flag != 0).then_some(made)
            }
        };
        if let Some(value) = copied {
            put(rank, new, key, value);
        }
    }
    Ok(())
}
