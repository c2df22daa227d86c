//! Error handlers, and the words for errors.

use super::arguments::TextOut;
use super::prelude::*;
use crate::rt::handlers::Attached;
use crate::rt::rank::{ErrorFunction, Session};
use crate::rt::window::Win;

pub(super) fn error_string(caller: Caller<'_>, code: c_int, text: TextOut) -> Outcome {
    error_class(caller, code)?;
    text.set(&caller.error_text(code), standard::MAX_ERROR_STRING);
    Ok(())
}

pub(super) fn error_class(caller: Caller<'_>, code: c_int) -> Outcome<c_int> {
    let class = caller.codes.borrow().class(code);
    class.ok_or_else(|| Error::new(Class::Arg, format!("{code} is no error code")))
}

pub(super) fn add_error_class(caller: Caller<'_>) -> Outcome<c_int> {
    Ok(caller.codes.borrow_mut().add_class())
}

pub(super) fn add_error_code(caller: Caller<'_>, class: c_int) -> Outcome<c_int> {
    let made = caller.codes.borrow_mut().add_code(class);
    made.ok_or_else(|| Error::new(Class::Arg, format!("{class} is no error class")))
}

pub(super) fn add_error_string(caller: Caller<'_>, code: c_int, text: &str) -> Outcome {
    if !caller.codes.borrow().is_own(code) {
        return error(Class::Arg, format!("{code} is no error code of the program's own"));
    }
    caller.codes.borrow_mut().set_text(code, text.to_owned());
    Ok(())
}

/// What is not there, or in use, is not removed: the words behind its number say so.
fn removed(number: c_int, removed: Result<(), &str>) -> Outcome {
    removed.map_err(|text| Error::new(Class::Arg, format!("{number} {text}")))
}

pub(super) fn remove_error_class(caller: Caller<'_>, class: c_int) -> Outcome {
    removed(class, caller.codes.borrow_mut().remove_class(class))
}

pub(super) fn remove_error_code(caller: Caller<'_>, code: c_int) -> Outcome {
    removed(code, caller.codes.borrow_mut().remove_code(code))
}

pub(super) fn remove_error_string(caller: Caller<'_>, code: c_int) -> Outcome {
    removed(code, caller.codes.borrow_mut().remove_text(code))
}

/// An object that has an error handler.
pub(super) trait Handled {
    /// The handler.
    fn errhandler(&self) -> &Attached;

    /// Its handle, for the handler.
    fn handle(&self) -> Handle;
}

macro_rules! handled {
    ($($type:ty)*) => {$(
        impl Handled for $type {
            fn errhandler(&self) -> &Attached {
                &self.errhandler
            }

            fn handle(&self) -> Handle {
                self.handle.get()
            }
        }
    )*};
}
handled! { Comm Win Session }

pub(super) fn comm_set_errhandler(
    caller: Caller<'_>,
    on: &impl Handled,
    handler: Handle,
) -> Outcome {
    on.errhandler().set(caller.handler(handler)?);
    Ok(())
}

/// Gives the program the handler of an object, to be freed once more.
pub(super) fn comm_get_errhandler(caller: Caller<'_>, on: &impl Handled) -> Outcome<Handle> {
    let handle = on.errhandler().handle();
    caller.error_handlers.borrow_mut().give(handle);
    Ok(handle)
}

pub(super) fn comm_create_errhandler(
    _: Caller<'_>,
    function: ErrorFunction,
) -> Outcome<ErrorFunction> {
    Ok(function)
}

pub(super) fn comm_call_errhandler(caller: Caller<'_>, on: &impl Handled, code: c_int) -> Outcome {
    let words = || "the program calls the error handler".to_owned();
    caller.rank.tell(caller.site, on.handle(), code, words);
    Ok(())
}

/// Objects that have it keep it.
pub(super) fn errhandler_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    caller.handler(handle.get())?;
    let mut all = caller.error_handlers.borrow_mut();
    all.free(handle.get());
    all.sweep();
    handle.set(standard::ERRHANDLER_NULL);
    Ok(())
}
