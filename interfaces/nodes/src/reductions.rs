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

use crate::layout::{Lengths, in_order, starts};
use crate::net::Net;
use crate::number::built_in;
use crate::steps::{Move, Steps, filled};
use phalanx::dist::Block;
use phalanx::engine::{Accumulating, Accumulation, FloatControl, Operation};
use phalanx::engine::{by_halves, is_disturbed};
use phalanx::op::Operator;
use phalanx::{Element, Order};
use std::ops::Range;

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

/// Combines vectors of `n` elements, the operands `of`, by the tree, into that of the first one;
/// that place it returns. `known` says where results of subtrees are.
fn combine<T: Element>(
    data: &mut [T],
    op: &impl Operator<T>,
    (of, n): (Range<usize>, usize),
    mut known: impl FnMut(Range<usize>) -> Option<usize>,
) -> usize {
    by_halves(of, &mut known, &mut |left, right| {
        let (low, high) = data.split_at_mut(left.max(right));
        match left < right {
            true => join(&mut low[left..][..n], &high[..n], op),
            false => join(&mut high[..n], &low[right..][..n], op),
        }
        left
    })
}

impl Steps<'_> {
    /// Carries out a call, in place in `buf` but where blocks of `all` are scattered; on vectors of
    /// partial results, if these are wider than elements.
    #[track_caller]
    pub(crate) fn combine<T: Element, O: Operator<T>>(
        &mut self,
        operation: Operation,
        lens: &Lengths<'_>,
        buffers: (&[T], &mut [T]),
        op: &O,
    ) {
        #[track_caller]
        fn by<'o, T: Element, O: Operator<T>, S: Accumulation<T, &'o O>>(
            steps: &mut Steps<'_>,
            of: (Operation, &Lengths<'_>),
            (all, buf): (&[T], &mut [T]),
            op: &'o O,
            accumulation: &S,
        ) {
            if !S::IS_WIDE {
                // (By the operator itself, as the network knows the library's by their types.)
                return steps.combine_elements(of, all, buf, op);
            }
            let widen = |x: &[T]| -> Vec<S::Wide> { x.iter().map(|&x| S::widen(x)).collect() };
            let (all, mut wide) = (widen(all), widen(buf));
            steps.combine_elements(of, &all, &mut wide, &Accumulating::new(op, accumulation));
            // A vector without another operand is not changed.
            let has_result = match of.0 {
                Operation::Reduce => steps.group.rank == steps.call.parameter(),
                Operation::Scan => steps.group.rank > 0,
                _ => true,
            };
            if has_result {
                let round = || buf.iter_mut().zip(wide).for_each(|(to, x)| *to = S::round(x));
                FloatControl::STANDARD.during(round);
            }
        }
        by(self, (operation, lens), buffers, op, &<&O as Operator<T>>::accumulation());
    }

    #[track_caller]
    fn combine_elements<T: Element, O: Operator<T>>(
        &mut self,
        (operation, lens): (Operation, &Lengths<'_>),
        all: &[T],
        buf: &mut [T],
        op: &O,
    ) {
        match operation {
            Operation::Reduce => self.reduce(buf, op, self.call.parameter()),
            Operation::ReduceScatter => self.reduce_scatter(all, buf, op, lens),
            Operation::Scan => self.scan(buf, op, false),
            Operation::ExclusiveScan => self.scan(buf, op, true),
            _ => self.all_reduce(buf, op),
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
        let by_node = |all: &[T]| match layout.is_contiguous() {
            true => all.to_vec(),
            false => in_order(layout.by_node(), &lens.starts(layout), all),
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
            let known = |of: Range<usize>| (of.len() == 1).then(|| place(of.start));
            combine(&mut gathered, op, (first..first + len, n), known);
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
        let known = |of: Range<usize>| {
            let (j, _) = layout.place(of.start);
            let i = trees[j].iter().position(|&tree| tree == (of.start, of.len()))?;
            Some((begins[j] + i) * m)
        };
        let at = combine(&mut recv, op, (0..layout.ranks(), m), known);
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
