//! Tagged messages that are started, or set up.

use super::{Open, Work};
use crate::names::*;
use crate::types::{Elements, with_type};
use phalanx::engine::made_at;
use phalanx::{Source, Tag, call};
use std::ffi::c_int;

pub(crate) unsafe fn start_send(
    (scope, state, at): Open<'_>,
    buf: Elements,
    to: usize,
    tag: u32,
    (persistent, request): (c_int, *mut phx_request),
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let work = with_type!(buf.ty, T => if persistent == 0 {
            let buf = buf.input::<T>("the buffer")?;
            Work::Started(Box::new(scope.start(made_at(call::send_tagged(buf, to, tag), at))))
        } else {
            // It is read only, when it is under way.
            let buf = buf.output::<T>("the buffer")?;
            Work::Idle(Box::new(scope.set_up(made_at(call::send_tagged(buf, to, tag), at))))
        });
        state.keep(None, work, request);
    }
    Ok(())
}

pub(crate) unsafe fn start_recv(
    (scope, state, at): Open<'_>,
    buf: Elements,
    source: Source,
    tag: Tag,
    (persistent, request): (c_int, *mut phx_request),
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let work = with_type!(buf.ty, T => {
            let to = buf.output::<T>("the buffer")?;
            let call = made_at(call::recv_tagged(to, source, tag), at);
            match persistent {
                0 => Work::Started(Box::new(scope.start(call))),
                _ => Work::Idle(Box::new(scope.set_up(call))),
            }
        });
        state.keep(Some(buf.ty), work, request);
    }
    Ok(())
}
