//! Requests: calls that are started, and waited for later. A scope owns them, so that none is left
//! open, whatever becomes of the handles.
//!
//! | file | |
//! |---|---|
//! | `mod.rs` | the scope; waiting, and how it ends badly |
//! | `start.rs` | the start of a collective (`comm/call` has the calls) |
//! | `persistent.rs` | calls that were set up, to be started many times |
//! | `running.rs` | the part that any started call has |
//! | `scope_slots.rs` | the requests of a scope |
//! | `started_collective.rs` | a started collective |
//! | `pending.rs` | one with its result, and the parts that a call keeps |
//! | `started_message.rs` | a tagged message that was started, as a scope carries it on |
//! | `tagged_request.rs` | sends and receives of tagged messages, started or set up |

mod pending;
mod persistent;
mod running;
mod scope_slots;
mod start;
mod started_collective;
mod started_message;
mod tagged_request;

pub(crate) use pending::{Gives, Kept, Lent};
pub(crate) use persistent::OwnWork;
pub use persistent::Persistent;
pub(crate) use scope_slots::ScopeState;
pub(crate) use start::Form;

use super::Comm;
use super::diagnose::{disagree, disagree_with_waiting};
use crate::error::{At, Error};
use crate::shared::{Disagreement, Signature, Stop, Thread};
use crate::sync::{catch_unwind, panicking, resume_unwind};
use running::{Failure, Whose};
use scope_slots::{Progress, ScopeSlots};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location};

/// A lifetime that no other scope has.
type Brand<'scope> = PhantomData<fn(&'scope ()) -> &'scope ()>;

/// A scope in which calls are started, to be waited for later: see [`Comm::requests`].
///
/// [`start`](Requests::start) starts a [call](crate::call), and returns an [`OpenRequest`];
/// [`wait`](Requests::wait) completes that, and gives the buffer back.
///
/// # Examples
/// See [`start`](Requests::start).
pub struct Requests<'scope, 'env> {
    comm: &'scope mut Comm,
    open: &'scope ScopeSlots<'env>,
    /// The communicator's: another one may be put in its place.
    id: u64,
    /// Calls of [`test`](Requests::test) that have found nothing.
    failed_tests: u64,
    _brand: Brand<'scope>,
}

/// So many of them pass between two looks at the records of the rank that is awaited.
const TESTS: u64 = 1024;

/// A call that was started in a scope ([`Comm::requests`]), and gives a `B` when it is waited for.
///
/// To drop it, or to forget it, gives up that `B`, and nothing else: the scope completes the call.
///
/// # Examples
/// ```
/// phalanx::run(3, |comm| {
///     comm.requests(|scope| std::mem::forget(scope.start(phalanx::call::barrier())));
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
#[must_use = "the call is complete when it was waited for, or the scope has ended"]
pub struct OpenRequest<'scope, B> {
    state: RequestState<B>,
    _brand: Brand<'scope>,
}

enum RequestState<B> {
    /// The scope has the call, in this slot.
    Open(usize),
    /// It was complete when it was started, and gives this.
    Over(B),
}

impl<B> OpenRequest<'_, B> {
    pub(crate) fn open(slot: usize) -> Self {
        OpenRequest { state: RequestState::Open(slot), _brand: PhantomData }
    }

    pub(crate) fn over(gives: B) -> Self {
        OpenRequest { state: RequestState::Over(gives), _brand: PhantomData }
    }

    /// For [`Requests::wait_any_of`].
    pub(crate) fn slot(&self) -> Option<usize> {
        match self.state {
            RequestState::Open(slot) => Some(slot),
            RequestState::Over(_) => None,
        }
    }
}

impl<B> fmt::Debug for OpenRequest<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenRequest").finish_non_exhaustive()
    }
}

impl fmt::Debug for Requests<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("comm", &self.comm).finish_non_exhaustive()
    }
}

