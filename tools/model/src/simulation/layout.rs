//! The ranks' cores: the level at which two ranks meet, and the uplinks on a message's route.

use phalanx::machine::{Level, Machine};
use phalanx::placement::Assignment;
use phalanx::tuning::{CostsError, MachineCosts};

/// An uplink: messages that leave or enter a group of cores share its rate.
#[derive(Clone, Copy, Debug)]
struct Uplink {
    parent: Option<usize>,
    depth: usize,
    /// Index into the costs' levels.
    class: usize,
    /// GB/s through the uplink, in each direction.
    rate: f64,
    /// Whether the group is a package: the home of its memory.
    package: bool,
    /// Whether it has a memory of its own, and its rate.
    memory: Option<f64>,
}

/// Ranks on the cores of a machine.
#[derive(Clone, Debug)]
pub(super) struct RankLayout {
    /// The core of each rank.
    core: Vec<usize>,
    /// The innermost group of each rank's core.
    above: Vec<usize>,
    uplinks: Vec<Uplink>,
    /// Index into the levels, for ranks on one core.
    same_core: usize,
    /// For two uplinks the innermost group that they share; empty where there would be too many.
    shared: Vec<u32>,
}

/// Uplinks up to which it is kept for each pair where they meet.
const MOST_UPLINKS: usize = 1024;

impl RankLayout {
    /// # Errors
    /// A rank without a core, a level without data.
    pub(super) fn new(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Self, CostsError> {
        let core = costs.cores(machine, assignment)?;
        let memory = &costs.memory;
        let mut uplinks: Vec<Uplink> = Vec::new();
        for vertex in machine.tree().vertices() {
            let is = |level| vertex.levels.contains(&level);
            let known = vertex.levels.iter().rev().find_map(|&l| costs.position(l));
            let mut rate = f64::INFINITY;
            let mut limit = |at, by: Option<f64>| {
                if is(at)
                    && let Some(by) = by
                {
                    rate = rate.min(by);
                }
            };
            limit(Level::L3, memory.per_l3);
            limit(Level::Package, memory.link);
            let own = match (is(Level::Numa), is(Level::Package)) {
                (true, false) => memory.per_node,
                (_, true) => memory.per_package,
                _ => None,
            };
            uplinks.push(Uplink {
                parent: vertex.parent,
                depth: vertex.depth,
                // Single cores meet nobody: any class does.
                class: known.unwrap_or(0),
                rate,
                package: is(Level::Package),
                memory: own,
            });
        }
        let above = core.iter().map(|&c| machine.tree().above(c)).collect();
        let same_core = costs.position(Level::Core).unwrap_or(0);
        let mut layout = RankLayout { core, above, uplinks, same_core, shared: Vec::new() };
        let n = layout.uplinks.len();
        if n <= MOST_UPLINKS {
            let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            layout.shared = pairs.map(|(a, b)| layout.innermost(a, b) as u32).collect();
        }
        Ok(layout)
    }

    /// All pairs at one distance.
    pub(super) fn flat(ranks: usize) -> Self {
        let uplink = Uplink {
            parent: None,
            depth: 0,
            class: 0,
            rate: f64::INFINITY,
            package: false,
            memory: None,
        };
        RankLayout {
            core: (0..ranks).collect(),
            above: vec![0; ranks],
            uplinks: vec![uplink],
            same_core: 0,
            shared: vec![0],
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.core.len()
    }

    pub(super) fn uplinks(&self) -> usize {
        self.uplinks.len()
    }

    /// GB/s through an uplink, and of the memory behind it.
    pub(super) fn rate(&self, uplink: usize) -> (f64, Option<f64>) {
        (self.uplinks[uplink].rate, self.uplinks[uplink].memory)
    }

    /// The innermost group that two uplinks share.
    fn innermost(&self, mut x: usize, mut y: usize) -> usize {
        while x != y {
            let up = if self.uplinks[x].depth >= self.uplinks[y].depth { &mut x } else { &mut y };
            *up = self.uplinks[*up].parent.unwrap_or(0);
        }
        x
    }

    /// The innermost group that two ranks share, and the index into the levels for a message
    /// between them.
    pub(super) fn meets(&self, a: usize, b: usize) -> (usize, usize) {
        let (x, y) = (self.above[a], self.above[b]);
        let meet = match self.shared.get(x * self.uplinks.len() + y) {
            Some(&uplink) => uplink as usize,
            None => self.innermost(x, y),
        };
        (meet, if self.same_core(a, b) { self.same_core } else { self.uplinks[meet].class })
    }

    /// Index into the levels for a message between two ranks.
    pub(super) fn class(&self, a: usize, b: usize) -> usize {
        self.meets(a, b).1
    }

    /// Whether two ranks are threads of one core.
    pub(super) fn same_core(&self, a: usize, b: usize) -> bool {
        self.core[a] == self.core[b]
    }

    /// The innermost group of a rank.
    pub(super) fn group(&self, rank: usize) -> usize {
        self.above[rank]
    }

    /// The uplinks from a rank outwards, as far as `end`, which is not one of them.
    pub(super) fn way(&self, rank: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let mut at = Some(self.above[rank]);
        std::iter::from_fn(move || {
            let uplink = at.filter(|&d| d != end)?;
            at = self.uplinks[uplink].parent;
            Some(uplink)
        })
    }

    /// The memory that a rank's data lie in: the innermost uplink with one.
    pub(super) fn memory(&self, rank: usize) -> Option<usize> {
        self.way(rank, usize::MAX).find(|&d| self.uplinks[d].memory.is_some())
    }

    /// The package of a rank.
    pub(super) fn package(&self, rank: usize) -> Option<usize> {
        self.way(rank, usize::MAX).find(|&d| self.uplinks[d].package)
    }

    /// For each level index, how many pairs of ranks meet there.
    pub(super) fn pairs(&self, levels: usize) -> Vec<f64> {
        let mut below = vec![0.0f64; self.uplinks.len()];
        let mut pairs = vec![0.0; levels];
        let mut crews: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
        for (&core, &uplink) in self.core.iter().zip(&self.above) {
            below[uplink] += 1.0;
            *crews.entry(core).or_default() += 1.0;
        }
        let two = |n: f64| n * (n - 1.0) / 2.0;
        let same: f64 = crews.values().map(|&n| two(n)).sum();
        // A parent comes before its children: sums travel upwards from the end.
        let mut inside = vec![0.0; self.uplinks.len()];
        for uplink in (0..self.uplinks.len()).rev() {
            pairs[self.uplinks[uplink].class] += two(below[uplink]) - inside[uplink];
            if let Some(parent) = self.uplinks[uplink].parent {
                below[parent] += below[uplink];
                inside[parent] += two(below[uplink]);
            }
        }
        if same > 0.0 {
            let total: f64 = pairs.iter().sum();
            pairs.iter_mut().for_each(|n| *n *= (total - same) / total);
            pairs[self.same_core] += same;
        }
        pairs
    }
}
