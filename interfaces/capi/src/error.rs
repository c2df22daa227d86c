//! Error codes, and the text of a thread's latest error.

use crate::names::*;
use phalanx::Error;
use std::cell::RefCell;
use std::ffi::c_char;

/// The code of an error of the library's.
pub(crate) fn code(error: &Error) -> phx_err {
    match error {
        Error::Ranks { .. } => PHX_ERR_RANKS,
        Error::Placement(_)
        | Error::Machine(_)
        | Error::Model { .. }
        | Error::Profile(_)
        | Error::Variable { .. }
        | Error::Memory { .. }
        | Error::Spawn(_) => PHX_ERR_SYSTEM,
        Error::Busy => PHX_ERR_BUSY,
        Error::Parts { .. } | Error::Argument { .. } => PHX_ERR_ARGUMENT,
        Error::Mismatch { .. } => PHX_ERR_MISMATCH,
        Error::Panicked { .. } => PHX_ERR_PANIC,
        Error::Left { .. } => PHX_ERR_LEFT,
        Error::Deadlock { .. } => PHX_ERR_DEADLOCK,
        Error::Deadline { .. } => PHX_ERR_DEADLINE,
        Error::Unreceived { .. } => PHX_ERR_UNRECEIVED,
        Error::Cancelled { .. } => PHX_ERR_CANCELLED,
        Error::Stale { .. } => PHX_ERR_THREAD,
        Error::Dead | Error::Forked => PHX_ERR_DEAD,
        _ => PHX_ERR_OTHER,
    }
}

/// Whether a function has done it, or the code of why not.
pub(crate) type Answer = Result<(), phx_err>;

/// An answer as a code.
pub(crate) fn code_of(answer: Answer) -> phx_err {
    answer.err().unwrap_or(PHX_OK)
}

/// A code as an answer.
pub(crate) fn answer(code: phx_err) -> Answer {
    if code == PHX_OK { Ok(()) } else { Err(code) }
}

thread_local! {
    static LATEST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps `text` as the thread's latest error; returns `code`.
#[cold]
pub(crate) fn fail(code: phx_err, text: impl Into<String>) -> phx_err {
    let text = text.into();
    // A thread that is on its way out keeps nothing.
    let _: Result<(), _> = LATEST.try_with(|latest| {
        if let Ok(mut latest) = latest.try_borrow_mut() {
            *latest = text;
        }
    });
    code
}

/// The same with an error of the library's.
#[cold]
pub(crate) fn fail_with(error: &Error) -> phx_err {
    fail(code(error), error.to_string())
}

pub(crate) unsafe fn last_error(text: *mut c_char, room: usize) -> usize {
    let copy = |latest: &RefCell<String>| {
        let latest = latest.borrow();
        if !text.is_null() && room > 0 {
            let mut len = latest.len().min(room - 1);
            while !latest.is_char_boundary(len) {
                len -= 1;
            }
            // SAFETY: there is room, by the contract.
            unsafe {
                std::ptr::copy_nonoverlapping(latest.as_ptr(), text.cast(), len);
                *text.add(len) = 0;
            }
        }
        latest.len()
    };
    LATEST.try_with(copy).unwrap_or(0)
}

/// The library's version, such as "0.1.0".
pub(crate) fn version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

pub(crate) fn error_name(code: phx_err) -> *const c_char {
    words(code).as_ptr()
}
