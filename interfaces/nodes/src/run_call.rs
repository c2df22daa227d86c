//! Calls that are values, and the methods that make them.

use crate::call::NodeCall;
use crate::layout::Lengths;
use crate::node_comm::{NodeComm, of_comm};
use crate::steps::{room, room_mut};
use phalanx::call::{self, CallData, CallKind, CollectiveCall};
use phalanx::engine::{self, LayerCall, Operation, Runs};
use phalanx::op::{Operator, Sum};
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
    fn place(&self) -> (usize, usize) {
        (self.rank(), self.size())
    }

    #[track_caller]
    fn moves<T: Element>(
        &mut self,
        operation: Operation,
        facts: LayerCall<'_>,
        (from, to): (&[T], &mut [T]),
    ) {
        let (call, lens) = (NodeCall(facts), Lengths::of_call(&facts));
        let (mut steps, root) = (self.steps_between(call), call.parameter());
        match operation {
            Operation::Broadcast => steps.broadcast(to, root),
            Operation::AllGather => steps.all_gather(from, to, &lens),
            Operation::Gather => steps.gather(from, to, root, &lens),
            Operation::Scatter => steps.scatter(from, to, root, &lens),
            Operation::Shift => steps.shift(to, root),
            Operation::AllToAll => {
                let [sends, recvs] = facts.counts;
                let counts = (!sends.is_empty()).then_some((sends, recvs));
                // SAFETY: all blocks are received.
                steps.all_to_all(room(from), unsafe { room_mut(to) }, counts);
            }
            _ => steps.barrier(),
        }
    }

    #[track_caller]
    fn combines<T: Element, O: Operator<T>>(
        &mut self,
        operation: Operation,
        facts: LayerCall<'_>,
        buffers: (&[T], &mut [T]),
        op: &O,
    ) {
        let lens = Lengths::of_call(&facts);
        self.steps_between(NodeCall(facts)).combine(operation, &lens, buffers, op);
    }

    fn refuse(&mut self, facts: LayerCall<'_>, what: String) -> ! {
        NodeComm::refuse(self, NodeCall(facts), what)
    }
}

/// The methods of calls that work on slices. Behind each: on how many ranks its example runs, what
/// the slice that it changes is, the arguments, and what that slice is then.
macro_rules! methods {
    ($(
        $(#[$more:meta])*
        pub fn $name:ident[$($of:tt)*]($($argument:ident: $type:ty),*);
            on $ranks:literal: $x:literal, $arguments:literal => $gives:literal;
    )+) => {
        impl NodeComm<'_> { $(
            #[doc = of_comm!($name)]
            $(#[$more])*
            #[doc = concat!(
                "\n```\nlet out = phalanx_nodes::run(", $ranks, ", |comm| {\n",
                "    let mut x = ", $x, ";\n    comm.", stringify!($name), "(", $arguments, ");\n",
                "    x\n})?;\nassert_eq!(out, ", $gives, ");\n# Ok::<(), phalanx::Error>(())\n```"
            )]
            #[track_caller]
            pub fn $name<$($of)*>(&mut self, $($argument: $type),*) {
                self.run(call::$name($($argument),*));
            }
        )+ }
    };
}

