//! The attributes and the name of an object: a communicator, a datatype, or a window.

use super::handle::Handle;
use std::cell::RefCell;
use std::ffi::c_int;

/// Keys and values.
pub type Values = RefCell<Vec<(c_int, usize)>>;

/// The objects that may have attributes: keys are made for one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Communicators.
    Comm,
    /// Datatypes.
    Type,
    /// Windows.
    Window,
}

/// An object that has attributes.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// The sort of object.
    pub kind: Kind,
    /// Its handle, for the program's functions.
    pub handle: Handle,
    /// Its attributes and name.
    pub note: &'a Note,
}

/// The attributes and the name of an object.
#[derive(Debug, Default)]
pub struct Note {
    /// Its attributes.
    pub values: Values,
    /// The name that the program gave it.
    pub name: RefCell<Option<String>>,
}

impl Note {
    /// For the attributes of the object of this handle.
    pub fn holder(&self, kind: Kind, handle: Handle) -> Holder<'_> {
        Holder { kind, handle, note: self }
    }
}
