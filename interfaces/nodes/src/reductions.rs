//! Calls that combine.
//!
//! On a node ranks combine to the leader, by the node's own algorithms. Between leaders: parts that
//! the network can do itself are its own; a few bytes go to everybody; else each leader gets a part
//! of every node's vector, combines these in the order of nodes, and hands its part of the result
//! on, so that each vector travels twice, whatever the number of nodes.
//!
//! By the tree of [`Order::Fixed`], the leader has its ranks' contributions, and makes the results
//! of the largest subtrees that are all its own; these travel, and the rest of the tree is made of
//! them. So is an operator that is not commutative, where ranks and nodes are not in one order.

use crate::call::NodeCall;
use crate::layout::{Lengths, starts};
use crate::moves::to_nodes;
use crate::net::Net;
use crate::node_comm::{NodeComm, between, of_comm};
use crate::number::built_in;
use crate::steps::{Move, Steps, filled};
use phalanx::dist::Block;
use phalanx::engine::{Accumulating, Accumulation, FloatControl, is_disturbed, left_half};
use phalanx::op::{Operator, Sum};
use phalanx::{Element, Order};

/// Bytes of a node's contribution up to which every node gets all of them.
const WHOLE: usize = 2 << 10;

/// Elements of each of `parts` parts of a vector of `n`, as even as can be.
pub(crate) fn even(n: usize, parts: usize) -> Vec<usize> {
    let block = Block::new(n, parts);
    (0..parts).map(|part| block.range(part).len()).collect()
}

/// Combines vectors of `n` elements that lie one after the other; the result is the first.
pub(crate) fn fold<T: Element>(all: &mut [T], n: usize, op: &impl Operator<T>) {
    let (sum, rest) = all.split_at_mut(n);
    rest.chunks(n.max(1)).for_each(|next| join(sum, next, op));
}

/// `left = left op right`, element by element.
fn join<T: Element, O: Operator<T>>(left: &mut [T], right: &[T], op: &O) {
    if is_disturbed::<T, O>() {
        return FloatControl::STANDARD.lend(|| join(left, right, op));
    }
    left.iter_mut().zip(right).for_each(|(a, &b)| *a = op.combine(*a, b));
}

/// Combines the vectors of operands `first..first + len` by the tree, into that of the first; that
/// place it returns; `known` says where results of subtrees are.
fn combine<T: Element>(
    data: &mut [T],
    op: &impl Operator<T>,
    (first, len, n): (usize, usize, usize),
    known: &dyn Fn(usize, usize) -> Option<usize>,
) -> usize {
    if let Some(at) = known(first, len) {
        return at;
    }
    let half = left_half(len);
    let left = combine(data, op, (first, half, n), known);
    let right = combine(data, op, (first + half, len - half, n), known);
    let (low, high) = data.split_at_mut(left.max(right));
    match left < right {
        true => join(&mut low[left..][..n], &high[..n], op),
        false => join(&mut high[..n], &low[right..][..n], op),
    }
    left
}

/// A call that combines.
#[derive(Clone, Copy)]
enum Reduction<'a> {
    All,
    ToRoot(usize),
    Scattered(&'a Lengths<'a>),
    Scan { exclusive: bool },
}

