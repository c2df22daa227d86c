//! Tagged messages that are started, or set up.

use super::{Open, Work};
use crate::arguments::{input, output, rank_number};
use crate::message::{given_tag, sender, tag_of};
use crate::names::*;
use crate::types::{Type, with_type};
use phalanx::engine;
use std::ffi::{c_int, c_void};

pub(crate) unsafe fn start_send(
    (scope, state, at): Open<'_>,
    buf: *const c_void,
    n: usize,
    ty: Type,
    to: c_int,
    tag: c_int,
    (persistent, request): (c_int, *mut phx_request),
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let (to, tag) = (rank_number("rank", to)?, given_tag(tag)?);
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
    }
}

pub(crate) unsafe fn start_recv(
    (scope, state, at): Open<'_>,
    buf: *mut c_void,
    n: usize,
    ty: Type,
    source: c_int,
    tag: c_int,
    (persistent, request): (c_int, *mut phx_request),
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let (source, tag) = (sender(source)?, tag_of(tag)?);
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
    }
}