impl Comm {
    /// Calls `f` with a scope in which collectives are started, and waited for later: several at a
    /// time, in any order, with work and other calls in between. Requests that are still open when
    /// `f` returns are completed then, so none outlives the scope; buffers are borrowed from
    /// outside of it, as by [`std::thread::scope`].
    ///
    /// **Must agree on all ranks:** the order in which calls are started on a communicator,
    /// blocking ones among them (as in MPI); the order in which they are waited for need not. A
    /// disagreement ends the run with an error that names both ranks and both lines; among own
    /// threads, of calls that need nothing of each other, in a later started call, if one comes.
    ///
    /// **Progress.** Up to 64 bytes of input (a rank's; of scatter, reduce-scatter and all-to-all
    /// those for all ranks), a call is complete when the ranks have *started* it that give input to
    /// this one (of each 16th call all); among up to eight ranks up to 1 KiB, or 256 bytes where
    /// more than two give to all. A longer one needs every rank's part of the work.
    ///
    /// **Any call of a rank moves everything that its thread has started**, on whichever
    /// communicator or team: a test, a probe, a message, a barrier, [`check`](Comm::check), another
    /// start. So two ranks may test, or wait, in different orders. A rank that computes, or waits
    /// outside of the library, moves nothing; nor do accessors ([`rank`](Comm::rank)), and a `wait`
    /// for a call that is complete. Algorithms that are forced on the communicator are for its
    /// blocking calls only.
    ///
    /// Of 64 calls under way on a communicator the oldest is completed before another one starts.
    ///
    /// **If `f` panics** while a request is open the run ends, with that panic; the rank unwinds
    /// when no other reaches its buffers any more.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{call, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut x, mut y) = ([comm.rank() as f64; 100], [1u8]);
    ///     comm.requests(|scope| {
    ///         let sum = scope.start(call::all_reduce(&mut x, op::Sum));
    ///         let max = scope.start(call::all_reduce(&mut y, op::Max));
    ///         let work: f64 = (0..10).map(f64::from).sum();
    ///         scope.comm().barrier(); // calls that wait are there as ever
    ///         let y: &mut [u8] = scope.wait(max); // in any order; the buffer comes back
    ///         (scope.wait(sum)[99], y[0], work)
    ///     })
    /// })?;
    /// assert_eq!(out, [(3.0, 1, 45.0); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn requests<'env, R>(
        &mut self,
        f: impl for<'scope> FnOnce(&mut Requests<'scope, 'env>) -> R,
    ) -> R {
        static SIG: Signature = Signature::of::<()>("requests", "");
        let at = Location::caller();
        // Whether the run still goes on is for the calls to find: they go on record first, so that
        // of ranks that disagree the odd one can be told.
        let inner = match self.scope.take() {
            Some(inner) if self.port.is_at(inner.place()) => inner,
            _ => ScopeState::new(self.port.rank_place()),
        };
        let thread = Thread::here();
        let open = ScopeSlots::new(inner, self.port.is_recorded(), thread.mark());
        let opened = self.open_scope(thread, (&SIG, at));
        let id = self.port.id();
        let within = || {
            let (open, failed_tests) = (&open, 0);
            let mut scope = Requests { comm: self, open, id, failed_tests, _brand: PhantomData };
            let result = f(&mut scope);
            scope.complete(at);
            result
        };
        let result = thread.beside(&open, || catch_unwind(AssertUnwindSafe(within)));
        let payload = match result {
            Ok(result) => {
                self.port.end_early(open.address());
                self.close_scope(thread, opened);
                self.scope = Some(open.into_inner());
                return result;
            }
            Err(payload) => payload,
        };
        open.abandon();
        self.close_scope(thread, opened);
        match open.take_failure() {
            // Another call has ended for it, by this payload.
            Some((Failure::Panicked(first), _)) => resume_unwind(first),
            Some((Failure::Disagrees(found), (shared, rank, run))) => {
                let error = mismatch(*found, &(shared.clone(), rank, run));
                let (world, me) = (shared.world(), shared.member(rank));
                if world.poison(run, me, Some(error)).is_none() {
                    world.suspect(run, me, shared.id());
                }
                resume_unwind(payload)
            }
            Some((Failure::Over, _)) | None => resume_unwind(payload),
        }
    }
}

/// The error for two ranks that have started different calls.
fn mismatch(found: Disagreement, (shared, rank, _): &Whose) -> Error {
    let me = shared.member(*rank);
    let Disagreement { peer, here, there, what } = found;
    let first = disagree(shared.world(), shared.id(), me);
    first.unwrap_or_else(|| {
        let (world, peer) = (shared.world(), shared.member(peer));
        let here = world.records(me).refined(here);
        let there = Some(world.records(peer).refined(there));
        Error::Mismatch { rank: me, here, peer, there, what }
    })
}

