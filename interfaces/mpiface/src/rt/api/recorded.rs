//! The description of a recorded call (`record.rs`): the entries of the table for recorded runs
//! (`build/recorded.rs`) begin and end an event around the entries of the usual one.
//!
//! A handle that names nothing, or a type that does not, is the call's error: the event goes
//! without it.

use super::arguments::{IN_PLACE, Status};
use super::prelude::*;
use crate::rt::envelope::ANY_SOURCE;
use crate::rt::error::Site;
use crate::rt::rank::Rank;
use crate::rt::record::{Noted, Poll, Record};
use phalanx::engine::{CallEvent, RecordedCall};

/// The object of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    /// A communicator.
    Comm(Handle),
    /// A window.
    Win(Handle),
    /// So many requests at this address.
    Requests(*const Handle, usize),
    /// Nothing of these.
    All,
}

/// The facts known at the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) on: On,
    /// Root or partner.
    pub(super) peer: Option<c_int>,
    pub(super) bytes: u64,
    /// Whether all ranks of the communicator call it, in one order.
    pub(super) is_collective: bool,
    /// Whether it only looks: it may end without a message.
    pub(super) is_poll: bool,
}

/// The facts known at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct After {
    /// The call's result.
    pub(super) code: c_int,
    /// Its status.
    pub(super) status: *const Status,
    /// Where its request is, if it starts one.
    pub(super) started: *const Handle,
    /// Whether that is a receive, or the call itself is one.
    pub(super) is_receive: bool,
    /// Which of the requests it has ended.
    pub(super) index: *const c_int,
    /// Whether, or how many of, the awaited requests were there.
    pub(super) flag: *const c_int,
}

impl After {
    pub(super) const NOTHING: After = After {
        code: 0,
        status: std::ptr::null(),
        started: std::ptr::null(),
        is_receive: false,
        index: std::ptr::null(),
        flag: std::ptr::null(),
    };
}

/// A call that is being recorded.
pub(super) struct Recording<'a> {
    rank: &'a Rank,
    record: &'a Record,
    event: CallEvent,
    site: Site,
    facts: Facts,
    comm: Option<Rc<Comm>>,
    /// The communicator's number, and the call's in it.
    place: (u64, u64),
    peer: Option<usize>,
    requests: Vec<(Handle, Option<Noted>)>,
}

