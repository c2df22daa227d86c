//! Routes of blocks of different lengths.
//!
//! | route | when |
//! |---|---|
//! | alone | one rank, and nothing is forced |
//! | gate | an all-gather or reduce-scatter of few bytes; any all-to-all; collected into a `Vec` |
//! | eager | two ranks gather, scatter or reduce and scatter few bytes |
//! | plan | the plan of the same call before, with counts that this rank has given before |
//! | any other | as equal blocks: `route.rs` |

use super::{Choice, Comm};
use crate::element::Element;
use crate::exec::{
    Buffers, Call, RawBuffers, Slices, all_at_once, alone, board, eager, plan, uneven,
};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::{CallParams, CallTransport, CountFacts, Digest, StartedCall};

/// The collected elements: every rank's elements, one after the other, and how many each gave.
pub(super) type Collected<T> = (Vec<T>, Vec<usize>);

impl Comm {
    /// Carries out a call with a count for every rank, with arguments that are checked.
    #[inline(always)]
    pub(super) fn carry_out_varied<'a, T: Element, O: Operator<T>>(
        &mut self,
        (counts, facts): (&'a [usize], CountFacts),
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let operation = call.operation();
        let (rank, size) = (self.rank(), self.size());
        if self.numbers_counts() && (self.in_order.is_none() || !operation.has_order()) {
            if size == 1 && operation != Operation::ReduceScatter {
                return self.carry_out_alone(call);
            }
            let limit = self.decisions.short[operation as usize];
            let is_short = || facts.longest.saturating_mul(size_of::<T>()) < limit;
            match operation {
                Operation::AllGather if self.port.is_gated() && is_short() => {
                    return self.gather_at_the_gates((counts, facts), call);
                }
                Operation::Gather | Operation::Scatter if is_short() => {
                    return self.carry_out_by_message(facts, call);
                }
                Operation::ReduceScatter if size == 2 && is_short() => {
                    return self.carry_out_by_message(facts, call);
                }
                _ => {}
            }
        }
        self.carry_out_varied_on_bytes(facts, call.on_bytes(rank, size));
    }

    /// The ways that need no types: in fixed order, a reduce-scatter on one rank or of few bytes at
    /// the gates, and all that plans.
    #[inline(never)]
    fn carry_out_varied_on_bytes(&mut self, facts: CountFacts, call: Call<'_, RawBuffers<'_>>) {
        let operation = call.operation();
        if let Some(carry_out) = self.in_order
            && operation.has_order()
        {
            return carry_out(self, &call.in_order());
        }
        let limit = self.decisions.short[operation as usize];
        let is_short = || facts.longest.saturating_mul(call.element_size()) < limit;
        match operation {
            Operation::ReduceScatter if !self.numbers_counts() => {
                self.carry_on_varied(facts, &call)
            }
            Operation::ReduceScatter if self.port.size() == 1 => self.reduce_alone(&call),
            Operation::ReduceScatter if self.port.is_gated() && is_short() => {
                self.reduce_at_the_gates(facts, &call);
            }
            _ => self.carry_on_varied(facts, &call),
        }
    }

