//! Started sends and receives of tagged messages.

use super::super::tagged_call::TaggedCall;
use super::pending::Kept;
use super::persistent::{Repeated, Restart, Restarted};
use super::running::Running;
use super::started_message::{PendingReceive, PendingSend, ReceivedData, StartedMessage};
use super::{OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::error::At;
use crate::exec::copy;
use crate::shared::{EarlyReceive, Envelope, Owed, ReceiveRoom, Signature, TaggedRequest, Ticket};
use crate::sync::Arc;
use crate::{Source, Status, Tag};

/// A message that is sent, or received, again and again.
struct Replay<T> {
    data: *mut [T],
    /// Where it is sent to; none: it is received.
    to: Option<usize>,
    has_started: bool,
}

impl<'env, T: Element> Restart<'env> for StartedMessage<Replay<T>> {
    fn running(&self) -> &dyn Running {
        self
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        self
    }

    #[inline(always)]
    fn restart(&mut self, scope: &mut Requests<'_, 'env>, at: At) -> Restarted {
        let StartedMessage { call, request, again } = self;
        call.at = at;
        again.has_started = true;
        scope.enter_tagged(call);
        if again.to.is_none()
            && let Some(early) = scope.begin_early::<T>(call, again.data.cast())
        {
            return Restarted::Early(early(0));
        }
        // SAFETY: the data are borrowed for longer than the scope, and not the program's until the
        // scope has completed the request, or withdrawn it.
        let state = unsafe {
            match again.to {
                Some(to) => scope.post_send::<T>(call, to, again.data.cast()),
                None => scope.post_receive::<T>(call, again.data.cast()),
            }
        };
        let is_over = state.is_ok();
        request.start_again(state);
        if is_over { Restarted::Over } else { Restarted::Open }
    }

    fn status(&self) -> Option<Status> {
        let Replay { to, has_started, .. } = self.again;
        (has_started && to.is_none()).then(|| self.envelope().into())
    }
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a send.
    pub(crate) fn start_send<T: Element>(
        &mut self,
        data: &'env [T],
        (to, tag): (usize, u32),
        at: At,
    ) -> OpenRequest<'scope, ()> {
        let call = Self::send_of::<false, T>(data.len(), (to, tag), at);
        self.enter_tagged(&call);
        // SAFETY: `data` is borrowed for longer than the scope, which does not end before the
        // request is complete or withdrawn.
        let state = unsafe { self.post_send::<T>(&call, to, data.as_ptr()) };
        if state.is_ok() {
            return OpenRequest::over(());
        }
        let request = TaggedRequest::new(to, call.peer, state);
        self.open(Box::new(PendingSend(StartedMessage { call, request, again: () })), Owed::Nothing)
    }

    /// Starts a receive.
    pub(crate) fn start_receive<T: Element>(
        &mut self,
        data: &'env mut [T],
        (from, tag): (Source, Tag),
        at: At,
    ) -> OpenRequest<'scope, (&'env mut [T], Status)> {
        let call = Self::receive_of::<false, T>(data.len(), (from, tag), at);
        self.enter_tagged(&call);
        let (to, len) = (data.as_mut_ptr(), data.len());
        let data = ReceivedData::of(to, len);
        if let Some(early) = self.begin_early::<T>(&call, to) {
            // SAFETY: `data` is borrowed for longer than the scope, which does not end before the
            // request is complete or withdrawn; nobody uses it before that.
            return OpenRequest::open(unsafe { self.open.add_early(data, early) });
        }
        // SAFETY: as above.
        match unsafe { self.post_receive::<T>(&call, to) } {
            Ok(envelope) => {
                // SAFETY: borrowed for 'env; the receive, which had it, is over.
                let data = unsafe { std::slice::from_raw_parts_mut(to, len) };
                OpenRequest::over((data, envelope.into()))
            }
            state => {
                let port = &self.comm.port;
                let request = TaggedRequest::new(port.rank(), call.peer, state);
                let message = StartedMessage { call, request, again: () };
                self.open(Box::new(PendingReceive { message, data }), Owed::Nothing)
            }
        }
    }

    /// Sets a send up.
    pub(crate) fn set_up_send<T: Element>(
        &mut self,
        data: &'env mut [T],
        (to, tag): (usize, u32),
        at: At,
    ) -> Persistent<'scope, 'env, T> {
        let call = Self::send_of::<true, T>(data.len(), (to, tag), at);
        self.set_up_tagged(call, data, Some(to))
    }

    /// Sets a receive up.
    pub(crate) fn set_up_receive<T: Element>(
        &mut self,
        data: &'env mut [T],
        (from, tag): (Source, Tag),
        at: At,
    ) -> Persistent<'scope, 'env, T> {
        let call = Self::receive_of::<true, T>(data.len(), (from, tag), at);
        self.set_up_tagged(call, data, None)
    }

    fn set_up_tagged<T: Element>(
        &mut self,
        call: TaggedCall,
        data: &'env mut [T],
        to: Option<usize>,
    ) -> Persistent<'scope, 'env, T> {
        self.check_place();
        let port = &self.comm.port;
        let data = std::ptr::from_mut(data);
        // It is nothing's before the first start.
        let nothing = Envelope { source: 0, tag: 0, len: 0 };
        let owner = to.unwrap_or(port.rank());
        let request = TaggedRequest::new(owner, call.peer, Ok(nothing));
        let message =
            StartedMessage { call, request, again: Replay { data, to, has_started: false } };
        Persistent::of(Box::new(Repeated::new(message, Kept::NOTHING, data, data)))
    }

    fn send_of<const PERSISTENT: bool, T: Element>(
        len: usize,
        (to, tag): (usize, u32),
        at: At,
    ) -> TaggedCall {
        let sig = match PERSISTENT {
            false => const { &Signature::of::<T>("started send_tagged", "to rank") },
            true => {
                const {
                    &Signature::of::<T>("persistent send_tagged", "to rank")
                        .meets("started send_tagged")
                }
            }
        };
        TaggedCall { sig, at, len, peer: Some(to), tag: Some(tag) }
    }

    fn receive_of<const PERSISTENT: bool, T: Element>(
        len: usize,
        (from, tag): (Source, Tag),
        at: At,
    ) -> TaggedCall {
        let sig = match PERSISTENT {
            false => const { &Signature::of::<T>("started recv_tagged", "from rank") },
            true => {
                const {
                    &Signature::of::<T>("persistent recv_tagged", "from rank")
                        .meets("started recv_tagged")
                }
            }
        };
        TaggedCall { sig, at, len, peer: from.rank(), tag: tag.number() }
    }

    /// The receive `call`, which is on record, of elements at `to`, as an early one of a slot, if
    /// it can be one.
    #[inline(always)]
    fn begin_early<T: Element>(
        &mut self,
        call: &TaggedCall,
        to: *mut T,
    ) -> Option<impl FnOnce(usize) -> EarlyReceive + use<T>> {
        let source = call.peer?;
        let memory = (to.cast_const().cast(), call.len * size_of::<T>());
        if !self.comm.port.begin_early(source, memory, self.open.address()) {
            return None;
        }
        let room = ReceiveRoom { label: call.label::<T>(false), at: to.cast() };
        let (source, tag) = (source as u32, call.tag);
        Some(move |slot| EarlyReceive { room, source, tag, slot })
    }

    /// Sends the elements of `call`, which is on record, at `data`.
    ///
    /// # Safety
    /// They are there, and stay as they are until the request is complete, or withdrawn.
    unsafe fn post_send<T: Element>(
        &mut self,
        call: &TaggedCall,
        to: usize,
        data: *const T,
    ) -> Result<Envelope, Arc<Ticket>> {
        let port = &mut self.comm.port;
        let (label, tag) = (call.label::<T>(false), call.tag.unwrap_or(0));
        let memory = (data.cast(), call.len * size_of::<T>());
        // SAFETY: by the contract; `copy` copies any elements.
        let sent = unsafe { port.send_tagged(to, tag, label, memory, copy) };
        let all = Envelope { source: port.rank() as u32, tag, len: call.len };
        match sent {
            Ok(None) => Ok(all),
            Ok(Some(ticket)) => Err(ticket),
            Err(stop) => self.comm.stop_for_good(stop),
        }
    }

    /// Receives the elements of `call`, which is on record, at `data`.
    ///
    /// # Safety
    /// There is room for them, which nobody else uses until the request is complete, or withdrawn.
    unsafe fn post_receive<T: Element>(
        &mut self,
        call: &TaggedCall,
        data: *mut T,
    ) -> Result<Envelope, Arc<Ticket>> {
        let room = ReceiveRoom { label: call.label::<T>(false), at: data.cast() };
        // SAFETY: by the contract.
        match unsafe { self.comm.port.recv_tagged(call.pattern(), room, copy, false) } {
            Ok(state) => state,
            Err(stop) => self.comm.stop_for_good(stop),
        }
    }

    /// Begins `call`.
    fn enter_tagged(&mut self, call: &TaggedCall) {
        self.check_place();
        if !self.comm.enter_tagged(call) {
            self.comm.nothing_to_return();
        }
    }
}
