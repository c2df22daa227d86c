//! Calls that combine.
//!
//! On a node ranks combine to the leader, by the node's own algorithms. Between
//! leaders (`Between`): what the network can do itself, it does; a few bytes go
//! to everybody; else each leader gets a part of every node's vector, combines
//! these in the order of nodes, and hands its part of the result on, so that
//! each vector travels twice, whatever the number of nodes.
//!
//! By the tree of `Order::Fixed` (`by_tree`), the leader has its ranks'
//! contributions, and makes the results of the largest subtrees that are all its
//! own; these travel, and the rest of the tree is made of them. So is an operator
//! that is not commutative, where ranks and nodes are not in one order.

use super::blocks::by_node;
use super::{Comm, Lengths, LocalStep, starts};
use crate::dist::chunk;
use crate::exec::{Call, Kernel, Partition, RawBuffers};
use crate::net::{Net, Transfer};
use crate::order::left_half;
use crate::schedule::Operation;
use std::ptr::null;

/// Bytes of a node's contribution up to which every node gets all of them.
const WHOLE: usize = 2 << 10;

/// A vector cut into parts, one for each node: elements of each, in order.
struct NodeParts {
    counts: Vec<usize>,
}

impl NodeParts {
    fn even(n: usize, nodes: usize) -> Self {
        NodeParts { counts: (0..nodes).map(|j| chunk(n, j, nodes).len()).collect() }
    }

    fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    fn bytes(&self, size: usize) -> Vec<usize> {
        self.counts.iter().map(|n| n * size).collect()
    }

    fn start(&self, node: usize) -> usize {
        self.counts[..node].iter().sum()
    }
}

