//! Sub-communicators of ranks on several nodes.

use super::{Comm, NodeGroup};
use crate::comm::split::splitting;
use crate::element::Element;
use crate::fabric::{LongWait, Signature, Thread};
use crate::net::{Net, NetError, NodeLayout};
use crate::sync::Arc;
use std::panic::Location;

/// What the leader hands to the other ranks of its node, which clone of it what
/// they need while it waits.
#[derive(Clone, Copy)]
struct Handed(*const Vec<Option<Arc<dyn Net>>>);

// SAFETY: an address, behind which nothing is ever changed; nets are `Send` and
// `Sync`.
unsafe impl Send for Handed {}
// SAFETY: as above.
unsafe impl Sync for Handed {}

const _: fn() = || {
    fn element<T: Element>() {}
    element::<Handed>();
};

impl Comm {
    /// A communicator of the ranks on this node, in rank order.
    ///
    /// **Must agree on all ranks:** that it is called.
    ///
    /// ```
    /// assert_eq!(phalanx::run(3, |comm| comm.split_by_node().size())?, [3, 3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn split_by_node(&mut self) -> Comm {
        static SIG: Signature = splitting("split_by_node");
        let (node, rank) = (self.node(), self.rank());
        self.split_as(&SIG, Location::caller(), node, rank)
    }

    /// [`split`](Comm::split) on several nodes, given everybody's color and key.
    pub(in crate::comm) fn split_wide(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        all: &[(usize, usize)],
        color: usize,
    ) -> Comm {
        let Some(node_group) = &self.node_group else { self.nothing_to_return() };
        let (layout, net) = (node_group.layout.clone(), node_group.net.clone());
        let rank = node_group.rank;
        let mut colors: Vec<usize> = all.iter().map(|&(color, _)| color).collect();
        colors.sort_unstable();
        colors.dedup();
        let group_of = |color: usize| -> Vec<usize> {
            let mut group: Vec<usize> = (0..all.len()).filter(|&r| all[r].0 == color).collect();
            group.sort_by_key(|&r| (all[r].1, r));
            group
        };
        // Nodes in the order of their first ranks in the group.
        let nodes_of = |group: &[usize]| -> Vec<usize> {
            let mut nodes = Vec::new();
            for &r in group {
                let (node, _) = layout.place(r);
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
            nodes
        };
        let groups: Vec<Vec<usize>> = colors.iter().map(|&c| nodes_of(&group_of(c))).collect();
        let which = colors.binary_search(&color).unwrap_or(0);
        let group = group_of(color);
        let place = group.iter().position(|&r| r == rank).unwrap_or(0);
        // This node's part, and what the leader has made.
        let mut hidden = self.node_group.take();
        let mut child = self.split_as(sig, at, color, place);
        let several: Vec<Vec<usize>> =
            groups.iter().map(|g| if g.len() > 1 { g.clone() } else { Vec::new() }).collect();
        let mut made = Vec::new();
        if self.port.rank() == 0 {
            made = self.make_groups(&*net, &several);
        }
        let handed = [Handed(&raw const made)];
        static SIG: Signature = Signature::of::<Handed>("split", "");
        let own = self.with_root_here(&SIG, at, &handed, 0, |handed| {
            // SAFETY: the leader's list, which it keeps until this closure has
            // returned on all ranks.
            unsafe { (&*handed[0].0).get(which).cloned().flatten() }
        });
        self.node_group = hidden.take();
        if let Some(net) = own {
            let node_of: Vec<usize> = group
                .iter()
                .map(|&r| {
                    let (node, _) = layout.place(r);
                    groups[which].iter().position(|&n| n == node).unwrap_or(0)
                })
                .collect();
            let layout = Arc::new(NodeLayout::new(groups[which].len(), &node_of));
            child.node_group = Some(Box::new(NodeGroup::new(place, layout, net, None)));
            child.slow_path = true;
        }
        child
    }

    fn make_groups(&mut self, net: &dyn Net, groups: &[Vec<usize>]) -> Vec<Option<Arc<dyn Net>>> {
        let (fabric, run) = (self.port.fabric().clone(), self.port.run());
        let (world, me) = (fabric.world(), fabric.member(self.port.rank()));
        let since = std::time::Instant::now();
        let (limit, mut stall) = (world.deadline(), world.stall_warning());
        let mut pause = || {
            Thread::here().go_on();
            if world.is_poisoned(run) || world.hear_cancel(me, run) {
                return Err(NetError::new("another rank has failed"));
            }
            if limit.is_some_and(|limit| since.elapsed() > limit) {
                let limit = limit.unwrap_or_default();
                return Err(NetError::new(format!("split: has waited {limit:?} for other nodes")));
            }
            if stall.is_some_and(|stall| since.elapsed() > stall) {
                stall = None;
                world.warn_of_stall(LongWait::ForNodes { rank: me }, run);
            }
            std::thread::yield_now();
            Ok(())
        };
        match net.groups(groups, &mut pause) {
            Ok(made) => made,
            Err(e) => {
                let rank = self.port.rank();
                let what = e.to_string();
                self.end_run(crate::Error::Network { rank, site: None, what }, None);
                self.nothing_to_return()
            }
        }
    }
}
