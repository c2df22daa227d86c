//! Overlap of communication and work: a rank posts its contribution, runs the caller's closure, and
//! completes the call.
//!
//! What is posted first must be all that peers ever need from this rank, or
//! they would wait for its closure. So few ranks send each their value to all
//! others ([`flat`]); else, and for long vectors, everybody shows its buffer on
//! its board.

use super::Comm;
use crate::exec::board::ordered;
use crate::exec::{Call, RawBuffers, flat};
use crate::schedule::{Algorithm, Operation};
use crate::shared::{CallTransport, Digest};

impl Comm {
    /// A reduction in the order of the tree, with work in between. None if the call
    /// was refused while a panic unwinds.
    #[inline]
    pub(super) fn carry_out_around<R>(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        let flat = call.operation() == Operation::AllReduce && flat::fits(call, self.size());
        let (algorithm, transport) = match call.operation() {
            _ if flat => (Algorithm::AR_ANY, CallTransport::Messages),
            Operation::AllReduce => (Algorithm::AR_FUSED, CallTransport::Boards),
            _ => (Algorithm::RED_FUSED, CallTransport::Boards),
        };
        let params =
            call.params(algorithm, transport, self.step_fingerprint.unwrap_or(Digest::NONE));
        let begun = self.begin_compared((call.sig(), call.at()), params)?;
        let result = if flat {
            flat::run(&mut self.port, begun, call, work)
        } else {
            let result = ordered::run(&mut self.port, &mut self.work, begun, call, work);
            self.port.record_end();
            result
        };
        result.map_err(|stop| self.stop(stop)).ok()
    }
}
