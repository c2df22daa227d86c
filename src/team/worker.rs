//! The state that a team's workers share with its caller, and a worker's life.

use super::beginning::Beginning;
use super::dispatch::{CallerSleep, Dispatch};
use super::run_body::{NOTHING, RunBody, SmallResult};
use super::run_rank::take_part;
use crate::Comm;
use crate::comm::Roster;
use crate::comm::{Tally, compare, final_cause};
use crate::error::Error;
use crate::machine::affinity::{self, BoundForNow, PinError};
use crate::mailbox::RefusedMemory;
use crate::shared::{CommState, LongWait, Port, TeamState, Thread, discard};
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Arc, Mutex};
use crate::tuning::{ProfileReport, TuningSource};
use crate::wait::{Sleeper, Wait};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::OnceLock;

/// What the ranks run: the number of the run, or of another job, and the closure.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct WorkerJob {
    pub(super) run: u64,
    /// Of a run only.
    pub(super) body: MaybeUninit<RunBody>,
}

impl WorkerJob {
    pub(super) const IDLE: u64 = 0;
    /// Move into the new communicator ([`Port::first_touch`]).
    pub(super) const FIRST_TOUCH: u64 = u64::MAX - 1;
    pub(super) const STOP: u64 = u64::MAX;

    pub(super) const fn idle() -> Self {
        WorkerJob { run: Self::IDLE, body: MaybeUninit::uninit() }
    }
}

// SAFETY: the body is used only between `start` and `await_done` of one run (nothing in between
// unwinds: `take_part` catches), while `run` borrows the closure, which is `Sync`, and the results,
// which are `Send`.
unsafe impl Send for WorkerJob {}
// SAFETY: as above.
unsafe impl Sync for WorkerJob {}

/// Pauses after which a caller's wait for the workers is a long one: 7 to 40 us.
const LONG: u32 = 256;

/// What the workers and the team share.
pub(super) struct WorkerShared {
    pub(super) beginning: Beginning,
    pub(super) world: Arc<TeamState>,
    pub(super) dispatch: Dispatch<WorkerJob, SmallResult>,
    pub(super) roster: OnceLock<Arc<Roster>>,
    /// The id of the state in use; a worker whose communicator is of another
    /// one makes a new one, of `words`.
    pub(super) shared: AtomicU64,
    pub(super) words: Mutex<Option<Arc<CommState>>>,
    /// The number of the latest run in which a rank lost its communicator.
    pub(super) harmed: AtomicU64,
    /// The number of that run, too; of a team that is recorded, more than the number of any run.
    pub(super) special: AtomicU64,
    /// By rank: what it has done with the communicator.
    pub(super) tallies: Box<[CachePadded<Tally>]>,
    pub(super) problems: Box<[Mutex<Option<String>>]>,
    pub(super) wait: Wait,
    pub(super) profile: ProfileReport,
    pub(super) rules: Arc<TuningSource>,
}

/// What a worker has of the team's communicator.
#[derive(Default)]
pub(super) struct OwnComm {
    comm: Option<Comm>,
    /// The id of the state that it was made of.
    made: u64,
}

impl WorkerShared {
    pub(super) fn roster(&self) -> &Arc<Roster> {
        self.roster.get().expect("set when the team was built")
    }

    /// New words for everybody, rank 0's communicator returned. The workers make theirs
    /// ([`current`](WorkerShared::current)), all at once and on their cores: what a rank knows of
    /// its peers grows with their number. Only while no rank runs.
    pub(super) fn renew(&self) -> Result<Comm, RefusedMemory> {
        let ranks = self.world.ranks();
        let members: Box<[usize]> = (0..ranks).collect();
        let apart = self.roster().spans_numa_nodes(&members);
        let shared = CommState::new(self.world.clone(), members, apart)?.shared();
        self.shared.store(shared.id(), Relaxed);
        *self.words.lock().unwrap_or_else(|e| e.into_inner()) = Some(shared.clone());
        // SAFETY: the only port of rank 0 on a state made just now.
        unsafe { self.communicator(shared, 0) }
    }

