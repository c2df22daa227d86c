//! Overlap of communication and work: a rank posts its contribution, runs the caller's closure, and
//! completes the call.
//!
//! What is posted first must be all that peers ever need from this rank, or
//! they would wait for its closure. So everybody shows a few bytes at its gate, and more on its
//! board.

use super::Comm;
use crate::exec::board::ordered;
use crate::exec::{Call, RawBuffers, all_at_once};
use crate::schedule::{Algorithm, Operation};
use crate::shared::{CallTransport, Digest, PayloadKind};

impl Comm {
    /// A reduction in the order of the tree, with work in between. None if the call
    /// was refused while a panic unwinds.
    #[inline]
    pub(super) fn carry_out_around<R>(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        let bytes = call.unit().saturating_mul(call.element_size());
        let limit = match self.port.is_gated() {
            true => self.decisions.short[Operation::AllReduce as usize],
            // (Many ranks combine more in parts.)
            false => PayloadKind::BRIEF + 1,
        };
        // (Operators of other languages want aligned operands; a gate's payload is aligned to 8.)
        let is_aligned = call.memory().kernel.align() <= 8;
        let is_short = call.operation() == Operation::AllReduce && is_aligned && bytes < limit;
        let (algorithm, transport) = match call.operation() {
            _ if is_short => (Algorithm::AR_ANY, CallTransport::Gates),
            Operation::AllReduce => (Algorithm::AR_FUSED, CallTransport::Boards),
            _ => (Algorithm::RED_FUSED, CallTransport::Boards),
        };
        let params =
            call.params(algorithm, transport, self.step_fingerprint.unwrap_or(Digest::NONE));
        let begun = self.begin_compared((call.sig(), call.at()), params)?;
        let (port, own) = (&mut self.port, &mut self.work);
        let result = match is_short {
            true => all_at_once::run_around(port, own, begun, call, work),
            false => ordered::run(port, own, begun, call, work),
        };
        if !is_short {
            self.port.record_end();
        }
        result.map_err(|stop| self.stop(stop)).ok()
    }
}
