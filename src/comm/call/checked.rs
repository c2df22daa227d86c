//! The arguments of a call, looked at once, whichever way it goes. A wrong one ends the run.

use super::head::CallHead;
use super::kinds::{CallCut, sealed::CallKind};
use crate::comm::Comm;
use crate::exec::{self, Partition};
use crate::fabric::Signature;
use crate::schedule::Operation;

/// Elements of a call's input and output.
type Lengths = (usize, usize);

impl Comm {
    /// The call of kind `K` on buffers of these lengths; not of blocks of different lengths. None
    /// if it is wrong, and a panic unwinds.
    #[inline(always)]
    pub(super) fn checked<'a, K: CallKind>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        (from, to): Lengths,
    ) -> Option<exec::Call<'a>> {
        let p = self.size();
        let cut = match (K::CUT, K::OPERATION) {
            (CallCut::Vector, _) => Partition::Vector(to),
            (_, Operation::Scatter | Operation::ReduceScatter) => Partition::Equal(to),
            (_, Operation::AllToAll) => Partition::Equal(from / p),
            _ => Partition::Equal(from),
        };
        let call = exec::Call::new(K::OPERATION, sig, said.at, cut);
        let call = self.with_parameter(call, said.parameter)?;
        let wanted = call.len().checked_mul(p);
        self.fits(K::OPERATION, &call, wanted, (from, to)).then_some(call)
    }

    /// A call of blocks of different lengths, `total` elements together, whose counts are good.
    #[inline(always)]
    pub(super) fn checked_varied<'a, K: CallKind>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        total: usize,
        lengths: Lengths,
    ) -> Option<exec::Call<'a>> {
        let call = exec::Call::of_counts(K::OPERATION, sig, said.at, said.counts[0], total);
        let call = self.with_parameter(call, said.parameter)?;
        self.fits(K::OPERATION, &call, Some(total), lengths).then_some(call)
    }

    /// The call of any kind on buffers of these lengths, to be started.
    #[inline(always)]
    pub(super) fn checked_to_start<'a, K: CallKind>(
        &mut self,
        said: &CallHead<'a>,
        sig: &'static Signature,
        lengths: Lengths,
    ) -> exec::Call<'a> {
        let (from, to) = lengths;
        let [send, recv] = said.counts;
        let call = match K::CUT {
            CallCut::Vector | CallCut::Equal => self.checked::<K>(said, sig, lengths),
            CallCut::Varied => {
                let own = match K::OPERATION {
                    Operation::Scatter | Operation::ReduceScatter => to,
                    _ => from,
                };
                self.check_counts(send, own, sig.element_size, sig, said.at)
                    .and_then(|total| self.checked_varied::<K>(said, sig, total, lengths))
            }
            CallCut::Pairs => self.check_pairs(sig, said.at, (from, send), (to, recv)).then(|| {
                exec::Call::new(K::OPERATION, sig, said.at, Partition::Pairs { send, recv })
            }),
        };
        match call {
            Some(call) => call,
            None => self.nothing_to_return(),
        }
    }

    /// The call with its root or its distance, if it has one; none if that is no rank.
    #[inline(always)]
    pub(in crate::comm) fn with_parameter<'a>(
        &mut self,
        call: exec::Call<'a>,
        parameter: isize,
    ) -> Option<exec::Call<'a>> {
        match call.operation() {
            Operation::Shift => {
                Some(call.shifted(parameter.rem_euclid(self.size() as isize) as usize))
            }
            Operation::Reduce | Operation::Broadcast | Operation::Gather | Operation::Scatter => {
                let root = parameter as usize;
                self.check_rank("root", root, call.sig(), call.at(), call.len())
                    .then(|| call.root(root))
            }
            _ => Some(call),
        }
    }

    /// Whether a buffer of all blocks, where this rank has one, is as long as is `wanted`.
    #[inline(always)]
    fn fits(
        &mut self,
        operation: Operation,
        call: &exec::Call<'_>,
        wanted: Option<usize>,
        (from, to): Lengths,
    ) -> bool {
        let (sig, at, len) = (call.sig(), call.at(), call.len());
        let is_root = self.rank() == call.root_rank();
        let (input, output) = match operation {
            Operation::AllGather => (false, true),
            Operation::Gather => (false, is_root),
            Operation::ReduceScatter => (true, false),
            Operation::Scatter => (is_root, false),
            Operation::AllToAll => (true, true),
            _ => (false, false),
        };
        (!input || self.check_len("the input", from, wanted, sig, at, len))
            && (!output || self.check_len("the output", to, wanted, sig, at, len))
    }
}
