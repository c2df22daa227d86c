//! The calls that can be started.

use super::forms::Form;
use super::open::{Failure, Progress, Running as _, Underway};
use super::pending::{FewValues, Kept, ManyValues, PendingCollective, Yield};
use super::started_collective::{Collective, show, take};
use super::{OpenRequest, Requests};
use crate::element::Element;
use crate::exec::board::started::Job;
use crate::exec::{Buffers, Call, Partition, RawBuffers, alone};
use crate::fabric::{
    CallParams, CallTransport, Digest, Disagreement, LaneProgress, Owed, Signature, StartedCall,
    Stop,
};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM};
use crate::op::{Operator, Sum};
use crate::schedule::Operation;
use std::panic::Location;

/// What carries out an all-reduce of values.
const STARTED: &str = "started all_reduce";

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a [`barrier`](crate::Comm::barrier): it is complete when every rank has started it.
    /// What any rank did before that is visible to every rank that has waited for it.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     comm.requests(|scope| {
    ///         let all_here = scope.barrier();
    ///         let work = 6 * 7;
    ///         scope.wait(all_here);
    ///         work
    ///     })
    /// })?;
    /// assert_eq!(out, [42; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn barrier(&mut self) -> OpenRequest<'scope, ()> {
        let Form { call, kept, .. } = self.barrier_form::<false>();
        self.start_one(call, kept, ())
    }

    /// Starts a [`broadcast`](crate::Comm::broadcast). The root's call, too, is complete only when
    /// every rank has started it.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank(); 20];
    ///     comm.requests(|scope| {
    ///         let request = scope.broadcast(&mut x, 2);
    ///         scope.wait(request)[19]
    ///     })
    /// })?;
    /// assert_eq!(out, [2; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast<T: Element>(
        &mut self,
        buf: &'env mut [T],
        root: usize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.broadcast_form::<false, _>(buf, root);
        self.start_one(call, kept, result)
    }

    /// Starts a [`reduce`](crate::Comm::reduce).
    ///
    /// **Order.** That of [`Order::Fixed`](crate::Order::Fixed), always.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank() + 1];
    ///     comm.requests(|scope| {
    ///         let request = scope.reduce(&mut x, op::Prod, 0);
    ///         scope.wait(request)[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [6, 2, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
        root: usize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.reduce_form::<false, _, _>(buf, op, root);
        self.start_one(call, kept, result)
    }

    /// Starts an [`all_reduce`](crate::Comm::all_reduce).
    ///
    /// **Order.** That of [`Order::Fixed`](crate::Order::Fixed), always.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// Two of them on their way at once:
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let (mut x, mut y) = ([comm.rank(); 100], [1.0]);
    ///     comm.requests(|scope| {
    ///         let a = scope.all_reduce(&mut x, op::Max);
    ///         let b = scope.all_reduce(&mut y, op::Sum);
    ///         (scope.wait(b)[0], scope.wait(a)[0])
    ///     })
    /// })?;
    /// assert_eq!(out, [(3.0, 2); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.all_reduce_form::<false, _, _>(buf, op);
        self.start_one(call, kept, result)
    }

    /// Starts an [`all_reduce`](Requests::all_reduce) of a few values, which need no buffer.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     comm.requests(|scope| {
    ///         let r = scope.comm().rank() as i32;
    ///         let request = scope.all_reduce_values([r, -r], op::Max);
    ///         scope.wait(request)
    ///     })
    /// })?;
    /// assert_eq!(out, [[2, 0]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_values<T: Element, const N: usize, O: Operator<T> + 'env>(
        &mut self,
        values: [T; N],
        op: O,
    ) -> OpenRequest<'scope, [T; N]> {
        const NAME: &str = "started all_reduce_values";
        let sig = const { &Signature::combining::<T, O>(NAME, O::NAME, "").meets(STARTED) };
        self.few_values(sig, Location::caller(), values, op)
    }

    /// The same as a call of the method of `sig`.
    #[inline(always)]
    fn few_values<T: Element, const N: usize, O: Operator<T> + 'env>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        values: [T; N],
        op: O,
    ) -> OpenRequest<'scope, [T; N]> {
        let call = Call::new(Operation::AllReduce, sig, at, Partition::Vector(N));
        let op = Kept::new(op);
        // SAFETY: kept until the call is dropped.
        let by: &'env O = unsafe { &*op.at().as_ptr() };
        let (rank, p) = (self.comm.port.rank(), self.comm.port.size());
        if size_of::<[T; N]>() <= BRIEF_ROOM && align_of::<T>() <= BRIEF_ALIGN {
            let mut few = FewValues(values);
            let at = &raw mut few.0;
            // SAFETY: not used there: the call goes where they go (`PendingCollective::call`).
            let at: &'env mut [T; N] = unsafe { &mut *at };
            let call = call.combining(Buffers::InPlace(at), by).on_bytes(rank, p);
            return self.start_one(call, op, few);
        }
        let many = Kept::new(values);
        // SAFETY: kept until the call is dropped, which has the values alone until it is over.
        let at: &'env mut [T; N] = unsafe { &mut *many.at().as_ptr() };
        let call = call.combining(Buffers::InPlace(at), by).on_bytes(rank, p);
        self.start_one(call, op, ManyValues(many))
    }

    /// Starts the [`sum`](crate::Comm::sum) of a few values.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     comm.requests(|scope| {
    ///         let request = scope.sum([1.0, 0.5]);
    ///         scope.wait(request)
    ///     })
    /// })?;
    /// assert_eq!(out, [[3.0, 1.5]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn sum<T: Element, const N: usize>(&mut self, values: [T; N]) -> OpenRequest<'scope, [T; N]>
    where
        Sum: Operator<T>,
    {
        const NAME: &str = "started sum";
        let sig = const {
            let operator = <Sum as Operator<T>>::NAME;
            &Signature::combining::<T, Sum>(NAME, operator, "").meets(STARTED)
        };
        self.few_values(sig, Location::caller(), values, Sum)
    }

    /// Starts a [`scan`](crate::Comm::scan): the inclusive prefix, in rank order.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank() + 1];
    ///     comm.requests(|scope| {
    ///         let request = scope.scan(&mut x, op::Sum);
    ///         scope.wait(request)[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [1, 3, 6]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scan<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.scan_form::<false, _, _>(buf, op);
        self.start_one(call, kept, result)
    }

    /// Starts an [`exclusive_scan`](crate::Comm::exclusive_scan).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank() + 1];
    ///     comm.requests(|scope| {
    ///         let request = scope.exclusive_scan(&mut x, op::Sum);
    ///         scope.wait(request)[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [0, 1, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan<T: Element, O: Operator<T> + 'env>(
        &mut self,
        buf: &'env mut [T],
        op: O,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.exclusive_scan_form::<false, _, _>(buf, op);
        self.start_one(call, kept, result)
    }

    /// Starts a [`reduce_scatter_into`](crate::Comm::reduce_scatter_into).
    ///
    /// **Order.** That of [`Order::Fixed`](crate::Order::Fixed), always.
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let all = [comm.rank(); 3];
    ///     let mut mine = [0];
    ///     comm.requests(|scope| {
    ///         let request = scope.reduce_scatter_into(&all, &mut mine, op::Sum);
    ///         scope.wait(request)[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [3; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_into<T: Element, O: Operator<T> + 'env>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        op: O,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.reduce_scatter_form::<false, _, _>(all, mine, op);
        self.start_one(call, kept, result)
    }

    /// Starts an [`all_gather_into`](crate::Comm::all_gather_into).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mine, mut all) = ([comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let request = scope.all_gather_into(&mine, &mut all);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[0, 1, 2]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather_into<T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.all_gather_form::<false, _>(mine, all);
        self.start_one(call, kept, result)
    }

    /// Starts an [`all_to_all_into`](crate::Comm::all_to_all_into).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (send, mut recv) = ([10 * comm.rank(); 3], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let request = scope.all_to_all_into(&send, &mut recv);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, vec![[0, 10, 20]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_into<T: Element>(
        &mut self,
        send: &'env [T],
        recv: &'env mut [T],
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.all_to_all_form::<false, _>(send, recv);
        self.start_one(call, kept, result)
    }

    /// Starts a [`gather_into`](crate::Comm::gather_into).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (mine, mut all) = ([comm.rank()], [9; 3]);
    ///     comm.requests(|scope| {
    ///         let request = scope.gather_into(&mine, &mut all, 0);
    ///         scope.wait(request).to_vec()
    ///     })
    /// })?;
    /// assert_eq!(out, [[0, 1, 2], [9, 9, 9], [9, 9, 9]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_into<T: Element>(
        &mut self,
        mine: &'env [T],
        all: &'env mut [T],
        root: usize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.gather_form::<false, _>(mine, all, root);
        self.start_one(call, kept, result)
    }

    /// Starts a [`scatter_into`](crate::Comm::scatter_into).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let (all, mut mine) = ([5, 6, 7], [0]);
    ///     comm.requests(|scope| {
    ///         let request = scope.scatter_into(&all, &mut mine, 1);
    ///         scope.wait(request)[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [5, 6, 7]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter_into<T: Element>(
        &mut self,
        all: &'env [T],
        mine: &'env mut [T],
        root: usize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.scatter_form::<false, _>(all, mine, root);
        self.start_one(call, kept, result)
    }

    /// Starts a [`shift`](crate::Comm::shift).
    ///
    /// **Must agree on all ranks, errors:** as there; the order in which calls are started, too.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.requests(|scope| {
    ///         let request = scope.shift(&mut x, 1);
    ///         scope.wait(request)[0]
    ///     })
    /// })?;
    /// assert_eq!(out, [2, 0, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn shift<T: Element>(
        &mut self,
        buf: &'env mut [T],
        distance: isize,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, kept, result } = self.shift_form::<false, _>(buf, distance);
        self.start_one(call, kept, result)
    }

    /// Another communicator must not stand where the scope's was.
    #[inline(always)]
    pub(super) fn check_place(&mut self) {
        if self.comm.port.id() != self.id {
            self.comm.is_swapped("scope of requests");
            self.comm.nothing_to_return();
        }
    }

    /// What goes into the fingerprint of a started call beside the signature.
    #[inline(always)]
    pub(super) fn params(&mut self, call: &Call<'_, RawBuffers<'_>>) -> CallParams {
        let (digest, own_len) = match call.cut() {
            Partition::Varied(counts) => (self.comm.digest_of(counts), None),
            Partition::Pairs { send, .. } => (Digest::NONE, Some(send.iter().sum())),
            Partition::Vector(_) | Partition::Equal(_) => (Digest::NONE, None),
        };
        let transport = CallTransport::Boards;
        CallParams { transport, digest, own_len, ..call.params_alone() }
    }

    /// Begins a call. Counts are compared with the other ranks' before it shows anything.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        at: &'static Location<'static>,
    ) -> StartedCall {
        self.check_place();
        let params = self.params(call);
        match self.comm.begin_started(call.sig(), at, params) {
            Some(begun) => begun,
            None => self.comm.nothing_to_return(),
        }
    }

    /// Starts `call`, whose arguments are checked. What is `kept` is used by it.
    #[inline(always)]
    pub(super) fn start_one<K: 'env, Y: Yield + 'env>(
        &mut self,
        call: Call<'env, RawBuffers<'env>>,
        kept: K,
        mut yields: Y,
    ) -> OpenRequest<'scope, Y::Output> {
        let begun = self.begin(&call, call.at());
        let (rank, p) = (self.comm.port.rank(), self.comm.port.size());
        let mut job = Job::new(call, rank, p);
        if p == 1 {
            self.run_alone(begun, job.same().call());
            // SAFETY: it is over.
            return OpenRequest::over(unsafe { yields.output() });
        }
        if !job.is_direct() {
            return self.start_long(begun, job.same(), kept, yields);
        }
        if let Some(at) = yields.place() {
            // SAFETY: the values, as many as the call was made for.
            unsafe { job.place(at) };
        }
        // SAFETY: it is brief: nobody reaches its memory but this rank.
        match unsafe { self.start_direct(begun, &job) } {
            // SAFETY: it is over.
            None => OpenRequest::over(unsafe { yields.output() }),
            Some(progress) => {
                let call = Collective::of(job.same(), progress);
                self.open(Box::new(PendingCollective::new(call, kept, yields)), Owed::Look)
            }
        }
    }

    /// The same, of a call that is not direct.
    fn start_long<K: 'env, Y: Yield + 'env>(
        &mut self,
        begun: StartedCall,
        job: Job<'env>,
        kept: K,
        yields: Y,
    ) -> OpenRequest<'scope, Y::Output> {
        let call = Collective::new(job.streaming_as(&self.comm.work));
        let mut pending = PendingCollective::new(call, kept, yields);
        // SAFETY: the scope completes the call, or waits until nobody has its memory.
        if unsafe { self.launch(pending.call(), begun) } {
            // SAFETY: it is over.
            return OpenRequest::over(unsafe { pending.output() });
        }
        let owed = pending.call().owed();
        self.open(Box::new(pending), owed)
    }

    /// The call `begun` of one rank.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run_alone(&mut self, begun: StartedCall, call: &Call<'_, RawBuffers<'_>>) {
        let comm = &mut *self.comm;
        if let Err(stop) = alone::run(&mut comm.port, &mut comm.work, begun, call) {
            self.fail(None, stop);
        }
    }

    /// `call`, not started yet.
    pub(super) fn collective(&self, call: Call<'env, RawBuffers<'env>>) -> Collective<'env> {
        let comm = &*self.comm;
        let job = Job::new(call, comm.port.rank(), comm.port.size()).streaming_as(&comm.work);
        Collective::new(job)
    }

    /// Starts the call `begun`, which is not under way. Whether it is over already: that of one
    /// rank, and a brief one that all others have started before.
    ///
    /// # Safety
    /// - It was made with this communicator's port.
    /// - Its memory stays the call's until it is over, or was quiesced.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) unsafe fn launch(
        &mut self,
        call: &mut Collective<'env>,
        begun: StartedCall,
    ) -> bool {
        let port = &mut self.comm.port;
        if port.size() == 1 {
            self.run_alone(begun, call.job().call());
            return true;
        }
        if call.job().is_direct() {
            // SAFETY: by the contract.
            let progress = unsafe { self.start_direct(begun, call.job()) };
            progress.into_iter().for_each(|progress| call.start(progress));
            return progress.is_none();
        }
        // SAFETY: by the contract.
        match unsafe { show(port, begun, call.job()) } {
            Ok(progress) => call.start(progress),
            Err(stop) => self.fail(None, stop),
        }
        self.comm.port.tell();
        if !call.job().is_brief() {
            return false;
        }
        match self.open.look_at_new(call) {
            Progress::Done => true,
            Progress::Open => false,
            Progress::Failed => self.fail(None, Stop::Poisoned),
        }
    }

    /// Starts the call `begun`, which is `job`, a [direct](Job::is_direct) one of several ranks. If
    /// all others have started it before it is over; else returns how far it is.
    ///
    /// # Safety
    /// Its memory stays the call's until it is over.
    #[inline(always)]
    unsafe fn start_direct(&mut self, begun: StartedCall, job: &Job<'_>) -> Option<LaneProgress> {
        let port = &mut self.comm.port;
        // SAFETY: by the contract; it is brief.
        let mut progress = match unsafe { show(port, begun, job) } {
            Ok(progress) => progress,
            Err(stop) => self.fail(None, stop),
        };
        let port = &self.comm.port;
        // A look at a notice that is not there yet takes its line from the peer that is about to
        // write it. Of several calls that are started together the first says whether to look.
        let result = match self.open.is_held() || self.open.has_open() {
            true => Ok(false),
            // SAFETY: shown just now.
            false => unsafe { take(job, &mut progress, port.lane_end()) },
        };
        port.tell();
        match result {
            Ok(true) => None,
            Ok(false) if self.open.is_dead() => self.fail(None, Stop::Poisoned),
            Ok(false) => Some(progress),
            Err(found) => self.disagrees(found),
        }
    }

    /// Ends the run: a call that was started just now differs from another rank's.
    #[cold]
    fn disagrees(&mut self, found: Box<Disagreement>) -> ! {
        self.open.fail(Failure::Disagrees(found));
        self.fail(None, Stop::Poisoned)
    }

    /// The request for what is under way, of which peers may wait for `owed`. It gives a `B`.
    pub(super) fn open<B>(
        &mut self,
        call: Box<dyn Underway + 'env>,
        owed: Owed,
    ) -> OpenRequest<'scope, B> {
        OpenRequest::open(self.open.add(call, owed))
    }
}
