//! The words that all communicators of a team share: poison, leaving, and the waits between
//! threads. See `README.md` for the protocols.

use super::call_log::{CallLog, RankState, nobody, run_pass};
use super::cause::Cause;
use super::long_wait::{LongWait, StallWarning, Unended};
use super::recorder::Recorder;
use super::thread::{ANYBODY, OpenCalls, Seen, Thread, WaitEdge};
use crate::error::{Activity, CallSite, Error, RankReport, say};
use crate::mailbox::{RefusedMemory, collect};
use crate::sync::diagnostic::{AtomicBool, AtomicU64 as PlainU64, AtomicUsize};
use crate::sync::{AtomicPtr, AtomicU64, Mutex, Ordering, Site, catch_unwind, consume, publish};
use crate::wait::{Cores, is_oversubscribed_by};
use crossbeam_utils::CachePadded;
use std::ops::DerefMut;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
#[cfg(not(loom))]
use {
    super::{long_wait::StallText, roaming::Roaming, thread::RankWait},
    crate::sync::diagnostic,
    std::sync::{Arc, Weak},
};

/// Drops a cause that nobody wants, or anything else that may hold a panic's
/// payload, of which the `Drop` may panic.
pub(crate) fn discard<T>(cause: T) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
        std::mem::forget(second);
    }
}

/// The queues of a communicator for tagged messages.
pub(crate) trait MessageQueues: Send + Sync {
    /// The communicator's number.
    fn comm(&self) -> u64;
    /// The messages that lie there for the team's rank `member`, in words.
    fn unread(&self, member: usize) -> Vec<String>;
}

/// See the module documentation.
pub(crate) struct TeamState {
    id: u64,
    /// The number of the current run; written between runs.
    /// In a line of its own: ranks look at the rest when a run begins.
    run: CachePadded<AtomicU64>,
    /// The number of the latest run that was poisoned.
    poison: AtomicU64,
    /// Runs up to this number are to end. Changed by RMWs only. In a line of its own: whoever
    /// begins a run writes to it.
    cancel: CachePadded<AtomicU64>,
    /// Whether ranks outnumbered cores when the run began: 2; or only shared some: 1. Written
    /// between runs, so that all ranks of a run see the same.
    crowded: AtomicUsize,
    /// Whether the process is a child of a fork, and the ranks are in its parent.
    of_parent: AtomicBool,
    /// Why, and of which run.
    cause: Mutex<Option<Cause>>,
    lines: Box<[CachePadded<RankState>]>,
    records: Box<[CallLog]>,
    /// The number from which counters begin; other than 0 only in tests.
    start: u32,
    /// How long a rank may wait for another; never written once there are ranks.
    deadline: Option<Duration>,
    stall: StallWarning,
    /// Which ranks share a core.
    cores: Cores,
    #[cfg(not(loom))]
    roaming: Roaming,
    /// Of a team that is recorded.
    recorder: Option<Box<Recorder>>,
    /// Those of its communicators.
    #[cfg(not(loom))]
    queues: diagnostic::Mutex<Vec<Weak<dyn MessageQueues>>>,
}

/// In [`TeamState::cancel`]: all runs, also those to come.
pub(crate) const EVERY_RUN: u64 = u64::MAX;

static NEXT_ID: PlainU64 = PlainU64::new(1);

/// Those of the process.
#[cfg(not(loom))]
static WORLDS: diagnostic::Mutex<Vec<Weak<TeamState>>> = diagnostic::Mutex::new(Vec::new());

/// In a child of a fork: the ranks of all worlds so far are in the parent.
#[cfg(not(loom))]
fn close_all() {
    crate::wait::forget_ranks();
    let worlds = WORLDS.lock().unwrap_or_else(|e| e.into_inner());
    for world in worlds.iter().filter_map(Weak::upgrade) {
        world.of_parent.store(true, Ordering::Relaxed);
        (0..world.ranks()).for_each(|rank| world.shut(rank, world.run()));
        // Another thread may have been about to drop it; it is kept for ever then.
        std::mem::forget(world);
    }
}