impl Steps<'_> {
    /// Carries out a call, in place in `buf` but where blocks of `all` are scattered; on vectors of
    /// partial results, if these are wider than elements.
    #[track_caller]
    fn combine<T: Element, O: Operator<T>>(
        &mut self,
        it: Reduction<'_>,
        all: &[T],
        buf: &mut [T],
        op: &O,
    ) {
        #[track_caller]
        fn by<T: Element, O: Operator<T> + Copy, S: Accumulation<T, O>>(
            steps: &mut Steps<'_>,
            it: Reduction<'_>,
            (all, buf): (&[T], &mut [T]),
            op: O,
            accumulation: &S,
        ) {
            if !S::IS_WIDE {
                return steps.combine_elements(it, all, buf, &op);
            }
            let widen = |x: &[T]| -> Vec<S::Wide> { x.iter().map(|&x| S::widen(x)).collect() };
            let (all, mut wide) = (widen(all), widen(buf));
            steps.combine_elements(it, &all, &mut wide, &Accumulating::new(op, accumulation));
            // A vector without another operand is not changed.
            let has_result = match it {
                Reduction::ToRoot(root) => steps.group.rank == root,
                Reduction::Scan { exclusive: false } => steps.group.rank > 0,
                _ => true,
            };
            if has_result {
                let round = || buf.iter_mut().zip(wide).for_each(|(to, x)| *to = S::round(x));
                FloatControl::STANDARD.during(round);
            }
        }
        by(self, it, (all, buf), op, &<&O as Operator<T>>::accumulation());
    }

    #[track_caller]
    fn combine_elements<T: Element, O: Operator<T>>(
        &mut self,
        it: Reduction<'_>,
        all: &[T],
        buf: &mut [T],
        op: &O,
    ) {
        match it {
            Reduction::All => self.all_reduce(buf, op),
            Reduction::ToRoot(root) => self.reduce(buf, op, root),
            Reduction::Scattered(lens) => self.reduce_scatter(all, buf, op, lens),
            Reduction::Scan { exclusive } => self.scan(buf, op, exclusive),
        }
    }

    /// Whether operands are combined by the tree.
    fn goes_by_tree<T: Element, O: Operator<T>>(&self) -> bool {
        self.order == Order::Fixed || (!O::COMMUTATIVE && !self.layout().is_contiguous())
    }

    #[track_caller]
    fn all_reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: &O) {
        if self.goes_by_tree::<T, O>() {
            let counts = even(buf.len(), self.nodes());
            if let Some(part) = self.tree(buf, op, &counts) {
                self.hand_on(&part, buf, &counts);
            }
        } else if self.rails(size_of_val(buf)) {
            return self.all_reduce_by_rails(buf, op);
        } else {
            self.comm.reduce(buf, op, 0);
            if self.is_leader() {
                self.combine_all(None, buf, op);
            }
        }
        self.comm.broadcast(buf, 0);
    }

    /// Combines the nodes' vectors, in place on all of them.
    pub(crate) fn combine_all<T: Element, O: Operator<T>>(
        &mut self,
        rail: Option<&dyn Net>,
        buf: &mut [T],
        op: &O,
    ) {
        let (n, node, nodes) = (buf.len(), self.node(), self.nodes());
        if let Some((number, fold)) = built_in::<T, O>() {
            let data = buf;
            let reduce = || self.go(rail, Move::AllReduce { data, number, fold });
            return FloatControl::STANDARD.during(reduce);
        }
        if size_of_val(buf) <= WHOLE {
            let mut all = filled(buf, nodes * n);
            all[node * n..][..n].copy_from_slice(buf);
            self.go(rail, Move::AllGather { all: &mut all, counts: &vec![n; nodes] });
            fold(&mut all, n, op);
            return buf.copy_from_slice(&all[..n]);
        }
        let counts = even(n, nodes);
        let part = self.combine_own(rail, buf, op, &counts);
        let begin: usize = counts[..node].iter().sum();
        buf[begin..][..part.len()].copy_from_slice(&part);
        self.carry(rail, Move::AllGather { all: buf, counts: &counts });
    }

    /// A call's first transfer: the leader agrees with the others about the call meanwhile, unless
    /// that is done (rails).
    fn go<T: Element>(&mut self, rail: Option<&dyn Net>, it: Move<'_, T>) {
        match rail {
            None => self.agree_and(it),
            Some(_) => self.carry(rail, it),
        }
    }

    /// The nodes' combined elements of the own part of their vectors.
    fn combine_own<T: Element>(
        &mut self,
        rail: Option<&dyn Net>,
        from: &[T],
        op: &impl Operator<T>,
        counts: &[usize],
    ) -> Vec<T> {
        let (m, nodes) = (counts[self.node()], self.nodes());
        let mut recv = filled(from, nodes * m);
        let recvs = &vec![m; nodes];
        self.go(rail, Move::AllToAll { send: from, sends: counts, recv: &mut recv, recvs });
        fold(&mut recv, m, op);
        recv.truncate(m);
        recv
    }

    /// The parts of the result on all leaders become the whole.
    fn hand_on<T: Element>(&mut self, part: &[T], all: &mut [T], counts: &[usize]) {
        let begin: usize = counts[..self.node()].iter().sum();
        all[begin..][..part.len()].copy_from_slice(part);
        self.carry(None, Move::AllGather { all, counts });
    }

    /// On leaders: this node's vectors combined, and of all nodes' results the own part.
    #[track_caller]
    fn combine_parts<T: Element, O: Operator<T>>(
        &mut self,
        input: &[T],
        op: &O,
        counts: &[usize],
        sorted: impl FnOnce(Vec<T>) -> Vec<T>,
    ) -> Option<Vec<T>> {
        let mut copy = input.to_vec(); // All ranks' vectors stay as they are.
        self.comm.reduce(&mut copy, op, 0);
        self.is_leader().then(|| self.combine_own(None, &sorted(copy), op, counts))
    }

    #[track_caller]
    fn reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: &O, root: usize) {
        let (n, node) = (buf.len(), self.node());
        let (home, root) = self.layout().place(root);
        let counts = even(n, self.nodes());
        let part = match self.goes_by_tree::<T, O>() {
            true => self.tree(buf, op, &counts),
            false => self.combine_parts(buf, op, &counts, |it| it),
        };
        let mut all = Vec::new();
        if let Some(part) = part {
            let mut mine = &part[..];
            if home == node {
                all = filled(buf, n);
                let begin: usize = counts[..node].iter().sum();
                all[begin..][..part.len()].copy_from_slice(&part);
                mine = &[];
            }
            self.carry(None, Move::Gather { root: home, mine, all: &mut all, counts: &counts });
        }
        if home == node {
            self.deliver(root, n, &all, buf);
        }
    }

    #[track_caller]
    fn reduce_scatter<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        op: &O,
        lens: &Lengths<'_>,
    ) {
        let layout = self.layout();
        let (own, counts) = (self.own_counts(lens), lens.by_node(layout));
        let by_node = |all: &[T]| {
            let mut sorted = all.to_vec();
            if !layout.is_contiguous() {
                to_nodes(layout, lens, all, &mut sorted);
            }
            sorted
        };
        let part = if self.goes_by_tree::<T, O>() {
            // Every rank's: the steps on the node then need no order.
            self.tree(&by_node(all), op, &counts)
        } else if self.rails(size_of_val(all)) {
            return self.reduce_scatter_by_rails(all, mine, op, lens);
        } else {
            self.combine_parts(all, op, &counts, |it| by_node(&it))
        };
        self.scatter_here(&part.unwrap_or_default(), mine, lens, &own);
    }

    /// On leaders, the own part of the vectors' combination by the tree of [`Order::Fixed`].
    #[track_caller]
    fn tree<T: Element>(
        &mut self,
        input: &[T],
        op: &impl Operator<T>,
        counts: &[usize],
    ) -> Option<Vec<T>> {
        let (layout, n, node) = (self.layout(), input.len(), self.node());
        let (nodes, t) = (layout.nodes(), self.comm.size());
        let mut gathered = filled(input, if self.is_leader() { t * n } else { 0 });
        self.comm.gather_into(input, &mut gathered, 0);
        if !self.is_leader() {
            return None;
        }
        let trees: Vec<_> = (0..nodes).map(|j| layout.subtrees(j)).collect();
        let place = |rank: usize| layout.place(rank).1 * n;
        for &(first, len) in &trees[node] {
            let known = |first: usize, len: usize| (len == 1).then(|| place(first));
            combine(&mut gathered, op, (first, len, n), &known);
        }
        // To each node its part of the results of all own subtrees.
        let (m, begins) = (counts[node], starts(trees.iter().map(Vec::len)));
        let parts = starts(counts.iter().copied());
        let mut send = Vec::with_capacity(trees[node].len() * n);
        for part in parts.windows(2) {
            for &(first, _) in &trees[node] {
                send.extend_from_slice(&gathered[place(first)..][part[0]..part[1]]);
            }
        }
        let mut recv = filled(input, begins[nodes] * m);
        let sends: Vec<usize> = counts.iter().map(|n| n * trees[node].len()).collect();
        let recvs: Vec<usize> = trees.iter().map(|trees| trees.len() * m).collect();
        let (send, sends, recvs) = (&send[..], &sends[..], &recvs[..]);
        self.agree_and(Move::AllToAll { send, sends, recv: &mut recv, recvs });
        let known = |first: usize, len: usize| {
            let (j, _) = layout.place(first);
            let i = trees[j].iter().position(|&tree| tree == (first, len))?;
            Some((begins[j] + i) * m)
        };
        let at = combine(&mut recv, op, (0, layout.ranks(), m), &known);
        Some(recv[at..][..m].to_vec())
    }

    #[track_caller]
    fn scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: &O, exclusive: bool) {
        if !self.layout().is_contiguous() {
            return self.scan_apart(buf, op, exclusive);
        }
        let (n, node, nodes) = (buf.len(), self.node(), self.nodes());
        let (t, local) = (self.comm.size(), self.comm.rank());
        let own = buf.to_vec();
        match exclusive {
            true => self.comm.exclusive_scan(buf, op),
            false => self.comm.scan(buf, op),
        }
        let is_first = exclusive && local == 0;
        if is_first {
            buf.copy_from_slice(&own);
        }
        // All of this node's, at the last rank: to the leader.
        let mut total = buf.to_vec();
        if exclusive && local > 0 {
            join(&mut total, &own, op);
        }
        let mut last = filled(buf, if local == 0 { n } else { 0 });
        self.fetch(t - 1, n, &total, &mut last);
        let mut before = total;
        if self.is_leader() {
            let counts = even(n, nodes);
            let m = counts[node];
            let (here, mut recv) = (vec![m; nodes], filled(buf, nodes * m));
            let (recvs, sends) = (&here[..], &counts[..]);
            self.agree_and(Move::AllToAll { send: &last, sends, recv: &mut recv, recvs });
            // Of every node, the elements before it.
            let mut sum = recv[..m].to_vec();
            for next in recv[m..].chunks_mut(m.max(1)) {
                let before = sum.clone();
                join(&mut sum, next, op);
                next.copy_from_slice(&before);
            }
            let recv = &recv[..];
            self.carry(
                None,
                Move::AllToAll { send: recv, sends: &here, recv: &mut before, recvs: &counts },
            );
        }
        self.comm.broadcast(&mut before, 0);
        match (node, is_first) {
            (0, true) => op.identity().into_iter().for_each(|identity| buf.fill(identity)),
            (0, false) => (),
            (_, true) => buf.copy_from_slice(&before),
            (_, false) => {
                join(&mut before, buf, op);
                buf.copy_from_slice(&before);
            }
        }
    }

    /// A prefix on ranks that are not in the order of nodes: everybody gets everything.
    #[track_caller]
    fn scan_apart<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: &O, exclusive: bool) {
        let (n, rank) = (buf.len(), self.group.rank);
        let mut all = filled(buf, self.layout().ranks() * n);
        self.all_gather(buf, &mut all, &Lengths::Equal(n));
        match (exclusive, rank) {
            (true, 0) => op.identity().into_iter().for_each(|identity| buf.fill(identity)),
            _ => {
                fold(&mut all[..(rank + usize::from(!exclusive)) * n], n, op);
                buf.copy_from_slice(&all[..n]);
            }
        }
    }
}

