//! Sends, receives and probes.

use super::arguments::{Peer, peer_of};
use super::buffers::Buffer;
use super::counts::CountOut;
use super::prelude::*;
use super::requests::{finish, wait_one};
use crate::rt::begun::Begun;
use crate::rt::envelope::{ANY_SOURCE, ANY_TAG, Envelope};
use crate::rt::mutex::lock;
use crate::rt::overlap::apart;
use crate::rt::p2p::{self, Message, Mode, Probed};
use crate::rt::rank::Persistent;
use crate::rt::request::{Arrived, Ask, Kind, NOBODY, Req};
use crate::rt::standings::Condition;
use crate::rt::types::{self, bytes_at};

/// Starts a send; gives its request, unless it is complete at once.
#[inline(always)]
fn start_send(
    caller: Caller<'_>,
    place: Place,
    peer: Peer,
    comm: &Comm,
    mode: Mode,
) -> Outcome<Option<Arc<Req>>> {
    let Peer { rank, tag } = peer;
    if tag < 0 {
        return error(Class::Tag, format!("the tag {tag} is negative"));
    }
    let Some(to) = peer_of(comm, rank)?.map(|it| comm.peer(it)) else { return Ok(None) };
    let (me, site) = (caller.me, caller.site);
    let context = comm.shared.context;
    let (kind, by) = (Kind::Send, Some(to));
    let ask = Ask { owner: me, site, kind, peer: rank, by, tag, context, open: None };
    let envelope = Envelope { context, source: int(comm.own_rank()), tag };
    let send = p2p::Send { me, to, envelope, place, mode, site };
    // SAFETY: the program's buffer (`arguments.rs`), which it leaves alone until the send is
    // complete, as the standard asks of it.
    Ok(unsafe { p2p::send(&caller.world, send, || caller.request(ask)) })
}

/// Awaits a send, if it is not complete.
#[inline]
fn await_send(caller: Caller<'_>, req: Option<Arc<Req>>) -> Outcome {
    let Some(req) = req else { return Ok(()) };
    wait_one(caller, &req);
    finish(caller, req, StatusOut::IGNORED)
}

/// The rank of the world from which a message must come, if it is one.
#[inline]
fn source(comm: &Comm, peer: Peer) -> Option<usize> {
    usize::try_from(peer.rank).ok().map(|it| comm.peer(it))
}

/// A receive's source and tag; `None` for a message from nobody.
#[inline]
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

/// Starts a receive, which other ranks need not find yet if it is short.
fn begin_receive(caller: Caller<'_>, place: Place, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    let by = source(comm, peer);
    if place.bytes() > caller.world.ring_bytes() || by == Some(caller.me) {
        return start_receive(caller, place, peer, comm);
    }
    let Some(pattern) = pattern(comm, peer)? else { return Ok(Begun::Nobody) };
    caller.receive_early(pattern, by, (0, 0), Some(place), caller.site);
    Ok(Begun::Early)
}

/// Starts a receive that other ranks find.
fn start_receive(caller: Caller<'_>, place: Place, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    caller.publish();
    let Some(pattern) = pattern(comm, peer)? else { return Ok(Begun::Received((NOBODY, None))) };
    let by = source(comm, peer);
    let (owner, site, context) = (caller.me, caller.site, pattern.context);
    let Peer { rank: peer, tag } = peer;
    let ask = Ask { owner, site, kind: Kind::Receive, peer, by, tag, context, open: None };
    let make = || caller.request(ask);
    // SAFETY: as in `start_send`.
    let it = unsafe { p2p::receive(&caller.world, (owner, by), pattern, place, make) };
    Ok(it.map_or_else(Begun::Shared, Begun::Received))
}

