//! Tagged messages that are started, or set up.

use super::{Work, phx_request, phx_requests, within};
use crate::arguments::{input, output, rank_number};
use crate::call::From;
use crate::error::phx_err;
use crate::message::{given_tag, sender, tag_of};
use crate::types::{Type, phx_type, with_type};
use phalanx::engine;
use std::ffi::{c_char, c_int, c_void};

/// Starts a tagged send; if `persistent`, sets it up.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody changes until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_send_at(
    scope: *mut phx_requests,
    buf: *const c_void,
    n: usize,
    ty: phx_type,
    to: c_int,
    tag: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_send", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, to, tag) = (Type::of(ty)?, rank_number("rank", to)?, given_tag(tag)?);
            let n = ty.count(n)?;
            let work = with_type!(ty, T => if persistent == 0 {
                let buf = input::<T>("the buffer", buf, n)?;
                Work::Started(Box::new(engine::send_tagged(scope, buf, (to, tag), at)))
            } else {
                // It is read only, when it is under way.
                let buf = output::<T>("the buffer", buf.cast_mut(), n)?;
                Work::Idle(Box::new(engine::persistent_send_tagged(scope, buf, (to, tag), at)))
            });
            state.keep(None, work, request);
            Ok(())
        })
    }
}

/// Starts a tagged receive; if `persistent`, sets it up.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody uses until the call was waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_start_recv_at(
    scope: *mut phx_requests,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    source: c_int,
    tag: c_int,
    persistent: c_int,
    request: *mut phx_request,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_start_recv", file, line };
    // SAFETY: by the contract.
    unsafe {
        within(scope, from, |scope, state, at| {
            let (ty, source, tag) = (Type::of(ty)?, sender(source)?, tag_of(tag)?);
            let n = ty.count(n)?;
            let work = with_type!(ty, T => {
                let buf = output::<T>("the buffer", buf, n)?;
                match persistent {
                    0 => {
                        let from = (source, tag);
                        Work::Started(Box::new(engine::recv_tagged(scope, buf, from, at)))
                    }
                    _ => {
                        let (from, call) = ((source, tag), engine::persistent_recv_tagged);
                        Work::Idle(Box::new(call(scope, buf, from, at)))
                    }
                }
            });
            state.keep(Some(ty), work, request);
            Ok(())
        })
    }
}
