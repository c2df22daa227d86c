//! The calls that can be started.

use super::forms::Form;
use super::open::Progress;
use super::pending::{Gives, Kept, PendingCollective};
use super::running::Underway;
use super::started_collective::Collective;
use super::{OpenRequest, Requests};
use crate::element::Element;
use crate::exec::board::started::Job;
use crate::exec::{Buffers, Call, Partition, RawBuffers, alone};
use crate::fabric::{CallParams, CallTransport, Digest, Owed, Signature, StartedCall, Stop};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM};
use crate::op::{Operator, Sum};
use crate::schedule::Operation;
use std::panic::Location;
use std::ptr::NonNull;

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
        let Form { call, mut kept, .. } = self.barrier_form::<false>();
        match self.start_call(&call, &mut kept, &Gives::values::<()>(None)) {
            Some(slot) => OpenRequest::open(slot),
            None => OpenRequest::over(()),
        }
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
        let form = self.broadcast_form::<false, _>(buf, root);
        self.start_form(form)
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
        let form = self.reduce_form::<false, _, _>(buf, op, root);
        self.start_form(form)
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
        let form = self.all_reduce_form::<false, _, _>(buf, op);
        self.start_form(form)
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
        let (rank, p) = (self.comm.port.rank(), self.comm.port.size());
        let is_few = size_of::<[T; N]>() <= BRIEF_ROOM && align_of::<T>() <= BRIEF_ALIGN;
        let mut few = values;
        let few = &raw mut few;
        // Others have the address of more.
        let (mut kept, (values, op), gives) = if is_few {
            let (kept, op) = Kept::new(op);
            (kept, (few, op.as_ptr()), Gives::values::<[T; N]>(None))
        } else {
            let (kept, all) = Kept::new((values, op));
            // SAFETY: just made.
            let (values, op) = unsafe { (&raw mut (*all.as_ptr()).0, &raw mut (*all.as_ptr()).1) };
            (kept, (values, op), Gives::values(NonNull::new(values)))
        };
        // SAFETY: the operator is kept until the call is dropped. So are more than a few values,
        // which the call has alone until it is over; it goes from a few to where their result is
        // to be if it is not over when this returns (`PendingCollective::call`).
        let (by, at): (&'env O, &'env mut [T; N]) = unsafe { (&*op, &mut *values) };
        let call = call.combining(Buffers::InPlace(at), by).on_bytes(rank, p);
        match self.start_call(&call, &mut kept, &gives) {
            Some(slot) => OpenRequest::open(slot),
            // SAFETY: it is over, and what it has worked on is there.
            None => OpenRequest::over(unsafe { values.read() }),
        }
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
        let form = self.scan_form::<false, _, _>(buf, op);
        self.start_form(form)
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
        let form = self.exclusive_scan_form::<false, _, _>(buf, op);
        self.start_form(form)
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
        let form = self.reduce_scatter_form::<false, _, _>(all, mine, op);
        self.start_form(form)
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
        let form = self.all_gather_form::<false, _>(mine, all);
        self.start_form(form)
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
        let form = self.all_to_all_form::<false, _>(send, recv);
        self.start_form(form)
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
        let form = self.gather_form::<false, _>(mine, all, root);
        self.start_form(form)
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
        let form = self.scatter_form::<false, _>(all, mine, root);
        self.start_form(form)
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
        let form = self.shift_form::<false, _>(buf, distance);
        self.start_form(form)
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

    /// Starts the call of `form`.
    #[inline(always)]
    pub(super) fn start_form<T>(
        &mut self,
        form: Form<'env, T>,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let Form { call, mut kept, result } = form;
        match self.start_call(&call, &mut kept, &result.gives()) {
            Some(slot) => OpenRequest::open(slot),
            // SAFETY: it is over.
            None => OpenRequest::over(unsafe { result.back() }),
        }
    }

    /// Starts `call`, whose arguments are checked; its slot, if it is not over when this returns:
    /// then it takes what is `kept` for it. One body for all types: to start a call of another one
    /// costs a program the few lines before this.
    #[inline(never)]
    fn start_call(
        &mut self,
        call: &Call<'env, RawBuffers<'env>>,
        kept: &mut Kept<'env>,
        gives: &Gives<'env>,
    ) -> Option<usize> {
        let begun = self.begin(call, call.at());
        if self.comm.port.size() == 1 {
            self.run_alone(begun, call);
            return None;
        }
        self.claim_lane(begun);
        let comm = &mut *self.comm;
        let (port, work) = (&mut comm.port, &comm.work);
        let (at, progress) = ((port.rank(), port.size()), port.started_progress());
        let make =
            || PendingCollective::new(Collective::of(Job::new(call, at, work), progress), gives);
        // SAFETY: claimed just now; the scope completes the call, or waits until nobody has its
        // memory.
        match unsafe { self.open.add_collective(make, kept, (port, begun)) } {
            Ok(slot) => slot,
            Err(stop) => self.fail(None, stop),
        }
    }

    /// Waits until there is a lane for the call `begun`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn claim_lane(&mut self, begun: StartedCall) {
        if let Err(stop) = self.comm.port.claim_lane() {
            self.comm.port.log_call(begun);
            self.fail(None, stop);
        }
    }

    /// The call `begun` of one rank.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn run_alone(&mut self, begun: StartedCall, call: &Call<'_, RawBuffers<'_>>) {
        let comm = &mut *self.comm;
        if let Err(stop) = alone::run(&mut comm.port, &mut comm.work, begun, call) {
            self.fail(None, stop);
        }
    }

    /// Whether the communicator has one rank.
    pub(super) fn is_alone(&self) -> bool {
        self.comm.port.size() == 1
    }

    /// Starts the call `begun` of several ranks, which is not under way. Whether it is over, as a
    /// brief one is that all others have started before.
    ///
    /// # Safety
    /// - It was made with this communicator's port.
    /// - Its memory stays the call's until it is over, or was quiesced.
    pub(super) unsafe fn launch(
        &mut self,
        call: &mut Collective<'env>,
        begun: StartedCall,
    ) -> bool {
        self.claim_lane(begun);
        let is_first = !self.open.has_open();
        call.renew(self.comm.port.started_progress());
        // SAFETY: claimed just now; passed on.
        unsafe { call.show(&mut self.comm.port, begun) };
        self.comm.port.tell();
        // As in `Open::add_collective`.
        let is_to_look = is_first && call.job().is_brief() || self.open.is_dead();
        match if is_to_look { self.open.look_at_new(call) } else { Progress::Open } {
            Progress::Done => true,
            Progress::Open => false,
            Progress::Failed => self.fail(None, Stop::Poisoned),
        }
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
