//! Tagged messages that are started, or set up.

use super::{Starting, Work};
use crate::types::{Elements, with_type};
use phalanx::engine::made_at;
use phalanx::{Source, Tag, call};

pub(crate) unsafe fn send(
    starting: Starting<'_>,
    buf: Elements,
    to: usize,
    tag: u32,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        with_type!(buf.ty, T => if starting.persistent == 0 {
            let Starting { open: (scope, state, at), request, .. } = starting;
            let call = call::send_tagged(buf.input::<T>("the buffer")?, to, tag);
            state.keep(None, Work::Started(Box::new(scope.start(made_at(call, at)))), request);
        } else {
            // It is read only, when it is under way.
            starting.go(None, call::send_tagged(buf.output::<T>("the buffer")?, to, tag));
        });
    }
    Ok(())
}

pub(crate) unsafe fn recv(
    starting: Starting<'_>,
    buf: Elements,
    source: Source,
    tag: Tag,
) -> Result<(), String> {
    // SAFETY: by the contract.
    with_type!(buf.ty, T => unsafe {
        starting.go(Some(buf.ty), call::recv_tagged(buf.output::<T>("the buffer")?, source, tag));
    });
    Ok(())
}