impl NodeComm<'_> {
    /// [`Comm::reduce`](phalanx::Comm::reduce) of all nodes' ranks.
    ///
    /// **Cost** a reduction on each node; between leaders each vector travels twice.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(2, |comm| {
    ///     let mut x = [comm.rank() + 1];
    ///     comm.reduce(&mut x, op::Sum, 0);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [3, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O, root: usize) {
        let call = NodeCall::of::<T>("reduce", buf.len()).by::<T, O>().with("to root", root);
        if let Some(mut steps) = self.steps(call) {
            steps.check_rank("root", root);
            return steps.combine(Reduction::ToRoot(root), &[], buf, &op);
        }
        self.here().reduce(buf, op, root);
    }

    /// [`Comm::all_reduce`](phalanx::Comm::all_reduce) of all nodes' ranks.
    ///
    /// **Cost** a reduction on each node, one between leaders (by the network itself, if it knows
    /// type and operator), a broadcast on each node.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(2, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.all_reduce(&mut x, op::Max);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        let call = NodeCall::of::<T>("all_reduce", buf.len()).by::<T, O>();
        between!(
            self,
            call,
            |steps| steps.combine(Reduction::All, &[], buf, &op),
            all_reduce(buf, op)
        )
    }

    /// [`Comm::all_reduce_values`](phalanx::Comm::all_reduce_values) of all nodes' ranks.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(2, |comm| comm.all_reduce_values([comm.rank(), 5], op::Max))?;
    /// assert_eq!(out, [[1, 5]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_values<T: Element, const N: usize, O: Operator<T>>(
        &mut self,
        mut values: [T; N],
        op: O,
    ) -> [T; N] {
        let call = NodeCall::of::<T>("all_reduce_values", N).meets("all_reduce").by::<T, O>();
        if let Some(mut steps) = self.steps(call) {
            steps.combine(Reduction::All, &[], &mut values, &op);
            return values;
        }
        self.here().all_reduce_values(values, op)
    }

    #[doc = of_comm!("sum",
        "assert_eq!(phalanx_nodes::run(2, |comm| comm.sum([1, comm.rank()]))?, [[2, 1]; 2]);")]
    #[track_caller]
    pub fn sum<T: Element, const N: usize>(&mut self, mut values: [T; N]) -> [T; N]
    where
        Sum: Operator<T>,
    {
        let call = NodeCall::of::<T>("sum", N).meets("all_reduce").by::<T, Sum>();
        if let Some(mut steps) = self.steps(call) {
            steps.combine(Reduction::All, &[], &mut values, &Sum);
            return values;
        }
        self.here().sum(values)
    }

    /// [`Comm::reduce_scatter_into`](phalanx::Comm::reduce_scatter_into) of all nodes' ranks.
    ///
    /// **Cost** a reduction on each node, a transfer of each vector, a scatter on each node.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(2, |comm| {
    ///     let mut mine = [0];
    ///     comm.reduce_scatter_into(&[1, 2], &mut mine, op::Sum);
    ///     mine[0]
    /// })?;
    /// assert_eq!(out, [2, 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_into<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        op: O,
    ) {
        let n = mine.len();
        let call = NodeCall::of::<T>("reduce_scatter_into", n).by::<T, O>();
        if let Some(mut steps) = self.steps(call) {
            let wanted = n.checked_mul(steps.layout().ranks());
            steps.check_len("the input", all.len(), wanted);
            return steps.combine(Reduction::Scattered(&Lengths::Equal(n)), all, mine, &op);
        }
        self.here().reduce_scatter_into(all, mine, op);
    }

    /// [`Comm::reduce_scatter_varied_into`](phalanx::Comm::reduce_scatter_varied_into) of all
    /// nodes' ranks.
    ///
    /// ```
    /// use phalanx::op;
    /// phalanx_nodes::run(1, |comm| {
    ///     comm.reduce_scatter_varied_into(&[1, 2], &mut [0; 2], &[2], op::Sum);
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_varied_into<T: Element, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        counts: &[usize],
        op: O,
    ) {
        let call = NodeCall::of::<T>("reduce_scatter_varied_into", all.len()).by::<T, O>();
        if let Some(mut steps) = self.steps(call.counts(counts)) {
            let total = steps.check_counts::<T>(counts, mine.len());
            steps.check_len("the input", all.len(), Some(total));
            return steps.combine(Reduction::Scattered(&Lengths::Varied(counts)), all, mine, &op);
        }
        self.here().reduce_scatter_varied_into(all, mine, counts, op);
    }

    /// [`Comm::scan`](phalanx::Comm::scan) of all nodes' ranks.
    ///
    /// **Cost** a scan on each node, and two turns of an all-to-all between leaders.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(3, |comm| {
    ///     let mut x = [1];
    ///     comm.scan(&mut x, op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [1, 2, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        let call = NodeCall::of::<T>("scan", buf.len()).by::<T, O>();
        let it = Reduction::Scan { exclusive: false };
        between!(self, call, |steps| steps.combine(it, &[], buf, &op), scan(buf, op))
    }

    /// [`Comm::exclusive_scan`](phalanx::Comm::exclusive_scan) of all nodes' ranks.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(3, |comm| {
    ///     let mut x = [1];
    ///     comm.exclusive_scan(&mut x, op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [0, 1, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        let call = NodeCall::of::<T>("exclusive_scan", buf.len()).by::<T, O>();
        let it = Reduction::Scan { exclusive: true };
        between!(self, call, |steps| steps.combine(it, &[], buf, &op), exclusive_scan(buf, op))
    }

    /// [`Comm::segmented_scan`](phalanx::Comm::segmented_scan) of all nodes' ranks.
    ///
    /// **Cost** an [`exclusive_scan`](NodeComm::exclusive_scan) of one element.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(3, |comm| {
    ///     let mut x = [1, 1];
    ///     comm.segmented_scan(&mut x, &[false, comm.rank() == 1], op::Sum);
    ///     x
    /// })?;
    /// assert_eq!(out, [[1, 2], [3, 1], [2, 3]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn segmented_scan<T: Element, O: Operator<T>>(
        &mut self,
        values: &mut [T],
        flags: &[bool],
        op: O,
    ) {
        self.run(phalanx::call::segmented_scan(values, flags, op));
    }

    /// [`Comm::exclusive_segmented_scan`](phalanx::Comm::exclusive_segmented_scan) of all nodes'
    /// ranks.
    ///
    /// ```
    /// use phalanx::op;
    /// let out = phalanx_nodes::run(3, |comm| {
    ///     let mut x = [1, 1];
    ///     comm.exclusive_segmented_scan(&mut x, &[false, comm.rank() == 1], op::Sum);
    ///     x
    /// })?;
    /// assert_eq!(out, [[0, 1], [2, 0], [1, 2]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive_segmented_scan<T: Element, O: Operator<T>>(
        &mut self,
        values: &mut [T],
        flags: &[bool],
        op: O,
    ) {
        self.run(phalanx::call::exclusive_segmented_scan(values, flags, op));
    }
}