impl<'a> Recording<'a> {
    /// # Safety
    /// `rank` is the calling rank's state, which is recorded; requests lie where the facts say,
    /// until `end`.
    pub(super) unsafe fn begin(rank: *const Rank, site: Site, facts: Facts) -> Recording<'a> {
        // SAFETY: the caller's promise.
        let rank = unsafe { &*rank };
        let record = rank.world.record.as_deref().expect("only its ranks are bound to this table");
        let comm = match facts.on {
            On::Comm(handle) => rank.comm(handle).ok(),
            On::Win(handle) => rank.win(handle).ok().map(|it| Rc::clone(&it.comm)),
            On::Requests(..) => None,
            On::All => rank.comm(standard::COMM_WORLD).ok(),
        };
        let mut recorded = rank.recorded.borrow_mut();
        let requests = match facts.on {
            On::Requests(at, count) if !at.is_null() => {
                // SAFETY: the caller's promise.
                let handles = unsafe { std::slice::from_raw_parts(at, count) };
                let noted = |it: &Handle| (*it, recorded.requests.get(it).copied());
                handles.iter().map(noted).collect()
            }
            _ => Vec::new(),
        };
        let first = requests.iter().find_map(|it| it.1);
        let context = comm.as_ref().map(|it| u64::from(it.shared.context));
        let context = context.or(first.map(|it| it.comm)).unwrap_or(0);
        let number = if facts.is_collective { recorded.next(context) } else { 0 };
        let of_comm = |comm: &Rc<Comm>| member(comm, facts.peer?);
        let of_request = || first.filter(|_| requests.len() == 1)?.peer;
        let peer = comm.as_ref().and_then(of_comm).or_else(of_request);
        let call = RecordedCall {
            call: site.call(),
            address: site.address(),
            comm: context,
            number,
            bytes: facts.bytes,
            peer,
        };
        let begin = || record.calls.begin(rank.me, &call);
        let event = if facts.is_poll {
            match recorded.polls.iter_mut().find(|it| it.address == site.address()) {
                Some(row) => {
                    row.again();
                    row.event
                }
                None => {
                    let event = begin();
                    let since = record.calls.now();
                    recorded.polls.push(Poll::new(site.address(), event, since));
                    event
                }
            }
        } else {
            recorded.polls.clear();
            begin()
        };
        drop(recorded);
        let place = (context, number);
        Recording { rank, record, event, site, facts, comm, place, peer, requests }
    }

    /// A collective that goes on after the call: before it, so that the last to come is known.
    pub(super) fn starts(&self) {
        if self.facts.is_collective {
            self.record.starts(self.place, self.rank.me);
        }
    }

    /// # Safety
    /// The addresses are null, or of values that the call has written.
    pub(super) unsafe fn end(self, after: After) {
        let is_well = after.code == 0;
        // SAFETY: the caller's promise.
        let status = unsafe { after.status.as_ref() };
        // SAFETY: as above.
        let is_found = unsafe { after.flag.as_ref() }.is_none_or(|it| *it > 0);
        let status = status.filter(|_| is_well && is_found);
        let (mut peer, mut bytes) = (None, None);
        if after.is_receive && after.started.is_null() {
            bytes = status.map(|it| it.bytes() as u64);
        }
        if self.facts.peer == Some(ANY_SOURCE) {
            peer = status.zip(self.comm.as_ref()).and_then(|(it, comm)| member(comm, it.source()));
        }
        // SAFETY: the caller's promise.
        let started = unsafe { after.started.as_ref() };
        if let Some(handle) = started.filter(|_| is_well) {
            self.note(*handle, after.is_receive);
        }
        // SAFETY: as above.
        if let Some((source, length)) = unsafe { self.ended(after, status) } {
            peer = source;
            bytes = length;
        }
        let (calls, me) = (&self.record.calls, self.rank.me);
        if self.facts.is_poll {
            return self.end_test(is_found, bytes, peer.or(self.peer));
        }
        if let Some(source) = peer {
            calls.name_source(me, source);
        }
        calls.end(me, self.event, bytes, peer);
    }

    /// A row of tests has waited until this one has found something.
    fn end_test(&self, is_found: bool, bytes: Option<u64>, peer: Option<usize>) {
        let (calls, me) = (&self.record.calls, self.rank.me);
        let mut recorded = self.rank.recorded.borrow_mut();
        let of_event = |it: &&mut Poll| it.address == self.site.address();
        let Some(row) = recorded.polls.iter_mut().find(of_event).filter(|it| !it.is_over) else {
            return;
        };
        row.end();
        row.is_over |= is_found;
        if let Some(peer) = peer.filter(|it| is_found && row.is_loop() && *it != me) {
            calls.waited(me, peer, row.since..calls.now());
        }
        calls.end(me, row.event, bytes, peer);
    }

    /// The facts that a wait for a request needs.
    fn note(&self, handle: Handle, is_receive: bool) {
        let is_any = self.facts.peer == Some(ANY_SOURCE);
        let (comm, number) = self.place;
        let size = self.comm.as_ref().map_or(0, |it| it.size());
        let noted = Noted {
            comm,
            peer: self.peer,
            any_of: self.comm.as_ref().filter(|_| is_any).map(|it| it.handle.get()),
            is_receive,
            collective: (number > 0).then_some((number, size)),
        };
        self.rank.recorded.borrow_mut().requests.insert(handle, noted);
    }

    /// Forgets the requests that have ended; of one: the rank that has ended it, and its bytes.
    ///
    /// # Safety
    /// As `end`.
    unsafe fn ended(
        &self,
        after: After,
        status: Option<&Status>,
    ) -> Option<(Option<usize>, Option<u64>)> {
        let On::Requests(at, _) = self.facts.on else { return None };
        let mut last = None;
        for (place, (before, noted)) in self.requests.iter().enumerate() {
            let Some(noted) = noted else { continue };
            // SAFETY: the promise of `begin`'s caller.
            let now = unsafe { *at.add(place) };
            if now != *before {
                self.rank.recorded.borrow_mut().requests.remove(before);
                if let Some((number, ranks)) = noted.collective {
                    last = self.record.started((noted.comm, number), ranks);
                }
            }
        }
        // SAFETY: the caller's promise.
        let index = unsafe { after.index.as_ref() }.copied().unwrap_or(0);
        let is_one = self.requests.len() == 1 || !after.index.is_null();
        let one = usize::try_from(index).ok().and_then(|it| self.requests.get(it));
        let Some(noted) = one.and_then(|it| it.1).filter(|_| is_one) else {
            return last.map(|it| (Some(it), None));
        };
        let comm = noted.any_of.and_then(|it| self.rank.comm(it).ok());
        let source = comm.zip(status).and_then(|(comm, it)| member(&comm, it.source()));
        let bytes = status.filter(|_| noted.is_receive).map(|it| it.bytes() as u64);
        Some((source.or(noted.peer).or(last), bytes))
    }
}

/// The rank of the world that messages of a communicator go to, or a root's.
fn member(comm: &Comm, rank: c_int) -> Option<usize> {
    let rank = usize::try_from(rank).ok().filter(|it| *it < comm.peers().len())?;
    Some(comm.peer(rank))
}

/// Bytes of so many of a type, if there are such and they lie in this buffer.
pub(super) fn sized(own: &Rank, at: *const c_void, count: i64, ty: Handle) -> Option<u64> {
    if at as usize == IN_PLACE {
        return None;
    }
    let size = own.ty(ty).ok()?.size as u64;
    Some(u64::try_from(count).ok()?.saturating_mul(size))
}

/// The sum of a list of counts, one a rank.
///
/// # Safety
/// It has as many, if it is given.
pub(super) unsafe fn total<C: Copy + Into<i64>>(own: &Rank, comm: Handle, at: *const C) -> i64 {
    let size = own.comm(comm).map_or(0, |it| int(it.peers().len()));
    if at.is_null() {
        return -1;
    }
    // SAFETY: the caller's promise.
    (0..size).map(|it| unsafe { (*at.add(it as usize)).into() }).fold(0, i64::saturating_add)
}