impl<'scope> Requests<'scope, '_> {
    /// The communicator, for its blocking calls: they are there as ever, and go on with the calls
    /// that were started while they wait.
    ///
    /// # Examples
    /// ```
    /// let ranks = phalanx::run(2, |comm| comm.requests(|scope| scope.comm().rank()))?;
    /// assert_eq!(ranks, [0, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn comm(&mut self) -> &mut Comm {
        self.comm
    }

    /// Waits until the call is complete, and returns its result: its buffer, or its values.
    ///
    /// In a destructor, while a panic unwinds, it does so as ever if the other ranks go on; if the
    /// run is over there is nothing to return, and the process aborts, as on any second panic.
    ///
    /// # Examples
    /// ```
    /// use phalanx::call;
    /// let out = phalanx::run(2, |comm| {
    ///     comm.requests(|scope| {
    ///         let request = scope.start(call::sum([1]));
    ///         scope.wait(request)
    ///     })
    /// })?;
    /// assert_eq!(out, [[2]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait<B>(&mut self, request: OpenRequest<'scope, B>) -> B {
        self.wait_at(request, Location::caller())
    }

    #[inline]
    fn wait_at<B>(&mut self, request: OpenRequest<'scope, B>, at: At) -> B {
        let slot = match request.state {
            RequestState::Over(gives) => return gives,
            RequestState::Open(slot) => slot,
        };
        let mut given = MaybeUninit::<B>::uninit();
        // SAFETY: a slot's only request (of this scope, by its brand) is of the type that the
        // request in the slot gives (`Requests::open`).
        unsafe {
            self.wait_to(slot, given.as_mut_ptr().cast(), at);
            given.assume_init()
        }
    }

    /// Waits for the request of a slot, and hands its result out.
    ///
    /// # Safety
    /// As [`ScopeSlots::complete`].
    unsafe fn wait_to(&mut self, slot: usize, to: *mut u8, at: At) {
        // SAFETY: passed on.
        unsafe {
            if !self.open.complete(slot, to) {
                self.wait_for(&[slot], at);
                let is_given = self.open.complete(slot, to);
                assert!(is_given, "complete, and taken once");
            }
        }
    }

    /// Waits for all, and returns their results, in their order.
    ///
    /// # Examples
    /// ```
    /// use phalanx::call;
    /// let out = phalanx::run(3, |comm| {
    ///     comm.requests(|scope| {
    ///         let requests: Vec<_> = (0..100).map(|i| scope.start(call::sum([i]))).collect();
    ///         scope.wait_all(requests)[99]
    ///     })
    /// })?;
    /// assert_eq!(out, [[297]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_all<B>(
        &mut self,
        requests: impl IntoIterator<Item = OpenRequest<'scope, B>>,
    ) -> Vec<B> {
        let at = Location::caller();
        requests.into_iter().map(|request| self.wait_at(request, at)).collect()
    }

    /// Waits until one of the calls is complete, and returns its index; to [`wait`](Requests::wait)
    /// for that one then takes no time. If several are, it is the first of them.
    ///
    /// # Panics
    /// If there are none.
    ///
    /// # Examples
    /// ```
    /// use phalanx::call;
    /// let out = phalanx::run(2, |comm| {
    ///     let mut x = [comm.rank() as f64; 1000];
    ///     comm.requests(|scope| {
    ///         let mut open = vec![scope.start(call::shift(&mut x, 1))];
    ///         let i = scope.wait_any(&open);
    ///         scope.wait(open.swap_remove(i))[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [1.0, 0.0]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_any<B>(&mut self, requests: &[OpenRequest<'scope, B>]) -> usize {
        self.wait_any_of(requests.iter().map(OpenRequest::slot))
    }

    /// Goes on with the call, and with all else that the thread has started, as far as that is
    /// possible without waiting; whether the call is complete.
    ///
    /// A loop of these is the rank's own code to the others. If the rank that is awaited waits in
    /// another collective call on the communicator than the ranks agree about, the loop ends with
    /// an error that names both lines; if it waits for anything else that this rank never comes
    /// to, only a deadline says so ([`wait`](Requests::wait) finds it).
    ///
    /// # Examples
    /// ```
    /// use phalanx::call;
    /// let out = phalanx::run(2, |comm| {
    ///     comm.requests(|scope| {
    ///         let mut request = scope.start(call::sum([1]));
    ///         let mut work = 0;
    ///         while !scope.test(&mut request) {
    ///             work += 1;
    ///         }
    ///         scope.wait(request)
    ///     })
    /// })?;
    /// assert_eq!(out, [[2]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn test<B>(&mut self, request: &mut OpenRequest<'scope, B>) -> bool {
        let (progress, slot) = match request.state {
            RequestState::Over(_) => (Progress::Done, None),
            RequestState::Open(slot) => (self.open.advance(slot), Some(slot)),
        };
        match (progress, slot) {
            (Progress::Open, Some(slot)) => self.look_around(slot, Location::caller()),
            (Progress::Failed, _) => self.fail(slot, Stop::Poisoned),
            _ => {
                self.open.go_on_with_all();
                true
            }
        }
    }

    /// Looks at the facts that would end a wait for the request, and at all else that the thread
    /// has started; whether the request is complete.
    fn look_around(&mut self, slot: usize, at: At) -> bool {
        static SIG: Signature = Signature::of::<()>("test", "");
        if !self.comm.check_usable((&SIG, at)) {
            self.comm.nothing_to_return();
        }
        if !self.open.is_open(slot) {
            return true;
        }
        self.comm.port.let_others_run();
        if self.comm.port.is_recorded() && self.open.look(slot) == Progress::Done {
            return true;
        }
        self.failed_tests += 1;
        if self.failed_tests.is_multiple_of(TESTS) {
            self.look_at_awaited(slot);
        }
        let Some(peer) = self.open.left(slot) else { return false };
        // A word that was published before it left counts.
        match self.open.look(slot) {
            Progress::Done => true,
            Progress::Open => self.fail(Some(slot), Stop::Left { peer }),
            Progress::Failed => self.fail(Some(slot), Stop::Poisoned),
        }
    }

    /// Ends the run if the rank that is awaited waits, and has called something else on the
    /// communicator: a loop of tests would never end.
    #[cold]
    fn look_at_awaited(&mut self, slot: usize) {
        let Some(peer) = self.open.awaited(slot) else { return };
        let shared = self.comm.port.shared();
        let (me, it) = (shared.member(self.comm.port.rank()), shared.member(peer));
        if let Some(error) = disagree_with_waiting(shared.world(), self.id, me, it) {
            self.comm.end_run(error, Some(self.id));
            self.comm.nothing_to_return();
        }
    }

    /// Completes all.
    #[inline(always)]
    fn complete(&mut self, at: At) {
        if self.open.has_open() {
            self.complete_open(at);
        }
    }

    fn complete_open(&mut self, at: At) {
        while let Some(slot) = self.open.first_open() {
            self.wait_for(&[slot], at);
        }
    }

    /// Waits until the request of one of the slots is complete; returns its index.
    fn wait_for(&mut self, slots: &[usize], at: At) -> usize {
        if self.comm.port.is_recorded() {
            return self.wait_recorded(slots, at);
        }
        self.wait_until_complete(slots, None)
    }

    /// Waits as [`wait_for`](Requests::wait_for) does, in a record of the run.
    #[cold]
    fn wait_recorded(&mut self, slots: &[usize], at: At) -> usize {
        let Some(sig) = self.open.sig(slots[0]) else { return 0 }; // Of several it is complete.
        self.comm.port.record_completion(sig, at);
        let mut awaited = Vec::new();
        let i = self.wait_until_complete(slots, Some(&mut awaited));
        // A call that may be completed by any rank was, by this one.
        let latest = || awaited.get(i).copied().flatten().filter(|_| slots.len() > 1);
        if let Some(peer) = self.open.source(slots[i]).or_else(latest) {
            self.comm.port.record_source(peer);
        }
        self.comm.port.record_end();
        i
    }

    /// Waits. If `recorded`, which gets the ranks that the requests have waited for last.
    fn wait_until_complete(
        &mut self,
        slots: &[usize],
        mut recorded: Option<&mut Vec<Option<usize>>>,
    ) -> usize {
        let open = self.open;
        // The first that is complete, or has failed.
        let ended = || {
            let progress = slots.iter().map(|&slot| open.look(slot));
            progress.enumerate().find(|&(_, progress)| progress != Progress::Open)
        };
        let left = || slots.iter().find_map(|&slot| Some((slot, open.left(slot)?)));
        let mut since = None;
        loop {
            if let Some(awaited) = recorded.as_deref_mut() {
                since = self.comm.port.shared().record_time();
                // A call that is complete meanwhile keeps its latest.
                awaited.resize(slots.len(), None);
                for (latest, &slot) in awaited.iter_mut().zip(slots) {
                    *latest = open.awaited(slot).or(*latest);
                }
            }
            for _ in 0..self.comm.port.looks() {
                match ended() {
                    None => {}
                    Some((i, Progress::Done)) => {
                        if let (Some(since), Some(awaited)) = (since, &recorded) {
                            self.record_looks(awaited, since);
                        }
                        return i;
                    }
                    Some((i, _)) => self.fail(Some(slots[i]), Stop::Poisoned),
                }
            }
            let Some(place) = open.place(slots[0]) else { continue };
            let awaited = open.awaited(slots[0]);
            let one = since.filter(|_| slots.len() == 1);
            let result = match slots.len() {
                1 => {
                    let mut ready = || ended().is_some() || open.awaited(slots[0]) != awaited;
                    place.wait(one, &mut ready)
                }
                // Each may be completed by another rank.
                _ => {
                    let mut ready = || ended().is_some() || left().is_some();
                    place.for_any().wait(None, &mut ready)
                }
            };
            if let Err(stop) = result {
                self.fail(Some(slots[0]), stop);
            }
            if let (None, Some(since), Some(awaited)) = (one, since, &recorded) {
                self.record_looks(awaited, since);
            }
            // A word that was published before it left counts.
            if slots.len() > 1
                && let Some((slot, peer)) = left()
                && ended().is_none()
            {
                self.fail(Some(slot), Stop::Left { peer });
            }
        }
    }

    /// The word that a rank awaits has come while it looked.
    #[cold]
    fn record_looks(&self, awaited: &[Option<usize>], since: u64) {
        let port = &self.comm.port;
        let peer = match awaited {
            &[Some(peer)] => peer,
            _ => port.rank(), // Any.
        };
        port.shared().record_wait(port.rank(), peer, since);
    }

    /// Ends the run: a request, that of `slot` if it is known, cannot be completed.
    #[cold]
    fn fail(&mut self, slot: Option<usize>, stop: Stop) -> ! {
        if self.comm.port.id() != self.id {
            self.comm.is_swapped("scope of requests");
            self.comm.nothing_to_return();
        }
        match self.open.take_failure() {
            Some((Failure::Panicked(payload), _)) if !panicking() => resume_unwind(payload),
            Some((Failure::Disagrees(found), whose)) => {
                let error = mismatch(*found, &whose);
                self.comm.end_run(error, Some(self.id));
            }
            Some(_) => self.comm.stop(Stop::Poisoned),
            None => {
                if let Some(slot) = slot {
                    self.open.blame(slot, &mut self.comm.port);
                }
                self.comm.stop(stop);
            }
        }
        self.comm.nothing_to_return()
    }

    /// [`wait_any`](Requests::wait_any) for requests by their slots; none for one that is over.
    #[track_caller]
    pub(crate) fn wait_any_of(&mut self, requests: impl Iterator<Item = Option<usize>>) -> usize {
        self.open.go_on_with_all();
        let mut slots = Vec::new();
        for (i, slot) in requests.enumerate() {
            let Some(slot) = slot else { return i };
            match self.open.advance(slot) {
                Progress::Done => return i,
                Progress::Failed => self.fail(Some(slot), Stop::Poisoned),
                Progress::Open => slots.push(slot),
            }
        }
        assert!(!slots.is_empty(), "wait_any: there is no request to wait for");
        self.wait_for(&slots, Location::caller())
    }

    /// After a failed call, where the program goes on: no other rank reaches the memory of calls
    /// that were started when this returns. `is_over`: only if the run is over.
    #[cold]
    pub(crate) fn quiesce(&self, is_over: bool) {
        // One of its calls that is at work further out fails there, and comes here again.
        let goes_on = is_over && self.comm.is_admitted();
        if !self.open.is_at_work() && !goes_on {
            self.open.abandon();
        }
    }
}
