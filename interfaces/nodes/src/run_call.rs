//! Calls that are values.

use crate::node_comm::NodeComm;
use phalanx::call::{CallData, CallKind, CollectiveCall};
use phalanx::engine::{self, Runs};
use phalanx::op::Operator;
use phalanx::{Element, Order};

impl NodeComm<'_> {
    /// Makes a [call](phalanx::call) on all nodes' ranks, as the method of its name does, and
    /// returns its result: the buffer that has the result, or the values.
    ///
    /// **Must agree on all ranks, cost:** as the method's page says.
    ///
    /// ```
    /// use phalanx::{Order, call, op};
    /// let out = phalanx_nodes::run(3, |comm| {
    ///     let (mine, mut all, mut x) = ([comm.rank()], [0; 3], [1.0]);
    ///     let all = comm.run(call::all_gather_into(&mine, &mut all));
    ///     let x = comm.with_order(Order::Fixed).run(call::all_reduce(&mut x, op::Sum));
    ///     (all[2], x[0])
    /// })?;
    /// assert_eq!(out, [(2, 3.0); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn run<'a, K: CallKind, D: CallData<'a>>(
        &mut self,
        call: CollectiveCall<'a, K, D>,
    ) -> D::Gives {
        match self.group {
            None => self.here().run(call),
            Some(_) => engine::run_by(call, self),
        }
    }

    /// Makes a [call](phalanx::call) with work in between; between nodes the work is done first.
    /// Returns the call's result, and that of `work`.
    ///
    /// **Order** of a reduction: that of [`Order::Fixed`], always.
    ///
    /// **Must agree on all ranks:** as the page of the method of the call's name says; and, where
    /// all ranks are on one node, that the call is overlapped.
    ///
    /// ```
    /// use phalanx::call;
    /// let out = phalanx_nodes::run(2, |comm| comm.overlap(call::sum([1.0]), || 7))?;
    /// assert_eq!(out, [([2.0], 7); 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn overlap<'a, K: CallKind, D: CallData<'a>, R>(
        &mut self,
        call: CollectiveCall<'a, K, D>,
        work: impl FnOnce() -> R,
    ) -> (D::Gives, R) {
        if self.group.is_none() {
            return self.here().overlap(call, work);
        }
        let done = work();
        (self.with_order(Order::Fixed).run(call), done)
    }
}

impl Runs for NodeComm<'_> {
    #[track_caller]
    fn barrier(&mut self) {
        self.barrier();
    }

    #[track_caller]
    fn broadcast<T: Element>(&mut self, buf: &mut [T], root: usize) {
        self.broadcast(buf, root);
    }

    #[track_caller]
    fn shift<T: Element>(&mut self, buf: &mut [T], distance: isize) {
        self.shift(buf, distance);
    }

    #[track_caller]
    fn reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O, root: usize) {
        self.reduce(buf, op, root);
    }

    #[track_caller]
    fn all_reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        self.all_reduce(buf, op);
    }

    #[track_caller]
    fn scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        self.scan(buf, op);
    }

    #[track_caller]
    fn exclusive_scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        self.exclusive_scan(buf, op);
    }

    #[track_caller]
    fn reduce_scatter<T: Element, O: Operator<T>>(&mut self, all: &[T], mine: &mut [T], op: O) {
        self.reduce_scatter_into(all, mine, op);
    }

    #[track_caller]
    fn reduce_scatter_varied<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        op: O,
    ) {
        self.reduce_scatter_varied_into(all, mine, counts, op);
    }

    #[track_caller]
    fn all_gather<T: Element>(&mut self, mine: &[T], all: &mut [T]) {
        self.all_gather_into(mine, all);
    }

    #[track_caller]
    fn all_gather_varied<T: Element>(&mut self, mine: &[T], all: &mut [T], counts: &[usize]) {
        self.all_gather_varied_into(mine, all, counts);
    }

    #[track_caller]
    fn all_to_all<T: Element>(&mut self, send: &[T], recv: &mut [T]) {
        self.all_to_all_into(send, recv);
    }

    #[track_caller]
    fn all_to_all_varied<T: Element>(
        &mut self,
        (send, sent): (&[T], &[usize]),
        (recv, received): (&mut [T], &[usize]),
    ) {
        self.all_to_all_varied_into(send, sent, recv, received);
    }

    #[track_caller]
    fn gather<T: Element>(&mut self, mine: &[T], all: &mut [T], root: usize) {
        self.gather_into(mine, all, root);
    }

    #[track_caller]
    fn gather_varied<T: Element>(
        &mut self,
        mine: &[T],
        all: &mut [T],
        counts: &[usize],
        root: usize,
    ) {
        self.gather_varied_into(mine, all, counts, root);
    }

    #[track_caller]
    fn scatter<T: Element>(&mut self, all: &[T], mine: &mut [T], root: usize) {
        self.scatter_into(all, mine, root);
    }

    #[track_caller]
    fn scatter_varied<T: Element>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        root: usize,
    ) {
        self.scatter_varied_into(all, mine, counts, root);
    }
}
