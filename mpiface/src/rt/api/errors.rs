//! Error handlers, and the words for errors.

use super::arguments::{Caller, Out, TextOut};
use crate::rt::comm::Comm;
use crate::rt::error::{Class, Outcome, class_text, error};
use crate::rt::handle::Handle;
use crate::rt::rank::{ErrorFunction, fixed};
use std::ffi::c_int;

pub(super) fn error_string(_: Caller<'_>, code: c_int, text: TextOut) -> Outcome {
    text.set(class_text(code), 512);
    Ok(())
}

pub(super) fn error_class(_: Caller<'_>, code: c_int, class: Out<c_int>) -> Outcome {
    class.set(code);
    Ok(())
}

pub(super) fn comm_set_errhandler(caller: Caller<'_>, comm: &Comm, handler: Handle) -> Outcome {
    let is_predefined = (fixed::ERRORS_ARE_FATAL..=fixed::ERRORS_ABORT).contains(&handler);
    if !is_predefined && caller.error_handlers.borrow().get(handler).is_none() {
        return error(Class::Arg, format!("{handler:#x} is no error handler"));
    }
    comm.errhandler.set(handler);
    Ok(())
}
pub(super) use comm_set_errhandler as errhandler_set;

pub(super) fn comm_get_errhandler(_: Caller<'_>, comm: &Comm) -> Outcome<Handle> {
    Ok(comm.errhandler.get())
}

pub(super) fn comm_create_errhandler(
    _: Caller<'_>,
    function: ErrorFunction,
) -> Outcome<ErrorFunction> {
    Ok(function)
}

/// Communicators that have it keep it: its place is not used again.
pub(super) fn errhandler_free(_: Caller<'_>, handle: Out<Handle>) -> Outcome {
    handle.set(fixed::ERRHANDLER_NULL);
    Ok(())
}

pub(super) fn comm_call_errhandler(_: Caller<'_>, _: &Comm, code: c_int) -> Outcome {
    if code == 0 {
        return Ok(());
    }
    error(Class::of(code), "the program calls the error handler")
}
