//! Communicators. Each collective's public method has a file of its own; `route.rs` and this file
//! have the common parts.

// The page of `Comm` shows methods in the order of these modules. Blank lines keep it.
mod members;

mod barrier;
mod broadcast;
mod reduce;

mod scan;
mod scatter;

mod gather;

mod all_to_all;
mod shift;

mod message;

mod tagged;

mod views;

mod global;

mod window;

mod atomic_window;

mod cart;
mod neighborhood;

mod fixed_sum;

pub mod call;

mod requests;

mod forced;

mod fixed_order;

mod split;

mod canceller;

mod phase;
mod statistics;

// Without public methods of `Comm`, or with few.
mod arguments;
mod atomic_element;
mod audit;
mod chosen_algorithm;
mod decisions;
mod diagnose;
mod exchange;
mod foreign;
mod gather_grid;
mod halo_exchange;
mod halo_plan;
mod holder;
mod made_grids;
mod member_seats;
pub(crate) mod outside;
mod own_memory;
mod roster;
mod route;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
mod tag;
mod tagged_call;
mod window_part;

pub use atomic_element::{AtomicElement, AtomicF32, AtomicF64};
pub use atomic_window::AtomicWindow;
pub use canceller::Canceller;
pub use cart::Cart;
pub use exchange::{COPIED_PART, ExchangeCall, ExchangeStop, PARTS_AHEAD, PartExchange};
pub use fixed_sum::{JoinsParts, fixed_dots, fixed_reduce, fixed_sum};
pub use forced::{Choice, Forced};
pub use gather_grid::{FieldPart, fitting_fields, whole_field};
pub use global::Global;
pub use halo_exchange::halo_problem;
pub use member_seats::MemberSeats;
pub use neighborhood::Neighborhood;
pub use requests::{OpenRequest, Persistent, Requests};
pub use statistics::CallStatistics;
pub use tag::{Source, Status, Tag};
pub use views::Peers;
pub use window::Window;

pub(crate) use audit::{Tally, compare, final_cause};
pub(crate) use roster::Roster;

use crate::error::{Error, thrown};
use crate::exec::{Call, RawBuffers, Workspace};
use crate::shared::{CommState, Digest, Port, Thread, discard};
use crate::sync::{Arc, catch_unwind, panicking};
use crate::tuning::{LevelModel, Tuning, TuningSource};
use crate::wait::RankCount;
use audit::Audit;
use decisions::Decisions;
use forced::Forcing;
use halo_plan::HaloPlans;
use holder::Claim;
use made_grids::Grids;
use std::any::Any;
use std::fmt;

/// The code of reductions in fixed order; none if each algorithm has its own order. A pointer: the
/// linker leaves the code out of a program that asks for no order.
type InOrder = Option<fn(&mut Comm, &Call<'_, RawBuffers<'_>>)>;

/// A rank's hold on a group of ranks: its number, and the collectives.
/// ```
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank() as f64; 4];
///     comm.all_reduce(&mut x, phalanx::op::Sum);
///     x
/// })?;
/// assert_eq!(out[2], [3.0; 4]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[doc = include_str!("by_task.md")]
/// For tasks beyond single calls (errors, Ctrl-C, servers, matrices): the [`guide`](crate::guide).
///
/// Collectives must be called by all ranks of the communicator, in the same
/// order, with arguments that agree as each method says. A disagreement is
/// noticed before any memory is touched; it ends the run with an error that
/// names both ranks and both source lines. They take `&mut self`, so the
/// borrow checker rules out a second collective while one is under way.
///
/// **When something goes wrong** (a rank panics, leaves, or disagrees), the
/// methods do not return: they unwind to the end of the rank's closure, and
/// [`Team::run`](crate::Team::run) returns the first cause. Buffers may then
/// hold anything of their type. A rank never unwinds while a peer can still
/// reach its slices.
///
/// **Threads.** The calls of a rank come from one thread at a time. In a run they come from the
/// rank's own thread, or from one that the closure has lent its communicator to; communicators for
/// own threads go from thread to thread: [`Builder::external`](crate::Builder::external).
///
/// Every collective is a point of synchronisation only as far as its data
/// flow; [`barrier`](Comm::barrier) is one for all ranks.
///
/// **Costs** are for `p` ranks and `m` elements (of one block, where blocks are exchanged): `t_s`
/// is the start of a message, `t_w` the copy of an element, `t_c` the combination of two
/// ([`guide::cost_model`](crate::guide::cost_model)). Names like `AR-FUSED` are algorithms
/// ([`Algorithm`](crate::Algorithm)); equations and algorithms with numbers are those of Grama,
/// Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, chapter 4. *Gates* are lines of
/// memory by which ranks show a few bytes to all others, *mailboxes* those by which a rank sends to
/// one. Where ranks are 32 and more, or not equally far apart, the levels of the machine decide
/// which algorithm is the cheapest ([`LevelModel`]).
pub struct Comm {
    port: Port,
    /// Of a team's run: the rank's own thread.
    thread: Option<&'static Thread>,
    /// Of the communicator that a run's closure gets: where that lies; else 0.
    home: usize,
    /// Whether whoever calls has promised that calls of the rank come one after the other.
    in_turn: bool,
    choice: Choice,
    /// The code of forced choices, from when there is one. A pointer, as `in_order` is one.
    forcing: Option<&'static Forcing>,
    in_order: InOrder,
    /// The choice outside of views.
    default_choice: Choice,
    /// Whether `choice` is another than `Auto`, or the calls are steps of another.
    slow_path: bool,
    decisions: Decisions,
    work: Workspace,
    /// The memory of the latest scope of requests.
    scope: Option<Box<requests::ScopeState<'static>>>,
    grids: Grids,
    halo_plans: HaloPlans,
    roster: Option<Arc<Roster>>,
    /// Equal on all ranks: the sizes for this number of ranks, and the rules that those of
    /// sub-communicators come from.
    tuning: Tuning,
    rules: Arc<TuningSource>,
    /// For threads of the user's own, which no run counts.
    _crowd: Option<RankCount>,
    /// A sub-communicator's end, which its ranks share.
    audit: Option<Arc<Audit>>,
    /// Fingerprint of the enclosing call of a layer, mixed into each of its steps.
    step_fingerprint: Option<Digest>,
}

