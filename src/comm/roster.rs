//! The placement of a team's ranks.

use crate::machine::{Level, Machine};
use crate::sync::Arc;
use crate::tuning::LevelModel;

/// Where the ranks of a team are, for `split_by` and for reports.
pub(crate) struct Roster {
    pub(crate) machine: Arc<Machine>,
    /// By rank; `None` for a rank that is not bound.
    pub(crate) pus: Vec<Option<usize>>,
    /// What levels cost; none on a machine without.
    pub(crate) model: Option<Arc<LevelModel>>,
    /// For tests: even and odd ranks count as in two memories, wherever they are.
    pub(crate) always_apart: bool,
}

impl Roster {
    /// Whether these ranks are bound to cores of several NUMA nodes, so that it
    /// matters whose memory their mailboxes are in. Not where ranks outnumber
    /// processing units: the memory would buy nothing then.
    pub(crate) fn spans_numa_nodes(&self, ranks: &[usize]) -> bool {
        let mut nodes = ranks.iter().filter_map(|&rank| self.node(rank));
        let first = nodes.next();
        let crowded = self.pus.len() > self.machine.allowed_pus().len();
        self.always_apart || (!crowded && nodes.any(|node| Some(node) != first))
    }

    /// By rank: the number of its memory among those that the ranks' cores have, by first ranks. A
    /// rank that is not bound counts to the memory of the first that is.
    pub(crate) fn memories(&self) -> Box<[usize]> {
        let first = (0..self.pus.len()).find_map(|rank| self.node(rank));
        let node = |rank| match self.always_apart {
            true => Some(rank % 2),
            false => self.node(rank).or(first),
        };
        let mut nodes = Vec::new();
        let mut number = |node: Option<usize>| {
            nodes.iter().position(|&it| it == node).unwrap_or_else(|| {
                nodes.push(node);
                nodes.len() - 1
            })
        };
        (0..self.pus.len()).map(|rank| number(node(rank))).collect()
    }

    /// The units in the memory of rank 0's core; none if the machine has but one memory.
    pub(crate) fn near_caller(&self) -> Vec<usize> {
        let allowed = self.machine.allowed_pus();
        let node = |pu: usize| self.machine.group_of(pu, Level::Numa);
        let near = |pu: &usize| match self.always_apart {
            true => self.pus[0] == Some(*pu),
            false => self.pus[0].is_some_and(|own| node(own) == node(*pu)),
        };
        let near: Vec<usize> = allowed.iter().copied().filter(near).collect();
        if near.len() < allowed.len() { near } else { Vec::new() }
    }

    /// The NUMA node of the core that a rank is bound to.
    fn node(&self, rank: usize) -> Option<usize> {
        let pu = self.pus.get(rank).copied().flatten()?;
        self.machine.group_of(pu, Level::Numa)
    }
}
