//! The one decision how a call is carried out.
//!
//! | route | when |
//! |---|---|
//! | alone | one rank, and nothing is forced |
//! | gate | a barrier, or a few bytes to all from all; up to four ranks, or crowded cores |
//! | eager | the same with more ranks; a broadcast; two ranks: all but common results |
//! | board | by size (`Tuning`), by the model of the levels, or forced |
//! | plan | any other algorithm |
//!
//! Blocks of different lengths begin in `varied.rs`: their ways at the gates, and plans for counts
//! that a rank has given before. A call that has neither comes back here.
//!
//! In fixed order a reduction takes `fixed_order.rs` first: the call that it makes comes back here,
//! or goes by the boards in the order of the tree.

use super::arguments::CallAt;
use super::{Choice, Comm};
use crate::element::Element;
use crate::exec::plan::{PlanKey, bind_while};
use crate::exec::{
    Call, Moved, Partition, RawBuffers, Slices, all_at_once, alone, board, eager, plan,
};
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::schedule::{Algorithm, Operation, Schedule};
use crate::shared::{
    BeginningCall, CallParams, CallTransport, Digest, Signature, StartedCall, Stop,
};
use crate::topology::Extents;
use crate::wait::Question;

use std::panic::Location;

/// The routes of a few bytes.
pub(super) enum Short {
    Alone,
    Gate,
    Eager,
    /// By the gates or eagerly, among more than two ranks: a kernel combines, and generic code
    /// is not needed.
    Among,
}

/// The routes of all other calls.
enum Route {
    Alone,
    Board,
    Plan,
    NewPlan(Unbound),
}

/// A plan that is still to be made.
struct Unbound {
    schedule: Box<Schedule>,
    /// None for one that is not kept.
    key: Option<PlanKey>,
}