impl TeamState {
    /// A number that no other world of the process has.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// For so many ranks.
    pub(crate) fn new(ranks: usize) -> Result<Self, RefusedMemory> {
        let word = || AtomicU64::new(0);
        let line = || RankState {
            present: word(),
            preparing: AtomicBool::new(false),
            depth: AtomicUsize::new(0),
            left: word(),
            thread: AtomicPtr::new(std::ptr::null_mut()),
            holder: AtomicU64::new(nobody()),
            comms: word(),
            scopes: word(),
            own: AtomicPtr::new(std::ptr::null_mut()),
        };
        Ok(TeamState {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            run: CachePadded::new(AtomicU64::new(0)),
            poison: AtomicU64::new(0),
            cancel: CachePadded::new(AtomicU64::new(0)),
            crowded: AtomicUsize::new(0),
            of_parent: AtomicBool::new(false),
            cause: Mutex::new(None),
            lines: collect(ranks, |_| CachePadded::new(line()))?,
            records: collect(ranks, |_| CallLog::default())?,
            start: 0,
            deadline: None,
            stall: StallWarning::default(),
            cores: Cores::default(),
            #[cfg(not(loom))]
            roaming: Roaming::new(ranks)?,
            recorder: None,
            #[cfg(not(loom))]
            queues: diagnostic::Mutex::new(Vec::new()),
        })
    }

    /// This state with a limit to every wait.
    pub(crate) fn with_deadline(self, deadline: Option<Duration>) -> Self {
        TeamState { deadline, ..self }
    }

    /// This state with a time after which a wait is told.
    #[cfg_attr(loom, allow(dead_code))] // Of teams and communicators only.
    pub(crate) fn with_stall_warning(self, after: Option<Duration>) -> Self {
        TeamState { stall: StallWarning::after(after), ..self }
    }

    /// This state with ranks that are bound as `cores` says, and a caller that
    /// [keeps near](TeamState::keep_near) its core on these units.
    #[cfg(not(loom))]
    pub(crate) fn with_cores(self, cores: Cores, near_caller: Vec<usize>) -> Self {
        TeamState { cores, roaming: self.roaming.with_caller(near_caller), ..self }
    }

