//! Error handlers as communicators, windows and sessions have them: a program's own stays as long
//! as one of these has it, also if the program has freed it.

use super::handle::Handle;
use super::held::{Held, Hold};
use super::standard;
use std::cell::RefCell;

/// The action for errors.
#[derive(Clone, Debug)]
pub struct Handler {
    handle: Handle,
    /// Of a program's own.
    _hold: Option<Hold>,
}

impl Handler {
    /// MPI_ERRORS_ARE_FATAL.
    pub const FATAL: Handler = Handler { handle: standard::ERRORS_ARE_FATAL, _hold: None };

    /// That of a handle, which is predefined or one of the program's own; none: it is neither.
    pub fn of<T>(handle: Handle, all: &Held<T>) -> Option<Handler> {
        if (standard::ERRORS_ARE_FATAL..=standard::ERRORS_ABORT).contains(&handle) {
            return Some(Handler { handle, _hold: None });
        }
        let hold = all.hold(handle).filter(|_| all.is_given(handle))?;
        Some(Handler { handle, _hold: Some(hold) })
    }
}

/// The error handler of an object.
#[derive(Debug)]
pub struct Attached(RefCell<Handler>);

impl Attached {
    /// This one at first.
    pub fn new(handler: Handler) -> Attached {
        Attached(RefCell::new(handler))
    }

    /// Its handle.
    pub fn handle(&self) -> Handle {
        self.0.borrow().handle
    }

    /// For another object.
    pub fn get(&self) -> Handler {
        self.0.borrow().clone()
    }

    /// Another one from now on.
    pub fn set(&self, handler: Handler) {
        self.0.replace(handler);
    }
}
