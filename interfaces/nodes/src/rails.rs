//! Large calls by rails: thread `l` of every node has a network of its own to the threads `l` of
//! the other nodes, and carries a part of the call over it.
//!
//! ```text
//!   rail 0    0 ------ 4          all_reduce: reduce-scatter on the node, every
//!   rail 1    1 ------ 5          thread combines its part with those of its rail,
//!   rail 2    2 ------ 6          all-gather on the node (Traeff, "Decomposing
//!   rail 3    3 ------ 7          collectives", arXiv 1910.13373)
//! ```
//!
//! Only where every rank has or gets something large. A rooted call with blocks
//! (gather, scatter) is bound by the root's node either way, an all-to-all would have
//! to cut a table of blocks by threads; prefixes have two turns between nodes, one
//! after the other. All of these, and `Order::Fixed`, are the leader's.
//!
//! Only communicators of all ranks have rails, so ranks are in the order of nodes,
//! and as many on each.
//!
//! The leader agrees with the others about the call *before* it does anything on its
//! rail: nodes in different calls may wait for each other there for ever. And no rank
//! leaves before the leader has agreed.

use crate::layout::{Lengths, in_order, to_ranks};
use crate::reductions::{even, fold};
use crate::steps::{Move, Steps, filled};
use phalanx::Element;
use phalanx::op::Operator;

/// Bytes of a rank's larger buffer from which rails are used, where there are any.
const RAILS_FROM: usize = 64 << 10;

impl Steps<'_> {
    /// Whether a call of so many bytes uses rails.
    pub(crate) fn rails(&self, bytes: usize) -> bool {
        bytes >= RAILS_FROM && self.group.rail.is_some()
    }

    /// A transfer on the own rail.
    fn pass_by_rail<T: Element>(&mut self, it: Move<'_, T>) {
        let group = self.group;
        self.carry(group.rail.as_deref(), it);
    }

    /// Leaders compare the call.
    fn agree_first(&mut self) {
        if self.is_leader() {
            self.agree();
        }
    }

    /// By number on the node, by node: elements of that rank's block.
    fn lens_by_rail(&self, lens: &Lengths<'_>) -> Vec<Vec<usize>> {
        let layout = self.layout();
        let of = |l: usize| (0..layout.nodes()).map(|j| lens.of(layout.members(j)[l])).collect();
        (0..self.comm.size()).map(of).collect()
    }

    /// Every thread a part: the threads of `home` have all of it.
    #[track_caller]
    pub(crate) fn broadcast_by_rails<T: Element>(&mut self, home: usize, buf: &mut [T]) {
        let (counts, local) = (even(buf.len(), self.comm.size()), self.comm.rank());
        let begin: usize = counts[..local].iter().sum();
        let part = begin..begin + counts[local];
        self.agree_first();
        self.pass_by_rail(Move::Broadcast { root: home, data: &mut buf[part.clone()] });
        if home == self.node() {
            return self.comm.barrier();
        }
        let mine = buf[part].to_vec();
        self.comm.all_gather_varied_into(&mine, buf, &counts);
    }

    /// Every thread combines a part, with those of the same number on all nodes.
    #[track_caller]
    pub(crate) fn all_reduce_by_rails<T: Element, O: Operator<T>>(
        &mut self,
        buf: &mut [T],
        op: &O,
    ) {
        let (group, counts) = (self.group, even(buf.len(), self.comm.size()));
        let mut part = filled(buf, counts[self.comm.rank()]);
        self.comm.reduce_scatter_varied_into(buf, &mut part, &counts, op);
        self.agree_first();
        self.combine_all(group.rail.as_deref(), &mut part, op);
        self.comm.all_gather_varied_into(&part, buf, &counts);
    }

    /// Every thread gets the blocks of the ranks with its number, and shows them to
    /// the others of its node.
    #[track_caller]
    pub(crate) fn all_gather_by_rails<T: Element>(
        &mut self,
        lens: &Lengths<'_>,
        input: &[T],
        output: &mut [T],
    ) {
        let (layout, node) = (self.layout(), self.node());
        let (local, by_rail) = (self.comm.rank(), self.lens_by_rail(lens));
        let counts: Vec<usize> = by_rail.iter().map(|lens| lens.iter().sum()).collect();
        let mut mine = filled(output, counts[local]);
        let begin: usize = by_rail[local][..node].iter().sum();
        mine[begin..][..input.len()].copy_from_slice(input);
        self.agree_first();
        self.pass_by_rail(Move::AllGather { all: &mut mine, counts: &by_rail[local] });
        let mut all = filled(output, output.len());
        self.comm.all_gather_varied_into(&mine, &mut all, &counts);
        to_ranks(layout.by_place(), &lens.starts(layout), &all, output);
    }

    /// Every thread has its node's combination of the blocks of the ranks with its
    /// number, and exchanges these: the result is its own block, of each node.
    #[track_caller]
    pub(crate) fn reduce_scatter_by_rails<T: Element, O: Operator<T>>(
        &mut self,
        input: &[T],
        output: &mut [T],
        op: &O,
        lens: &Lengths<'_>,
    ) {
        let (layout, nodes, m) = (self.layout(), self.nodes(), output.len());
        let (local, by_rail) = (self.comm.rank(), self.lens_by_rail(lens));
        let counts: Vec<usize> = by_rail.iter().map(|lens| lens.iter().sum()).collect();
        let sorted = in_order(layout.by_place(), &lens.starts(layout), input);
        let mut part = filled(input, counts[local]);
        self.comm.reduce_scatter_varied_into(&sorted, &mut part, &counts, op);
        self.agree_first();
        let mut recv = filled(input, nodes * m);
        self.pass_by_rail(Move::AllToAll {
            send: &part,
            sends: &by_rail[local],
            recv: &mut recv,
            recvs: &vec![m; nodes],
        });
        fold(&mut recv, m, op);
        output.copy_from_slice(&recv[..m]);
        // Nobody leaves before the leader has agreed.
        self.comm.barrier();
    }
}
