//! Tagged messages that are started, or set up.

use super::{Open, Work};
use crate::arguments::rank_number;
use crate::message::{given_tag, sender, tag_of};
use crate::names::*;
use crate::types::{Elements, with_type};
use phalanx::engine;
use std::ffi::c_int;

pub(crate) unsafe fn start_send(
    (scope, state, at): Open<'_>,
    buf: Elements,
    to: c_int,
    tag: c_int,
    (persistent, request): (c_int, *mut phx_request),
) -> Result<(), String> {
    let to = (rank_number("rank", to)?, given_tag(tag)?);
    // SAFETY: by the contract.
    unsafe {
        let work = with_type!(buf.ty, T => if persistent == 0 {
            let buf = buf.input::<T>("the buffer")?;
            Work::Started(Box::new(engine::send_tagged(scope, buf, to, at)))
        } else {
            // It is read only, when it is under way.
            let buf = buf.output::<T>("the buffer")?;
            Work::Idle(Box::new(engine::persistent_send_tagged(scope, buf, to, at)))
        });
        state.keep(None, work, request);
    }
    Ok(())
}

pub(crate) unsafe fn start_recv(
    (scope, state, at): Open<'_>,
    buf: Elements,
    source: c_int,
    tag: c_int,
    (persistent, request): (c_int, *mut phx_request),
) -> Result<(), String> {
    let from = (sender(source)?, tag_of(tag)?);
    // SAFETY: by the contract.
    unsafe {
        let work = with_type!(buf.ty, T => {
            let to = buf.output::<T>("the buffer")?;
            match persistent {
                0 => Work::Started(Box::new(engine::recv_tagged(scope, to, from, at))),
                _ => Work::Idle(Box::new(engine::persistent_recv_tagged(scope, to, from, at))),
            }
        });
        state.keep(Some(buf.ty), work, request);
    }
    Ok(())
}
