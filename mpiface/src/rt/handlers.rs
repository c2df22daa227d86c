//! Error handlers as communicators, windows and sessions have them: a program's own stays as long
//! as one of these has it, also if the program has freed it.

use super::error::{Class, Outcome, error};
use super::handle::Handle;
use super::held::Hold;
use super::rank::{Rank, fixed};
use std::cell::RefCell;

/// What is done with errors.
#[derive(Clone, Debug)]
pub struct Handler {
    handle: Handle,
    /// Of a program's own.
    _hold: Option<Hold>,
}

impl Handler {
    /// MPI_ERRORS_ARE_FATAL.
    pub const FATAL: Handler = Handler { handle: fixed::ERRORS_ARE_FATAL, _hold: None };
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

impl Rank {
    /// The error handler of a program's handle.
    ///
    /// # Errors
    /// If it names none.
    pub fn handler(&self, handle: Handle) -> Outcome<Handler> {
        if (fixed::ERRORS_ARE_FATAL..=fixed::ERRORS_ABORT).contains(&handle) {
            return Ok(Handler { handle, _hold: None });
        }
        let all = self.error_handlers.borrow();
        match all.hold(handle).filter(|_| all.is_given(handle)) {
            Some(hold) => Ok(Handler { handle, _hold: Some(hold) }),
            None => error(Class::ErrorHandler, format!("{handle:#x} is no error handler")),
        }
    }
}
