//! Error handlers, and the words for errors.

use super::arguments::{Caller, Out, TextOut};
use crate::rt::comm::Comm;
use crate::rt::error::{Class, Outcome, class_text, error};
use crate::rt::handle::Handle;
use crate::rt::rank::fixed;
use std::ffi::c_int;

pub(super) fn error_string(_: Caller<'_>, code: c_int, text: TextOut) -> Outcome {
    text.set(class_text(code), 512);
    Ok(())
}

pub(super) fn error_class(_: Caller<'_>, code: c_int, class: Out<c_int>) -> Outcome {
    class.set(code);
    Ok(())
}

pub(super) fn comm_set_errhandler(_: Caller<'_>, comm: &Comm, handler: Handle) -> Outcome {
    if !(fixed::ERRORS_ARE_FATAL..=fixed::ERRORS_ABORT).contains(&handler) {
        return error(Class::Arg, "this error handler is not one of the predefined ones");
    }
    comm.errhandler.set(handler);
    Ok(())
}
pub(super) use comm_set_errhandler as errhandler_set;

pub(super) fn comm_get_errhandler(_: Caller<'_>, comm: &Comm) -> Outcome<Handle> {
    Ok(comm.errhandler.get())
}
