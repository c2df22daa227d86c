//! The end of a request: started again, waited for, looked at.

use super::{Open, Request, Work, find};
use crate::arguments::{output, put};
use crate::call::lend;
use crate::error::fail;
use crate::names::*;
use phalanx::engine;
use std::ffi::c_int;

pub(crate) unsafe fn start(
    (scope, state, _): Open<'_>,
    request: phx_request,
) -> Result<(), String> {
    let at = state.place(request)?;
    let Request { number, ty, work } = state.requests.swap_remove(at);
    let Work::Idle(idle) = work else {
        return Err(format!("request {request} is under way already"));
    };
    let work = Work::Started(idle.start(scope));
    state.requests.push(Request { number, ty, work });
    Ok(())
}

pub(crate) unsafe fn wait(
    (scope, state, _): Open<'_>,
    request: phx_request,
    status: *mut phx_status,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let at = state.place(request)?;
        state.complete(scope, at, status);
        Ok(())
    }
}

pub(crate) fn wait_all(
    (scope, state, _): Open<'_>,
    requests: &[phx_request],
) -> Result<(), String> {
    for &request in requests {
        let at = state.place(request)?;
        // SAFETY: nobody asks for its status.
        unsafe { state.complete(scope, at, std::ptr::null_mut()) };
    }
    Ok(())
}

pub(crate) unsafe fn wait_any(
    (scope, state, _): Open<'_>,
    requests: &[phx_request],
    which: *mut usize,
    status: *mut phx_status,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let which = output::<usize>("the place of the result", which.cast(), 1)?;
        // Of each that is under way: its place in the list, in the state, and in the scope.
        let mut open = Vec::with_capacity(requests.len());
        for (i, &request) in requests.iter().enumerate().filter(|&(_, &it)| it != 0) {
            let at = state.place(request)?;
            if let Work::Started(started) = &state.requests[at].work {
                open.push((i, at, started.place()));
            }
        }
        which[0] = requests.len();
        if open.is_empty() {
            return Ok(());
        }
        let first = engine::wait_any(scope, open.iter().map(|&(.., place)| place));
        let (i, at, _) = open[first];
        which[0] = i;
        state.complete(scope, at, status);
        Ok(())
    }
}

pub(crate) unsafe fn test(
    (scope, state, _): Open<'_>,
    request: phx_request,
    complete: *mut c_int,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let at = state.place(request)?;
        let is_complete = match &mut state.requests[at].work {
            Work::Started(started) => started.is_complete(scope),
            Work::Idle(_) => true,
        };
        put(complete, c_int::from(is_complete));
        Ok(())
    }
}

pub(crate) fn requests_comm(scope: *mut phx_requests) -> *mut phx_comm {
    let Ok(seat) = find(scope) else { return std::ptr::null_mut() };
    // SAFETY: of this thread alone, which leaves it before anything else enters it.
    match unsafe { seat.it() } {
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
