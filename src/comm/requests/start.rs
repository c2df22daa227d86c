//! The calls that can be started.

use super::open::{Progress, Underway};
use super::persistent::params;
use super::started_collective::{Collective, Kept, KeptValues, Lent, Yield};
use super::{OpenRequest, Requests};
use crate::element::Element;
use crate::exec::board::started::Job;
use crate::exec::{Buffers, Call, Partition, RawBuffers};
use crate::fabric::{CallParams, Signature, StartedCall, Stop};
use crate::op::{Operator, Sum};
use crate::schedule::Operation;
use std::marker::PhantomData;
use std::panic::Location;

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
        static SIG: Signature = Signature::of::<()>("started barrier", "");
        let cut = Partition::Vector(0);
        let call = Call::new(Operation::Barrier, &SIG, Location::caller(), cut);
        let call = call.moving(Buffers::InPlace::<()>(&mut []));
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start_one(call, (), ())
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
        let sig = const { &Signature::of::<T>("started broadcast", "from root") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Broadcast, sig, Location::caller(), cut);
        let call = self.rooted(call, root);
        self.moving_in_place(call, buf)
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
        let sig = const { &Signature::combining::<T, O>("started reduce", O::NAME, "to root") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Reduce, sig, Location::caller(), cut);
        let call = self.rooted(call, root);
        self.combining_in_place(call, buf, op)
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
        let sig = const { &Signature::combining::<T, O>("started all_reduce", O::NAME, "") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::AllReduce, sig, Location::caller(), cut);
        self.combining_in_place(call, buf, op)
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
        let sig = const { &Signature::combining::<T, O>("started all_reduce", O::NAME, "") };
        let call = Call::new(Operation::AllReduce, sig, Location::caller(), Partition::Vector(N));
        let kept = Kept::new((op, values));
        let at = kept.at().as_ptr();
        // SAFETY: kept until the call is dropped. The values are the call's alone until it is over.
        let (op, values): (&'env O, &'env mut [T; N]) = unsafe { (&(*at).0, &mut (*at).1) };
        let call = call.combining(Buffers::InPlace(values), op);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        // SAFETY: a place in what is kept.
        let values = KeptValues(unsafe { &raw const (*at).1 });
        self.start_one(call, kept, values)
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
        self.all_reduce_values(values, Sum)
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
        let sig = const { &Signature::combining::<T, O>("started scan", O::NAME, "") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Scan, sig, Location::caller(), cut);
        self.combining_in_place(call, buf, op)
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
        let sig = const { &Signature::combining::<T, O>("started exclusive_scan", O::NAME, "") };
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::ExclusiveScan, sig, Location::caller(), cut);
        let (lent, buf) = Lent::new(buf);
        let identity = op.identity();
        let kept = Kept::new((op, identity));
        // SAFETY: kept until the call is dropped.
        let (op, identity) = unsafe { &*kept.at().as_ptr() };
        let call = call.combining(Buffers::InPlace(buf), op).or(identity.as_ref());
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start_one(call, kept, lent)
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
        let sig = const { &Signature::combining::<T, O>("started reduce_scatter", O::NAME, "") };
        let at = Location::caller();
        self.check_blocks("the input", all.len(), mine.len(), sig, at);
        let call = Call::new(Operation::ReduceScatter, sig, at, Partition::Equal(mine.len()));
        let (lent, mine) = Lent::new(mine);
        let kept = Kept::new(op);
        // SAFETY: kept until the call is dropped.
        let op: &'env O = unsafe { &*kept.at().as_ptr() };
        let call = call.combining(Buffers::Apart(all, mine), op);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start_one(call, kept, lent)
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
        let sig = const { &Signature::of::<T>("started all_gather", "") };
        let at = Location::caller();
        self.check_blocks("the output", all.len(), mine.len(), sig, at);
        let call = Call::new(Operation::AllGather, sig, at, Partition::Equal(mine.len()));
        self.moving_apart(call, mine, all)
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
        let sig = const { &Signature::of::<T>("started all_to_all", "") };
        let at = Location::caller();
        let block = send.len() / self.comm.port.size();
        self.check_blocks("the input", send.len(), block, sig, at);
        self.check_blocks("the output", recv.len(), block, sig, at);
        let call = Call::new(Operation::AllToAll, sig, at, Partition::Equal(block));
        self.moving_apart(call, send, recv)
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
        let sig = const { &Signature::of::<T>("started gather", "to root") };
        let at = Location::caller();
        let call = Call::new(Operation::Gather, sig, at, Partition::Equal(mine.len()));
        let call = self.rooted(call, root);
        if self.comm.port.rank() == root {
            self.check_blocks("the output", all.len(), mine.len(), sig, at);
        }
        self.moving_apart(call, mine, all)
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
        let sig = const { &Signature::of::<T>("started scatter", "from root") };
        let at = Location::caller();
        let call = Call::new(Operation::Scatter, sig, at, Partition::Equal(mine.len()));
        let call = self.rooted(call, root);
        if self.comm.port.rank() == root {
            self.check_blocks("the input", all.len(), mine.len(), sig, at);
        }
        self.moving_apart(call, all, mine)
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
        let sig = const { &Signature::of::<T>("started shift", "by") };
        let by = distance.rem_euclid(self.comm.port.size() as isize) as usize;
        let cut = Partition::Vector(buf.len());
        let call = Call::new(Operation::Shift, sig, Location::caller(), cut).shifted(by);
        self.moving_in_place(call, buf)
    }

    fn moving_in_place<T: Element>(
        &mut self,
        call: Call<'env>,
        buf: &'env mut [T],
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let (lent, buf) = Lent::new(buf);
        let call = call.moving(Buffers::InPlace(buf));
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start_one(call, (), lent)
    }

    fn moving_apart<T: Element>(
        &mut self,
        call: Call<'env>,
        from: &'env [T],
        to: &'env mut [T],
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let (lent, to) = Lent::new(to);
        let call = call.moving(Buffers::Apart(from, to));
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start_one(call, (), lent)
    }

    fn combining_in_place<T: Element, O: Operator<T> + 'env>(
        &mut self,
        call: Call<'env>,
        buf: &'env mut [T],
        op: O,
    ) -> OpenRequest<'scope, &'env mut [T]> {
        let (lent, buf) = Lent::new(buf);
        let kept = Kept::new(op);
        // SAFETY: kept until the call is dropped.
        let op: &'env O = unsafe { &*kept.at().as_ptr() };
        let call = call.combining(Buffers::InPlace(buf), op);
        let call = call.on_bytes(self.comm.port.rank(), self.comm.port.size());
        self.start_one(call, kept, lent)
    }

    /// `call` with a root, which must be a rank.
    pub(super) fn rooted(&mut self, call: Call<'env>, root: usize) -> Call<'env> {
        if !self.comm.check_rank("root", root, call.sig(), call.at(), call.len()) {
            self.comm.nothing_to_return();
        }
        call.root(root)
    }

    /// Ends the run unless `what` has a block of `block` elements for every rank.
    fn check_blocks(
        &mut self,
        what: &str,
        got: usize,
        block: usize,
        sig: &'static Signature,
        at: &'static Location<'static>,
    ) {
        let wanted = block.checked_mul(self.comm.port.size());
        if !self.comm.check_len(what, got, wanted, sig, at, block) {
            self.comm.nothing_to_return();
        }
    }

    /// Another communicator must not stand where the scope's was.
    pub(super) fn check_place(&mut self) {
        if self.comm.port.id() != self.id {
            self.comm.is_swapped("scope of requests");
            self.comm.nothing_to_return();
        }
    }

    /// Begins a call.
    pub(super) fn begin(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        params: CallParams,
    ) -> StartedCall {
        self.check_place();
        match self.comm.begin(sig, at, params) {
            Some(begun) => begun,
            None => self.comm.nothing_to_return(),
        }
    }

    /// Starts `call`, whose arguments are checked. What is `kept` is used by it.
    fn start_one<K: 'env, Y: Yield + 'env>(
        &mut self,
        call: Call<'env, RawBuffers<'env>>,
        kept: K,
        yields: Y,
    ) -> OpenRequest<'scope, Y::Output> {
        let begun = self.begin(call.sig(), call.at(), params(&call));
        let comm = &mut *self.comm;
        let job = Job::new(call, comm.port.rank(), comm.port.size()).streaming_as(&comm.work);
        let mut call = Box::new(Collective::new(&comm.port, job, kept, yields));
        // SAFETY: made with this port; the scope completes the call, or waits until nobody has its
        // memory.
        let result = unsafe { call.start(&mut comm.port, begun) };
        self.added(result, call)
    }

    /// The request for a call that was started, if that went well. It gives a `B`.
    pub(super) fn added<B>(
        &mut self,
        result: Result<(), Stop>,
        call: Box<dyn Underway + 'env>,
    ) -> OpenRequest<'scope, B> {
        if let Err(stop) = result {
            self.fail(None, stop);
        }
        let slot = self.open.add(call);
        // Of one rank it is complete at once.
        if self.comm.port.size() == 1 && self.open.look(slot) == Progress::Failed {
            self.fail(Some(slot), Stop::Poisoned);
        }
        OpenRequest { slot, _brand: PhantomData, _gives: PhantomData }
    }
}
