//! The start of a collective, whatever it is.

use super::pending::{Gives, Kept, Lent, PendingCollective};
use super::running::Underway;
use super::scope_slots::Progress;
use super::started_collective::Collective;
use super::{OpenRequest, Requests};
use crate::error::At;
use crate::exec::board::started::Job;
use crate::exec::{Call, Partition, RawBuffers};
use crate::shared::{CallParams, CallTransport, Digest, Owed, StartedCall, Stop};

/// A call that can be started, with the values that it uses (`kept`: its operator), and its
/// result's buffer.
pub(crate) struct Form<'env, T> {
    pub(crate) call: Call<'env, RawBuffers<'env>>,
    pub(crate) kept: Kept<'env>,
    pub(crate) result: Lent<'env, T>,
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Another communicator must not stand where the scope's was.
    #[inline(always)]
    pub(super) fn check_place(&mut self) {
        if self.comm.port.id() != self.id {
            self.comm.is_swapped("scope of requests");
            self.comm.nothing_to_return();
        }
    }

    /// The facts that go into the fingerprint of a started call beside the signature.
    #[inline(always)]
    pub(super) fn params(&mut self, call: &Call<'_, RawBuffers<'_>>) -> CallParams {
        let (digest, own_len) = match call.cut() {
            Partition::Varied(counts) => (self.comm.digest_of(counts), None),
            Partition::Pairs { send, .. } => (Digest::NONE, Some(send.iter().sum())),
            Partition::Vector(_) | Partition::Equal(_) => (Digest::NONE, None),
        };
        let transport = CallTransport::Boards;
        CallParams { transport, digest, own_len, ..call.params_alone() }
    }

    /// Begins a call. Counts are compared with the other ranks' before it shows anything.
    #[inline(always)]
    pub(super) fn begin(&mut self, call: &Call<'_, RawBuffers<'_>>, at: At) -> StartedCall {
        self.check_place();
        let params = self.params(call);
        match self.comm.begin_started((call.sig(), at), params) {
            Some(begun) => begun,
            None => self.comm.nothing_to_return(),
        }
    }

    /// Starts the call of `form`.
    #[inline(always)]
    pub(crate) fn start_form<T>(
        &mut self,
        form: Form<'env, T>,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, mut kept, result } = form;
        match self.start_call(&call, &mut kept, &result.gives()) {
            Some(slot) => OpenRequest::open(slot),
            // SAFETY: it is over.
            None => OpenRequest::over(unsafe { result.back() }),
        }
    }

    /// Starts `call`, with arguments that are checked; its slot, if it is not over when this
    /// returns: then it takes the parts that are `kept` for it. One body for all types: to start a
    /// call of another one costs a program the few lines before this.
    #[inline(never)]
    pub(crate) fn start_call(
        &mut self,
        call: &Call<'env, RawBuffers<'env>>,
        kept: &mut Kept<'env>,
        gives: &Gives<'env>,
    ) -> Option<usize> {
        let begun = self.begin(call, call.at());
        if self.comm.port.size() == 1 {
            self.run_alone(begun, call);
            return None;
        }
        self.claim_column(begun);
        let comm = &mut *self.comm;
        let (port, work) = (&mut comm.port, &comm.work);
        let (at, progress) = ((port.rank(), port.size()), port.started_progress());
        let make =
            || PendingCollective::new(Collective::of(Job::new(call, at, work), progress), gives);
        // SAFETY: claimed just now; the scope completes the call, or waits until nobody has its
        // memory.
        match unsafe { self.open.add_collective(make, kept, (port, begun)) } {
            Ok(slot) => slot,
            Err(stop) => self.fail(None, stop),
        }
    }

    /// Waits until there is a column for the call `begun`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn claim_column(&mut self, begun: StartedCall) {
        if let Err(stop) = self.comm.port.claim_column() {
            self.comm.port.log_call(begun);
            self.fail(None, stop);
        }
    }

    /// The call `begun` of one rank.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn run_alone(&mut self, begun: StartedCall, call: &Call<'_, RawBuffers<'_>>) {
        self.comm.run_alone(begun, call);
    }

    /// Starts the call `begun` of several ranks, which is not under way. Whether it is over, as a
    /// brief one is that all others have started before.
    ///
    /// # Safety
    /// - It was made with this communicator's port.
    /// - Its memory stays the call's until it is over, or was quiesced.
    pub(super) unsafe fn launch(
        &mut self,
        call: &mut Collective<'env>,
        begun: StartedCall,
    ) -> bool {
        self.claim_column(begun);
        let is_first = !self.open.has_open();
        call.renew(self.comm.port.started_progress());
        // SAFETY: claimed just now; passed on.
        unsafe { call.show(&mut self.comm.port, begun) };
        self.comm.port.tell();
        // As in `ScopeSlots::add_collective`.
        let is_to_look = is_first && call.job.is_brief || self.open.is_dead();
        match if is_to_look { self.open.look_at_new(call) } else { Progress::Open } {
            Progress::Done => true,
            Progress::Open => false,
            Progress::Failed => self.fail(None, Stop::Poisoned),
        }
    }

    /// The request for the call under way, of which peers may wait for `owed`. It gives a `B`.
    pub(super) fn open<B>(
        &mut self,
        call: Box<dyn Underway + 'env>,
        owed: Owed,
    ) -> OpenRequest<'scope, B> {
        OpenRequest::open(self.open.add(call, owed))
    }
}