    /// This state, of a team that is recorded.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn with_recorder(self, recorder: Option<Box<Recorder>>) -> Self {
        TeamState { recorder, ..self }
    }

    /// To be shared by its ranks. A child of a fork will know of it.
    #[cfg(not(loom))]
    pub(crate) fn shared(self) -> Arc<Self> {
        crate::fork::watch(close_all);
        let (world, _inside) = (Arc::new(self), crate::fork::inside());
        let mut worlds = WORLDS.lock().unwrap_or_else(|e| e.into_inner());
        worlds.retain(|it| it.strong_count() > 0);
        worlds.push(Arc::downgrade(&world));
        drop(worlds);
        world
    }

    /// A communicator of the team has been made.
    #[cfg(not(loom))]
    pub(crate) fn add_queues(&self, queues: Weak<dyn MessageQueues>) {
        let _inside = crate::fork::inside();
        let mut all = self.queues.lock().unwrap_or_else(|e| e.into_inner());
        all.retain(|it| it.strong_count() > 0);
        all.push(queues);
    }

    /// The queues of the team's communicators.
    #[cfg(not(loom))]
    pub(super) fn queues(&self) -> Vec<Arc<dyn MessageQueues>> {
        let _inside = crate::fork::inside();
        let all = self.queues.lock().unwrap_or_else(|e| e.into_inner());
        all.iter().filter_map(Weak::upgrade).collect()
    }

    #[cfg(loom)]
    pub(super) fn queues(&self) -> Vec<&dyn MessageQueues> {
        Vec::new() // The models have no errors.
    }

    /// Whether the process is a child of a fork, and the ranks are in its parent: nothing of them
    /// can be waited for, and their locks may be held for ever.
    #[inline(always)]
    pub(crate) fn is_of_parent(&self) -> bool {
        self.of_parent.load(Ordering::Relaxed)
    }

    /// The lock of the cause, which no thread holds when another forks.
    fn lock_cause(&self) -> (impl DerefMut<Target = Option<Cause>>, crate::fork::Inside) {
        let inside = crate::fork::inside();
        (self.cause.lock().unwrap_or_else(|e| e.into_inner()), inside)
    }

    /// The recorder of the calls, if they are recorded.
    #[inline(always)]
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_deref()
    }

    /// Which ranks roam.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(super) fn roaming(&self) -> &Roaming {
        &self.roaming
    }

    /// Which ranks share a core.
    pub(crate) fn cores(&self) -> &Cores {
        &self.cores
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// How long a rank waits before that is said, if it is.
    pub(crate) fn stall_warning(&self) -> Option<Duration> {
        self.stall.after
    }

    /// From now on `text` makes the warning of a wait that lasts.
    #[cfg(not(loom))]
    pub(crate) fn set_stall_text(&self, text: StallText) {
        self.stall.set_text(text);
    }

    /// This state with the counters of messages and calls in its communicators
    /// beginning from `start`. (Those of waits always wrap soon.)
    pub(crate) fn counting_from(self, start: u32) -> Self {
        TeamState { start, ..self }
    }

    /// The number from which counters begin.
    pub(crate) fn start(&self) -> u32 {
        self.start
    }

    pub(crate) fn ranks(&self) -> usize {
        self.lines.len()
    }

    #[inline(never)]
    pub(crate) fn records(&self, rank: usize) -> &CallLog {
        &self.records[rank]
    }

    /// `rank`'s own words.
    #[inline(always)]
    pub(crate) fn line(&self, rank: usize) -> &RankState {
        &self.lines[rank]
    }

    /// `rank` takes part in run `run` from now on, unless that has failed already: a
    /// rank that is quicker may have poisoned it before this one came.
    pub(crate) fn join(&self, rank: usize, run: u64) {
        let present = &self.lines[rank].present;
        // An RMW: in the order of the word's values it comes before the poisoner's, which
        // then shuts it, or after that, and then sees it. Relaxed: see `present`.
        let before = present.swap(run_pass(run), Ordering::Relaxed);
        if before > run_pass(run) {
            // An RMW, too: the writes that `shut` has released are then still acquired by `reopen`.
            present.fetch_max(before, Ordering::Relaxed);
        }
    }

    /// Makes `rank` look at the events before its next call in run `run`.
    pub(crate) fn shut(&self, rank: usize, run: u64) {
        // Release: the rank finds why. Pairs with the RMW in `reopen`.
        self.lines[rank].present.fetch_max(run_pass(run) + 1, Ordering::Release);
    }

    /// Takes the effect of `shut` back, for `rank` itself, which then looks again.
    pub(crate) fn reopen(&self, rank: usize, run: u64) {
        // Acquire: pairs with `shut`: its reason is seen after this, or comes later.
        self.lines[rank].present.swap(run_pass(run), Ordering::Acquire);
    }

    /// From now on `thread` is `rank`.
    #[inline]
    pub(crate) fn sit(&self, rank: usize, thread: &'static Thread) {
        // Release: a rank that finds the thread finds its words. Pairs with the load in `thread`.
        let thread = std::ptr::from_ref(thread).cast_mut();
        self.lines[rank].thread.store(thread, Ordering::Release);
    }

    /// `thread`, the calling one, ends. If it was `rank`, the rank's own thread is again, of which
    /// it was lent a communicator, or no thread; and nobody holds the rank, if it did.
    #[cfg(not(loom))]
    pub(crate) fn rise(&self, rank: usize, thread: &'static Thread) {
        let (line, holder) = (&self.lines[rank], thread);
        let thread = std::ptr::from_ref(thread).cast_mut();
        // Ordering: as in `own` and in `sit`. A rank that misses it finds a thread that waits for
        // nobody.
        let own = line.own.load(Ordering::Acquire);
        let (done, lost) = (Ordering::Release, Ordering::Relaxed);
        let _: Result<_, _> = line.thread.compare_exchange(thread, own, done, lost);
        line.let_go(holder.mark());
    }

    /// A communicator of `rank` is lent, the own thread of which is `own` in the run, to another
    /// thread.
    #[cfg(not(loom))]
    pub(crate) fn lend(&self, rank: usize, own: &'static Thread) {
        // Release: a rank that finds the thread finds its words. Pairs with the load in `own`.
        self.lines[rank].own.store(std::ptr::from_ref(own).cast_mut(), Ordering::Release);
    }

    /// `thread`, the calling one, `rank`'s own, has the communicator back that it lent.
    #[cfg(not(loom))]
    pub(crate) fn come_home(&self, rank: usize, thread: &'static Thread) {
        self.sit(rank, thread);
        // Relaxed: a rank that misses it finds the same thread twice.
        self.lines[rank].own.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// `rank`'s own thread, if another has been lent its communicator.
    #[cfg(not(loom))]
    fn own(&self, rank: usize) -> Option<&'static Thread> {
        // Acquire: pairs with the store in `lend`.
        let own = self.lines[rank].own.load(Ordering::Acquire);
        // SAFETY: null, or made of a `&'static Thread` (`lend`).
        unsafe { own.as_ref() }
    }

    #[cfg(loom)]
    fn own(&self, _: usize) -> Option<&'static Thread> {
        None // The models lend nothing.
    }

    /// Whether the calling thread holds `rank`.
    #[cfg(not(loom))]
    pub(crate) fn is_held_here(&self, rank: usize) -> bool {
        self.lines[rank].mark().is_here()
    }

    /// `rank`'s own thread, the calling one, takes the rank back at the end of its part of a run,
    /// if another has held it.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn take_back(&self, rank: usize, thread: &'static Thread) {
        if !self.lines[rank].mark().is_here() {
            self.come_home(rank, thread);
        }
    }

    /// The thread that is `rank`.
    pub(crate) fn thread(&self, rank: usize) -> Option<&'static Thread> {
        // Acquire: pairs with the store in `sit`.
        let thread = self.lines[rank].thread.load(Ordering::Acquire);
        // SAFETY: null, or made of a `&'static Thread` (`sit`).
        unsafe { thread.as_ref() }
    }

    /// Whether ranks outnumbered cores when the run began: the same answer on every rank.
    pub(crate) fn is_crowded(&self) -> bool {
        // Relaxed: the dispatch of the run publishes it.
        self.crowded.load(Ordering::Relaxed) > 0
    }

    /// Whether it is so now, as far as was seen: how a wait pauses. Where its rank sleeps, and who
    /// is to wake it, stays that of the run's beginning.
    pub(crate) fn is_crowded_now(&self) -> bool {
        self.crowded.load(Ordering::Relaxed) > 1 || self.cores.are_shared()
    }

    /// Whether they outnumber cores if `ranks` more ranks run.
    pub(crate) fn will_be_crowded(&self, ranks: usize) -> bool {
        is_oversubscribed_by(ranks) || self.cores.are_shared()
    }

    /// Begins the next run, of `ranks` ranks that are not in the crowd yet, and
    /// returns its number. Only while no rank runs.
    pub(crate) fn begin(&self, ranks: usize) -> u64 {
        // Only if it is news: the ranks of the run before may still have the line.
        let are_more = is_oversubscribed_by(ranks);
        let crowded = if are_more { 2 } else { self.cores.are_shared().into() };
        if crowded != self.crowded.load(Ordering::Relaxed) {
            self.crowded.store(crowded, Ordering::Relaxed);
        }
        // Relaxed: the dispatch of the run publishes it.
        let run = self.run.load(Ordering::Relaxed) + 1;
        self.run.store(run, Ordering::Relaxed);
        run
    }

    /// The number of the current run.
    #[inline(always)]
    pub(crate) fn run(&self) -> u64 {
        self.run.load(Ordering::Relaxed)
    }

    /// Ends run `run` for everybody, unless it is over already (a stashed communicator is used):
    /// then the next one must not suffer. `by` is the rank that says so. Of several causes that of
    /// the first such rank stays, else the first that is given; one that does not stay is given
    /// back (dropping it may run the user's code, that of a panic's payload).
    #[inline(never)]
    pub(crate) fn poison(&self, run: u64, by: usize, cause: Option<Error>) -> Option<Error> {
        // The lock orders the ranks that poison: a store for an old run cannot come
        // after one for the present run.
        let (mut slot, inside) = self.lock_cause();
        if run != self.run() {
            return cause;
        }
        let (rest, old) = Cause::offer(&mut slot, run, by, cause);
        // Ordering: pairs with the load in `is_poisoned`, though nothing relies on it
        // (`Site::Poison`). Several ranks may store here, all of them the same value.
        self.poison.store(run, publish(Site::Poison));
        // A rank that waits for nobody hears of it at its next call.
        (0..self.ranks()).for_each(|rank| self.shut(rank, run));
        drop(slot);
        drop(inside);
        #[cfg(not(loom))]
        for rank in 0..self.ranks() {
            let threads = [self.thread(rank), self.own(rank)];
            threads.into_iter().flatten().for_each(|it| it.call_home(self));
        }
        // Nobody has asked for it. Whoever calls this may owe others its memory,
        // and must not unwind here.
        discard(old);
        rest
    }

    /// The rank that ended run `run`, if it has failed.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn ended_by(&self, run: u64) -> Option<usize> {
        Cause::first(&self.lock_cause().0, run)
    }

    /// The rank that ended run `run`, if no rank has said why.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn ended_untold_by(&self, run: u64) -> Option<usize> {
        Cause::first_untold(&self.lock_cause().0, run)
    }

    /// The cause that `by` has given for the end of run `run` is a disagreement
    /// on communicator `comm`: more may be known of it when all have ended.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn suspect(&self, run: u64, by: usize, comm: u64) {
        let (mut slot, _inside) = self.lock_cause();
        Cause::suspect(&mut slot, run, by, comm);
    }

    pub(crate) fn is_poisoned(&self, run: u64) -> bool {
        // Ordering: pairs with the store in `poison`.
        self.poison.load(consume(Site::Poison)) == run
    }

    /// Asks the ranks to end every run up to number `last`; [`EVERY_RUN`] for all, also those to
    /// come. Each rank looks in its next call, or in its wait; the first that finds this poisons
    /// its run (`hear_cancel`). Takes no lock: it may be called by a signal handler.
    pub(crate) fn cancel(&self, last: u64) {
        // An RMW, as in `meets_cancel`, by whoever begins a run: of the two one is first. If it is
        // this one, the other finds `last`. Else this one reads its word, synchronises
        // with it, and sees the number of the run that has begun.
        self.cancel.fetch_max(last, Ordering::AcqRel);
        let run = if last == EVERY_RUN { self.run() } else { last };
        (0..self.ranks()).for_each(|rank| self.shut(rank, run));
    }

    /// Whether run `run` is cancelled, for its caller, who has begun it: a thread that cancels
    /// later sees that it has begun.
    pub(crate) fn meets_cancel(&self, run: u64) -> bool {
        // See `cancel`.
        self.cancel.fetch_max(0, Ordering::AcqRel) >= run
    }

    /// Whether run `run` is to end.
    pub(crate) fn is_cancelled(&self, run: u64) -> bool {
        // Relaxed: a rank that has found its `present` raised sees why once it has reopened it;
        // one that waits looks again and again.
        self.cancel.load(Ordering::Relaxed) >= run
    }

    /// Ends run `run` as `rank`, which is in it, if it is to end; returns whether it is.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn hear_cancel(&self, rank: usize, run: u64) -> bool {
        self.is_cancelled(run) && self.cancel_run(rank, run)
    }

    #[cfg(not(loom))]
    #[cold]
    #[inline(never)]
    fn cancel_run(&self, rank: usize, run: u64) -> bool {
        discard(self.poison(run, rank, Some(Error::Cancelled { rank: None })));
        true
    }

    /// From now on runs may begin again.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn clear_cancel(&self) {
        // An RMW: see `cancel`.
        self.cancel.swap(0, Ordering::AcqRel);
    }

    /// Ends run `run` because `rank` has waited for `peer` for as long as the deadline allows. The
    /// report is made, and said, here and now: before the rank quiesces, which a rank that is stuck
    /// in its own code may keep it in, and while the others still are where they were.
    #[cold]
    pub(crate) fn give_up(&self, rank: usize, peer: usize, run: u64) {
        let standings = self.standings(run);
        let limit = self.deadline.unwrap_or_default();
        let unended = Unended(&standings).to_string();
        let error = Error::deadline(rank, peer, limit, standings);
        let report = error.to_string() + &unended;
        if self.poison(run, rank, Some(error)).is_none() {
            say(&report);
        }
    }

    /// Says that somebody waits in run `run` for as long as [`stall_warning`], and goes on: once
    /// in a run, whoever comes first.
    ///
    /// [`stall_warning`]: TeamState::stall_warning
    #[cold]
    pub(crate) fn warn_of_stall(&self, wait: LongWait<'_>, run: u64) {
        if self.stall.claim(run) {
            let cause = self.cause(run);
            say(&self.stall.text(wait, cause, &self.standings(run)));
        }
    }

    /// Whether a wait of `time` in run `run` is to be told, and was not.
    #[cfg_attr(loom, allow(dead_code))] // Of interfaces only.
    pub(crate) fn is_stall(&self, time: Duration, run: u64) -> bool {
        self.stall.after.is_some_and(|after| time >= after) && !self.stall.is_said(run)
    }

    /// Every rank at this moment.
    fn standings(&self, run: u64) -> Vec<RankReport> {
        (0..self.ranks()).map(|rank| self.standing(rank, run)).collect()
    }

    fn standing(&self, rank: usize, run: u64) -> RankReport {
        let thread = self.thread(rank);
        // One that was lent the communicator goes on with its own work, as the rank's own does.
        let mut threads = [thread, self.own(rank)].into_iter().flatten();
        let wait = threads.find_map(|thread| Some((thread.waits_in(), thread.awaited()?)));
        let doing = match wait {
            Some((world, ANYBODY)) if world == self.id => Activity::WaitsForAny,
            Some((world, peer)) if world == self.id => Activity::WaitsFor(peer),
            Some(_) => Activity::WaitsElsewhere,
            None if self.has_left(rank, run) => Activity::Returned,
            None if self.lines[rank].preparing.load(Ordering::Relaxed) => Activity::Prepares,
            None if thread.is_none() && self.records[rank].latest().is_some() => {
                Activity::ThreadEnded
            }
            None => Activity::Computes,
        };
        let newest = self.records[rank].newest_first();
        let mut calls: Vec<CallSite> = newest.iter().map(super::CallRecord::site).collect();
        if wait.is_some() && !newest.is_empty() {
            calls[0] = self.waiting_site(rank, &newest[0]);
        }
        RankReport {
            rank,
            doing,
            calls,
            made: self.records[rank].made(),
            waits: self.recorder().map(|recorder| recorder.waits(rank)),
        }
    }

    /// `rank` begins, or ends, to prepare a call's plan.
    pub(crate) fn set_preparing(&self, rank: usize, preparing: bool) {
        // Relaxed: reports only.
        self.lines[rank].preparing.store(preparing, Ordering::Relaxed);
    }

    /// The result of `f` for the cause of the poisoning of run `run`, if one has been given, and
    /// not been reported yet.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn with_cause<R>(&self, run: u64, f: impl FnOnce(&Error) -> R) -> Option<R> {
        Cause::reason(&self.lock_cause().0, run).map(f)
    }

    /// The cause of the poisoning of run `run`, so far.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn cause(&self, run: u64) -> Option<String> {
        Cause::text(&self.lock_cause().0, run)
    }

    /// Takes the cause of the poisoning of run `run`, and the communicator of which the
    /// ranks disagree, if that is the cause.
    pub(crate) fn take_cause(&self, run: u64) -> Option<(Error, Option<u64>)> {
        let (mut slot, _inside) = self.lock_cause();
        Cause::take(&mut slot, run)
    }

    /// Declares that `rank` touches nobody's memory any more in run `run`.
    pub(crate) fn leave(&self, rank: usize, run: u64) {
        let line = &self.lines[rank];
        if line.present() == run_pass(run) {
            // Relaxed: a poisoner's RMW in between would store the same.
            line.present.store(run_pass(run) + 1, Ordering::Relaxed);
        }
        // Ordering: pairs with the load in `has_left`; all reads and writes of
        // foreign memory come before.
        line.left.store(run, publish(Site::Left));
    }

    /// Whether `rank` is inside user code of a call.
    pub(crate) fn is_inside(&self, rank: usize) -> bool {
        self.lines[rank].depth.load(Ordering::Relaxed) != 0
    }

    #[inline(always)]
    pub(crate) fn has_left(&self, rank: usize, run: u64) -> bool {
        // Ordering: pairs with the store in `leave`.
        self.lines[rank].left.load(consume(Site::Left)) == run
    }

    /// `rank` begins a long wait for `peer`; returns the wait's number. It begins another whenever
    /// its thread has published something before the awaited word came.
    #[inline(never)]
    pub(crate) fn begin_wait(&self, rank: usize, peer: usize) -> u32 {
        self.thread(rank).map_or(0, |thread| thread.begin_wait(self.id, rank, peer))
    }

    /// Goes on with the calls that `rank`'s thread, the calling one, which is about to wait, has
    /// started; returns what is left of them.
    #[inline(never)]
    pub(crate) fn carry_on(&self, rank: usize) -> OpenCalls {
        let Some(thread) = self.thread(rank) else { return OpenCalls::default() };
        // Whoever judges the wait is to find the receives.
        thread.publish();
        thread.carry_on()
    }

    pub(crate) fn end_wait(&self, rank: usize) {
        self.thread(rank).into_iter().for_each(Thread::end_wait);
    }

    /// The number of the current long wait of the thread that is `rank`, wherever that is.
    pub(crate) fn wait_of(&self, rank: usize) -> Option<(u32, &'static Thread)> {
        let thread = self.thread(rank)?;
        Some((thread.wait()?.0, thread))
    }

    /// The present long wait of a rank, of which another may await a word.
    pub(crate) fn edge(&self, rank: usize) -> Option<WaitEdge> {
        let (number, to) = self.wait_of(rank)?;
        Some(WaitEdge { to, number, world: self.id, rank })
    }

    /// The present long waits of `peers`, of one of which `rank` awaits a word, and of those of
    /// which its started calls do; none if one of them does not wait.
    pub(crate) fn edges(
        &self,
        rank: usize,
        peers: impl Iterator<Item = usize>,
    ) -> Option<Vec<WaitEdge>> {
        self.thread(rank)?.with_calls(peers.map(|peer| self.edge(peer)).collect::<Option<_>>()?)
    }

    /// The long wait of the thread that is `rank`.
    #[cfg(not(loom))]
    pub(crate) fn long_wait_of(&self, rank: usize) -> Option<RankWait> {
        self.thread(rank)?.long_wait()
    }

    /// The circle of threads waiting for each other that `rank`'s belongs to.
    pub(crate) fn circle(&self, rank: usize) -> Option<Vec<Seen>> {
        let site = || Some(self.waiting_site(rank, &self.records[rank].latest()?));
        self.thread(rank)?.circle(self.id, site)
    }

    /// Another run that `rank`'s thread, the calling one, is in, and that has failed.
    pub(crate) fn outer_over(&self, rank: usize) -> Option<(u64, u64)> {
        self.thread(rank)?.outer_over(self)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[test]
fn worlds_that_are_gone_leave_the_list() {
    (0..500).for_each(|_| drop(TeamState::new(1).expect("memory").shared()));
    let _inside = crate::fork::inside();
    assert!(WORLDS.lock().expect("no panics").len() < 250);
}