    #[inline(always)]
    fn carry_out_alone<'a, T: Element, O: Operator<T>>(
        &mut self,
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let Some(begun) = self.begin(call.sig(), call.at(), call.params_alone()) else { return };
        let result = alone::run_on_slices(&mut self.port, &mut self.work, begun, call);
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    #[inline(always)]
    fn carry_out_by_message<'a, T: Element, O: Operator<T>>(
        &mut self,
        facts: CountFacts,
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let Some(begun) = self.begin_short(CallTransport::Messages, facts, &call) else { return };
        if let Err(stop) = eager::run(&mut self.port, &mut self.work, begun, call) {
            self.stop(stop);
        }
    }

    fn reduce_alone(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        let Some(begun) = self.begin(call.sig(), call.at(), call.params_alone()) else { return };
        if let Err(stop) = alone::run(&mut self.port, &mut self.work, begun, call) {
            self.stop(stop);
        }
    }

    /// A reduce-scatter among more than two ranks.
    fn reduce_at_the_gates(&mut self, facts: CountFacts, call: &Call<'_, RawBuffers<'_>>) {
        let Some(begun) = self.begin_short(CallTransport::Gates, facts, call) else { return };
        if let Err(stop) = all_at_once::run_among(&mut self.port, &mut self.work, begun, call) {
            self.stop(stop);
        }
    }

    #[inline(always)]
    fn begin_short<D>(
        &mut self,
        transport: CallTransport,
        facts: CountFacts,
        call: &Call<'_, D>,
    ) -> Option<StartedCall> {
        let algorithm = call.operation().usual().messages.of(true);
        let params = call.params(algorithm, transport, facts.digest);
        self.begin_compared((call.sig(), call.at()), params)
    }

    #[inline(always)]
    fn gather_at_the_gates<'a, T: Element, O: Operator<T>>(
        &mut self,
        (counts, facts): (&'a [usize], CountFacts),
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let (sig, at) = (call.sig(), call.at());
        let algorithm = call.operation().usual().messages.of(true);
        let params = call.params(algorithm, CallTransport::Gates, facts.digest);
        let (Buffers::Apart(mine, all), _) = call.into_buffers() else {
            unreachable!("blocks of different lengths have two buffers")
        };
        let Some(begun) = self.begin_compared((sig, at), params) else { return };
        if let Err(stop) = uneven::all_gather(&mut self.port, begun, (mine, all), counts) {
            self.stop(stop);
        }
    }

    /// [`carry_on`](Comm::carry_on), for a call that it may know: with these counts, or by the
    /// boards.
    #[inline(never)]
    pub(super) fn carry_on_varied(&mut self, facts: CountFacts, call: &Call<'_, RawBuffers<'_>>) {
        if !self.numbers_counts() || self.port.size() == 1 {
            return self.carry_on(call);
        }
        let number = self.port.number_of_counts();
        let known = self.work.plans.again_varied(call, number);
        let bytes = facts.longest.saturating_mul(call.element_size());
        let (from, direct) = self.decisions.direct[call.operation() as usize];
        let params = match known {
            Some(params) => params,
            None if bytes >= from => call.params(direct, CallTransport::Boards, facts.digest),
            None => return self.carry_on(call),
        };
        let Some(begun) = self.begin_compared((call.sig(), call.at()), params) else { return };
        let (port, work) = (&mut self.port, &mut self.work);
        let result = match known {
            Some(_) => plan::run(port, work, begun, call),
            None => board::run(port, work, begun, call),
        };
        self.port.record_end();
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// Every rank gives `send`, in blocks of `counts` elements, as many as every other; this one
    /// takes block `part` of every rank's, if any. On one node, by the library's choice.
    pub(super) fn collect<T: Element>(
        &mut self,
        call: Call<'_>,
        send: &[T],
        counts: &[usize],
        part: Option<usize>,
    ) -> Collected<T> {
        let (sig, at) = (call.sig(), call.at());
        if self.port.size() == 1 {
            if !self.check_usable((sig, at)) {
                self.nothing_to_return();
            }
            // On record, as any call.
            let moving = call.moving(Buffers::Apart::<T>(&[], &mut []));
            self.carry_out_alone(moving);
            return (send.to_vec(), vec![send.len()]);
        }
        let params = own_length(call.operation(), send.len(), call.parameter());
        let Some(begun) = self.begin(sig, at, params) else { self.nothing_to_return() };
        let (port, work) = (&mut self.port, &mut self.work);
        let result = uneven::collect(port, work, begun, (send, counts), part);
        self.port.record_end();
        match result {
            Ok(collected) => collected,
            Err(stop) => self.stop_for_good(stop),
        }
    }

    /// The collection by a forced topology: the lengths travel first. `way` sends the elements, as
    /// `Some`, once it is known how many each rank has for this one; none, if it takes nothing.
    #[cold]
    pub(super) fn collect_in_two<T: Element>(
        &mut self,
        call: Call<'_>,
        (send, counts): (&[T], &[usize]),
        takes: bool,
        way: impl FnOnce(&mut Self, &[Option<T>], &mut [Option<T>], &[usize]),
    ) -> Collected<T> {
        let mut lens = vec![0; self.size()];
        self.carry_on_moving(call, counts, &mut lens);
        let total = lens.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let total = total.expect("the blocks sum to more than memory can hold");
        // There is no other `T` to begin with.
        let send: Vec<Option<T>> = send.iter().copied().map(Some).collect();
        let mut all = vec![None; if takes { total } else { 0 }];
        way(self, &send, &mut all, &lens);
        let all: Option<Vec<T>> = all.into_iter().collect();
        match all {
            Some(all) => (all, lens),
            None => self.nothing_to_return(),
        }
    }

    /// Whether blocks of different lengths go by the library's rules: no model of a machine's
    /// levels knows them.
    #[inline(always)]
    pub(super) fn goes_by_rules(&self) -> bool {
        self.is_auto() || self.goes_by_levels()
    }

    #[cold]
    fn goes_by_levels(&self) -> bool {
        matches!(self.choice, Choice::Levels(_))
    }

    /// Whether the counts of a call are its own, and there is no mesh: the counts that
    /// [`check_common_counts`](Comm::check_common_counts) may know.
    #[inline(always)]
    pub(super) fn numbers_counts(&self) -> bool {
        self.goes_by_rules() && self.step_fingerprint.is_none()
    }

    /// The number of the call's counts, if it has some of its own.
    #[inline(always)]
    pub(super) fn number_of_counts(&self) -> Option<u64> {
        match self.step_fingerprint {
            None => Some(self.port.number_of_counts()),
            Some(_) => None, // Those are of the call that this is a step of.
        }
    }
}

/// The digest that goes into the fingerprint of a call at the gates of which each rank has a length
/// of its own.
#[inline(always)]
pub(super) fn own_length(operation: Operation, len: usize, parameter: usize) -> CallParams {
    let algorithm = operation.usual().messages.of(true).index();
    let (transport, digest) = (CallTransport::Gates, Digest::NONE);
    CallParams { len: 0, own_len: Some(len), parameter, algorithm, transport, digest }
}
