//! The one decision how a call is carried out: the short routes, then the long ones, then the calls
//! of executors, in `execute` and `by_uneven_exchange` alone.
//!
//! | route | when |
//! |---|---|
//! | alone | one rank, and nothing is forced |
//! | gates | a barrier, or a few bytes to all from all; up to four ranks, or crowded cores |
//! | eager | the same with more ranks; a broadcast; two ranks: all but common results |
//! | plan | a call of few bytes that went by a plan before |
//! | boards | by size (`Tuning`), by the model of the levels, or forced |
//! | plan | any other algorithm |
//! | uneven | blocks of which no rank knows all lengths, by the library's choice |
//!
//! Blocks of different lengths are a case of each route, if all ranks know the lengths. A reduction
//! in fixed order, or with work in between, goes by the gates or the boards; on a forced topology
//! `fixed_order.rs` makes other calls of it, which come here.

use super::arguments::CallAt;
use super::{Choice, Comm};
use crate::element::Element;
use crate::exec::plan::{PlanKey, bind_while};
use crate::exec::uneven::Uneven;
use crate::exec::{Call, Executed, Partition, RawBuffers, Slices, board, plan};
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::schedule::{Algorithm, Operation, Schedule};
use crate::shared::{
    BeginningCall, CallParams, CallTransport, Digest, PayloadKind, Signature, StartedCall, Stop,
};
use crate::topology::Extents;
use crate::wait::Question;

use std::panic::Location;

/// The routes: each has one executor.
#[derive(Clone, Copy)]
enum Route {
    Alone,
    Gates,
    Eager,
    Boards,
    /// By the latest plan.
    Plan,
}

