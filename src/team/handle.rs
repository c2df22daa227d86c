//! The team: its workers, and `run`.

use super::beginning::Beginning;
use super::binding::Binding;
use super::builder::Builder;
use super::dispatch::{CallerSleep, Dispatch};
use super::per_rank::PerRank;
use super::run_body::{
    IfBusy, NOTHING, PreparedBody, RunBody, SmallResult, as_given, comes_with_flag, error_in_words,
    is_result,
};
use super::stall_warning;
use super::taken_units::{TakenUnits, take_units};
use super::worker::{WorkerJob, WorkerShared};
use crate::comm::{Roster, Tally};
use crate::element::Element;
use crate::error::Error;
use crate::machine::affinity::{self, BoundForNow};
use crate::machine::{Machine, limits};
use crate::mailbox::{MAX_RANKS, RefusedMemory, check_room, is_space_limited};
use crate::placement::Placement;
use crate::shared::{EVERY_RUN, TeamState, Thread};
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Arc, JoinHandle, Mutex, ThreadBuilder, thread_local};
use crate::tuning::{
    LevelModel, MachineCosts, MachineId, ProfileReport, Tuning, TuningSource, for_process,
};
use crate::wait::{Cores, RankCount, know_cores};
use crate::{Canceller, Comm};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::slice;
use std::sync::{OnceLock, TryLockError};
use std::time::Duration;

/// Ranks on pinned threads that run closures together.
///
/// The thread that calls [`run`](Team::run) takes part as rank 0; the other
/// ranks are threads that live as long as the team, spin for a moment after a
/// run, then park. Dropping the team ends them.
///
/// # Examples
/// ```
/// use phalanx::{Team, op};
/// let team = Team::builder().ranks(4).build()?;
/// let norms = team.run(|comm| {
///     let mut x = [(comm.rank() + 1) as f64];
///     comm.all_reduce(&mut x, op::Sum);
///     x[0].sqrt()
/// })?;
/// assert_eq!(norms, vec![10f64.sqrt(); 4]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Team {
    pub(super) shared: Arc<WorkerShared>,
    /// Rank 0's communicator (none after a failed run, if there was no memory for the next one's),
    /// and the sleep of its thread; the lock is what makes runs take turns.
    caller: Mutex<(Option<Comm>, CallerSleep)>,
    workers: Vec<JoinHandle<()>>,
    /// Where rank 0 is to be, if its thread may be bound.
    caller_pu: Option<usize>,
    /// Whether the calling thread stays bound between runs.
    pins_caller: bool,
    _units: TakenUnits,
}

