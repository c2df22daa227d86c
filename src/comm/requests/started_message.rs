//! A tagged message that was started, sent or received, as a scope carries it on.

use super::super::tagged_call::TaggedCall;
use super::running::{Failure, Running, Underway};
use crate::Status;
use crate::error::CallSite;
use crate::exec::board::started::WorkDesk;
use crate::shared::{
    Digest, Disagreement, EarlyReceive, Envelope, MessageLabel, Place, Port, RankPlace, Signature,
    TaggedRequest, Ticket, UnfitReceive,
};
use crate::sync::Arc;

/// See the module documentation. `again`: the data to start it once more.
pub(super) struct StartedMessage<A> {
    pub(super) call: TaggedCall,
    pub(super) request: TaggedRequest,
    pub(super) again: A,
}

impl<A> StartedMessage<A> {
    pub(super) fn envelope(&self) -> Envelope {
        self.request.envelope().expect("a request that is complete")
    }
}

/// The message that came for `call` does not fit.
#[cold]
fn unfit(call: &TaggedCall, UnfitReceive { peer, there, what }: UnfitReceive) -> Failure {
    let &TaggedCall { sig, at, len, peer: from, tag } = call;
    let words = sig.words(len, from) + &Digest::of_tag(tag).tag_in_words(from.is_some());
    let here = CallSite { call: words, at: at.into() };
    Failure::Disagrees(Box::new(Disagreement { peer, here, there, what }))
}

impl<A> Running for StartedMessage<A> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        match self.request.poll(&desk.place) {
            Some(why) => Err(unfit(&self.call, *why)),
            None => Ok(self.request.envelope().is_some()),
        }
    }

    /// Whoever comes second does all that is left to do.
    fn owes(&self) -> bool {
        false
    }

    fn place(&self, at: &RankPlace) -> Place {
        self.request.place(at)
    }

    fn awaited(&self, at: &RankPlace) -> usize {
        self.request.awaited(at)
    }

    fn left(&self, at: &RankPlace) -> Option<usize> {
        self.request.left(at)
    }

    fn blame(&self, port: &mut Port) {
        self.call.begin(port);
    }

    fn sig(&self, _: &RankPlace) -> &'static Signature {
        self.call.sig
    }

    fn source(&self, at: &RankPlace) -> Option<usize> {
        self.request.source(at)
    }

    fn settle(&mut self, state: Result<Envelope, Arc<Ticket>>) {
        self.request.start_again(state);
    }

    fn quiesce(&self, at: &RankPlace) {
        self.request.quiesce(at);
    }
}

/// A send under way.
pub(super) struct PendingSend(pub(super) StartedMessage<()>);

impl Underway for PendingSend {
    fn running(&self) -> &dyn Running {
        &self.0
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        &mut self.0
    }

    unsafe fn give(self: Box<Self>, _: *mut u8) {}
}

/// Where the message of a receive goes, and the type of its request's result.
#[derive(Clone, Copy)]
pub(super) struct ReceivedData {
    at: *mut u8,
    len: usize,
    give: unsafe fn(Self, Envelope, *mut u8),
}

impl ReceivedData {
    /// Of so many elements, borrowed for 'env.
    #[inline(always)]
    pub(super) fn of<T>(at: *mut T, len: usize) -> Self {
        ReceivedData { at: at.cast(), len, give: Self::give_slice::<T> }
    }

    /// # Safety
    /// The elements, of a receive that is complete, are the program's again for as long as they
    /// are borrowed, and there is room for the slice and a status at `to`.
    unsafe fn give_slice<T>(self, envelope: Envelope, to: *mut u8) {
        // SAFETY: by the contract; made of a slice (`of`).
        unsafe {
            let data = std::slice::from_raw_parts_mut(self.at.cast::<T>(), self.len);
            to.cast::<(&mut [T], Status)>().write((data, envelope.into()));
        }
    }

    /// Hands out the request's result.
    ///
    /// # Safety
    /// The receive is complete, and there is room for the result of its kind of request at `to`.
    #[inline(always)]
    pub(super) unsafe fn give(self, envelope: Envelope, to: *mut u8) {
        // SAFETY: passed on; the elements were borrowed for longer than the scope.
        unsafe { (self.give)(self, envelope, to) }
    }
}

/// A receive in the queue.
pub(super) struct PendingReceive {
    pub(super) message: StartedMessage<()>,
    pub(super) data: ReceivedData,
}

impl PendingReceive {
    /// That was early.
    pub(super) fn of_early(
        place: &RankPlace,
        early: &EarlyReceive,
        ticket: Arc<Ticket>,
        data: ReceivedData,
    ) -> Self {
        let request = TaggedRequest::new(place.rank, Some(early.source as usize), Err(ticket));
        let message = StartedMessage { call: Self::call(early), request, again: () };
        PendingReceive { message, data }
    }

    /// The message that came for an early receive does not fit.
    #[cold]
    pub(super) fn unfit(early: &EarlyReceive, why: UnfitReceive) -> Failure {
        unfit(&Self::call(early), why)
    }

    fn call(early: &EarlyReceive) -> TaggedCall {
        let &EarlyReceive { ref room, source, tag, .. } = early;
        let MessageLabel { sig, at, len, .. } = room.label;
        TaggedCall { sig, at, len, peer: Some(source as usize), tag }
    }
}

impl Underway for PendingReceive {
    fn running(&self) -> &dyn Running {
        &self.message
    }

    fn running_mut(&mut self) -> &mut dyn Running {
        &mut self.message
    }

    unsafe fn give(self: Box<Self>, to: *mut u8) {
        // SAFETY: passed on.
        unsafe { self.data.give(self.message.envelope(), to) };
    }
}
