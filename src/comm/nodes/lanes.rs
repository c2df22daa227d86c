//! Large calls by lanes: thread `l` of every node has a network of its own to the threads `l` of
//! the other nodes, and carries a part of the call over it.
//!
//! ```text
//!   lane 0    0 ------ 4          all_reduce: reduce-scatter on the node, every
//!   lane 1    1 ------ 5          thread combines its part with those of its lane,
//!   lane 2    2 ------ 6          all-gather on the node (Traeff, "Decomposing
//!   lane 3    3 ------ 7          collectives", arXiv 1910.13373)
//! ```
//!
//! Only where every rank has or gets something large. A rooted call with blocks
//! (gather, scatter) is bound by the root's node either way, an all-to-all would have
//! to cut a table of blocks by threads; prefixes have two turns between nodes, one
//! after the other. All of these, and `Order::Fixed`, are the leader's.
//!
//! Only communicators of all ranks have lanes, so ranks are in the order of nodes,
//! and as many on each.
//!
//! The leader agrees with the others about the call *before* it does anything on its
//! lane: nodes in different calls may wait for each other there for ever. And no rank
//! leaves before the leader has agreed.

use super::{Lengths, LocalStep, starts};
use crate::dist::chunk;
use crate::exec::{Kernel, Partition};
use crate::net::Transfer;
use crate::schedule::Operation;

/// Bytes of a rank's larger buffer from which lanes are used, where there are any.
pub(crate) const LANES_FROM: usize = 64 << 10;

