//! The calls that can be started.

use super::collective::{Collective, Kept, Lent, Yield};
use super::{Request, Requests};
use crate::element::Element;
use crate::exec::board::started::Job;
use crate::exec::{Buffers, Call, Partition, RawBuffers};
use crate::fabric::{CallParams, CallTransport, Signature};
use crate::op::Operator;
use crate::schedule::Operation;
use std::marker::PhantomData;
use std::panic::Location;

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts `call`, whose arguments are checked. What `kept` has is used by it.
    fn start<K: 'env, Y: Yield + 'env>(
        &mut self,
        call: Call<'env, RawBuffers<'env>>,
        kept: K,
        yields: Y,
    ) -> Request<'scope, Y::Output> {
        let comm = &mut *self.comm;
        if comm.port.id() != self.id {
            comm.is_swapped("scope of requests");
            comm.nothing_to_return();
        }
        let params = CallParams { transport: CallTransport::Boards, ..call.params_alone() };
        let Some(begun) = comm.begin(call.sig(), call.at(), params) else {
            comm.nothing_to_return();
        };
        if let Err(stop) = comm.port.claim_lane() {
            comm.port.log_call(begun);
            comm.stop(stop);
            comm.nothing_to_return();
        }
        let job = Job::new(call, comm.port.rank(), comm.port.size()).as_usual_in(&comm.work);
        // SAFETY: there is as much room as the job may need.
        let mut fill = |room: *mut u8| unsafe { job.copy_input(room) };
        let (at, fill): (_, Option<&mut dyn FnMut(*mut u8)>) = match job.is_brief() {
            true => (std::ptr::null_mut(), Some(&mut fill)),
            false => (job.shown(), None),
        };
        // SAFETY: it was claimed just now. Nobody reaches the memory that is shown when the scope
        // has ended: the request is complete then, or was abandoned.
        let lane = unsafe { comm.port.start(begun, job.len(), at, fill) };
        let slot = self.open.add(Box::new(Collective::new(lane, job, kept, yields)));
        if self.comm.port.size() == 1 {
            self.open.advance(slot);
        }
        Request { slot, _brand: PhantomData, _gives: PhantomData }
    }

    /// Starts an [`all_reduce`](crate::Comm::all_reduce).
    #[track_caller]
    pub fn all_reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> Request<'scope, &'env mut [T]> {
        let sig = const { &Signature::combining::<T, O>("started all_reduce", O::NAME, "") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::AllReduce, sig, Location::caller(), cut);
        let (lent, buf) = Lent::new(buf);
        let kept = Kept::new(op);
        // SAFETY: kept until the call is over.
        let op: &'env O = unsafe { &*kept.at().as_ptr() };
        let call = call.combining(Buffers::InPlace(buf), op);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start(call, kept, lent)
    }
}