thread_local! {
    /// The id of the team that this thread is bound for between runs, and the thread's number.
    static CALLER_OF: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

impl Team {
    /// Settings for a new team.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Communicators for `ranks` threads that the caller already owns: one
    /// communicator for each. They are [`Send`], and may go from thread to
    /// thread; a rank ends with its communicator ([`Builder::external`] has the
    /// rules). Nothing is pinned.
    ///
    /// A failure makes the calls of all ranks panic with its message; wrap the
    /// work in [`Comm::protect`] to get it as an [`Error`] instead. (What a thread that is
    /// not protected has panicked of is on the standard error; the others' message is that
    /// it has.)
    ///
    /// # Errors
    /// As [`Builder::external`].
    ///
    /// # Examples
    /// ```
    /// let comms = phalanx::Team::external(3)?;
    /// let sums: Vec<usize> = std::thread::scope(|s| {
    ///     let threads: Vec<_> = comms
    ///         .into_iter()
    ///         .map(|mut comm| s.spawn(move || {
    ///             let mut x = [comm.rank()];
    ///             comm.all_reduce(&mut x, phalanx::op::Sum);
    ///             x[0]
    ///         }))
    ///         .collect();
    ///     threads.into_iter().map(|t| t.join().unwrap()).collect()
    /// });
    /// assert_eq!(sums, [3, 3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn external(ranks: usize) -> Result<Vec<Comm>, Error> {
        Team::builder().ranks(ranks).external()
    }

    pub(super) fn start(builder: Builder) -> Result<Team, Error> {
        let machine = Arc::new(Machine::this().map_err(Error::Machine)?);
        know_cores(machine.allowed_pus().len());
        let ranks = match builder.ranks {
            Some(ranks) => ranks,
            None => machine.ranks().min(MAX_RANKS),
        };
        check_ranks(ranks)?;
        let stall_warning = stall_warning::after(&builder)?;
        let profile = match builder.profile {
            Some(profile) => ProfileReport::given(profile, &machine),
            None => for_process(|| Ok(MachineId::of(&machine))),
        }
        .map_err(Error::Profile)?;
        let placed = take_units(&builder.placement, &machine, ranks);
        let (assignment, units) = placed.map_err(Error::Placement)?;
        let pus = assignment.pus().to_vec();
        let refused = |it: RefusedMemory| Error::refused(ranks, it.bytes);
        let world = TeamState::new(ranks).map_err(refused)?.counting_from(builder.start);
        let world = world.with_deadline(builder.deadline).with_stall_warning(stall_warning);
        let record = builder.record.as_deref();
        let recorder = super::record::recorder(record, builder.record_events, ranks, false)?;
        let is_recorded = recorder.is_some();
        let (dispatch, sleep, sleepers) = Dispatch::new(ranks - 1, WorkerJob::idle(), NOTHING);
        let rules =
            TuningSource::new(builder.tuning, profile.profile.clone(), Tuning::of(&machine, ranks));
        let model = match &builder.model {
            Some(model) if model.ranks() == ranks => Some(model.clone()),
            Some(model) => {
                return Err(Error::Model { model: model.ranks(), ranks });
            }
            // With ranks waiting for their turn on a core, near and far make no difference.
            None if assignment.oversubscribed() => None,
            None => {
                // The profile's costs, if it knows every level; else a similar machine's.
                let of =
                    |costs: &MachineCosts| LevelModel::of_sensible(&machine, &assignment, costs);
                let measured = profile.profile.as_deref().and_then(MachineCosts::of_profile);
                let model = measured.as_ref().and_then(of);
                let similar = || {
                    let (costs, same) = MachineCosts::nearest(&machine);
                    let mut costs = costs.clone();
                    if !same {
                        // For whoever asks why.
                        costs.id = format!("{}, the most similar machine known", costs.id).into();
                    }
                    of(&costs)
                };
                model.or_else(similar).flatten().map(Arc::new)
            }
        };
        let (pus_of, always_apart) = (pus.clone(), builder.always_apart);
        let roster = Arc::new(Roster { machine, pus: pus_of, model, always_apart });
        // On units that the program has named, ranks stay.
        let stay = matches!(builder.placement, Placement::List(_));
        let cores = Cores::new(&pus, (!stay).then(|| roster.memories()).as_deref());
        let is_free = builder.pin_caller == Some(false);
        let near = if is_free { Vec::new() } else { roster.near_caller() };
        let world = world.with_cores(cores, near).with_recorder(recorder).shared();
        let (beginning, beginning_sleeper) = Beginning::new();
        let shared = Arc::new(WorkerShared {
            beginning,
            world,
            dispatch,
            roster: OnceLock::from(roster),
            shared: AtomicU64::new(0),
            words: Mutex::new(None),
            harmed: AtomicU64::new(0),
            special: AtomicU64::new(if is_recorded { u64::MAX } else { 0 }),
            tallies: (0..ranks).map(|_| CachePadded::new(Tally::default())).collect(),
            problems: (0..ranks).map(|_| Mutex::new(None)).collect(),
            wait: builder.wait,
            profile,
            rules: Arc::new(rules),
        });
        let comm = Some(shared.renew().map_err(refused)?);
        let mut team = Team {
            shared,
            caller: Mutex::new((comm, sleep)),
            workers: Vec::with_capacity(ranks - 1),
            caller_pu: pus[0].filter(|_| !is_free),
            pins_caller: builder.pin_caller == Some(true),
            _units: units,
        };
        let is_limited = is_space_limited();
        let await_all = |team: &Team| team.shared.beginning.await_all(&beginning_sleeper);
        for (worker, sleeper) in sleepers.into_iter().enumerate() {
            let (shared, pu) = (team.shared.clone(), pus[worker + 1]);
            let refused = |e| refused_thread(&e, (worker + 1, ranks - 1), builder.stack_size);
            if is_limited {
                // The time of the one before is known.
                await_all(&team);
                let stack = builder.stack_size.unwrap_or(USUAL_STACK);
                let room = check_room(stack, ranks);
                room.map_err(|_| refused(io::ErrorKind::OutOfMemory.into()))?;
            }
            team.shared.beginning.expect();
            let mut thread = ThreadBuilder::new().name(format!("phalanx-{}", worker + 1));
            if let Some(bytes) = builder.stack_size {
                thread = thread.stack_size(bytes);
            }
            let spawned = thread.spawn(move || {
                let beginning = shared.beginning.begin();
                if let Some(pu) = pu {
                    shared.bind(worker + 1, pu);
                }
                // Its first allocation, for which the C library may take 64 MiB of address space.
                let _: &Thread = Thread::here();
                drop(beginning);
                shared.work(worker, &sleeper);
            });
            // On an error the team is dropped, and with it the workers.
            team.workers.push(spawned.map_err(refused)?);
        }
        // Every worker is bound (or knows why not) once it has begun.
        await_all(&team);
        Ok(team)
    }

    /// The number of ranks.
    ///
    /// ```
    /// assert_eq!(phalanx::Team::builder().ranks(2).build()?.size(), 2);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn size(&self) -> usize {
        self.shared.world.ranks()
    }

    /// How long a rank may wait in one call: [`Builder::deadline`].
    ///
    /// ```
    /// assert_eq!(phalanx::Team::builder().ranks(2).build()?.deadline(), None);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn deadline(&self) -> Option<Duration> {
        self.shared.world.deadline()
    }

    /// Where each rank runs, and for a rank that could not be bound to its
    /// core, or has lost it, why; and which ranks are beyond the process's quota. Rank 0 is bound
    /// in its first run: see [`Builder::pin_caller`].
    ///
    /// In a run beside other programs ranks may roam within the memories of their cores, and this
    /// says where: see [`Binding`].
    ///
    /// A processor that goes offline ends no run: the system lets its rank run elsewhere, and this
    /// says so. A team that is built afterwards does without it.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// team.run(|_| ())?;
    /// assert_eq!(team.bindings()[1].rank, 1);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn bindings(&self) -> Vec<Binding> {
        let Roster { pus, machine, .. } = &**self.shared.roster();
        let quota = machine.quota();
        let beyond = |rank: usize| {
            let quota = quota.filter(|it| rank >= it.ranks())?;
            Some(format!("has no time of its own: this process may use {quota}"))
        };
        let binding = |rank: usize| {
            let pu = pus[rank];
            let (problem, roams) = self.shared.problem(rank);
            Binding { rank, pu, problem, roams, beyond_quota: beyond(rank) }
        };
        (0..self.size()).map(binding).collect()
    }

    /// The machine as it was read when the team was built.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(1).build()?;
    /// println!("{}", team.machine().source());
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn machine(&self) -> &Machine {
        &self.shared.roster().machine
    }

    /// The profile that the team's sizes come from, and where it was found;
    /// where one was refused, why.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(1).build()?;
    /// println!("choices by {}", team.profile());
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn profile(&self) -> &ProfileReport {
        &self.shared.profile
    }

    /// Runs `f` on every rank, on this thread as rank 0, and returns what each
    /// rank returned, in rank order.
    ///
    /// # Errors
    /// - [`Error::Busy`] if the team is running already ([`run_queued`](Team::run_queued) waits).
    /// - [`Error::Panicked`] if a rank panicked, [`Error::Left`] if one
    ///   returned while another waited for it, [`Error::Mismatch`] or
    ///   [`Error::Argument`] if a call was wrong, [`Error::Deadlock`] if ranks
    ///   waited for each other in a circle, [`Error::Deadline`] if one waited
    ///   longer than [`Builder::deadline`] allows, [`Error::Unreceived`] if a
    ///   message was left over, [`Error::Cancelled`] if the run was ended on purpose
    ///   ([`Comm::cancel`], [`Team::canceller`]).
    ///
    /// The first cause ends the run for every rank: each leaves its next (or
    /// current) call by unwinding, without a message of its own, on whichever
    /// communicator that is, and whether or not the call has to wait.
    /// Afterwards the team can be used again.
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(3).build()?;
    /// let err = team.run(|comm| {
    ///     if comm.rank() == 1 {
    ///         return; // the others wait in vain
    ///     }
    ///     comm.barrier();
    /// });
    /// assert!(matches!(err, Err(phalanx::Error::Left { peer: 1, .. })));
    /// assert!(team.run(|comm| comm.barrier()).is_ok());
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run<R: Send>(&self, f: impl Fn(&mut Comm) -> R + Sync) -> Result<Vec<R>, Error> {
        self.run_when(IfBusy::Refuse, f)
    }

    /// As [`run`](Team::run), but while another thread runs this team it waits for the end of that
    /// run, in no particular order if several threads wait: for servers, whose requests come on
    /// several threads.
    ///
    /// A thread that is in a rank's closure, of this team or of another, never waits: it would wait
    /// for itself, or two ranks for each other's teams. It gets [`Error::Busy`], as from `run`.
    ///
    /// # Errors
    /// As [`run`](Team::run).
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// std::thread::scope(|s| {
    ///     for request in 0..4 {
    ///         let team = &team;
    ///         s.spawn(move || {
    ///             let sums = team.run_queued(|comm| comm.sum([request])[0]).unwrap();
    ///             assert_eq!(sums, [2 * request; 2]);
    ///         });
    ///     }
    /// });
    /// let nested = team.run(|_| team.run_queued(|_| ()).is_err())?;
    /// assert_eq!(nested, [true; 2]); // it would wait for itself
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run_queued<R: Send>(&self, f: impl Fn(&mut Comm) -> R + Sync) -> Result<Vec<R>, Error> {
        self.run_when(IfBusy::Wait, f)
    }

    #[track_caller]
    fn run_when<R: Send>(
        &self,
        busy: IfBusy,
        f: impl Fn(&mut Comm) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        if !comes_with_flag::<R>() || is_result::<R>() {
            let mut results: Vec<Option<R>> = (0..self.size()).map(|_| None).collect();
            let mut nothing = NOTHING;
            let body = RunBody::marking(&f, &mut results, busy);
            return match self.dispatch(&body, &mut nothing) {
                Ok(_) => Ok(results.into_iter().flatten().collect()),
                Err(Error::Forked) => {
                    // Ranks of the parent may have been writing there when it forked.
                    std::mem::forget(results);
                    Err(Error::Forked)
                }
                Err(error) => {
                    Err(error.with_returned(|rank| error_in_words(results[rank].as_ref()?)))
                }
            };
        }
        let mut own = NOTHING;
        let _turn = self.dispatch(&RunBody::small(&f, busy), &mut own)?;
        // SAFETY: the run went well, so every rank's closure has returned (one that unwinds poisons
        // the run, see `take_part`) such a result; each is taken once, and the turn lasts.
        Ok((0..self.size()).map(|rank| unsafe { self.result(rank, &own) }).collect())
    }

    /// As [`run`](Team::run), of results that are few and small for `with`; nothing is allocated.
    #[track_caller]
    pub(super) fn run_to<R: Element, V>(
        &self,
        f: impl Fn(&mut Comm) -> R + Sync,
        with: impl FnOnce(&[R]) -> V,
    ) -> Result<V, Error> {
        const FEW: usize = 16;
        if !comes_with_flag::<R>() || self.size() > FEW {
            return Ok(with(&self.run(f)?));
        }
        let mut results = [const { MaybeUninit::<R>::uninit() }; FEW];
        let mut own = NOTHING;
        let turn = self.dispatch(&RunBody::small(&f, IfBusy::Refuse), &mut own)?;
        for (rank, result) in results.iter_mut().enumerate().take(self.size()) {
            // SAFETY: as in `run_when`.
            result.write(unsafe { self.result(rank, &own) });
        }
        // `with` may be the user's code, which may run this team.
        drop(turn);
        // SAFETY: so many were written just now.
        Ok(with(unsafe { slice::from_raw_parts(results.as_ptr().cast(), self.size()) }))
    }

    /// The value that rank `rank`'s closure has returned in the latest run.
    ///
    /// # Safety
    /// That run was of [`RunBody::small`] for this type, has gone well, and is the latest still;
    /// rank 0's result is in `own`. For each rank once, unless it is `Copy`.
    #[inline(always)]
    unsafe fn result<R>(&self, rank: usize, own: &SmallResult) -> R {
        let read = |place: *const SmallResult| {
            // SAFETY: written by the rank, for which the caller has waited.
            unsafe { place.cast::<R>().read() }
        };
        match rank.checked_sub(1) {
            // SAFETY: as above.
            Some(worker) => unsafe { self.shared.dispatch.result(worker, read) },
            None => read(own),
        }
    }

    /// Runs `f` on every rank with its own item: rank `r` gets `&mut items[r]`.
    ///
    /// On a machine with several NUMA nodes a page of memory lies where it was
    /// first written. To have a rank's data next to its core, make them *inside*
    /// a run, and keep them in its item: `run_with(&mut items, |_, item|
    /// item.data = vec![0.5; n])`. (Zeros are no exception: `vec![0.0; n]` of
    /// more than a few pages is not written before its first use.) An array as a
    /// whole: [`distributed`](Team::distributed).
    ///
    /// # Errors
    /// [`Error::Parts`] if there are not exactly as many items as ranks; else
    /// as [`run`](Team::run).
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(3).build()?;
    /// let mut state = vec![String::new(); 3];
    /// team.run_with(&mut state, |comm, mine| *mine += &format!("rank {}", comm.rank()))?;
    /// assert_eq!(state[2], "rank 2");
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run_with<T: Send, R: Send>(
        &self,
        items: &mut [T],
        f: impl Fn(&mut Comm, &mut T) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        if items.len() != self.size() {
            let (items, ranks) = (items.len(), self.size());
            return Err(Error::parts(format_args!(
                "{items} items for {ranks} ranks; run_with takes exactly one for each"
            )));
        }
        let items = PerRank::new(items);
        let f = as_given::<dyn Fn(&mut Comm, &mut T) -> R + Sync>(&f);
        self.run(|comm| {
            // SAFETY: each rank runs this once, and a communicator fresh from
            // `run` has its rank's number.
            let mine = unsafe { items.get(comm.rank()) };
            f(comm, mine)
        })
    }

    /// Ends the runs of this team from outside, the one under way and those to come: see
    /// [`Canceller`].
    ///
    /// **Cost** none in calls, and nothing to be seen in a run.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// team.canceller().cancel(); // between two runs: the next does not begin
    /// assert!(matches!(team.run(|_| ()), Err(phalanx::Error::Cancelled { rank: None })));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn canceller(&self) -> Canceller {
        Canceller::new(self.shared.world.clone(), EVERY_RUN)
    }

    /// Takes back every cancel of this team that came so far: runs may begin again.
    ///
    /// A run under way whose ranks have not heard of it yet goes on.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let stop = team.canceller();
    /// for cancelled in [false, true] {
    ///     if cancelled {
    ///         stop.cancel();
    ///     }
    ///     assert_eq!(team.run(|comm| comm.barrier()).is_err(), cancelled);
    ///     team.clear_cancel(); // such a program asks for the next command
    /// }
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn clear_cancel(&self) {
        self.shared.world.clear_cancel();
    }

    /// Binds the calling thread to rank 0's core; what is returned ends that, unless it is to last.
    fn bind_caller(&self, thread: &'static Thread, is_inner: bool) -> Option<BoundForNow> {
        let pu = self.caller_pu?;
        let world = &self.shared.world;
        if self.pins_caller && !is_inner {
            match CALLER_OF.get() {
                Some((team, number)) if team == world.id() => world.set_bound(0, number),
                _ => CALLER_OF.set(Some((world.id(), self.shared.bind(0, pu)))),
            }
            return None;
        }
        // A thread that was put on its core stays there, as a rule: binding it again would cost
        // more than the run does.
        let is_known = world.thread(0).is_some_and(|last| std::ptr::eq(last, thread));
        if is_known && !self.pins_caller {
            return None;
        }
        let bound = BoundForNow::to(pu);
        world.set_bound(0, if bound.is_ok() { affinity::thread_number() } else { 0 });
        self.shared.note(0, &bound);
        bound.ok()
    }

    /// Runs `body`, with `own` for rank 0's result. What it was made of stays borrowed by its
    /// caller until this returns. Until what is returned is dropped, nobody else runs the team.
    fn dispatch(
        &self,
        body: &PreparedBody,
        own: &mut SmallResult,
    ) -> Result<impl Sized + '_, Error> {
        if self.shared.world.is_of_parent() {
            return Err(Error::Forked);
        }
        let thread = Thread::here();
        let is_inner = thread.is_in_a_run();
        // A call of the outer run's rank, as any other.
        thread.go_on();
        let mut caller = match self.caller.try_lock() {
            Ok(caller) => caller,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) if body.busy == IfBusy::Refuse || is_inner => {
                return Err(Error::Busy);
            }
            Err(TryLockError::WouldBlock) => self.caller.lock().unwrap_or_else(|e| e.into_inner()),
        };
        if self.shared.world.is_cancelled(EVERY_RUN) {
            return Err(Error::Cancelled { rank: None });
        }
        let shared = &*self.shared;
        let bound = self.bind_caller(thread, is_inner);
        let (place, sleep) = &mut *caller;
        let comm = match &mut *place {
            Some(comm) if comm.is_ready() => comm,
            place => shared.prepare(thread, place, sleep, body.at)?,
        };
        let run = shared.world.begin(self.size());
        // Before anybody can wait for rank 0: it was another thread, perhaps, in the run before.
        shared.world.sit(0, thread);
        // SAFETY: the lock makes this the only caller; `await_done` ended the
        // job before.
        unsafe {
            shared.dispatch.start(|job| {
                (*job).run = run;
                body.put((&raw mut (*job).body).cast());
            });
        }
        let body = shared.dispatch.job(|job| job.wrapping_byte_add(offset_of!(WorkerJob, body)));
        // Not before: the workers are on their way meanwhile. Of two teams that start
        // at once neither may see the other when it begins; waits look again.
        let _crowd = RankCount::enter(self.size());
        // While the workers are on their way, too. A cancel that has not seen this run begin is
        // met here.
        if shared.world.meets_cancel(run) {
            shared.world.hear_cancel(0, run);
        }
        let inner = is_inner.then(|| thread.leads(&shared.world, run));
        shared.take_part(thread, 0, run, comm, body.cast(), own);
        if shared.world.is_of_parent() {
            // The closure has forked: the other ranks are not here.
            return Err(Error::Forked);
        }
        shared.await_workers(thread, sleep, run, self.caller_pu);
        shared.world.end_roaming(bound.is_none());
        if bound.is_some() {
            // Its own mask is given back in any case.
            shared.world.set_bound(0, 0);
        }
        drop(inner);
        let result = shared.verdict(run, comm.comm_state());
        if result.is_err() || shared.harmed.load(Relaxed) == run {
            shared.clear_tagged(comm.comm_state());
            // What is given up first may be what there is room in.
            *place = None;
            *place = shared.renew().ok();
        }
        result.map(|()| caller)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if self.shared.world.is_of_parent() {
            // There are no threads to stop, or to let go.
            self.workers.drain(..).for_each(std::mem::forget);
            return;
        }
        // SAFETY: `&mut self`: no run is under way, so all workers are done.
        unsafe { self.shared.dispatch.start(|job| (*job).run = WorkerJob::STOP) };
        for worker in self.workers.drain(..) {
            // A worker's closure cannot unwind out of `take_part`.
            drop(worker.join());
        }
        // Another team's binding is none of this one's business. In a rank of another team the
        // thread has that one's.
        let is_bound = CALLER_OF.get().is_some_and(|(team, _)| team == self.shared.world.id());
        if is_bound && !Thread::here().is_in_a_run() {
            CALLER_OF.set(None);
            drop(affinity::unpin());
        }
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team").field("bindings", &self.bindings()).finish_non_exhaustive()
    }
}

/// The standard library's.
const USUAL_STACK: usize = 2 << 20;

/// Why worker `number` of `workers` was not started, and which limits it can have met.
#[cold]
fn refused_thread(
    error: &io::Error,
    (number, workers): (usize, usize),
    stack: Option<usize>,
) -> Error {
    let stack = match stack {
        Some(bytes) => format!("{bytes} bytes of stack"),
        None => "the standard library's stack (2 MiB, or RUST_MIN_STACK)".to_string(),
    };
    let limits = limits::in_words();
    let what = format!(
        "{error}; it was worker {number} of {workers}, each with {stack}, which \
         Builder::stack_size (C: phx_options.stack) sets; {limits}"
    );
    Error::Spawn(io::Error::new(error.kind(), what))
}

pub(super) fn check_ranks(ranks: usize) -> Result<(), Error> {
    if (1..=MAX_RANKS).contains(&ranks) {
        Ok(())
    } else {
        Err(Error::Ranks { asked: ranks, limit: MAX_RANKS })
    }
}
