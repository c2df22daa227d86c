//! Error handlers, and the words for errors.

use super::arguments::{Caller, Out, TextOut};
use crate::rt::comm::Comm;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::handle::Handle;
use crate::rt::handle::fixed;
use crate::rt::handlers::Attached;
use crate::rt::rank::ErrorFunction;
use std::ffi::c_int;

pub(super) fn error_string(caller: Caller<'_>, code: c_int, text: TextOut) -> Outcome {
    known_class(caller, code)?;
    text.set(&caller.error_text(code), 512);
    Ok(())
}

fn known_class(caller: Caller<'_>, code: c_int) -> Outcome<c_int> {
    match caller.codes.borrow().class(code) {
        Some(class) => Ok(class),
        None => error(Class::Arg, format!("{code} is no error code")),
    }
}

pub(super) fn error_class(caller: Caller<'_>, code: c_int, class: Out<c_int>) -> Outcome {
    class.set(known_class(caller, code)?);
    Ok(())
}

pub(super) fn add_error_class(caller: Caller<'_>, class: Out<c_int>) -> Outcome {
    class.set(caller.codes.borrow_mut().add_class());
    Ok(())
}

pub(super) fn add_error_code(caller: Caller<'_>, class: c_int, code: Out<c_int>) -> Outcome {
    match caller.codes.borrow_mut().add_code(class) {
        Some(made) => code.set(made),
        None => return error(Class::Arg, format!("{class} is no error class")),
    }
    Ok(())
}

pub(super) fn add_error_string(caller: Caller<'_>, code: c_int, text: &str) -> Outcome {
    if !caller.codes.borrow().is_own(code) {
        return error(Class::Arg, format!("{code} is no error code of the program's own"));
    }
    caller.codes.borrow_mut().set_text(code, text.to_owned());
    Ok(())
}

pub(super) fn remove_error_class(caller: Caller<'_>, class: c_int) -> Outcome {
    match caller.codes.borrow_mut().remove_class(class) {
        Ok(()) => Ok(()),
        Err(text) => error(Class::Arg, format!("{class} {text}")),
    }
}

pub(super) fn remove_error_code(caller: Caller<'_>, code: c_int) -> Outcome {
    match caller.codes.borrow_mut().remove_code(code) {
        Ok(()) => Ok(()),
        Err(text) => error(Class::Arg, format!("{code} {text}")),
    }
}

pub(super) fn remove_error_string(caller: Caller<'_>, code: c_int) -> Outcome {
    match caller.codes.borrow_mut().remove_text(code) {
        Ok(()) => Ok(()),
        Err(text) => error(Class::Arg, format!("{code} {text}")),
    }
}

/// The text of an error that the program tells itself.
pub(super) const CALLED: &str = "the program calls the error handler";

/// Gives the program the handler of an object, to be freed once more.
pub(super) fn given(caller: Caller<'_>, of: &Attached) -> Handle {
    caller.error_handlers.borrow_mut().give(of.handle());
    of.handle()
}

pub(super) fn comm_set_errhandler(caller: Caller<'_>, comm: &Comm, handler: Handle) -> Outcome {
    comm.errhandler.set(caller.handler(handler)?);
    Ok(())
}
pub(super) use comm_set_errhandler as errhandler_set;

pub(super) fn comm_get_errhandler(caller: Caller<'_>, comm: &Comm) -> Outcome<Handle> {
    Ok(given(caller, &comm.errhandler))
}
pub(super) use comm_get_errhandler as errhandler_get;

pub(super) fn comm_create_errhandler(
    _: Caller<'_>,
    function: ErrorFunction,
) -> Outcome<ErrorFunction> {
    Ok(function)
}
pub(super) use comm_create_errhandler as errhandler_create;

/// Objects that have it keep it.
pub(super) fn errhandler_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    caller.handler(handle.get())?;
    let mut all = caller.error_handlers.borrow_mut();
    all.free(handle.get());
    all.sweep();
    handle.set(fixed::ERRHANDLER_NULL);
    Ok(())
}

pub(super) fn comm_call_errhandler(caller: Caller<'_>, comm: &Comm, code: c_int) -> Outcome {
    caller.rank.tell(caller.site, comm.handle.get(), code, || CALLED.to_owned());
    Ok(())
}
