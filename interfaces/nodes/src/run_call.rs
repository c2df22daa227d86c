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

/// Each call of `Runs` is made by the method behind `=>`.
macro_rules! by_methods {
    ($($name:ident[$($of:tt)*]($($argument:ident: $type:ty),*) => $method:ident;)*) => {$(
        #[track_caller]
        fn $name<$($of)*>(&mut self, $($argument: $type),*) {
            self.$method($($argument),*);
        }
    )*};
}

impl Runs for NodeComm<'_> {
    by_methods! {
        barrier[]() => barrier;
        broadcast[T: Element](buf: &mut [T], root: usize) => broadcast;
        shift[T: Element](buf: &mut [T], distance: isize) => shift;
        reduce[T: Element, O: Operator<T>](buf: &mut [T], op: O, root: usize) => reduce;
        all_reduce[T: Element, O: Operator<T>](buf: &mut [T], op: O) => all_reduce;
        scan[T: Element, O: Operator<T>](buf: &mut [T], op: O) => scan;
        exclusive_scan[T: Element, O: Operator<T>](buf: &mut [T], op: O) => exclusive_scan;
        reduce_scatter[T: Element, O: Operator<T>](all: &[T], mine: &mut [T], op: O)
            => reduce_scatter_into;
        reduce_scatter_varied[T: Element, O: Operator<T>](
            all: &[T], mine: &mut [T], counts: &[usize], op: O) => reduce_scatter_varied_into;
        all_gather[T: Element](mine: &[T], all: &mut [T]) => all_gather_into;
        all_gather_varied[T: Element](mine: &[T], all: &mut [T], counts: &[usize])
            => all_gather_varied_into;
        all_to_all[T: Element](send: &[T], recv: &mut [T]) => all_to_all_into;
        gather[T: Element](mine: &[T], all: &mut [T], root: usize) => gather_into;
        gather_varied[T: Element](mine: &[T], all: &mut [T], counts: &[usize], root: usize)
            => gather_varied_into;
        scatter[T: Element](all: &[T], mine: &mut [T], root: usize) => scatter_into;
        scatter_varied[T: Element](all: &[T], mine: &mut [T], counts: &[usize], root: usize)
            => scatter_varied_into;
    }

    #[track_caller]
    fn all_to_all_varied<T: Element>(
        &mut self,
        (send, sent): (&[T], &[usize]),
        (recv, received): (&mut [T], &[usize]),
    ) {
        self.all_to_all_varied_into(send, sent, recv, received);
    }
}
