//! Signals of Python's, which are handled while a call waits.

use pyo3::prelude::*;
use std::cell::Cell;

thread_local! {
    /// The exception that a handler has raised.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Lets Python handle its signals, if this is the thread that does. True: a handler has raised an
/// exception, which ends the wait.
pub(crate) fn handle() -> bool {
    // None: the interpreter ends.
    let handled = Python::try_attach(|py| py.check_signals());
    match handled {
        Some(Err(error)) => {
            RAISED.set(Some(error));
            true
        }
        _ => false,
    }
}

/// The exception that has ended the wait.
pub(crate) fn take() -> Option<PyErr> {
    RAISED.take()
}
