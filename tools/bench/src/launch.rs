//! Starts the ranks: as a team on this machine, or on several nodes, of which this process is one.

use crate::rank_comm::RankComm;
use phalanx::{Builder, Error, Team};
use phalanx_nodes::NodeComm;
use std::sync::Mutex;

/// Starts ranks on several nodes.
pub trait Launch {
    /// This process' ranks, with these settings; `ranks` on all nodes together, or as
    /// many as the nodes have room for.
    ///
    /// # Errors
    /// If that cannot be done.
    fn launch(&self, settings: Builder, ranks: Option<usize>) -> Result<Box<dyn Nodes>, Error>;
}

/// Ranks on several nodes, seen from one of them.
pub trait Nodes {
    /// This node's ranks.
    fn team(&self) -> &Team;

    /// Which node this is.
    fn node(&self) -> usize;

    /// How many there are.
    fn nodes(&self) -> usize;

    /// Runs `f` on all ranks of all nodes, which all call this.
    ///
    /// # Errors
    /// If a rank failed, and the job has not ended by that.
    fn run(&self, f: &(dyn Fn(&mut NodeComm<'_>) + Sync)) -> Result<(), Error>;
}

/// A team, or one node's part of a team on several.
pub(crate) struct Ground {
    place: NodePlace,
    /// Ranks of each node.
    counts: Vec<usize>,
    /// Whether any ranks share processing units.
    crowded: bool,
}

enum NodePlace {
    Here(Box<Team>),
    Nodes(Box<dyn Nodes>),
}

impl From<Team> for Ground {
    fn from(team: Team) -> Self {
        let crowded = team.size() > team.machine().allowed_pus().len();
        Ground { counts: vec![team.size()], crowded, place: NodePlace::Here(Box::new(team)) }
    }
}

impl Ground {
    /// On several nodes; asks all of them.
    pub(crate) fn on(nodes: Box<dyn Nodes>) -> Result<Self, Error> {
        if nodes.nodes() == 1 {
            let (counts, place) = (vec![nodes.team().size()], NodePlace::Nodes(nodes));
            let mut ground = Ground { place, counts, crowded: false };
            ground.crowded = ground.here_crowded();
            return Ok(ground);
        }
        let mut ground = Ground {
            counts: vec![0; nodes.nodes()],
            crowded: false,
            place: NodePlace::Nodes(nodes),
        };
        let (own, pus, crowded) = (host(), pus(ground.team()), ground.here_crowded());
        // Of each rank: its node, its host, whether that has fewer units than its own
        // process has ranks.
        let all = ground.run(|comm| {
            let mine = [comm.node() as u64, own, u64::from(crowded)];
            let mut all = vec![0; 3 * comm.size()];
            comm.all_gather_into(&mine, &mut all);
            // Whether all ranks of this host have a unit each; of any host.
            let here = all.chunks(3).filter(|rank| rank[1] == own).count();
            let few = comm.sum(u64::from(here > pus || crowded));
            (all, few > 0)
        })?;
        let Some((all, few)) = all.into_iter().next() else { return Ok(ground) };
        for rank in all.chunks(3) {
            ground.counts[rank[0] as usize] += 1;
        }
        ground.crowded = few;
        Ok(ground)
    }

    fn here_crowded(&self) -> bool {
        self.team().size() > self.team().machine().allowed_pus().len()
    }

    /// This node's team.
    pub(crate) fn team(&self) -> &Team {
        match &self.place {
            NodePlace::Here(team) => team,
            NodePlace::Nodes(nodes) => nodes.team(),
        }
    }

    /// Ranks of all nodes.
    pub(crate) fn ranks(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Ranks of each node.
    pub(crate) fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Whether ranks are on more nodes than one.
    pub(crate) fn is_wide(&self) -> bool {
        self.counts.len() > 1
    }

    /// Whether this process has rank 0: the one that prints.
    pub(crate) fn is_first(&self) -> bool {
        match &self.place {
            NodePlace::Here(_) => true,
            NodePlace::Nodes(nodes) => nodes.node() == 0,
        }
    }

    /// Whether ranks share processing units.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Runs `f` on all ranks; the results of this node's.
    pub(crate) fn run<R: Send>(
        &self,
        f: impl Fn(&mut RankComm<'_, '_>) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let nodes = match &self.place {
            NodePlace::Here(team) => return team.run(|comm| f(&mut RankComm::Here(comm))),
            NodePlace::Nodes(nodes) => nodes,
        };
        let results = Mutex::new(Vec::new());
        nodes.run(&|comm| {
            let result = f(&mut RankComm::Wide(comm));
            results.lock().unwrap_or_else(|e| e.into_inner()).push((comm.rank(), result));
        })?;
        let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
        results.sort_by_key(|(rank, _)| *rank);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

/// Processing units of this host.
fn pus(team: &Team) -> usize {
    team.machine().cores().iter().map(|core| core.pus.len()).sum()
}

/// A number for this host.
fn host() -> u64 {
    let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    name.iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
