//! Messages between two ranks: in order, or by source and tag.

use crate::arguments::{apart, input, output, rank_number};
use crate::names::*;
use crate::types::{Type, with_type};
use phalanx::{Comm, Source, Status, Tag};
use std::ffi::{c_int, c_void};

pub(crate) unsafe fn send(
    comm: &mut Comm,
    buf: *const c_void,
    n: usize,
    ty: Type,
    to: c_int,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let to = rank_number("rank", to)?;
        let n = ty.count(n)?;
        with_type!(ty, T => comm.send(input::<T>("the buffer", buf, n)?, to));
        Ok(())
    }
}

pub(crate) unsafe fn recv(
    comm: &mut Comm,
    buf: *mut c_void,
    n: usize,
    ty: Type,
    source: c_int,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let source = rank_number("rank", source)?;
        let n = ty.count(n)?;
        with_type!(ty, T => comm.recv(output::<T>("the buffer", buf, n)?, source));
        Ok(())
    }
}

pub(crate) unsafe fn exchange(
    comm: &mut Comm,
    send: *const c_void,
    sent: usize,
    to: c_int,
    recv: *mut c_void,
    received: usize,
    source: c_int,
    ty: Type,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let (to, source) = (rank_number("rank", to)?, rank_number("rank", source)?);
        let (sent, received) = (ty.count(sent)?, ty.count(received)?);
        with_type!(ty, T => {
            let send = input::<T>("what is sent", send, sent)?;
            let room = received * size_of::<T>();
            apart((send.as_ptr().cast(), size_of_val(send)), (recv, room))?;
            comm.exchange(send, to, output::<T>("the other buffer", recv, received)?, source);
        });
        Ok(())
    }
}

pub(crate) fn sender(source: c_int) -> Result<Source, String> {
    match source {
        PHX_ANY_SOURCE => Ok(Source::Any),
        source => Ok(Source::Rank(rank_number("source", source)?)),
    }
}

pub(crate) fn tag_of(tag: c_int) -> Result<Tag, String> {
    match tag {
        PHX_ANY_TAG => Ok(Tag::Any),
        tag => Ok(Tag::Is(given_tag(tag)?)),
    }
}

pub(crate) fn given_tag(tag: c_int) -> Result<u32, String> {
    u32::try_from(tag).map_err(|_| format!("{tag} is no tag: those are 0 or more"))
}

/// # Safety
/// `status` is null, or has room for one.
pub(crate) unsafe fn tell(status: *mut phx_status, it: Status, ty: Option<Type>) {
    let size = ty.filter(|ty| ty.is_bytes()).map_or(1, |ty| ty.size);
    let (source, tag) = (it.source as c_int, it.tag as c_int);
    if !status.is_null() {
        // SAFETY: by the contract.
        unsafe { *status = phx_status { source, tag, n: it.len / size } };
    }
}

pub(crate) unsafe fn send_tagged(
    comm: &mut Comm,
    buf: *const c_void,
    n: usize,
    ty: Type,
    to: c_int,
    tag: c_int,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let (to, tag) = (rank_number("rank", to)?, given_tag(tag)?);
        let n = ty.count(n)?;
        with_type!(ty, T => comm.send_tagged(input::<T>("the buffer", buf, n)?, to, tag));
        Ok(())
    }
}

pub(crate) unsafe fn recv_tagged(
    comm: &mut Comm,
    buf: *mut c_void,
    n: usize,
    ty: Type,
    source: c_int,
    tag: c_int,
    status: *mut phx_status,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let (source, tag) = (sender(source)?, tag_of(tag)?);
        let n = ty.count(n)?;
        let it = with_type!(ty, T => {
            comm.recv_tagged(output::<T>("the buffer", buf, n)?, source, tag)
        });
        tell(status, it, Some(ty));
        Ok(())
    }
}

pub(crate) unsafe fn probe(
    comm: &mut Comm,
    source: c_int,
    tag: c_int,
    status: *mut phx_status,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let it = comm.probe(sender(source)?, tag_of(tag)?);
        tell(status, it, None);
        Ok(())
    }
}

pub(crate) unsafe fn try_probe(
    comm: &mut Comm,
    source: c_int,
    tag: c_int,
    found: *mut c_int,
    status: *mut phx_status,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let it = comm.try_probe(sender(source)?, tag_of(tag)?);
        if !found.is_null() {
            *found = c_int::from(it.is_some());
        }
        if let Some(it) = it {
            tell(status, it, None);
        }
        Ok(())
    }
}
