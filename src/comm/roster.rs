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
    /// For tests: the answer of [`spans_numa_nodes`](Roster::spans_numa_nodes) wherever the ranks
    /// are.
    pub(crate) always_apart: bool,
}

impl Roster {
    /// Whether these ranks are bound to cores of several NUMA nodes, so that it
    /// matters whose memory their mailboxes are in. Not where ranks outnumber
    /// processing units: the memory would buy nothing then.
    pub(crate) fn spans_numa_nodes(&self, ranks: &[usize]) -> bool {
        let node = |&rank: &usize| {
            let pu = self.pus.get(rank).copied().flatten()?;
            self.machine.group_of(pu, Level::Numa)
        };
        let mut nodes = ranks.iter().filter_map(node);
        let first = nodes.next();
        let crowded = self.pus.len() > self.machine.allowed_pus().len();
        self.always_apart || (!crowded && nodes.any(|node| Some(node) != first))
    }
}