// SAFETY: the raw pointers in `work` are left over from calls that have ended, and are never used
// again; those in the port are to words of the state and the world, which are `Sync` and which the
// port keeps; everything else is `Send`. That one thread at a time uses a rank's communicators is
// checked by `enter` (`holder.rs`).
unsafe impl Send for Comm {}

impl Comm {
    pub(crate) fn new(port: Port, roster: Option<Arc<Roster>>, rules: Arc<TuningSource>) -> Self {
        port.line().begin_comms(port.run());
        let model = roster.as_ref().and_then(|roster| roster.model.clone());
        let crowd = roster.is_none().then(|| RankCount::enter(1));
        let mut comm = Comm::of_model(model, port, roster, rules);
        comm._crowd = crowd;
        comm
    }

    /// A sub-communicator of this one.
    fn child(&self, port: Port, audit: Arc<Audit>) -> Self {
        let model = self.roster.as_ref().and_then(|roster| roster.model.as_ref());
        let members =
            || -> Vec<usize> { (0..port.size()).map(|rank| port.shared().member(rank)).collect() };
        let model = model.and_then(|model| model.of_members(&members())).map(Arc::new);
        port.line().count_comms(port.run(), 1);
        let mut child = Comm::of_model(model, port, self.roster.clone(), self.rules.clone());
        (child.thread, child.in_turn, child.audit) = (self.thread, self.in_turn, Some(audit));
        child
    }

    /// One that chooses its algorithms by `model`, if there is one.
    fn of_model(
        model: Option<Arc<LevelModel>>,
        port: Port,
        roster: Option<Arc<Roster>>,
        rules: Arc<TuningSource>,
    ) -> Self {
        let size = port.size();
        let tuning = rules.tuning(size);
        let default_choice = model.map_or(Choice::Auto, Choice::Levels);
        Comm {
            port,
            thread: None,
            home: 0,
            in_turn: false,
            slow_path: !matches!(default_choice, Choice::Auto),
            choice: default_choice.clone(),
            default_choice,
            forcing: None,
            in_order: None,
            decisions: Decisions::new(&tuning, size),
            work: Workspace::new(tuning.stream_from),
            scope: None,
            grids: Grids::default(),
            halo_plans: HaloPlans::default(),
            roster,
            tuning,
            rules,
            _crowd: None,
            audit: None,
            step_fingerprint: None,
        }
    }

    /// Takes part in run `run`, on the calling thread, which is `thread`.
    #[inline(always)]
    pub(crate) fn join_run(&mut self, thread: &'static Thread, run: u64) {
        self.thread = Some(thread);
        self.home = std::ptr::from_ref(self).addr();
        self.port.join_run(run);
        let line = self.port.line();
        line.hold(thread.mark());
        line.begin_comms(run);
        if self.slow_path {
            let default_choice = self.default_choice.clone();
            self.replace_choice(default_choice);
        }
        self.in_order = None;
    }

    /// See [`Port::keep_near`].
    pub(crate) fn keep_near(&self) -> Option<impl Sized + use<>> {
        self.port.keep_near()
    }

    /// See [`Port::first_touch`].
    pub(crate) fn first_touch(&mut self) -> bool {
        self.port.first_touch()
    }

    /// See [`Port::is_ready`].
    pub(crate) fn is_ready(&self) -> bool {
        self.port.is_ready()
    }

    pub(crate) fn comm_state(&self) -> &CommState {
        self.port.shared()
    }

