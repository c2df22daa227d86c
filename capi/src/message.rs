//! Messages between two ranks: in order, or by source and tag.

use crate::arguments::{apart, rank_number};
use crate::names::*;
use crate::types::{Elements, Type, with_type};
use phalanx::{Comm, Source, Status, Tag};
use std::ffi::c_int;

pub(crate) unsafe fn send(comm: &mut Comm, buf: Elements, to: c_int) -> Result<(), String> {
    let to = rank_number("rank", to)?;
    // SAFETY: by the contract.
    with_type!(buf.ty, T => comm.send(unsafe { buf.input::<T>("the buffer")? }, to));
    Ok(())
}

pub(crate) unsafe fn recv(comm: &mut Comm, buf: Elements, source: c_int) -> Result<(), String> {
    let source = rank_number("rank", source)?;
    // SAFETY: by the contract.
    with_type!(buf.ty, T => comm.recv(unsafe { buf.output::<T>("the buffer")? }, source));
    Ok(())
}

pub(crate) unsafe fn exchange(
    comm: &mut Comm,
    send: Elements,
    to: c_int,
    recv: Elements,
    source: c_int,
) -> Result<(), String> {
    let (to, source) = (rank_number("rank", to)?, rank_number("rank", source)?);
    let room = recv.ty.count(recv.n)? * (recv.ty.size / recv.ty.parts());
    with_type!(send.ty, T => {
        // SAFETY: by the contract.
        let send = unsafe { send.input::<T>("what is sent")? };
        apart((send.as_ptr().cast(), size_of_val(send)), (recv.at, room))?;
        // SAFETY: by the contract.
        comm.exchange(send, to, unsafe { recv.output::<T>("the other buffer")? }, source);
    });
    Ok(())
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
    let size = ty.map_or(1, Type::parts);
    let (source, tag) = (it.source as c_int, it.tag as c_int);
    if !status.is_null() {
        // SAFETY: by the contract.
        unsafe { *status = phx_status { source, tag, n: it.len / size } };
    }
}

pub(crate) unsafe fn send_tagged(
    comm: &mut Comm,
    buf: Elements,
    to: c_int,
    tag: c_int,
) -> Result<(), String> {
    let (to, tag) = (rank_number("rank", to)?, given_tag(tag)?);
    // SAFETY: by the contract.
    with_type!(buf.ty, T => comm.send_tagged(unsafe { buf.input::<T>("the buffer")? }, to, tag));
    Ok(())
}

pub(crate) unsafe fn recv_tagged(
    comm: &mut Comm,
    buf: Elements,
    source: c_int,
    tag: c_int,
    status: *mut phx_status,
) -> Result<(), String> {
    let (source, tag) = (sender(source)?, tag_of(tag)?);
    // SAFETY: by the contract.
    unsafe {
        let it = with_type!(buf.ty, T => {
            comm.recv_tagged(buf.output::<T>("the buffer")?, source, tag)
        });
        tell(status, it, Some(buf.ty));
    }
    Ok(())
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
