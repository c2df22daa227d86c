//! Messages between two ranks: in order, or by source and tag.

use crate::arguments::{apart, input, output, rank_number};
use crate::call::{From, call, phx_comm};
use crate::error::phx_err;
use crate::types::{Type, phx_type, with_type};
use phalanx::{Source, Status, Tag};
use std::ffi::{c_char, c_int, c_void};

/// What is known of a tagged message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types)]
pub struct phx_status {
    /// The rank that sent it.
    pub source: c_int,
    /// Its tag.
    pub tag: c_int,
    /// Its elements, of the type that the receiver named; of a probe, of the sender's.
    pub n: usize,
}

/// Receives from any rank.
pub const PHX_ANY_SOURCE: c_int = -1;
/// Receives any tag.
pub const PHX_ANY_TAG: c_int = -1;

/// Sends `n` elements to rank `to`, which receives as many of the same type by `phx_recv`. Up to
/// 1024 bytes are copied; with more, or with eight messages unread, the call waits for the
/// receiver.
///
/// # Safety
/// `buf` has `n` elements of `ty`; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_send_at(
    comm: *mut phx_comm,
    buf: *const c_void,
    n: usize,
    ty: phx_type,
    to: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_send", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, to) = (Type::of(ty)?, rank_number("rank", to)?);
            let n = ty.count(n)?;
            with_type!(ty, T => comm.send(input::<T>("the buffer", buf, n)?, to));
            Ok(())
        })
    }
}

/// Receives `n` elements from rank `source`: exactly as many as it sends.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_recv_at(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    source: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_recv", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, source) = (Type::of(ty)?, rank_number("rank", source)?);
            let n = ty.count(n)?;
            with_type!(ty, T => comm.recv(output::<T>("the buffer", buf, n)?, source));
            Ok(())
        })
    }
}

/// Sends `sent` elements to rank `to` and receives `received` from rank `source`, at the same time.
///
/// # Safety
/// The buffers have so many elements of `ty`, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_exchange_at(
    comm: *mut phx_comm,
    send: *const c_void,
    sent: usize,
    to: c_int,
    recv: *mut c_void,
    received: usize,
    source: c_int,
    ty: phx_type,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_exchange", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let (to, source) = (rank_number("rank", to)?, rank_number("rank", source)?);
            let (sent, received) = (ty.count(sent)?, ty.count(received)?);
            with_type!(ty, T => {
                let send = input::<T>("what is sent", send, sent)?;
                let room = received * size_of::<T>();
                apart((send.as_ptr().cast(), size_of_val(send)), (recv, room))?;
                comm.exchange(send, to, output::<T>("the other buffer", recv, received)?, source);
            });
            Ok(())
        })
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

/// Sends `n` elements to rank `to` under a tag of 0 or more; any number may be under way. Up to 16
/// KiB are kept until they are received, unless 64 MiB wait at the receiver; with more, the call
/// waits for the receiver.
///
/// # Safety
/// `buf` has `n` elements of `ty`; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_send_tagged_at(
    comm: *mut phx_comm,
    buf: *const c_void,
    n: usize,
    ty: phx_type,
    to: c_int,
    tag: c_int,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_send_tagged", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, to, tag) = (Type::of(ty)?, rank_number("rank", to)?, given_tag(tag)?);
            let n = ty.count(n)?;
            with_type!(ty, T => comm.send_tagged(input::<T>("the buffer", buf, n)?, to, tag));
            Ok(())
        })
    }
}

/// Receives a message of at most `n` elements by source (or `PHX_ANY_SOURCE`) and tag (or
/// `PHX_ANY_TAG`). What it was is in `status`, if that is not null.
///
/// # Safety
/// `buf` has `n` elements of `ty`, which nobody else uses meanwhile; `status` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_recv_tagged_at(
    comm: *mut phx_comm,
    buf: *mut c_void,
    n: usize,
    ty: phx_type,
    source: c_int,
    tag: c_int,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_recv_tagged", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, source, tag) = (Type::of(ty)?, sender(source)?, tag_of(tag)?);
            let n = ty.count(n)?;
            let it = with_type!(ty, T => {
                comm.recv_tagged(output::<T>("the buffer", buf, n)?, source, tag)
            });
            tell(status, it, Some(ty));
            Ok(())
        })
    }
}

/// Waits until there is a message of this source and tag, and says what it is, without receiving
/// it. Of `PHX_BYTES(n)`, its elements are bytes.
///
/// # Safety
/// `status` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_probe_at(
    comm: *mut phx_comm,
    source: c_int,
    tag: c_int,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_probe", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let it = comm.probe(sender(source)?, tag_of(tag)?);
            tell(status, it, None);
            Ok(())
        })
    }
}

/// The same without waiting: `found` is 1 if there is such a message, else 0.
///
/// # Safety
/// `found` and `status` are null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_try_probe_at(
    comm: *mut phx_comm,
    source: c_int,
    tag: c_int,
    found: *mut c_int,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_try_probe", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let it = comm.try_probe(sender(source)?, tag_of(tag)?);
            if !found.is_null() {
                *found = c_int::from(it.is_some());
            }
            if let Some(it) = it {
                tell(status, it, None);
            }
            Ok(())
        })
    }
}
