//! Sends, receives and probes.

use super::arguments::{Buffer, Caller, EMPTY, NOBODY, Out, Peer, StatusOut, int, peer_of};
use super::requests::{finish, wait_one};
use crate::rt::comm::Comm;
use crate::rt::error::{Class, Outcome, error};
use crate::rt::p2p::{self, ANY_SOURCE, ANY_TAG, Arrived, Envelope, Mode, Probed, Req};
use crate::rt::types::{self, Place, bytes_at};
use crate::rt::world::lock;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Starts a send.
fn start_send(
    caller: Caller<'_>,
    place: Place,
    peer: Peer,
    comm: &Comm,
    mode: Mode,
) -> Outcome<Arc<Req>> {
    let Peer { rank, tag } = peer;
    if tag < 0 {
        return error(Class::Tag, format!("the tag {tag} is negative"));
    }
    let to = peer_of(comm, rank)?;
    let to = to.map(|it| comm.world_rank(it));
    let req = Req::new(caller.me, caller.site, true, (rank, to), tag);
    let Some(to) = to else {
        req.complete(&caller.world, caller.me, EMPTY);
        return Ok(req);
    };
    let envelope = Envelope { context: comm.shared.context, source: int(comm.rank), tag };
    let send = p2p::Send { me: caller.me, to, envelope, place, mode };
    // SAFETY: the program's buffer (`arguments.rs`), which it leaves alone until the request is
    // complete, as the standard asks of it.
    unsafe { p2p::send(&caller.world, send, &req) };
    Ok(req)
}

/// The rank of the world from which a message must come, if it is one.
fn source(comm: &Comm, peer: Peer) -> Option<usize> {
    usize::try_from(peer.rank).ok().map(|it| comm.world_rank(it))
}

/// What a receive takes; `None` for a message from nobody.
fn pattern(comm: &Comm, peer: Peer) -> Outcome<Option<Envelope>> {
    let Peer { rank, tag } = peer;
    if tag < 0 && tag != ANY_TAG {
        return error(Class::Tag, format!("the tag {tag} is negative"));
    }
    if rank != ANY_SOURCE && peer_of(comm, rank)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Envelope { context: comm.shared.context, source: rank, tag }))
}

/// Starts a receive.
fn start_receive(caller: Caller<'_>, place: Place, peer: Peer, comm: &Comm) -> Outcome<Arc<Req>> {
    let pattern = pattern(comm, peer)?;
    let by = source(comm, peer);
    let req = Req::new(caller.me, caller.site, false, (peer.rank, by), peer.tag);
    match pattern {
        // SAFETY: as in `start_send`.
        Some(pattern) => unsafe { p2p::receive(&caller.world, caller.me, pattern, place, &req) },
        None => req.complete(&caller.world, caller.me, NOBODY),
    }
    Ok(req)
}

/// Sends, and awaits the request.
fn send_by(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm, mode: Mode) -> Outcome {
    let req = start_send(caller, data.place(caller)?, peer, comm, mode)?;
    wait_one(caller, &req);
    finish(&req, StatusOut::IGNORED)
}

pub(super) fn send(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome {
    send_by(caller, data, peer, comm, Mode::Standard)
}
pub(super) use send as rsend;

pub(super) fn ssend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome {
    send_by(caller, data, peer, comm, Mode::Synchronous)
}

pub(super) fn bsend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome {
    send_by(caller, data, peer, comm, Mode::Buffered)
}

pub(super) fn isend(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    start_send(caller, data.place(caller)?, peer, comm, Mode::Standard)
}
pub(super) use isend as irsend;

pub(super) fn issend(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    start_send(caller, data.place(caller)?, peer, comm, Mode::Synchronous)
}

pub(super) fn ibsend(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    start_send(caller, data.place(caller)?, peer, comm, Mode::Buffered)
}

pub(super) fn recv(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    let req = start_receive(caller, data.place(caller)?, peer, comm)?;
    wait_one(caller, &req);
    finish(&req, status)
}

pub(super) fn irecv(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
) -> Outcome<Arc<Req>> {
    start_receive(caller, data.place(caller)?, peer, comm)
}

/// Sends one and receives another at once.
fn swap(
    caller: Caller<'_>,
    (from, to): (Place, Peer),
    (target, source): (Place, Peer),
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    // Checked before the receive begins, which cannot be taken back.
    peer_of(comm, to.rank)?;
    let receive = start_receive(caller, target, source, comm)?;
    let send = start_send(caller, from, to, comm, Mode::Standard)?;
    wait_one(caller, &receive);
    wait_one(caller, &send);
    finish(&receive, status)
}

pub(super) fn sendrecv(
    caller: Caller<'_>,
    data: Buffer,
    to: Peer,
    room: Buffer,
    from: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    swap(caller, (data.place(caller)?, to), (room.place(caller)?, from), comm, status)
}

pub(super) fn sendrecv_replace(
    caller: Caller<'_>,
    data: Buffer,
    to: Peer,
    from: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    let place = data.place(caller)?;
    // SAFETY: the program's buffer.
    let packed = unsafe { types::pack(&place) };
    let sent = bytes_at(packed.as_ptr() as usize, packed.len());
    swap(caller, (sent, to), (place, from), comm, status)
}

/// The first message that the pattern takes.
fn look(caller: Caller<'_>, pattern: Envelope) -> Option<Arrived> {
    lock(&caller.world.slots[caller.me].queue).probe(pattern)
}

pub(super) fn probe(caller: Caller<'_>, peer: Peer, comm: &Comm, status: StatusOut) -> Outcome {
    let Some(pattern) = pattern(comm, peer)? else {
        status.set(NOBODY, false);
        return Ok(());
    };
    let world = || Arc::clone(&caller.world);
    let condition = || Arc::new(Probed { world: world(), me: caller.me, pattern }) as _;
    let holds = || look(caller, pattern).is_some();
    caller.world.wait(caller.me, caller.site, source(comm, peer), holds, condition);
    if let Some(arrived) = look(caller, pattern) {
        status.set(arrived, false);
    }
    Ok(())
}

pub(super) fn iprobe(
    caller: Caller<'_>,
    peer: Peer,
    comm: &Comm,
    flag: Out<c_int>,
    status: StatusOut,
) -> Outcome {
    let found = match pattern(comm, peer)? {
        Some(pattern) => look(caller, pattern),
        None => Some(NOBODY),
    };
    flag.set(c_int::from(found.is_some()));
    caller.tested(found.is_some());
    if let Some(arrived) = found {
        status.set(arrived, false);
    }
    Ok(())
}

pub(super) fn buffer_attach(caller: Caller<'_>, buffer: *mut c_void, size: c_int) -> Outcome {
    caller.buffer.set((buffer as usize, size));
    Ok(())
}

pub(super) fn buffer_detach(caller: Caller<'_>, buffer: *mut c_void, size: Out<c_int>) -> Outcome {
    let (at, length) = caller.buffer.take();
    // SAFETY: the standard's argument is the address of a pointer.
    unsafe { *buffer.cast::<usize>() = at };
    size.set(length);
    Ok(())
}