impl Comm {
    /// Carries out a collective call with arguments that are checked.
    #[inline(always)]
    pub(super) fn carry_out<'a, T: Element, O: Operator<T>>(
        &mut self,
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let mut call = call;
        if let Some(carry_out) = self.in_order
            && call.operation().has_order()
        {
            call = call.in_order();
            if !self.is_in_order_at_the_gates(&call) {
                let (rank, size) = (self.port.rank(), self.port.size());
                return carry_out(self, &call.on_bytes(rank, size));
            }
        }
        let route = self.short_route(&call, call.given_bytes());
        // The fingerprint is made in each arm, where most of it is known to the compiler.
        let (sig, at) = (call.sig(), call.at());
        let algorithm = call.operation().usual().messages.of(call.is_commutative());
        let result = match route {
            Some(Short::Alone) => {
                let Some(begun) = self.begin(sig, at, call.params_alone()) else { return };
                alone::run_on_slices(&mut self.port, &mut self.work, begun, call)
            }
            Some(Short::Gate) => return self.carry_out_at_the_gates(call),
            Some(Short::Eager) => {
                // Of two ranks' scan: the chain's one message. (Doubling has one back, which a rank
                // with a forced algorithm would send.)
                let algorithm = match call.operation() {
                    Operation::Scan | Operation::ExclusiveScan => Algorithm::SCAN_CHAIN,
                    _ => algorithm,
                };
                let params = call.params(algorithm, CallTransport::Messages, Digest::NONE);
                let Some(begun) = self.begin(sig, at, params) else { return };
                eager::run(&mut self.port, &mut self.work, begun, call)
            }
            route => {
                let (rank, size) = (self.port.rank(), self.port.size());
                return self.carry_out_on_bytes(route, &call.on_bytes(rank, size));
            }
        };
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// Carries out a call that moves something from all to all, by its short routes.
    #[inline(always)]
    pub(super) fn carry_out_moving(&mut self, call: Call<'_, Moved<'_>>) {
        let route = self.short_route(&call, call.given_bytes(self.port.size()));
        let (sig, at) = (call.sig(), call.at());
        let algorithm = call.operation().usual().messages.of(true);
        let result = match route {
            Some(Short::Alone) => {
                let Some(begun) = self.begin(sig, at, call.params_alone()) else { return };
                alone::run_moving(&mut self.port, begun, &call)
            }
            Some(Short::Gate) => {
                let params = call.params(algorithm, CallTransport::Gates, Digest::NONE);
                let Some(begun) = self.begin(sig, at, params) else { return };
                all_at_once::run_moving(&mut self.port, begun, &call)
            }
            route => {
                let loops = call.loops();
                return self.carry_out_on_bytes(route, &call.on_loops(&loops));
            }
        };
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// The routes that need no types; none are those of all other calls.
    #[inline(never)]
    pub(super) fn carry_out_on_bytes(
        &mut self,
        route: Option<Short>,
        call: &Call<'_, RawBuffers<'_>>,
    ) {
        match route {
            Some(Short::Alone) | None => self.carry_on(call),
            Some(_) => self.carry_out_among(call),
        }
    }

    /// Carries out a call of a few bytes among more than two ranks, or an exclusive scan of two.
    fn carry_out_among(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        let is_pair = self.port.size() == 2;
        let gated = !is_pair && self.port.is_gated() && call.operation() != Operation::Broadcast;
        if !gated && call.unit() * call.message_element_size() > EAGER {
            return self.carry_on(call);
        }
        let usual = call.operation().usual().messages.of(call.is_commutative());
        let algorithm = if is_pair { Algorithm::SCAN_CHAIN } else { usual };
        let transport = if gated { CallTransport::Gates } else { CallTransport::Messages };
        let params = call.params(algorithm, transport, Digest::NONE);
        let Some(begun) = self.begin(call.sig(), call.at(), params) else { return };
        let (port, work) = (&mut self.port, &mut self.work);
        let result = match gated {
            true => all_at_once::run_among(port, work, begun, call),
            false => eager::run_among(port, work, begun, call),
        };
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// Carries out a call of a few bytes by that route.
    #[inline(always)]
    pub(super) fn carry_out_at_the_gates<'a, T: Element, O: Operator<T>>(
        &mut self,
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let algorithm = call.operation().usual().messages.of(call.is_commutative());
        let params = call.params(algorithm, CallTransport::Gates, Digest::NONE);
        let Some(begun) = self.begin(call.sig(), call.at(), params) else { return };
        if let Err(stop) = all_at_once::run(&mut self.port, &mut self.work, begun, call) {
            self.stop(stop);
        }
    }

    /// Starts a collective call. If that is refused while a panic unwinds (see
    /// `unwind`), it returns false, and the call must not go on.
    #[inline(always)]
    #[must_use]
    pub(super) fn enter(&mut self, (sig, at): CallAt, params: CallParams) -> bool {
        if !self.belongs_to_thread_and_run()
            && !self.refuse((sig, at), BeginningCall::Collective(params))
        {
            return false;
        }
        self.port.enter(sig, at, params);
        true
    }

    /// [`enter`](Comm::enter), but for the record: the call is to
    /// [`log_call`](crate::shared::Port::log_call) itself. None as false there.
    #[inline(always)]
    #[must_use]
    pub(super) fn begin(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        params: CallParams,
    ) -> Option<StartedCall> {
        let is_admitted = self.belongs_to_thread_and_run();
        self.begin_if(is_admitted, (sig, at), params)
    }

    #[inline(always)]
    fn begin_if(
        &mut self,
        is_admitted: bool,
        (sig, at): CallAt,
        params: CallParams,
    ) -> Option<StartedCall> {
        if !is_admitted && !self.refuse((sig, at), BeginningCall::Collective(params)) {
            return None;
        }
        Some(self.port.begin(sig, at, params))
    }

    /// Whether the communicator may be used, here and now. Returns false only
    /// while a panic unwinds.
    #[inline(always)]
    #[must_use]
    pub(super) fn check_usable(&mut self, (sig, at): CallAt) -> bool {
        self.belongs_to_thread_and_run() || self.refuse((sig, at), BeginningCall::Unknown)
    }

    /// Whether the communicator may be used for a message of `params`, which are for the record.
    #[inline(always)]
    #[must_use]
    pub(super) fn check_message(&mut self, (sig, at): CallAt, params: CallParams) -> bool {
        self.belongs_to_thread_and_run() || self.refuse((sig, at), BeginningCall::Message(params))
    }

    /// Whether the communicator may be used here and now, and its thread has started no calls that
    /// are to go on first.
    #[inline(always)]
    pub(super) fn belongs_to_thread_and_run(&self) -> bool {
        self.port.line().mark().is_here_and_owes_nothing() && self.port.is_open()
    }

    /// Whether the library chooses the algorithms, by its rules, of a call that is no step.
    #[inline(always)]
    pub(super) fn is_auto(&self) -> bool {
        !self.slow_path
    }

    /// The route of a call in which this rank gives a few bytes, if it has one of its own.
    #[inline(always)]
    pub(super) fn short_route<D>(&mut self, call: &Call<'_, D>, bytes: usize) -> Option<Short> {
        use Operation::*;
        let operation = call.operation();
        if !self.is_auto() && (operation != Barrier || !self.is_usual(&call.bare())) {
            return None;
        }
        // (A vector that many reduce is as good as reduced by one: no branch for it.)
        if operation != AllReduce && self.port.size() == 1 && !call.is_varied() {
            return Some(Short::Alone);
        }
        if call.is_varied() || bytes >= self.decisions.short[operation as usize] {
            return None;
        }
        match operation {
            Reduce | Gather | Scatter => Some(Short::Eager),
            Broadcast if self.port.size() == 2 => Some(Short::Eager),
            Broadcast => Some(Short::Among),
            // Between two ranks.
            Scan | ExclusiveScan | ReduceScatter if self.port.size() == 2 => Some(Short::Eager),
            Scan | ExclusiveScan | ReduceScatter if self.port.is_gated() => Some(Short::Among),
            AllReduce if self.port.size() > 2 => Some(Short::Among),
            _ if self.port.is_gated() => Some(Short::Gate),
            Barrier => Some(Short::Eager),
            _ => None,
        }
    }

    /// Whether the choice for a barrier comes to the algorithm that the library would take
    /// (the ring's does).
    #[cold]
    fn is_usual(&mut self, call: &Call<'_>) -> bool {
        self.step_fingerprint.is_none()
            && self.dims().is_none()
            && self.algorithm(call, 1) == Algorithm::BAR_ANY
    }

    /// [`carry_out`](Comm::carry_out), for calls that are not of a few bytes.
    pub(super) fn carry_on(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        let Some((route, params)) = self.route(call) else { return };
        let Some(begun) = self.begin_compared((call.sig(), call.at()), params) else { return };
        let route = match route {
            Route::NewPlan(unbound) => {
                // On record, since of many blocks it takes a while.
                self.port.log_call(begun);
                if let Err(stop) = self.bind(unbound, call) {
                    return self.stop(stop);
                }
                self.remember(call, params);
                Route::Plan
            }
            route => route,
        };
        let (port, work) = (&mut self.port, &mut self.work);
        let result = match route {
            Route::Alone => alone::run(port, work, begun, call),
            Route::Board => board::run(port, work, begun, call),
            Route::Plan | Route::NewPlan(_) => plan::run(port, work, begun, call),
        };
        self.port.record_end();
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// The route of a call. None if the choice cannot be followed, and
    /// the run has ended (or a panic unwinds).
    #[inline(always)]
    fn route(&mut self, call: &Call<'_, RawBuffers<'_>>) -> Option<(Route, CallParams)> {
        let bytes = call.unit().saturating_mul(call.element_size());
        let direct = call.operation().usual().direct;
        let mut algorithm = None;
        if self.is_auto() {
            if self.port.size() == 1 {
                return Some((Route::Alone, call.params_alone()));
            }
            // Longer data go by no plan, as a rule.
            if bytes <= EAGER
                && let Some(params) = self.work.plans.again(call)
            {
                return Some((Route::Plan, params));
            }
            let (from, direct) = self.decisions.direct[call.operation() as usize];
            algorithm = (bytes >= from && !call.is_idle()).then_some(direct);
        }
        let algorithm = algorithm.unwrap_or_else(|| self.algorithm(&call.bare(), bytes));
        let transport = match direct == Some(algorithm) {
            true => CallTransport::Boards,
            false => CallTransport::Messages,
        };
        let digest = self.digest_of_cut(call);
        let params = call.params(algorithm, transport, digest);
        if transport == CallTransport::Boards {
            // A single rank, and a shift by 0, access nobody's memory.
            let is_idle = self.port.size() == 1 || call.is_idle();
            return Some((if is_idle { Route::Alone } else { Route::Board }, params));
        }
        match self.prepare(call, algorithm) {
            Ok(None) => {
                self.remember(call, params);
                Some((Route::Plan, params))
            }
            Ok(Some(unbound)) => Some((Route::NewPlan(unbound), params)),
            Err(unfit) => {
                self.wrong((call.sig(), call.at()), call.len(), unfit);
                None
            }
        }
    }

    /// Remembers a call that goes by the latest plan.
    #[inline(always)]
    fn remember(&mut self, call: &Call<'_, RawBuffers<'_>>, params: CallParams) {
        if self.is_auto() && !call.is_varied() {
            self.work.plans.remember(call, 0, params);
        } else if call.is_varied()
            && let Some(number) = self.number_of_counts()
            && self.goes_by_rules()
        {
            self.work.plans.remember(call, number, params);
        }
    }

    /// The digest that tells meshes of different extents (which may use one algorithm) and
    /// different counts of the same sum apart.
    #[inline(always)]
    fn digest_of_cut(&mut self, call: &Call<'_, RawBuffers<'_>>) -> Digest {
        if let Some(step_fingerprint) = self.step_fingerprint {
            return step_fingerprint;
        }
        if let Partition::Varied(counts) = call.cut()
            && let Some(code) = call.code().counts
        {
            return code(&mut self.port, counts, self.choice.extents());
        }
        match self.forcing {
            Some(code) if !self.is_auto() => (code.digest)(self),
            _ => Digest::NONE,
        }
    }

    /// That of a call with varied blocks.
    pub(super) fn digest_of(&mut self, counts: &[usize]) -> Digest {
        self.port.varied(counts, self.choice.extents())
    }

    /// Starts a call; if it has counts that the other ranks' have not been compared with
    /// yet, they are. None if the call must not go on.
    #[inline(always)]
    pub(super) fn begin_compared(
        &mut self,
        (sig, at): CallAt,
        params: CallParams,
    ) -> Option<StartedCall> {
        let is_admitted = self.belongs_to_thread_and_run();
        self.begin_compared_if(is_admitted, (sig, at), params)
    }

    /// [`begin_compared`](Comm::begin_compared) of a call that is started, and waited for later. It
    /// goes on with others only if peers wait for work of those: many may be under way.
    #[inline(always)]
    pub(super) fn begin_started(
        &mut self,
        (sig, at): CallAt,
        params: CallParams,
    ) -> Option<StartedCall> {
        let is_admitted = self.port.line().mark().is_here_and_owes_no_work() && self.port.is_open();
        self.begin_compared_if(is_admitted, (sig, at), params)
    }

    #[inline(always)]
    fn begin_compared_if(
        &mut self,
        is_admitted: bool,
        (sig, at): CallAt,
        params: CallParams,
    ) -> Option<StartedCall> {
        let begun = self.begin_if(is_admitted, (sig, at), params)?;
        if params.digest != Digest::NONE && self.port.has_new_counts() {
            self.port.log_call(begun);
            if let Err(stop) = self.port.compare_counts() {
                self.stop(stop);
                return None;
            }
        }
        Some(begun)
    }

    pub(super) fn mesh_choice(&mut self, (sig, at): CallAt, dims: &Extents) -> Choice {
        if dims.ranks() == self.size() {
            return Choice::Mesh(dims.clone());
        }
        self.no_mesh((sig, at), &dims.to_string())
    }

    /// Ends the run: there is no such mesh of this many ranks.
    #[cold]
    pub(super) fn no_mesh(&mut self, (sig, at): CallAt, dims: &str) -> Choice {
        let what = format!("a {dims} mesh does not have the communicator's {} ranks", self.size());
        self.wrong((sig, at), 0, what);
        Choice::Auto
    }

    /// Makes the call's plan the latest, if there is one; else returns the plan that is to be
    /// [bound](Comm::bind) when the call is on record, or why there is no plan.
    #[inline(never)]
    fn prepare(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        algorithm: Algorithm,
    ) -> Result<Option<Unbound>, String> {
        let bare = call.bare();
        let of_choice = (self.dims().cloned(), self.levels(algorithm));
        let counts = || self.number_of_counts();
        let key = PlanKey::of(call, algorithm, call.message_element_size(), counts, of_choice);
        match key {
            Some(key) if self.work.plans.find(&key) => Ok(None),
            key => self.unbound(key, &bare, algorithm).map(Some),
        }
    }

    #[cold]
    fn unbound(
        &mut self,
        key: Option<PlanKey>,
        call: &Call<'_>,
        algorithm: Algorithm,
    ) -> Result<Unbound, String> {
        let schedule = self.schedule(call, algorithm)?;
        Ok(Unbound { schedule: Box::new(schedule), key })
    }

    /// Makes the plan of the call in progress, which is on record.
    #[cold]
    fn bind(&mut self, unbound: Unbound, call: &Call<'_, RawBuffers<'_>>) -> Result<(), Stop> {
        let (rank, cut, size) = (self.rank(), call.cut(), call.message_element_size());
        let bind = |go_on: &mut dyn Question| bind_while(&unbound.schedule, rank, cut, size, go_on);
        let plan = self.port.preparing(bind)?;
        self.work.plans.keep(unbound.key, plan);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::comm::Comm;
    use crate::wait::Question;
    use crate::{Activity, Error, Team, op};
    use std::time::Duration;

    /// As a call does with a plan that takes for ever.
    fn prepare_for_ever(comm: &mut Comm) {
        let prepared = comm.port.preparing(|go_on: &mut dyn Question| {
            while go_on.ask() {
                std::thread::yield_now();
            }
            None::<()>
        });
        comm.stop(prepared.unwrap_err());
    }

    #[test]
    fn a_long_preparation_hears_of_a_deadline_and_is_in_the_report() {
        let limit = Duration::from_millis(100);
        for p in [1, 3] {
            let team = Team::builder().ranks(p).deadline(limit).build().unwrap();
            let error = team
                .run(|comm| {
                    comm.all_reduce(&mut [1], op::Sum);
                    prepare_for_ever(comm);
                })
                .unwrap_err();
            let text = error.to_string();
            let Error::Deadline { rank, peer, ranks, .. } = error else { panic!("{text}") };
            assert_eq!(rank, peer, "{text}");
            assert_eq!(ranks[rank].doing, Activity::Prepares);
            assert!(text.contains("has prepared the plan of a call for 100ms"), "{text}");
            assert!(text.contains("prepares the plan of its latest call; latest calls"), "{text}");
        }
        // A rank that waits for one that prepares.
        let team = Team::builder().ranks(2).deadline(limit).build().unwrap();
        let error = team
            .run(|comm| match comm.rank() {
                0 => comm.barrier(),
                _ => {
                    std::thread::sleep(limit / 2);
                    prepare_for_ever(comm);
                }
            })
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Deadline { rank: 0, peer: 1, .. }), "{text}");
        assert!(text.contains("rank 1 prepares the plan of its latest call"), "{text}");
    }

    #[test]
    fn a_long_preparation_hears_that_the_run_is_over() {
        let team = Team::builder().ranks(2).build().unwrap();
        let error = team
            .run(|comm| match comm.rank() {
                0 => prepare_for_ever(comm),
                _ => panic!("over"),
            })
            .unwrap_err();
        assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
        team.run(|comm| comm.barrier()).unwrap();
    }
}