impl LocalStep<'_> {
    /// Whether a call of so many bytes uses lanes.
    pub(super) fn lanes(&self, bytes: usize) -> bool {
        let least = self.comm.job.as_ref().map_or(usize::MAX, |job| job.lanes_from);
        bytes >= least && self.node_group().lane.is_some()
    }

    /// A transfer on the own lane.
    fn pass_by_lane(&mut self, transfer: Transfer<'_>) {
        let lane = self.node_group().lane.clone();
        let pending = self.begin(lane.as_deref(), transfer);
        self.wait(pending);
    }

    /// Leaders compare the call.
    fn agree(&mut self) {
        if self.is_leader() {
            self.agree_while(None);
        }
    }

    /// By number on the node, by node: elements of that rank's block.
    fn lens_by_lane(&self, lens: &Lengths<'_>) -> Vec<Vec<usize>> {
        let layout = self.layout();
        let of = |l: usize| (0..layout.nodes()).map(|j| lens.of(layout.members(j)[l])).collect();
        (0..self.comm.port.size()).map(of).collect()
    }

    /// Every thread a part: the threads of `home` have all of it.
    ///
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn broadcast_by_lanes(
        &mut self,
        home: usize,
        kernel: &Kernel<'_>,
        output: *mut u8,
        n: usize,
    ) {
        let (t, local, size) = (self.comm.port.size(), self.local(), kernel.size());
        let part = chunk(n, local, t);
        let at = output.wrapping_add(part.start * size);
        self.agree();
        self.pass_by_lane(Transfer::Broadcast { root: home, at, bytes: part.len() * size });
        if home == self.node() {
            return self.pause();
        }
        let counts: Vec<usize> = (0..t).map(|l| chunk(n, l, t).len()).collect();
        let mine = self.memory(0, part.len() * size, kernel);
        // SAFETY: the part is ours; the memory has room for it.
        unsafe {
            kernel.copy(mine, at, part.len());
            self.step(Operation::AllGather, 0, Partition::Varied(&counts), kernel, mine, output);
        }
    }

    /// Every thread combines a part, with those of the same number on all nodes.
    ///
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn all_reduce_by_lanes(
        &mut self,
        kernel: &Kernel<'_>,
        output: *mut u8,
        n: usize,
    ) {
        let (t, local) = (self.comm.port.size(), self.local());
        let counts: Vec<usize> = (0..t).map(|l| chunk(n, l, t).len()).collect();
        let part = self.memory(0, counts[local] * kernel.size(), kernel);
        let lane = self.node_group().lane.clone();
        // SAFETY: in place, by the contract; the memory has room for a part.
        unsafe {
            self.step(
                Operation::ReduceScatter,
                0,
                Partition::Varied(&counts),
                kernel,
                output,
                part,
            );
            self.agree();
            self.combine_all(lane.as_deref(), kernel, part, counts[local]);
            self.step(Operation::AllGather, 0, Partition::Varied(&counts), kernel, part, output);
        }
    }

    /// Every thread gets the blocks of the ranks with its number, and shows them to
    /// the others of its node.
    ///
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn all_gather_by_lanes(
        &mut self,
        lens: &Lengths<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let (layout, node, size) = (self.layout(), self.node(), kernel.size());
        let (local, by_lane) = (self.local(), self.lens_by_lane(lens));
        let bytes: Vec<usize> = by_lane[local].iter().map(|n| n * size).collect();
        let begins = starts(bytes.iter().copied());
        let counts: Vec<usize> = by_lane.iter().map(|lens| lens.iter().sum()).collect();
        let total: usize = counts.iter().sum();
        let mine = self.memory(0, counts[local] * size, kernel);
        let all = self.memory(1, total * size, kernel);
        let places = starts((0..layout.ranks()).map(|rank| lens.of(rank)));
        self.agree();
        // SAFETY: the blocks by the contract; the memories have room for the lane's,
        // and for all.
        unsafe {
            kernel.copy(mine.wrapping_add(begins[node]), input, by_lane[local][node]);
            self.pass_by_lane(Transfer::AllGather { all: mine, counts: &bytes });
            self.step(Operation::AllGather, 0, Partition::Varied(&counts), kernel, mine, all);
            // [number][node] becomes [rank].
            let mut from = all;
            for (l, lens) in by_lane.iter().enumerate() {
                for (j, &n) in lens.iter().enumerate() {
                    let at = places[layout.members(j)[l]] * size;
                    kernel.copy(output.wrapping_add(at), from, n);
                    from = from.wrapping_add(n * size);
                }
            }
        }
    }

    /// Every thread has its node's combination of the blocks of the ranks with its
    /// number, and exchanges these: what it gets is its own block, of each node.
    ///
    /// # Safety
    /// As `Call::on_memory`.
    pub(super) unsafe fn reduce_scatter_by_lanes(
        &mut self,
        lens: &Lengths<'_>,
        kernel: &Kernel<'_>,
        input: *const u8,
        output: *mut u8,
    ) {
        let (layout, node, size) = (self.layout(), self.node(), kernel.size());
        let (local, by_lane) = (self.local(), self.lens_by_lane(lens));
        let counts: Vec<usize> = by_lane.iter().map(|lens| lens.iter().sum()).collect();
        let (total, m) = (counts.iter().sum::<usize>(), by_lane[local][node]);
        let sorted = self.memory(0, total * size, kernel);
        let part = self.memory(1, counts[local] * size, kernel);
        let recv = self.memory(2, layout.nodes() * m * size, kernel);
        let places = starts((0..layout.ranks()).map(|rank| lens.of(rank)));
        let send_counts: Vec<usize> = by_lane[local].iter().map(|n| n * size).collect();
        let recv_counts = vec![m * size; layout.nodes()];
        // SAFETY: the vectors by the contract; the memories have room for a vector,
        // for the lane's part of it, and for the own block of each node.
        unsafe {
            // [rank] becomes [number][node].
            let mut to = sorted;
            for (l, lens) in by_lane.iter().enumerate() {
                for (j, &n) in lens.iter().enumerate() {
                    let at = places[layout.members(j)[l]] * size;
                    kernel.copy(to, input.wrapping_add(at), n);
                    to = to.wrapping_add(n * size);
                }
            }
            self.step(
                Operation::ReduceScatter,
                0,
                Partition::Varied(&counts),
                kernel,
                sorted,
                part,
            );
            self.agree();
            self.pass_by_lane(Transfer::AllToAll {
                send: part,
                send_counts: &send_counts,
                recv,
                recv_counts: &recv_counts,
            });
            super::reduction::fold(kernel, recv, m, layout.nodes());
            kernel.copy(output, recv, m);
        }
        // Nobody leaves before the leader has agreed.
        self.pause();
    }
}