impl LocalStep<'_> {
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn all_reduce(
        &mut self,
        kernel: &Kernel<'_>,
        output: *mut u8,
        by_tree: bool,
    ) {
        let Partition::Vector(n) = self.call.cut() else { unreachable!("a vector") };
        let nodes = self.layout().nodes();
        // SAFETY: in place, by the contract; the network has it between the steps.
        unsafe {
            if by_tree {
                if let Some(result) = self.tree(kernel, output, n, &NodeParts::even(n, nodes)) {
                    self.hand_on(kernel, result, output, n);
                }
            } else if self.lanes(n * kernel.size()) {
                return self.all_reduce_by_lanes(kernel, output, n);
            } else {
                self.step(Operation::Reduce, 0, Partition::Vector(n), kernel, output, output);
                if self.is_leader() {
                    self.combine_all(None, kernel, output, n);
                }
            }
            self.step(Operation::Broadcast, 0, Partition::Vector(n), kernel, null(), output);
        }
    }

    /// Combines the nodes' vectors at `at`, in place on all of them.
    ///
    /// # Safety
    /// `at` is valid for `n` elements.
    pub(super) unsafe fn combine_all(
        &mut self,
        lane: Option<&dyn Net>,
        kernel: &Kernel<'_>,
        at: *mut u8,
        n: usize,
    ) {
        let (nodes, node, size) = (self.layout().nodes(), self.node(), kernel.size());
        // An operator is anybody's to write, and what it says of itself no ground to
        // write on: the elements must be such numbers.
        if let Some((number, fold)) = self.call.built_in()
            && number.is(self.call.sig().element())
        {
            return self.go(lane, Transfer::AllReduce { at, count: n, number, fold });
        }
        if n * size <= WHOLE {
            let all = self.memory(1, nodes * n * size, kernel);
            let counts = vec![n * size; nodes];
            // SAFETY: there is room for all nodes'.
            unsafe {
                kernel.copy(all.wrapping_add(node * n * size), at, n);
                self.go(lane, Transfer::AllGather { all, counts: &counts });
                fold(kernel, all, n, nodes);
                kernel.copy(at, all, n);
            }
            return;
        }
        let parts = NodeParts::even(n, nodes);
        // SAFETY: passed on; the own part's result has its place in the vector.
        unsafe {
            let result = self.combine_own(lane, kernel, at, &parts);
            let own = at.wrapping_add(parts.start(node) * size);
            kernel.copy(own, result, parts.counts[node]);
        }
        let pending = self.begin(lane, Transfer::AllGather { all: at, counts: &parts.bytes(size) });
        self.wait(pending);
    }

    /// A call's first transfer: the leader agrees with the others about the call
    /// meanwhile, unless that is done (lanes).
    fn go(&mut self, lane: Option<&dyn Net>, transfer: Transfer<'_>) {
        match lane {
            None => self.agree_while(Some(transfer)),
            Some(_) => {
                let pending = self.begin(lane, transfer);
                self.wait(pending);
            }
        }
    }

    /// The nodes' combined elements of the own part of the vectors at `from`.
    ///
    /// # Safety
    /// `from` is valid for the parts.
    unsafe fn combine_own(
        &mut self,
        lane: Option<&dyn Net>,
        kernel: &Kernel<'_>,
        from: *const u8,
        parts: &NodeParts,
    ) -> *mut u8 {
        let (nodes, size) = (self.layout().nodes(), kernel.size());
        let m = parts.counts[self.node()];
        let recv = self.memory(1, nodes * m * size, kernel);
        let (send_counts, recv_counts) = (parts.bytes(size), vec![m * size; nodes]);
        let (send_counts, recv_counts) = (&send_counts[..], &recv_counts[..]);
        self.go(lane, Transfer::AllToAll { send: from, send_counts, recv, recv_counts });
        // SAFETY: a block of each node is there.
        unsafe { fold(kernel, recv, m, nodes) };
        recv
    }

    /// The part of the result on every leader becomes the whole at `output`.
    ///
    /// # Safety
    /// `part` has this node's even part of `n` elements; `output` has room for all.
    unsafe fn hand_on(&mut self, kernel: &Kernel<'_>, part: *const u8, output: *mut u8, n: usize) {
        let (parts, size) = (NodeParts::even(n, self.layout().nodes()), kernel.size());
        let (node, counts) = (self.node(), parts.bytes(size));
        // SAFETY: by the contract.
        unsafe {
            let own = output.wrapping_add(parts.start(node) * size);
            kernel.copy(own, part, parts.counts[node]);
        }
        self.transfer(Transfer::AllGather { all: output, counts: &counts });
    }

    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn reduce(
        &mut self,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
        by_tree: bool,
    ) {
        let Partition::Vector(n) = self.call.cut() else { unreachable!("a vector") };
        let (layout, size, node) = (self.layout(), kernel.size(), self.node());
        let (home, root) = layout.place(self.call.root_rank());
        let parts = NodeParts::even(n, layout.nodes());
        let counts = parts.bytes(size);
        // SAFETY: the vectors by the contract; the others' stay as they are, so
        // leaders combine in memory of their own.
        unsafe {
            let part = if by_tree {
                self.tree(kernel, input, n, &parts)
            } else {
                let mut at = input.cast_mut();
                if self.is_leader() {
                    at = self.memory(0, n * size, kernel);
                    kernel.copy(at, input, n);
                }
                self.step(Operation::Reduce, 0, Partition::Vector(n), kernel, at, at);
                self.is_leader().then(|| self.combine_own(None, kernel, at, &parts))
            };
            let mut all = std::ptr::null_mut();
            if let Some(part) = part {
                let mut mine = part;
                if home == node {
                    all = self.memory(3, n * size, kernel);
                    mine = all.wrapping_add(parts.start(node) * size);
                    kernel.copy(mine, part, parts.counts[node]);
                }
                self.transfer(Transfer::Gather { root: home, mine, all, counts: &counts });
            }
            if home == node {
                self.deliver(root, n, kernel, all, output);
            }
        }
    }

    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn reduce_scatter(
        &mut self,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
        by_tree: bool,
    ) {
        let (layout, size) = (self.layout(), kernel.size());
        let cut = self.call.cut();
        let lens = Lengths::of_cut(cut);
        let own = self.own_counts(&lens);
        let n: usize = (0..layout.ranks()).map(|rank| lens.of(rank)).sum();
        let of_node = |j: usize| layout.members(j).iter().map(|&r| lens.of(r)).sum();
        let parts = NodeParts { counts: (0..layout.nodes()).map(of_node).collect() };
        debug_assert_eq!(parts.total(), n);
        // SAFETY: the vectors by the contract; all memory has room for `n`.
        unsafe {
            let part = if by_tree {
                let mut from = input;
                if !layout.is_contiguous() {
                    // Every rank's: the steps on the node then need no order.
                    let sorted = self.memory(3, n * size, kernel);
                    by_node(&layout, &lens, kernel, input, sorted);
                    from = sorted;
                }
                self.tree(kernel, from, n, &parts)
            } else if self.lanes(n * size) {
                return self.reduce_scatter_by_lanes(&lens, kernel, input, output);
            } else {
                let mut at = input.cast_mut();
                if self.is_leader() {
                    at = self.memory(0, n * size, kernel);
                    kernel.copy(at, input, n);
                }
                self.step(Operation::Reduce, 0, Partition::Vector(n), kernel, at, at);
                if self.is_leader() && !layout.is_contiguous() {
                    let sorted = self.memory(2, n * size, kernel);
                    by_node(&layout, &lens, kernel, at, sorted);
                    at = sorted;
                }
                self.is_leader().then(|| self.combine_own(None, kernel, at, &parts))
            };
            let part = part.unwrap_or(std::ptr::null_mut());
            self.step(Operation::Scatter, 0, lens.cut(&own), kernel, part, output);
        }
    }

    /// On leaders, the own part of the vectors' combination by the tree of
    /// `Order::Fixed`.
    ///
    /// # Safety
    /// `input` has `n` elements on every rank, which `parts` cuts.
    unsafe fn tree(
        &mut self,
        kernel: &Kernel<'_>,
        input: *const u8,
        n: usize,
        parts: &NodeParts,
    ) -> Option<*mut u8> {
        let (layout, size, node) = (self.layout(), kernel.size(), self.node());
        let (nodes, t) = (layout.nodes(), self.comm.port.size());
        let leader = self.is_leader();
        let gathered = match leader {
            true => self.memory(0, t * n * size, kernel),
            false => std::ptr::null_mut(),
        };
        // SAFETY: a vector of every rank; the leader has room for them.
        unsafe { self.step(Operation::Gather, 0, Partition::Equal(n), kernel, input, gathered) };
        if !leader {
            return None;
        }
        let trees: Vec<_> = (0..nodes).map(|j| layout.subtrees(j)).collect();
        let local = |rank: usize| layout.place(rank).1;
        for &(first, len) in &trees[node] {
            let at = |rank: usize| gathered.wrapping_add(local(rank) * n * size);
            // SAFETY: a vector of each of these ranks, all this node's.
            unsafe { combine(kernel, first, len, n, &|first, len| (len == 1).then(|| at(first))) };
        }
        let k = trees[node].len();
        let m = parts.counts[node];
        let mine = |i: usize| gathered.wrapping_add(local(trees[node][i].0) * n * size);
        // Where the results of node j's subtrees begin, in subtrees.
        let begins = starts(trees.iter().map(Vec::len));
        let send = self.memory(1, k * n * size, kernel);
        let recv = self.memory(2, begins[nodes] * m * size, kernel);
        let mut at = send;
        for j in 0..nodes {
            for i in 0..k {
                let from = mine(i).wrapping_add(parts.start(j) * size);
                // SAFETY: part j of a result; `send` has room for all.
                unsafe { kernel.copy(at, from, parts.counts[j]) };
                at = at.wrapping_add(parts.counts[j] * size);
            }
        }
        let send_counts: Vec<usize> = parts.counts.iter().map(|c| c * k * size).collect();
        let recv_counts: Vec<usize> = trees.iter().map(|t| t.len() * m * size).collect();
        let (send_counts, recv_counts) = (&send_counts[..], &recv_counts[..]);
        self.agree_while(Some(Transfer::AllToAll { send, send_counts, recv, recv_counts }));
        let known = |first: usize, len: usize| {
            let (j, _) = layout.place(first);
            let i = trees[j].iter().position(|&tree| tree == (first, len))?;
            Some(recv.wrapping_add((begins[j] + i) * m * size))
        };
        // SAFETY: the results of all subtrees are there.
        Some(unsafe { combine(kernel, 0, layout.ranks(), m, &known) })
    }

    /// # Safety
    /// As `Call::on_memory`, on ranks that are in the order of nodes.
    pub(super) unsafe fn scan(
        &mut self,
        kernel: &Kernel<'_>,
        identity: *const u8,
        output: *mut u8,
    ) {
        let Partition::Vector(n) = self.call.cut() else { unreachable!("a vector") };
        let (layout, size, node) = (self.layout(), kernel.size(), self.node());
        let (nodes, t, local) = (layout.nodes(), self.comm.port.size(), self.local());
        let exclusive = self.call.operation() == Operation::ExclusiveScan;
        let cut = Partition::Vector(n);
        let parts = NodeParts::even(n, nodes);
        // SAFETY: in place, by the contract; all memory has room for `n` elements,
        // or for a part of each node.
        unsafe {
            let own = self.memory(0, n * size, kernel);
            kernel.copy(own, output, n);
            // All of this node's, at the last rank: to the leader.
            let total = self.memory(3, n * size, kernel);
            self.step(self.call.operation(), 0, cut, kernel, null(), output);
            match (exclusive, local) {
                (true, 0) => {
                    kernel.copy(total, own, n);
                    kernel.copy(output, own, n);
                }
                (true, _) => kernel.combine(total, output, own, n),
                (false, _) => kernel.copy(total, output, n),
            }
            let last = self.memory(2, n * size, kernel);
            self.fetch(t - 1, n, kernel, total, last);
            let before = total;
            if self.is_leader() {
                let m = parts.counts[node];
                let recv = self.memory(1, (nodes + 1) * m * size, kernel);
                let (send_counts, recv_counts) = (parts.bytes(size), vec![m * size; nodes]);
                let (there, here) = (&send_counts[..], &recv_counts[..]);
                self.agree_while(Some(Transfer::AllToAll {
                    send: last,
                    send_counts: there,
                    recv,
                    recv_counts: here,
                }));
                // Of every node, what comes before it.
                let sum = recv.wrapping_add(nodes * m * size);
                kernel.copy(sum, recv, m);
                for j in 1..nodes {
                    kernel.carry(sum, recv.wrapping_add(j * m * size), m);
                }
                self.transfer(Transfer::AllToAll {
                    send: recv,
                    send_counts: here,
                    recv: before,
                    recv_counts: there,
                });
            }
            self.step(Operation::Broadcast, 0, cut, kernel, null(), before);
            match (node, exclusive && local == 0) {
                (0, true) if !identity.is_null() => kernel.fill(output, identity, n),
                (0, _) => (),
                (_, true) => kernel.copy(output, before, n),
                (_, false) => kernel.combine(output, before, output, n),
            }
        }
    }
}