/// Awaits a receive that was started so.
fn end_receive(caller: Caller<'_>, begun: Begun, status: StatusOut) -> Outcome {
    let (arrived, failed) = match begun {
        Begun::Shared(req) => {
            wait_one(caller, &req);
            return finish(caller, req, status);
        }
        Begun::Received(received) => received,
        _ => (NOBODY, None),
    };
    status.set(arrived, false);
    failed.map_or(Ok(()), |it| Err(*it))
}

/// The rank of the world that is a message's other end, unless more has to be asked.
#[inline(always)]
fn plain_peer(comm: &Comm, peer: Peer) -> Option<usize> {
    let rank = usize::try_from(peer.rank).ok().filter(|_| !comm.is_inter())?;
    comm.shared.members.get(rank).copied()
}

/// The short way of a send: of numbers without gaps, by a ring. Whether it is complete; else
/// nothing has happened.
#[inline(always)]
fn is_sent_at_once(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> bool {
    let (Some(solid), Some(to)) = (data.solid(), plain_peer(comm, peer)) else { return false };
    let envelope =
        Envelope { context: comm.shared.context, source: comm.rank as c_int, tag: peer.tag };
    // SAFETY: as in `start_send`.
    peer.tag >= 0
        && unsafe {
            p2p::send_at_once(
                &caller.rank.world,
                (caller.rank.me, to),
                envelope,
                solid,
                caller.site,
            )
        }
}

/// The same of a receive: the message that has arrived.
#[inline(always)]
fn received_soon(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Option<Arrived> {
    let (solid, by) = (data.solid()?, plain_peer(comm, peer)?);
    let Peer { rank: source, tag } = peer;
    let Caller { rank, .. } = caller;
    if (tag < 0 && tag != ANY_TAG) || by == rank.me || solid.1 > rank.world.ring_bytes() {
        return None;
    }
    let pattern = Envelope { context: comm.shared.context, source, tag };
    let left = rank.left_nothing()?;
    // SAFETY: as in `start_send`.
    let came = unsafe { p2p::receive_at_once(&rank.world, (rank.me, by), pattern, solid, left) };
    Some(came?.from(source))
}

/// Sends, and awaits the request.
#[inline(never)]
fn send_by(caller: &Caller<'_>, data: Buffer, peer: Peer, comm: &Comm, mode: Mode) -> Outcome {
    await_send(*caller, start_send(*caller, data.place(*caller)?, peer, comm, mode)?)
}

#[inline(always)]
pub(super) fn send(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome {
    if is_sent_at_once(caller, data, peer, comm) {
        return Ok(());
    }
    send_by(&caller.again(), data, peer, comm, Mode::Standard)
}

pub(super) fn ssend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome {
    send_by(&caller, data, peer, comm, Mode::Synchronous)
}

pub(super) fn bsend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome {
    send_by(&caller, data, peer, comm, Mode::Buffered)
}

/// The state of a send that has begun, which may be complete.
#[inline(always)]
fn started(req: Option<Arc<Req>>) -> Outcome<Begun> {
    Ok(req.map_or(Begun::Sent, Begun::Shared))
}

#[inline(always)]
pub(super) fn isend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    if is_sent_at_once(caller, data, peer, comm) {
        return Ok(Begun::Sent);
    }
    if peer.is_nobody() && peer.tag >= 0 && data.solid().is_some() {
        return Ok(Begun::Nobody);
    }
    isend_otherwise(&caller.again(), data, peer, comm)
}

#[inline(never)]
fn isend_otherwise(caller: &Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    started(start_send(*caller, data.place(*caller)?, peer, comm, Mode::Standard)?)
}

pub(super) fn issend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    started(start_send(caller, data.place(caller)?, peer, comm, Mode::Synchronous)?)
}

pub(super) fn ibsend(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    started(start_send(caller, data.place(caller)?, peer, comm, Mode::Buffered)?)
}

#[inline(always)]
pub(super) fn recv(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    if let Some(arrived) = received_soon(caller, data, peer, comm) {
        status.set(arrived, false);
        return Ok(());
    }
    receive(&caller.again(), data, peer, comm, status)
}

#[inline(never)]
fn receive(
    caller: &Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    receive_from(*caller, data.place(*caller)?, peer, comm, status)
}

/// Receives, without a request if the message comes soon.
#[inline]
fn receive_from(
    caller: Caller<'_>,
    place: Place,
    peer: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    if let (Some(pattern), Some(by)) = (pattern(comm, peer)?, source(comm, peer))
        && by != caller.me
    {
        // SAFETY: as in `start_send`.
        let soon = unsafe { p2p::receive_soon(&caller.world, (caller.me, by), pattern, &place) };
        if let Some(received) = soon {
            return end_receive(caller, Begun::Received(received), status);
        }
    }
    await_receive(caller, place, peer, comm, status)
}

/// Receives by a request.
#[inline(never)]
fn await_receive(
    caller: Caller<'_>,
    place: Place,
    peer: Peer,
    comm: &Comm,
    status: StatusOut,
) -> Outcome {
    end_receive(caller, start_receive(caller, place, peer, comm)?, status)
}

#[inline(always)]
pub(super) fn irecv(caller: Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    let Caller { rank, site, .. } = caller;
    if let (Some(solid), Some(by)) = (data.solid(), plain_peer(comm, peer))
        && (peer.tag >= 0 || peer.tag == ANY_TAG)
        && by != rank.me
        && solid.1 <= rank.world.ring_bytes()
    {
        let pattern = Envelope { context: comm.shared.context, source: peer.rank, tag: peer.tag };
        rank.receive_early(pattern, Some(by), solid, None, site);
        return Ok(Begun::Early);
    }
    if peer.is_nobody() && (peer.tag >= 0 || peer.tag == ANY_TAG) && data.solid().is_some() {
        return Ok(Begun::Nobody);
    }
    irecv_otherwise(&caller.again(), data, peer, comm)
}

#[inline(never)]
fn irecv_otherwise(caller: &Caller<'_>, data: Buffer, peer: Peer, comm: &Comm) -> Outcome<Begun> {
    begin_receive(*caller, data.place(*caller)?, peer, comm)
}

/// A send or receive that can be started many times.
fn persistent(
    caller: Caller<'_>,
    data: Buffer,
    peer: Peer,
    comm: &Comm,
    send: Option<Mode>,
) -> Outcome<Persistent> {
    let Peer { rank, tag } = peer;
    if rank != ANY_SOURCE || send.is_some() {
        peer_of(comm, rank)?;
    }
    let comm = caller.comm(comm.handle.get())?;
    Ok(Persistent::Message { send, place: data.place(caller)?, peer: (rank, tag), comm })
}

macro_rules! persistent {
    ($($name:ident $send:expr;)*) => {$(
        pub(super) fn $name(
            caller: Caller<'_>,
            data: Buffer,
            peer: Peer,
            comm: &Comm,
        ) -> Outcome<Persistent> {
            persistent(caller, data, peer, comm, $send)
        }
    )*};
}
persistent! {
    send_init Some(Mode::Standard);
    rsend_init Some(Mode::Standard);
    ssend_init Some(Mode::Synchronous);
    bsend_init Some(Mode::Buffered);
    recv_init None;
}

/// Starts the call of a persistent request.
pub(super) fn start_again(caller: Caller<'_>, it: &Persistent) -> Outcome<Begun> {
    let (send, place, peer, comm) = match it {
        Persistent::Message { send, place, peer, comm } => (send, place.clone(), *peer, comm),
        Persistent::Collective { comm, start, .. } => {
            caller.publish();
            return Ok(Begun::Shared(start.0(caller.rank, comm)?));
        }
    };
    let peer = Peer::new(peer.0, peer.1);
    match send {
        Some(mode) => started(start_send(caller, place, peer, comm, *mode)?),
        None => begin_receive(caller, place, peer, comm),
    }
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
    let is_other = peer_of(comm, to.rank)?.is_some_and(|it| comm.peer(it) != caller.me);
    if is_other && from.bytes() <= caller.world.ring_bytes() {
        // The send is complete at once, so the receive needs no request if its message comes soon.
        pattern(comm, source)?;
        await_send(caller, start_send(caller, from, to, comm, Mode::Standard)?)?;
        return receive_from(caller, target, source, comm, status);
    }
    let receive = start_receive(caller, target, source, comm)?;
    let send = start_send(caller, from, to, comm, Mode::Standard)?;
    let received = end_receive(caller, receive, status);
    await_send(caller, send)?;
    received
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
    // The arguments are checked before, as far as they can be wrong.
    if plain_peer(comm, from).is_some()
        && let (Some(given), Some(taken)) = (data.solid(), room.solid())
        && (given.0 >= taken.0 + taken.1 || taken.0 >= given.0 + given.1)
        && (from.tag >= 0 || from.tag == ANY_TAG)
        && is_sent_at_once(caller, data, to, comm)
    {
        return recv(caller, room, from, comm, status);
    }
    let (data, room) = both(caller, (data, to), (room, from))?;
    swap(caller, data, room, comm, status)
}

/// The data and the room of a message each way, which must be apart if both go anywhere.
fn both(
    caller: Caller<'_>,
    (data, to): (Buffer, Peer),
    (room, from): (Buffer, Peer),
) -> Outcome<((Place, Peer), (Place, Peer))> {
    let (data, room) = (data.place(caller)?, room.place(caller)?);
    if !to.is_nobody() && !from.is_nobody() {
        apart(&data, &room)?;
    }
    Ok(((data, to), (room, from)))
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

/// Sends one, of which a copy is kept, and starts to receive another: the request of that.
fn start_swap(
    caller: Caller<'_>,
    (from, to): (Place, Peer),
    (target, source): (Place, Peer),
    comm: &Comm,
) -> Outcome<Begun> {
    // Checked before the receive begins, which cannot be taken back.
    peer_of(comm, to.rank)?;
    let receive = start_receive(caller, target, source, comm)?;
    // Buffered, so it is complete at once.
    start_send(caller, from, to, comm, Mode::Buffered)?;
    Ok(receive)
}

pub(super) fn isendrecv(
    caller: Caller<'_>,
    data: Buffer,
    to: Peer,
    room: Buffer,
    from: Peer,
    comm: &Comm,
) -> Outcome<Begun> {
    let (data, room) = both(caller, (data, to), (room, from))?;
    start_swap(caller, data, room, comm)
}

pub(super) fn isendrecv_replace(
    caller: Caller<'_>,
    data: Buffer,
    to: Peer,
    from: Peer,
    comm: &Comm,
) -> Outcome<Begun> {
    let place = data.place(caller)?;
    // SAFETY: the program's buffer.
    let packed = unsafe { types::pack(&place) };
    let sent = bytes_at(packed.as_ptr() as usize, packed.len());
    start_swap(caller, (sent, to), (place, from), comm)
}

/// The first message that the pattern takes.
fn look(caller: Caller<'_>, pattern: Envelope, by: Option<usize>) -> Option<Arrived> {
    p2p::look(&caller.world, caller.me, by);
    lock(&caller.world.slots[caller.me].queue).probe(pattern)
}

/// A message that the pattern takes.
fn probed(caller: Caller<'_>, pattern: Envelope, by: Option<usize>) -> Arc<dyn Condition> {
    Arc::new(Probed { world: Arc::clone(&caller.world), me: caller.me, pattern, by })
}

pub(super) fn probe(caller: Caller<'_>, peer: Peer, comm: &Comm, status: StatusOut) -> Outcome {
    let Some(pattern) = pattern(comm, peer)? else {
        status.set(NOBODY, false);
        return Ok(());
    };
    let by = source(comm, peer);
    let condition = || probed(caller, pattern, by);
    let holds = || look(caller, pattern, by).is_some();
    caller.world.wait(caller.me, caller.site, by, holds, condition);
    if let Some(arrived) = look(caller, pattern, by) {
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
    let Some(pattern) = pattern(comm, peer)? else {
        flag.set(1);
        status.set(NOBODY, false);
        return Ok(());
    };
    let by = source(comm, peer);
    let found = look(caller, pattern, by);
    flag.set(c_int::from(found.is_some()));
    caller.tested(found.is_some(), || probed(caller, pattern, by));
    if let Some(arrived) = found {
        status.set(arrived, false);
    }
    Ok(())
}

/// Keeps a message that a probe takes, and describes it.
fn keep(caller: Caller<'_>, taken: Message, handle: Out<Handle>, status: StatusOut) {
    status.set(taken.arrived(), false);
    handle.set(caller.messages.borrow_mut().insert(taken));
}

/// Takes the first message that the pattern takes.
fn take(caller: Caller<'_>, pattern: Envelope, by: Option<usize>) -> Option<Message> {
    p2p::look(&caller.world, caller.me, by);
    lock(&caller.world.slots[caller.me].queue).take(pattern)
}

pub(super) fn mprobe(
    caller: Caller<'_>,
    peer: Peer,
    comm: &Comm,
    message: Out<Handle>,
    status: StatusOut,
) -> Outcome {
    let Some(pattern) = pattern(comm, peer)? else {
        message.set(standard::MESSAGE_NO_PROC);
        status.set(NOBODY, false);
        return Ok(());
    };
    probe(caller, peer, comm, StatusOut::IGNORED)?;
    if let Some(taken) = take(caller, pattern, source(comm, peer)) {
        keep(caller, taken, message, status);
    }
    Ok(())
}

pub(super) fn improbe(
    caller: Caller<'_>,
    peer: Peer,
    comm: &Comm,
    flag: Out<c_int>,
    message: Out<Handle>,
    status: StatusOut,
) -> Outcome {
    let Some(pattern) = pattern(comm, peer)? else {
        flag.set(1);
        message.set(standard::MESSAGE_NO_PROC);
        status.set(NOBODY, false);
        return Ok(());
    };
    let taken = take(caller, pattern, source(comm, peer));
    flag.set(c_int::from(taken.is_some()));
    caller.tested(taken.is_some(), || probed(caller, pattern, source(comm, peer)));
    if let Some(taken) = taken {
        keep(caller, taken, message, status);
    }
    Ok(())
}

pub(super) fn imrecv(caller: Caller<'_>, data: Buffer, message: Out<Handle>) -> Outcome<Begun> {
    let place = data.place(caller)?;
    let handle = message.get();
    let taken = caller.messages.borrow_mut().remove(handle);
    let received = match taken {
        // SAFETY: as in `start_send`.
        Some(taken) => unsafe { p2p::deliver(&caller.world, caller.me, taken, &place) },
        None if handle == standard::MESSAGE_NO_PROC => (NOBODY, None),
        None => return error(Class::Request, format!("{handle:#x} is no message")),
    };
    message.set(standard::MESSAGE_NULL);
    Ok(Begun::Received(received))
}

pub(super) fn mrecv(
    caller: Caller<'_>,
    data: Buffer,
    message: Out<Handle>,
    status: StatusOut,
) -> Outcome {
    end_receive(caller, imrecv(caller, data, message)?, status)
}

pub(super) fn buffer_attach(caller: Caller<'_>, buffer: *mut c_void, size: i64) -> Outcome {
    caller.buffer.set((buffer as usize, size));
    Ok(())
}

pub(super) fn buffer_detach(caller: Caller<'_>, buffer: *mut c_void, size: CountOut) -> Outcome {
    let (at, length) = caller.buffer.take();
    // SAFETY: the standard's argument is the address of a pointer.
    unsafe { *buffer.cast::<usize>() = at };
    size.set(usize::try_from(length).ok());
    Ok(())
}
