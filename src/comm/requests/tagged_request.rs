//! Started sends and receives of tagged messages.

use super::super::tagged::TaggedCall;
use super::open::{Failure, Underway, Whose, WorkDesk};
use super::{OpenRequest, Requests};
use crate::element::Element;
use crate::exec::copy;
use crate::fabric::{Envelope, Place, Port, ReceiveRoom, Signature, Stop, TaggedRequest, Ticket};
use crate::sync::Arc;
use crate::{Source, Status, Tag};
use std::marker::PhantomData;
use std::panic::Location;

/// See the module documentation. `gives` makes what the request gives.
struct StartedMessage<G> {
    call: TaggedCall,
    request: TaggedRequest,
    gives: G,
}

impl<B, G: FnOnce(Envelope) -> B> Underway for StartedMessage<G> {
    fn advance(&mut self, _: &mut WorkDesk) -> Result<bool, Failure> {
        Ok(self.request.envelope().is_some())
    }

    /// Whoever comes second does all that is left to do.
    fn owes(&self) -> bool {
        false
    }

    fn place(&self) -> Place {
        self.request.place()
    }

    fn awaited(&self) -> usize {
        self.request.awaited()
    }

    fn left(&self) -> Option<usize> {
        self.request.left()
    }

    fn blame(&self, port: &mut Port) {
        self.call.begin(port);
    }

    fn sig(&self) -> &'static Signature {
        self.call.sig
    }

    fn source(&self) -> Option<usize> {
        self.request.source()
    }

    fn whose(&self) -> Whose {
        let (fabric, rank, run) = self.request.whose();
        (fabric.clone(), rank, run)
    }

    fn give_up(&self) {
        self.request.give_up();
    }

    fn quiesce(&self) {
        self.request.quiesce();
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        let StartedMessage { request, gives, .. } = *self;
        let envelope = request.envelope().expect("a request that is complete");
        // SAFETY: there is room for its output (`Underway::give`).
        unsafe { to.cast::<B>().write(gives(envelope)) };
    }
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a [`send_tagged`](crate::Comm::send_tagged), which never waits here: a message that
    /// is not copied stays in `data` until its receiver has asked for it, and the request is
    /// complete then. If the receiver has asked for it before, it is copied now.
    ///
    /// A request may be to this rank itself.
    ///
    /// # Examples
    /// Two ranks that send each other more than is copied, which neither could by two calls:
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let (me, peer) = (comm.rank(), 1 - comm.rank());
    ///     let (mine, mut theirs) = (vec![me; 100_000], vec![9usize; 100_000]);
    ///     comm.requests(|scope| {
    ///         let sent = scope.send_tagged(&mine, peer, 0);
    ///         let got = scope.recv_tagged(&mut theirs, peer, 0);
    ///         let (got, status) = scope.wait(got);
    ///         scope.wait(sent);
    ///         (got[99_999], status.len)
    ///     })
    /// })?;
    /// assert_eq!(out, [(1, 100_000), (0, 100_000)]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn send_tagged<T: Element>(
        &mut self,
        data: &'env [T],
        to: usize,
        tag: u32,
    ) -> OpenRequest<'scope, ()> {
        let sig = const { &Signature::of::<T>("started send_tagged", "to rank") };
        let at = Location::caller();
        let call = TaggedCall { sig, at, len: data.len(), peer: Some(to), tag: Some(tag) };
        self.enter_tagged(&call);
        let memory = (data.as_ptr().cast(), size_of_val(data));
        let label = call.label::<T>(false);
        // SAFETY: `data` is borrowed for longer than the scope, which does not end before the
        // request is complete or withdrawn; `copy` copies any elements.
        let sent = unsafe { self.comm.port.send_tagged(to, tag, label, memory, copy) };
        let source = self.comm.port.rank() as u32;
        let all = Envelope { source, tag, len: data.len() };
        let state = sent.map(|lent| lent.map_or(Ok(all), Err));
        self.add_tagged(call, to, state, |_| ())
    }

    /// Starts a [`recv_tagged`](crate::Comm::recv_tagged). The request gives the buffer back, and
    /// the message's status.
    ///
    /// Of several receives that fit a message, the one that was started first gets it. A receive
    /// that waits later, or a probe, gets no message that a started one has got.
    ///
    /// # Errors
    /// As [`recv_tagged`](crate::Comm::recv_tagged). A receive from this rank itself that it has
    /// sent nothing for is found when it is waited for: an
    /// [`Error::Deadlock`](crate::Error::Deadlock).
    ///
    /// # Examples
    /// ```
    /// use phalanx::Source;
    /// let out = phalanx::run(3, |comm| {
    ///     let (me, mut x) = (comm.rank() as u8, [[0u8]; 2]);
    ///     let [a, b] = &mut x;
    ///     comm.requests(|scope| {
    ///         let first = scope.recv_tagged(a, Source::Any, 7);
    ///         let second = scope.recv_tagged(b, Source::Any, 7);
    ///         for peer in (0..3).filter(|&peer| peer != me as usize) {
    ///             scope.comm().send_tagged(&[me], peer, 7);
    ///         }
    ///         let (_, first) = scope.wait(first);
    ///         let (_, second) = scope.wait(second);
    ///         assert_ne!(first.source, second.source);
    ///     });
    ///     x[0][0] + x[1][0]
    /// })?;
    /// assert_eq!(out, [3, 2, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn recv_tagged<T: Element>(
        &mut self,
        data: &'env mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> OpenRequest<'scope, (&'env mut [T], Status)> {
        let sig = const { &Signature::of::<T>("started recv_tagged", "from rank") };
        let (peer, tag) = (from.into().rank(), tag.into().number());
        let call = TaggedCall { sig, at: Location::caller(), len: data.len(), peer, tag };
        self.enter_tagged(&call);
        let lent = std::ptr::from_mut(data);
        let room = ReceiveRoom { label: call.label::<T>(false), at: lent.cast() };
        // SAFETY: `data` is borrowed for longer than the scope, which does not end before the
        // request is complete or withdrawn; nobody uses it before that.
        let received = unsafe { self.comm.port.recv_tagged(call.pattern(), room, copy) };
        let owner = self.comm.port.rank();
        self.add_tagged(call, owner, received, move |envelope| {
            // SAFETY: borrowed for 'env; the request, which had it, is complete.
            (unsafe { &mut *lent }, Status::from(envelope))
        })
    }

    /// Begins `call`.
    fn enter_tagged(&mut self, call: &TaggedCall) {
        if self.comm.port.id() != self.id {
            self.comm.is_swapped("scope of requests");
            self.comm.nothing_to_return();
        }
        if !self.comm.enter_tagged(call) {
            self.comm.nothing_to_return();
        }
    }

    /// The request of a message that has been copied, or is in the queue of `owner`.
    fn add_tagged<B>(
        &mut self,
        call: TaggedCall,
        owner: usize,
        state: Result<Result<Envelope, Arc<Ticket>>, Stop>,
        gives: impl FnOnce(Envelope) -> B + 'env,
    ) -> OpenRequest<'scope, B> {
        let state = match state {
            Ok(state) => state,
            Err(stop) => self.comm.stop_for_good(stop),
        };
        let is_done = state.is_ok();
        let request = TaggedRequest::new(&self.comm.port, owner, call.peer, state);
        let slot = self.open.add(Box::new(StartedMessage { call, request, gives }));
        if is_done {
            self.open.look(slot);
        }
        OpenRequest { slot, _brand: PhantomData, _gives: PhantomData }
    }
}
