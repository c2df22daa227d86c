//! How a rank leaves a run that is over: the payload that it throws.

use super::Error;
use crate::sync::{catch_unwind, thread_local};
use std::any::Any;
use std::cell::Cell;
use std::panic::AssertUnwindSafe;

/// What a rank throws to leave the closure when the run has ended for another
/// reason than a panic of its own. Thrown without calling the panic hook. An
/// error that it carries is the run's.
pub(crate) struct Quit(pub(crate) Option<Error>);

/// What a rank has thrown, as an error; none if it left because of another.
pub(crate) fn thrown(rank: usize, payload: Box<dyn Any + Send>) -> Option<Error> {
    match payload.downcast::<Quit>() {
        Ok(quit) => quit.0,
        Err(payload) => Some(Error::panicked(rank, payload)),
    }
}

thread_local! {
    /// Whether this thread is in a rank's closure.
    static IN_A_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Whether somebody catches what this thread throws, and reports it.
pub(crate) fn is_in_a_run() -> bool {
    IN_A_RUN.get()
}

/// Calls a rank's closure, and catches what it throws.
pub(crate) fn in_a_run(closure: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    let outer = IN_A_RUN.replace(true);
    let result = catch_unwind(AssertUnwindSafe(closure));
    IN_A_RUN.set(outer);
    result
}