methods! {
    /// **Cost** a broadcast on the root's node, one between leaders, one on the other nodes.
    pub fn broadcast[T: Element](buf: &mut [T], root: usize);
        on 3: "[comm.rank()]", "&mut x, 2" => "[[2]; 3]";
    /// **Cost** a gather on each node, an all-gather between leaders, a broadcast on each node.
    pub fn all_gather_into[T: Element](mine: &[T], all: &mut [T]);
        on 3: "[0; 3]", "&[comm.rank()], &mut x" => "[[0, 1, 2]; 3]";
    pub fn all_gather_varied_into[T: Element](mine: &[T], all: &mut [T], counts: &[usize]);
        on 2: "[0; 3]", "&vec![7; comm.rank() + 1], &mut x, &[1, 2]" => "[[7; 3]; 2]";
    /// **Cost** a gather on each node, one between leaders, and a copy if the root is no leader.
    pub fn gather_into[T: Element](mine: &[T], all: &mut [T], root: usize);
        on 2: "[7; 2]", "&[comm.rank()], &mut x, 1" => "[[7, 7], [0, 1]]";
    pub fn gather_varied_into[T: Element](
        mine: &[T], all: &mut [T], counts: &[usize], root: usize);
        on 2: "[0; 3]", "&vec![7; comm.rank() + 1], &mut x, &[1, 2], 0" => "[[7; 3], [0; 3]]";
    /// **Cost** a copy if the root is no leader, a scatter between leaders, and one on each node.
    pub fn scatter_into[T: Element](all: &[T], mine: &mut [T], root: usize);
        on 2: "[0]", "&[5, 6], &mut x, 0" => "[[5], [6]]";
    pub fn scatter_varied_into[T: Element](
        all: &[T], mine: &mut [T], counts: &[usize], root: usize);
        on 2: "vec![0; comm.rank()]", "&[5], &mut x, &[0, 1], 1" => "[vec![], vec![5]]";
    /// **Cost** a gather on each node, an all-to-all between leaders, a scatter on each node.
    pub fn all_to_all_into[T: Element](send: &[T], recv: &mut [T]);
        on 2: "[0; 2]", "&[comm.rank(), 7], &mut x" => "[[0, 1], [7, 7]]";
    pub fn all_to_all_varied_into[T: Element](
        send: &[T], send_counts: &[usize], recv: &mut [T], recv_counts: &[usize]);
        on 2: "[0; 2]", "&[comm.rank(); 2], &[1, 1], &mut x, &[1, 1]" => "[[0, 1]; 2]";
    /// **Cost** as a barrier, and a message to and from each rank.
    pub fn shift[T: Element](buf: &mut [T], distance: isize);
        on 3: "[comm.rank()]", "&mut x, 1" => "[[2], [0], [1]]";
    /// **Cost** a reduction on each node; between leaders each vector travels twice.
    pub fn reduce[T: Element, O: Operator<T>](buf: &mut [T], op: O, root: usize);
        on 2: "[comm.rank() + 1]", "&mut x, phalanx::op::Sum, 0" => "[[3], [2]]";
    /// **Cost** a reduction on each node, one between leaders (by the network itself, if it knows
    /// type and operator), a broadcast on each node.
    pub fn all_reduce[T: Element, O: Operator<T>](buf: &mut [T], op: O);
        on 2: "[comm.rank()]", "&mut x, phalanx::op::Max" => "[[1]; 2]";
    /// **Cost** a reduction on each node, a transfer of each vector, a scatter on each node.
    pub fn reduce_scatter_into[T: Element, O: Operator<T>](all: &[T], mine: &mut [T], op: O);
        on 2: "[0]", "&[1, 2], &mut x, phalanx::op::Sum" => "[[2], [4]]";
    pub fn reduce_scatter_varied_into[T: Element, O: Operator<T>](
        all: &[T], mine: &mut [T], counts: &[usize], op: O);
        on 2: "vec![0; comm.rank()]", "&[3], &mut x, &[0, 1], phalanx::op::Sum"
            => "[vec![], vec![6]]";
    /// **Cost** a scan on each node, and two turns of an all-to-all between leaders.
    pub fn scan[T: Element, O: Operator<T>](buf: &mut [T], op: O);
        on 3: "[1]", "&mut x, phalanx::op::Sum" => "[[1], [2], [3]]";
    pub fn exclusive_scan[T: Element, O: Operator<T>](buf: &mut [T], op: O);
        on 3: "[1]", "&mut x, phalanx::op::Sum" => "[[0], [1], [2]]";
    /// **Cost** an [`exclusive_scan`](NodeComm::exclusive_scan) of one element.
    pub fn segmented_scan[T: Element, O: Operator<T>](values: &mut [T], flags: &[bool], op: O);
        on 3: "[1, 1]", "&mut x, &[false, comm.rank() == 1], phalanx::op::Sum"
            => "[[1, 2], [3, 1], [2, 3]]";
    pub fn exclusive_segmented_scan[T: Element, O: Operator<T>](
        values: &mut [T], flags: &[bool], op: O);
        on 3: "[1, 1]", "&mut x, &[false, comm.rank() == 1], phalanx::op::Sum"
            => "[[0, 1], [2, 0], [1, 2]]";
}

impl NodeComm<'_> {
    #[doc = of_comm!("barrier", "phalanx_nodes::run(2, |comm| comm.barrier())?;")]
    ///
    /// **Cost** two barriers of the node, and an all-reduce of 32 bytes between leaders.
    #[track_caller]
    pub fn barrier(&mut self) {
        self.run(call::barrier());
    }

    #[doc = of_comm!("all_reduce_values", "use phalanx::op;",
        "let out = phalanx_nodes::run(2, |comm| comm.all_reduce_values([comm.rank()], op::Max))?;",
        "assert_eq!(out, [[1]; 2]);")]
    #[track_caller]
    pub fn all_reduce_values<T: Element, const N: usize, O: Operator<T>>(
        &mut self,
        values: [T; N],
        op: O,
    ) -> [T; N] {
        self.run(call::all_reduce_values(values, op))
    }

    #[doc = of_comm!("sum",
        "assert_eq!(phalanx_nodes::run(2, |comm| comm.sum([1, comm.rank()]))?, [[2, 1]; 2]);")]
    #[track_caller]
    pub fn sum<T: Element, const N: usize>(&mut self, values: [T; N]) -> [T; N]
    where
        Sum: Operator<T>,
    {
        self.run(call::sum(values))
    }
}
