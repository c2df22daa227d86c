//! What becomes of a request: started again, waited for, looked at.

use super::{Request, Work, find, phx_request, phx_requests, within};
use crate::arguments::{input, output};
use crate::call::{From, lend, phx_comm};
use crate::error::{PHX_ERR_BUSY, fail, phx_err};
use crate::message::phx_status;
use phalanx::engine;
use std::ffi::{c_char, c_int};

/// Starts a call that was set up, and is not under way.
///
/// # Safety
/// As where it was set up; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_at(
    scope: *mut phx_requests,
    request: phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let at = state.place(request)?;
            let Request { number, ty, work } = state.requests.swap_remove(at);
            let Work::Idle(idle) = work else {
                return Err(format!("request {request} is under way already"));
            };
            let work = Work::Started(idle.start(scope));
            state.requests.push(Request { number, ty, work });
            Ok(())
        })
    }
}

/// Waits until a started call is complete. Of a receive, `status` says what has come. One that was
/// set up may be started again; if it is not under way this returns at once.
///
/// # Safety
/// `status` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_wait_at(
    scope: *mut phx_requests,
    request: phx_request,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_wait", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let at = state.place(request)?;
            state.complete(scope, at, status);
            Ok(())
        })
    }
}

/// Waits for `n` requests.
///
/// # Safety
/// `requests` has `n` numbers; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_wait_all_at(
    scope: *mut phx_requests,
    requests: *const phx_request,
    n: usize,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_wait_all", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let n = n.min(isize::MAX as usize / size_of::<phx_request>());
            for &request in input::<phx_request>("the list of requests", requests.cast(), n)? {
                let at = state.place(request)?;
                state.complete(scope, at, std::ptr::null_mut());
            }
            Ok(())
        })
    }
}

/// Waits until one of `n` requests is complete, completes it, and says which: its place in the
/// list, or `n` if none of them is under way (numbers that are 0 are passed over).
///
/// # Safety
/// `requests` has `n` numbers; `which` is valid, `status` is null or valid; `file` is null or a
/// string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_wait_any_at(
    scope: *mut phx_requests,
    requests: *const phx_request,
    n: usize,
    which: *mut usize,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_wait_any", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let n = n.min(isize::MAX as usize / size_of::<phx_request>());
            let requests = input::<phx_request>("the list of requests", requests.cast(), n)?;
            let which = output::<usize>("the place of the result", which.cast(), 1)?;
            // Of each that is under way: its place in the list, in the state, and in the scope.
            let mut open = Vec::with_capacity(n);
            for (i, &request) in requests.iter().enumerate().filter(|&(_, &it)| it != 0) {
                let at = state.place(request)?;
                if let Work::Started(started) = &state.requests[at].work {
                    open.push((i, at, started.place()));
                }
            }
            which[0] = n;
            if open.is_empty() {
                return Ok(());
            }
            let first = engine::wait_any(scope, open.iter().map(|&(.., place)| place));
            let (i, at, _) = open[first];
            which[0] = i;
            state.complete(scope, at, status);
            Ok(())
        })
    }
}

/// Whether a started call is complete: `complete` is 1 or 0. It is still to be waited for. As any
/// call, it moves all that the rank has started: ranks may test in different orders.
///
/// # Safety
/// `complete` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_test_at(
    scope: *mut phx_requests,
    request: phx_request,
    complete: *mut c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_test", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, _| {
            let at = state.place(request)?;
            let is_complete = match &mut state.requests[at].work {
                Work::Started(started) => started.is_complete(scope),
                Work::Idle(_) => true,
            };
            if !complete.is_null() {
                *complete = c_int::from(is_complete);
            }
            Ok(())
        })
    }
}

/// The scope's communicator, for calls that wait: a handle of its own, until the scope ends. (That
/// with which the scope was begun is in use by it.) Null for a wrong handle.
#[unsafe(no_mangle)]
pub extern "C" fn phx_requests_comm(scope: *mut phx_requests) -> *mut phx_comm {
    let Ok(seat) = find(scope) else { return std::ptr::null_mut() };
    // SAFETY: of this thread alone, which leaves it before anything else enters it.
    match unsafe { &mut *seat.state.get() } {
        Some(state) => {
            if state.comm.is_null() {
                // SAFETY: as in `within`.
                state.comm = lend(unsafe { &mut *state.scope }.comm());
            }
            state.comm
        }
        None => {
            fail(PHX_ERR_BUSY, "the scope is in a call");
            std::ptr::null_mut()
        }
    }
}