    /// Whether nothing but the calls themselves is to be done: the communicator is not given up,
    /// and nothing is recorded.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.port.is_plain()
    }

    /// The rank's part of a run is over: see [`Port::end_recorded_run`].
    pub(crate) fn end_recorded_run(&self) {
        self.port.end_recorded_run();
    }

    /// Whether the communicator is not given up, and its calls are recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.port.is_recorded()
    }

    /// Runs `f` with this communicator on a thread of the caller's own
    /// ([`Team::external`](crate::Team::external)) and returns as an error the cause that
    /// would otherwise be thrown through the thread: a failed collective, or a
    /// panic of `f`, which is then passed on to the other ranks. So does a thread that a run's
    /// closure has lent its communicator to; the run then returns the cause.
    ///
    /// # Errors
    /// As [`Team::run`](crate::Team::run); ranks other than the one with the
    /// first cause get [`Error::Dead`].
    ///
    /// # Examples
    /// ```
    /// let comms = phalanx::Team::external(2)?;
    /// let errors: Vec<_> = std::thread::scope(|s| {
    ///     let threads: Vec<_> = comms
    ///         .into_iter()
    ///         .map(|mut comm| s.spawn(move || {
    ///             comm.protect(|comm| {
    ///                 assert_eq!(comm.rank(), 0, "only rank 0 works");
    ///                 comm.barrier();
    ///             })
    ///         }))
    ///         .collect();
    ///     threads.into_iter().map(|t| t.join().unwrap().unwrap_err()).collect()
    /// });
    /// assert!(errors.iter().any(|e| matches!(e, phalanx::Error::Panicked { rank: 1, .. })));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline]
    pub fn protect<R>(&mut self, f: impl FnOnce(&mut Comm) -> R) -> Result<R, Error> {
        let (shared, run, rank) = (self.port.shared().clone(), self.port.run(), self.port.rank());
        let (world, member, here) = (shared.world(), shared.member(rank), Thread::here());
        // The thread that is to make the rank's calls is here, perhaps before the first of them.
        #[cfg(not(loom))]
        if self.roster.is_none() {
            self.port.bring_home();
        }
        let f = std::panic::AssertUnwindSafe(|| f(self));
        let result = here.within(world, run, false, || catch_unwind(f));
        result.map_err(|payload| self.caught((&shared, run, member), payload))
    }

    /// The error for the panic of a part of the rank's code, which began with the communicator
    /// of `member` in run `run` of `shared`. Ends that run, unless it has ended.
    #[cold]
    fn caught(
        &mut self,
        (shared, run, member): (&CommState, u64, usize),
        payload: Box<dyn Any + Send>,
    ) -> Error {
        let of_a_team = self.roster.is_some();
        let (world, here) = (shared.world(), Thread::here());
        if world.is_of_parent() {
            let cause = thrown((world.id(), run), member, payload);
            return cause.unwrap_or(Error::Forked);
        }
        let untold = || {
            let is_its = !of_a_team && world.ended_untold_by(run) == Some(member);
            is_its.then(|| audit::caught(member))
        };
        let cause = thrown((world.id(), run), member, payload).or_else(untold);
        let Some(cause) = cause else {
            // In a team the cause is for `run` to report.
            let cause = if of_a_team { None } else { world.take_cause(run) };
            return cause.map_or(Error::Dead, |(error, _)| error);
        };
        let claim = match self.is_held_here() || self.is_free() {
            true => Claim::Holds,
            // Nothing to pass on. (A refused call has ended it, perhaps.)
            false if world.is_poisoned(run) => return cause,
            // The thread may have made no call yet since the rank was another's.
            false => self.claim(),
        };
        let is_in = match claim {
            Claim::Holds => !of_a_team || here.is_in(world, run),
            Claim::Borrows => self.port.id() == shared.id(),
            Claim::Over | Claim::Refused(_) => false,
        };
        if run != world.run() || !is_in {
            return cause; // It has no say in the run that is going on.
        }
        let late = world.poison(run, member, Some(cause));
        if self.port.id() == shared.id() {
            self.port.quiesce();
        } else if !world.is_inside(member) {
            // The user's code has put another communicator in its place, which has nothing to
            // do with this failure. The one that was here owes nobody anything: the code was in
            // no call of it, or that has quiesced it.
            world.leave(member, run);
        }
        // The error of this rank comes back to it, if it was not the first.
        let own = || if of_a_team { None } else { Some(world.take_cause(run)?.0) };
        late.or_else(own).unwrap_or(Error::Dead)
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        let unwinding = panicking();
        let is_of_parent = self.port.shared().world().is_of_parent();
        if let Some(audit) = self.audit.as_ref().filter(|_| !is_of_parent) {
            audit.compare(self);
        }
        if unwinding && !is_of_parent && self.roster.is_none() {
            // A thread of the user's own, which may not be `protect`ed: nobody
            // else would say that the run is over. If it is not yet, or this rank has ended
            // it and not said why, that is the cause.
            let (shared, run) = (self.port.shared(), self.port.run());
            let (world, member) = (shared.world(), shared.member(self.port.rank()));
            let is_its = !world.is_poisoned(run) || world.ended_by(run) == Some(member);
            let protected = Thread::here().catches(world, run);
            let its = "its thread has panicked (the standard error has what it said)";
            let cause = (is_its && !protected).then(|| Error::panicked(member, Box::new(its)));
            discard(world.poison(run, member, cause));
        }
        // In a team's run the rank tells its peers when the panic has reached the end of its
        // closure.
        self.port.leave(unwinding && Thread::here().is_in_a_run());
        self.port.line().count_comms(self.port.run(), -1);
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Comm")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