    /// The communicator before a first run, and before each that is recorded. Only as the next
    /// run's caller.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare<'a>(
        &self,
        thread: &Thread,
        place: &'a mut Option<Comm>,
        sleep: &CallerSleep,
        at: &'static Location<'static>,
    ) -> Result<&'a mut Comm, Error> {
        let comm = match place {
            Some(comm) => comm,
            none => none
                .insert(self.renew().map_err(|it| Error::refused(self.world.ranks(), it.bytes))?),
        };
        // Nobody may send before every rank has put its inboxes into its memory.
        if comm.first_touch() {
            // SAFETY: the lock makes this the only caller; `await_done` ended the job before.
            unsafe { self.dispatch.start(|job| (*job).run = WorkerJob::FIRST_TOUCH) };
            self.dispatch.await_done(sleep, self.wait, false, None, |_| thread.go_on());
        }
        if let Some(recorder) = self.world.recorder() {
            recorder.dispatch(at);
        }
        Ok(comm)
    }

    /// # Safety
    /// No other port of `rank` on `shared` was made or will be.
    unsafe fn communicator(
        &self,
        shared: Arc<CommState>,
        rank: usize,
    ) -> Result<Comm, RefusedMemory> {
        // SAFETY: by the contract.
        let port = unsafe { Port::new(shared, rank, 0, self.wait)? };
        Ok(Comm::new(port, Some(self.roster().clone()), self.rules.clone()))
    }

    /// Binds the calling thread as `rank`; its number, or 0 if that fails.
    pub(super) fn bind(&self, rank: usize, pu: usize) -> u64 {
        let result = affinity::pin_current_thread(pu);
        let number = if result.is_ok() { affinity::thread_number() } else { 0 };
        self.world.set_bound(rank, number);
        self.note(rank, &result);
        number
    }

    /// Why `rank` is not bound, if that is so; and where it may run if it roams.
    pub(super) fn problem(&self, rank: usize) -> (Option<String>, Option<Box<[usize]>>) {
        let noted = self.problems[rank].lock().unwrap_or_else(|e| e.into_inner()).clone();
        match self.world.binding(rank) {
            Ok(range) => (noted, range),
            // Between two runs the caller has its own mask.
            Err(_) if rank == 0 => (noted, None),
            Err(lost) => (noted.or_else(|| Some(lost.to_string())), None),
        }
    }

    /// Keeps what came of a binding of `rank`.
    pub(super) fn note<T>(&self, rank: usize, result: &Result<T, PinError>) {
        let problem = result.as_ref().err().map(ToString::to_string);
        *self.problems[rank].lock().unwrap_or_else(|e| e.into_inner()) = problem;
    }

    #[inline(always)]
    pub(super) fn take_part(
        &self,
        thread: &'static Thread,
        rank: usize,
        run: u64,
        comm: &mut Comm,
        body: *const RunBody,
        place: &mut SmallResult,
    ) {
        // Relaxed: the end of the job publishes it.
        if take_part(thread, &self.world, rank, run, comm, body, place) {
            self.tallies[rank].take_from(comm);
        } else {
            self.after_other_part(rank, run, comm);
        }
    }

    /// After a part in which `rank` has lost its communicator, or that is recorded.
    #[cold]
    #[inline(never)]
    fn after_other_part(&self, rank: usize, run: u64, comm: &mut Comm) {
        comm.end_recorded_run();
        let intact = comm.comm_id() == self.shared.load(Relaxed) && comm.rank() == rank;
        if intact && comm.is_recorded() {
            self.tallies[rank].take_from(comm);
        } else {
            self.harmed.store(run, Relaxed);
            self.special.fetch_max(run, Relaxed);
        }
    }

    /// The communicator of `rank`'s worker: a new one after each [`renew`](WorkerShared::renew).
    pub(super) fn current<'a>(
        &self,
        rank: usize,
        own: &'a mut OwnComm,
    ) -> Result<&'a mut Comm, RefusedMemory> {
        let id = self.shared.load(Relaxed);
        if own.comm.as_ref().is_none_or(|comm| comm.comm_id() != id) {
            self.make(rank, own, id)?;
        }
        Ok(own.comm.as_mut().expect("made just now"))
    }

    #[cold]
    #[inline(never)]
    fn make(&self, rank: usize, own: &mut OwnComm, id: u64) -> Result<(), RefusedMemory> {
        // A rank that loses its communicator (`harmed`) gets a new state before the next run.
        assert!(own.made != id, "rank {rank} has had its communicator of these words");
        own.comm = None;
        let words = self.words.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let words = words.expect("`renew` leaves them");
        // SAFETY: this thread alone is the rank, and makes one port for each state.
        own.comm = Some(unsafe { self.communicator(words, rank)? });
        own.made = id;
        Ok(())
    }

    /// The part in run `run` of `rank`, for which there is no memory: ends the run.
    #[cold]
    fn stay_out(&self, rank: usize, run: u64, refused: RefusedMemory) {
        let error = Error::refused(self.world.ranks(), refused.bytes);
        discard(self.world.poison(run, rank, Some(error)));
        self.world.leave(rank, run);
    }

    /// A worker's life.
    pub(super) fn work(&self, worker: usize, sleeper: &Sleeper) {
        let rank = worker + 1;
        let thread = Thread::here();
        // In every run: no other is this rank.
        self.world.sit(rank, thread);
        let mut seen = 0;
        let mut comm = OwnComm::default();
        let mut wait = match self.wait {
            // Beside workers that are still to be started and bound.
            Wait::Auto if self.world.will_be_crowded(self.world.ranks()) => Wait::Park,
            wait => wait,
        };
        loop {
            let crowded = self.world.is_crowded();
            let epoch = self.dispatch.next(worker, seen, sleeper, wait, crowded);
            (seen, wait) = (epoch, self.wait);
            let job = self.dispatch.job(|job| job);
            let mut result = NOTHING;
            // SAFETY: it stays until this worker is done with it.
            match unsafe { (*job).run } {
                WorkerJob::IDLE => {}
                // Without memory the run that follows ends.
                WorkerJob::FIRST_TOUCH => {
                    let _: Result<_, _> = self.current(rank, &mut comm).map(Comm::first_touch);
                }
                WorkerJob::STOP => return,
                run => {
                    // SAFETY: as above.
                    let body = unsafe { (&raw const (*job).body).cast() };
                    match self.current(rank, &mut comm) {
                        Ok(comm) => self.take_part(thread, rank, run, comm, body, &mut result),
                        Err(refused) => self.stay_out(rank, run, refused),
                    }
                    if self.world.is_of_parent() {
                        // The closure has forked, and nobody calls this thread again.
                        return;
                    }
                }
            }
            // SAFETY: this is the worker, once for each job.
            unsafe { self.dispatch.done(worker, epoch, &result) };
        }
    }

    /// Waits, as the caller, until the workers have done their parts of run `run`. `home`: the
    /// unit of rank 0, if its thread may be bound.
    #[inline(always)]
    pub(super) fn await_workers(
        &self,
        thread: &Thread,
        sleep: &CallerSleep,
        run: u64,
        home: Option<usize>,
    ) {
        if self.world.ranks() == 1 {
            return;
        }
        let (world, limit) = (&self.world, self.world.stall_warning());
        let pauses = Cell::new(0_u32);
        self.dispatch.await_done(sleep, self.wait, world.is_crowded(), limit, |stalled| {
            if let Some(worker) = stalled {
                world.warn_of_stall(LongWait::ForEnd { peer: worker + 1 }, run);
            }
            pauses.set(pauses.get().wrapping_add(1));
            if pauses.get() == LONG {
                self.leave_worker(home);
            }
            thread.go_on()
        });
    }

    /// The caller goes back to its own unit if the system has moved it to a worker's (it may,
    /// where another program runs on the caller's: see [`Builder::pin_caller`]). There each would
    /// wait for the other's time slice, and the other unit be idle.
    ///
    /// [`Builder::pin_caller`]: super::Builder::pin_caller
    #[cold]
    #[inline(never)]
    pub(super) fn leave_worker(&self, home: Option<usize>) {
        let (Some(home), Some(here)) = (home, affinity::current_unit()) else { return };
        if here != home && self.roster().pus[1..].contains(&Some(here)) {
            drop(BoundForNow::to(home));
        }
    }

    /// How run `run` went. Only while no rank runs.
    pub(super) fn verdict(&self, run: u64, shared: &CommState) -> Result<(), Error> {
        if self.world.is_poisoned(run) || self.special.load(Relaxed) >= run {
            return self.special_verdict(run, shared);
        }
        compare(shared, |rank| &self.tallies[rank])
    }

    /// Drops the values that nobody has received, before the run's caller hears of its end. (The
    /// closure may have left another team's communicator in its own's place: that one lives on.)
    #[cold]
    pub(super) fn clear_tagged(&self, shared: &CommState) {
        if std::ptr::eq(shared.world(), &raw const *self.world) {
            shared.clear_tagged();
        }
    }

    /// That of a run that has failed, or in which a rank lost its communicator, or that is
    /// recorded: then the record is written.
    #[cold]
    #[inline(never)]
    fn special_verdict(&self, run: u64, shared: &CommState) -> Result<(), Error> {
        let result = if self.world.is_poisoned(run) {
            Err(final_cause(&self.world, run))
        } else if self.harmed.load(Relaxed) == run {
            Ok(())
        } else {
            compare(shared, |rank| &self.tallies[rank])
        };
        if let Some(recorder) = self.world.recorder() {
            let outcome = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
            recorder.save(self.world.id(), run, &outcome);
        }
        result
    }
}
