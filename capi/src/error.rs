//! Error codes, and the text of a thread's latest error.

use phalanx::Error;
use std::cell::RefCell;
use std::ffi::{c_char, c_int};

/// What a function returns: `PHX_OK`, or one of the errors.
#[allow(non_camel_case_types)]
pub type phx_err = c_int;

/// All is well.
pub const PHX_OK: phx_err = 0;
/// An argument cannot be right: a null pointer, a wrong size, type or rank.
pub const PHX_ERR_ARGUMENT: phx_err = 1;
/// A handle is null, freed, or of another kind.
pub const PHX_ERR_HANDLE: phx_err = 2;
/// A communicator was used by a thread that may not use it: another rank's, or one beside its
/// rank's own.
pub const PHX_ERR_THREAD: phx_err = 3;
/// The team is running already, or the communicator is in a call already.
pub const PHX_ERR_BUSY: phx_err = 4;
/// The run has failed before, or by another rank's fault.
pub const PHX_ERR_DEAD: phx_err = 5;
/// Two ranks disagree about what they are doing together.
pub const PHX_ERR_MISMATCH: phx_err = 6;
/// A rank returned while another waited for it.
pub const PHX_ERR_LEFT: phx_err = 7;
/// Ranks wait for each other in a circle.
pub const PHX_ERR_DEADLOCK: phx_err = 8;
/// A rank has waited longer than the team's deadline.
pub const PHX_ERR_DEADLINE: phx_err = 9;
/// A message was never received.
pub const PHX_ERR_UNRECEIVED: phx_err = 10;
/// A rank has panicked.
pub const PHX_ERR_PANIC: phx_err = 11;
/// The run was ended on purpose.
pub const PHX_ERR_CANCELLED: phx_err = 12;
/// No team of this many ranks is possible.
pub const PHX_ERR_RANKS: phx_err = 13;
/// The machine could not be read, memory not be had, a thread not be started, or ranks not be
/// placed; or a variable of the environment is wrong.
pub const PHX_ERR_SYSTEM: phx_err = 14;
/// Anything else.
pub const PHX_ERR_OTHER: phx_err = 15;

/// The code in words, with a zero at the end.
fn words(code: phx_err) -> &'static str {
    match code {
        PHX_OK => "success\0",
        PHX_ERR_ARGUMENT => "wrong argument\0",
        PHX_ERR_HANDLE => "no such handle\0",
        PHX_ERR_THREAD => "communicator of another thread\0",
        PHX_ERR_BUSY => "in use already\0",
        PHX_ERR_DEAD => "the run has ended\0",
        PHX_ERR_MISMATCH => "ranks disagree\0",
        PHX_ERR_LEFT => "a rank has returned\0",
        PHX_ERR_DEADLOCK => "deadlock\0",
        PHX_ERR_DEADLINE => "deadline\0",
        PHX_ERR_UNRECEIVED => "a message was never received\0",
        PHX_ERR_PANIC => "a rank has panicked\0",
        PHX_ERR_CANCELLED => "cancelled\0",
        PHX_ERR_RANKS => "impossible number of ranks\0",
        PHX_ERR_SYSTEM => "the system refuses\0",
        PHX_ERR_OTHER => "error\0",
        _ => "unknown error\0",
    }
}

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

/// Copies the text of the calling thread's latest error to `text`, as far as it fits into `room`
/// bytes with the zero at its end, and returns the bytes that it takes without the zero.
///
/// # Safety
/// `text` is null, or has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_last_error(text: *mut c_char, room: usize) -> usize {
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

/// The code in a few words. The text is there for ever.
#[unsafe(no_mangle)]
pub extern "C" fn phx_error_name(code: phx_err) -> *const c_char {
    words(code).as_ptr().cast()
}