/// The routes of a few bytes.
#[derive(Clone, Copy)]
enum Short {
    Alone,
    Gates,
    Eager,
    /// By the gates or eagerly, among more than two ranks: a kernel combines, and generic code
    /// is not needed.
    Among,
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
        let (rank, p) = (self.port.rank(), self.port.size());
        if let Some(in_order) = self.in_order
            && call.operation().has_order()
        {
            call = call.in_order();
            // At the gates each rank combines all, in any order.
            let is_gated = call.operation() == Operation::AllReduce && self.port.is_gated();
            if !is_gated || self.short_route(&call, size_of::<T>()).is_none() {
                return in_order(self, &call.on_bytes(rank, p));
            }
        }
        match self.short_route(&call, size_of::<T>()) {
            Some(short @ (Short::Alone | Short::Gates | Short::Eager)) => {
                self.by_short_route(short, call);
            }
            route => self.by_untyped_route(route.is_some(), &call.on_bytes(rank, p)),
        }
    }

    /// [`carry_out`](Comm::carry_out), for a call on memory that moves something from all to all,
    /// or is the exclusive scan of a segmented one.
    #[inline(always)]
    pub(super) fn moving_by_route(&mut self, call: Call<'_, RawBuffers<'_>>) {
        match self.short_route(&call, call.element_size()) {
            Some(short) => self.by_short_route(short, &call),
            // (A copy: the address of the call itself is nobody's, so it stays in registers.)
            None => self.by_long_route(&{ call }),
        }
    }

    /// The routes that need no types: those among more than two ranks, and the long ones.
    #[inline(never)]
    fn by_untyped_route(&mut self, is_short: bool, call: &Call<'_, RawBuffers<'_>>) {
        let is_gated = self.port.is_gated() && call.operation() != Operation::Broadcast;
        if is_short && (is_gated || call.unit() * call.message_element_size() <= EAGER) {
            let short = if is_gated { Short::Gates } else { Short::Eager };
            self.by_short_route(short, call);
        } else {
            self.by_long_route(call);
        }
    }

    /// The route of a call of a few bytes, of elements of so many bytes, if it has one of its own.
    #[inline(always)]
    fn short_route<D>(&mut self, call: &Call<'_, D>, size: usize) -> Option<Short> {
        use Operation::*;
        let (operation, p) = (call.operation(), self.port.size());
        let by_rules = match call.is_varied() {
            true => self.numbers_counts(),
            false => self.is_auto(),
        };
        if !by_rules && (operation != Barrier || !self.is_usual(&call.bare())) {
            return None;
        }
        // (A vector that many reduce is as good as reduced by one: no branch for it.)
        if operation != AllReduce && p == 1 {
            return Some(Short::Alone);
        }
        if call.given(p) * size >= self.decisions.short[operation as usize] {
            return None;
        }
        match operation {
            Reduce | Gather | Scatter => Some(Short::Eager),
            Broadcast if p == 2 => Some(Short::Eager),
            Broadcast => Some(Short::Among),
            // Between two ranks.
            Scan | ExclusiveScan | ReduceScatter if p == 2 => Some(Short::Eager),
            Scan | ExclusiveScan | ReduceScatter if self.port.is_gated() => Some(Short::Among),
            AllReduce if p > 2 => Some(Short::Among),
            _ if self.port.is_gated() => Some(Short::Gates),
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

    /// Carries out a call of a few bytes.
    #[inline(always)]
    fn by_short_route<'a>(&mut self, short: Short, call: impl Executed<'a>) {
        let facts = call.facts();
        let operation = facts.operation();
        // Of two ranks' scan: the chain's one message. (Doubling has one back, which a rank with a
        // forced algorithm would send.)
        let algorithm = match (short, operation) {
            (Short::Eager, Operation::Scan | Operation::ExclusiveScan) => Algorithm::SCAN_CHAIN,
            _ => operation.usual().messages.of(facts.is_commutative()),
        };
        let (sig, at) = (facts.sig(), facts.at());
        // The fingerprint is made in each arm, where most of it is known to the compiler.
        match short {
            Short::Alone => {
                let Some(begun) = self.begin(sig, at, facts.params_alone()) else { return };
                self.execute(Route::Alone, begun, call, || ());
            }
            Short::Eager => {
                let params = facts.params(algorithm, CallTransport::Messages, facts.digest());
                let Some(begun) = self.begin_compared((sig, at), params) else { return };
                self.execute(Route::Eager, begun, call, || ());
            }
            Short::Gates | Short::Among => {
                let params = facts.params(algorithm, CallTransport::Gates, facts.digest());
                let Some(begun) = self.begin_compared((sig, at), params) else { return };
                self.execute(Route::Gates, begun, call, || ());
            }
        }
    }

    /// A reduction in the order of the tree, with work in between. A rank first shows all that its
    /// peers ever need from it, or they would wait for its work. So everybody shows a few bytes at
    /// its gate, and more on its board. Returns `None` if the call was refused while a panic
    /// unwinds.
    #[inline]
    pub(super) fn by_gates_or_boards<R>(
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
        let usual = call.operation().usual();
        let messages = usual.messages.of(call.is_commutative());
        let (route, algorithm, transport) = match usual.direct {
            Some(direct) if !is_short => (Route::Boards, direct, CallTransport::Boards),
            _ => (Route::Gates, messages, CallTransport::Gates),
        };
        let params = call.params(algorithm, transport, self.digest_of_cut(call));
        let begun = self.begin_compared((call.sig(), call.at()), params)?;
        self.execute(route, begun, call, work)
    }

    /// [`carry_out`](Comm::carry_out), for calls that are not of a few bytes.
    pub(super) fn by_long_route(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        let Some((route, unbound, params)) = self.long_route(call) else { return };
        let Some(begun) = self.begin_compared((call.sig(), call.at()), params) else { return };
        if let Some(unbound) = unbound {
            // On record, since of many blocks it takes a while.
            self.port.log_call(begun);
            if let Err(stop) = self.bind(unbound, call) {
                return self.stop(stop);
            }
            self.remember(call, params);
        }
        self.execute(route, begun, call, || ());
    }

    /// The route of a call that has no short one, and the plan that is to be made first. Returns
    /// `None` if the choice cannot be followed, and the run has ended (or a panic unwinds).
    #[inline(always)]
    fn long_route(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
    ) -> Option<(Route, Option<Unbound>, CallParams)> {
        let bytes = call.unit().saturating_mul(call.element_size());
        let direct = call.operation().usual().direct;
        let mut algorithm = None;
        let by_rules = match call.is_varied() {
            true => self.numbers_counts() && call.digest() != Digest::NONE,
            false => self.is_auto(),
        };
        if by_rules {
            if self.port.size() == 1 {
                return Some((Route::Alone, None, call.params_alone()));
            }
            // Longer data go by no plan, as a rule.
            if (bytes <= EAGER || call.is_varied())
                && let Some(params) = self.work.plans.again(call, self.port.number_of_counts())
            {
                return Some((Route::Plan, None, params));
            }
            let (from, direct) = self.decisions.direct[call.operation() as usize];
            algorithm = (bytes >= from && !call.is_idle()).then_some(direct);
        }
        let algorithm = algorithm.unwrap_or_else(|| self.algorithm(&call.bare(), bytes));
        let transport = match direct == Some(algorithm) {
            true => CallTransport::Boards,
            false => CallTransport::Messages,
        };
        let params = call.params(algorithm, transport, self.digest_of_cut(call));
        if transport == CallTransport::Boards {
            // A single rank, and a shift by 0, access nobody's memory.
            let is_idle = self.port.size() == 1 || call.is_idle();
            return Some((if is_idle { Route::Alone } else { Route::Boards }, None, params));
        }
        match self.prepare(call, algorithm) {
            Ok(unbound) => {
                if unbound.is_none() {
                    self.remember(call, params);
                }
                Some((Route::Plan, unbound, params))
            }
            Err(unfit) => {
                self.wrong((call.sig(), call.at()), call.len(), unfit);
                None
            }
        }
    }

    /// Carries out a call that has begun; `between` runs when the rank's data are shown, before
    /// it looks at anybody.
    #[inline(always)]
    fn execute<'a, R>(
        &mut self,
        route: Route,
        begun: StartedCall,
        call: impl Executed<'a>,
        between: impl FnOnce() -> R,
    ) -> Option<R> {
        let (port, work) = (&mut self.port, &mut self.work);
        let result = match route {
            Route::Alone => {
                call.run_alone(port, begun);
                Ok(between())
            }
            Route::Gates => call.run_at_the_gates(port, work, begun, between),
            Route::Eager => call.run_eagerly(port, work, begun).map(|()| between()),
            Route::Boards => board::run(port, work, begun, call.on_memory(), between),
            Route::Plan => plan::run(port, work, begun, call.on_memory()).map(|()| between()),
        };
        if let Route::Boards | Route::Plan = route {
            self.port.record_end();
        }
        match result {
            Ok(result) => Some(result),
            Err(stop) => {
                self.stop(stop);
                None
            }
        }
    }

    /// Carries out a call of blocks of which no rank knows all lengths, at the gates; this one
    /// gives `len` elements. Returns `None` if a panic unwinds already.
    #[inline(always)]
    pub(super) fn by_uneven_exchange<U: Uneven>(
        &mut self,
        call: &Call<'_>,
        len: usize,
        blocks: U,
    ) -> Option<U::Gives> {
        let algorithm = call.operation().usual().messages.of(true);
        let params = call.params(algorithm, CallTransport::Gates, Digest::NONE);
        let params = CallParams { own_len: Some(len), ..params };
        let begun = self.begin(call.sig(), call.at(), params)?;
        let result = blocks.run_uneven(&mut self.port, &mut self.work, begun);
        self.port.record_end();
        result.map_err(|stop| self.stop(stop)).ok()
    }

    /// Carries out a started call of one rank, which has begun.
    pub(super) fn run_alone(&mut self, begun: StartedCall, call: &Call<'_, RawBuffers<'_>>) {
        self.execute(Route::Alone, begun, call, || ());
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

    /// Remembers a call that goes by the latest plan.
    #[inline(always)]
    fn remember(&mut self, call: &Call<'_, RawBuffers<'_>>, params: CallParams) {
        let is_known = match call.is_varied() {
            true => self.numbers_counts(),
            false => self.is_auto(),
        };
        if is_known {
            self.work.plans.remember(call, self.port.number_of_counts(), params);
        }
    }

    /// The digest that tells meshes of different extents (which may use one algorithm) and
    /// different counts of the same sum apart.
    #[inline(always)]
    fn digest_of_cut(&mut self, call: &Call<'_, RawBuffers<'_>>) -> Digest {
        if let Some(step_fingerprint) = self.step_fingerprint {
            return step_fingerprint;
        }
        if call.digest() != Digest::NONE {
            return call.digest();
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

    /// The digest of a call with varied blocks.
    pub(super) fn digest_of(&mut self, counts: &[usize]) -> Digest {
        self.port.varied(counts, self.choice.extents())
    }

    /// Whether the library chooses the algorithms, by its rules, of a call that is no step.
    #[inline(always)]
    pub(super) fn is_auto(&self) -> bool {
        !self.slow_path
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
    /// [`log_call`](crate::shared::Port::log_call) itself. Returns `None` where `enter` returns
    /// false.
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

    /// Starts a call; if it has counts that the other ranks' have not been compared with
    /// yet, they are. Returns `None` if the call must not go on.
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
        // Those of a step's own are of the call that it is a step of.
        let has_number = call.is_varied() && self.step_fingerprint.is_none();
        let number = has_number.then(|| self.port.number_of_counts());
        let key = PlanKey::of(call, algorithm, call.message_element_size(), number, of_choice);
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