impl Comm {
    /// A prefix on ranks that are not in the order of nodes: everybody gets
    /// everything.
    pub(super) fn scan_apart(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        let (kernel, identity, output) = call.parts();
        let Partition::Vector(n) = call.cut() else { unreachable!("a vector") };
        let (rank, p, size) = (self.rank(), self.size(), kernel.size());
        let mut memory = crate::exec::Scratch::new();
        let all = memory.reserve(p * n * size, kernel.align());
        let gather = call.bare().part(Operation::AllGather, Partition::Equal(n));
        let exclusive = call.operation() == Operation::ExclusiveScan;
        // SAFETY: a vector of each rank; there is room for all.
        unsafe {
            self.carry_out_between_nodes(&gather.on_memory(*kernel, output, all));
            match (exclusive, rank) {
                (true, 0) if !identity.is_null() => kernel.fill(output, identity, n),
                (true, 0) => (),
                _ => {
                    fold(kernel, all, n, if exclusive { rank } else { rank + 1 });
                    kernel.copy(output, all, n);
                }
            }
        }
    }
}

/// Combines `count` vectors of `n` elements, one after the other, into the first.
///
/// # Safety
/// They are valid for reads and writes.
pub(super) unsafe fn fold(kernel: &Kernel<'_>, all: *mut u8, n: usize, count: usize) {
    for j in 1..count {
        // SAFETY: by the contract.
        unsafe { kernel.combine(all, all, all.wrapping_add(j * n * kernel.size()), n) };
    }
}

/// Combines the vectors of operands `first..first + len` by the tree, into that of
/// the first; `known` says where results of subtrees are.
///
/// # Safety
/// Those are valid for reads and writes of `n` elements, and do not overlap.
unsafe fn combine(
    kernel: &Kernel<'_>,
    first: usize,
    len: usize,
    n: usize,
    known: &dyn Fn(usize, usize) -> Option<*mut u8>,
) -> *mut u8 {
    if let Some(at) = known(first, len) {
        return at;
    }
    let half = left_half(len);
    // SAFETY: passed on; two different subtrees.
    unsafe {
        let left = combine(kernel, first, half, n, known);
        let right = combine(kernel, first + half, len - half, n, known);
        kernel.combine(left, left, right, n);
        left
    }
}
