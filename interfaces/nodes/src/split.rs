//! Sub-communicators of ranks on several nodes.

use crate::call::NodeCall;
use crate::layout::{Lengths, NodeLayout};
use crate::net::{Net, NetError};
use crate::node_comm::{NodeComm, of_comm};
use crate::node_group::NodeGroup;
use crate::steps::Steps;
use phalanx::{Comm, Error, engine};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// For each group the net of its nodes, if this one is in it.
type Nets = Vec<Option<Arc<dyn Net>>>;

/// The leader's messages to the other ranks of its node; they have no other tagged ones.
const NETS: u32 = 0;

impl Steps<'_> {
    fn make_groups(&mut self, groups: &[Vec<usize>]) -> Nets {
        let (net, since) = (&*self.group.net, Instant::now());
        let limit = engine::deadline(self.comm);
        let mut pause = || {
            self.heard(|steps| steps.comm.check());
            match limit.filter(|&limit| since.elapsed() > limit) {
                Some(limit) => Err(NetError::new(format!("has waited {limit:?} for other nodes"))),
                None => Ok(()),
            }
        };
        match net.groups(groups, &mut pause) {
            Ok(made) => made,
            Err(e) => self.fail(&e.to_string()),
        }
    }

    /// A communicator of the ranks of one color, in the order of keys: this node's part of it, and,
    /// if they are on several nodes, the places of all.
    #[track_caller]
    fn split(&mut self, color: usize, key: usize) -> (Comm, Option<Arc<NodeGroup>>) {
        let layout = self.layout();
        let mut all = vec![(0, 0); layout.ranks()];
        self.all_gather(&[(color, key)], &mut all, &Lengths::Equal(1));
        let mut colors: Vec<usize> = all.iter().map(|&(color, _)| color).collect();
        colors.sort_unstable();
        colors.dedup();
        let group_of = |color: usize| -> Vec<usize> {
            let mut group: Vec<usize> = (0..all.len()).filter(|&r| all[r].0 == color).collect();
            group.sort_by_key(|&r| (all[r].1, r));
            group
        };
        // Nodes in the order of their first ranks in the group.
        let nodes_of = |color: &usize| -> Vec<usize> {
            let mut nodes = Vec::new();
            for rank in group_of(*color) {
                let (node, _) = layout.place(rank);
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
            nodes
        };
        let groups: Vec<Vec<usize>> = colors.iter().map(nodes_of).collect();
        let which = colors.binary_search(&color).unwrap_or(0);
        let (group, nodes) = (group_of(color), &groups[which]);
        let place = group.iter().position(|&r| r == self.group.rank).unwrap_or(0);
        // This node's part, and the group that the leader makes.
        let child = self.comm.split(color, place);
        let several = |nodes: &Vec<usize>| if nodes.len() > 1 { nodes.clone() } else { vec![] };
        let nets: Nets = if self.is_leader() {
            let made = self.make_groups(&groups.iter().map(several).collect::<Vec<_>>());
            (1..self.comm.size()).for_each(|to| self.comm.send_owned(made.clone(), to, NETS));
            made
        } else {
            self.comm.recv_owned(0, NETS).0
        };
        let group = nets.into_iter().nth(which).flatten().map(|net| {
            let number = |&rank: &usize| {
                let (node, _) = layout.place(rank);
                nodes.iter().position(|&it| it == node).unwrap_or(0)
            };
            let node_of: Vec<usize> = group.iter().map(number).collect();
            let layout = Arc::new(NodeLayout::new(nodes.len(), &node_of));
            let (rank, rail, calls) = (place, None, AtomicU64::new(0));
            Arc::new(NodeGroup { rank, layout, net, rail, calls })
        });
        (child, group)
    }
}

impl NodeComm<'_> {
    #[doc = of_comm!("split",
        "let sizes = phalanx_nodes::run(3, |comm| comm.split(comm.rank() / 2, 0).size())?;",
        "assert_eq!(sizes, [2, 2, 1]);")]
    ///
    /// **Cost** an all-gather of two words per rank, and the network's time to make groups.
    #[track_caller]
    pub fn split(&mut self, color: usize, key: usize) -> NodeComm<'static> {
        let job = self.job.clone();
        if let Some(mut steps) = self.steps(NodeCall::of::<()>("split", 1)) {
            let (child, group) = steps.split(color, key);
            return NodeComm::new(child, group, job);
        }
        NodeComm::new(self.here().split(color, key), None, job)
    }

    /// As `split`, of a grid that may be none.
    #[track_caller]
    pub(crate) fn split_or_refuse(
        &mut self,
        name: &'static str,
        colors: Result<(usize, usize), String>,
    ) -> NodeComm<'static> {
        match colors {
            Ok((color, key)) => self.split(color, key),
            Err(what) => self.refuse(NodeCall::of::<()>(name, 0), what),
        }
    }

    /// Ends the run: an argument of the call is wrong.
    pub(crate) fn refuse(&mut self, call: NodeCall<'_>, what: String) -> ! {
        if let Some(mut steps) = self.aside(call) {
            steps.refuse(what);
        }
        let (rank, site) = (self.rank(), call.site());
        engine::end_run(self.here(), Error::Argument { rank, site, what })
    }
}
