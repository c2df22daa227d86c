//! Who sits where: for two ranks, the level that they meet at; for a message,
//! the doors that it goes through.

use phalanx::machine::{Level, Machine};
use phalanx::placement::Assignment;
use phalanx::tuning::{CostsError, MachineCosts};

/// A door: what leaves or enters a group of cores shares its rate.
#[derive(Clone, Copy, Debug)]
struct Door {
    parent: Option<usize>,
    depth: usize,
    /// Index into the costs' levels.
    class: usize,
    /// GB/s through the door, in each direction.
    rate: f64,
    /// Whether the group is a package: the home of its memory.
    package: bool,
    /// Whether it has a memory of its own, and at what rate.
    memory: Option<f64>,
}

/// Ranks on the cores of a machine.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The core of each rank.
    core: Vec<usize>,
    /// The innermost group of each rank's core.
    above: Vec<usize>,
    doors: Vec<Door>,
    /// Index into the levels, for ranks on one core.
    same_core: usize,
    /// For two doors the innermost group that they share; empty where there would be too many.
    shared: Vec<u32>,
}

/// Doors up to which it is kept for each pair where they meet.
const MOST_DOORS: usize = 1024;

impl Layout {
    /// # Errors
    /// A rank without a core, a level without data.
    pub(super) fn new(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Self, CostsError> {
        let core = costs.cores(machine, assignment)?;
        let memory = &costs.memory;
        let mut doors: Vec<Door> = Vec::new();
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
            doors.push(Door {
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
        let mut layout = Layout { core, above, doors, same_core, shared: Vec::new() };
        let n = layout.doors.len();
        if n <= MOST_DOORS {
            let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            layout.shared = pairs.map(|(a, b)| layout.innermost(a, b) as u32).collect();
        }
        Ok(layout)
    }

    /// All pairs at one distance.
    pub(super) fn flat(ranks: usize) -> Self {
        let door = Door {
            parent: None,
            depth: 0,
            class: 0,
            rate: f64::INFINITY,
            package: false,
            memory: None,
        };
        Layout {
            core: (0..ranks).collect(),
            above: vec![0; ranks],
            doors: vec![door],
            same_core: 0,
            shared: vec![0],
        }
    }

    pub(super) fn ranks(&self) -> usize {
        self.core.len()
    }

    pub(super) fn doors(&self) -> usize {
        self.doors.len()
    }

    /// GB/s through a door, and of the memory behind it.
    pub(super) fn rate(&self, door: usize) -> (f64, Option<f64>) {
        (self.doors[door].rate, self.doors[door].memory)
    }

    /// The innermost group that two doors share.
    fn innermost(&self, mut x: usize, mut y: usize) -> usize {
        while x != y {
            let up = if self.doors[x].depth >= self.doors[y].depth { &mut x } else { &mut y };
            *up = self.doors[*up].parent.unwrap_or(0);
        }
        x
    }

    /// The innermost group that two ranks share, and the index into the levels for a message
    /// between them.
    pub(super) fn meets(&self, a: usize, b: usize) -> (usize, usize) {
        let (x, y) = (self.above[a], self.above[b]);
        let meet = match self.shared.get(x * self.doors.len() + y) {
            Some(&door) => door as usize,
            None => self.innermost(x, y),
        };
        (meet, if self.same_core(a, b) { self.same_core } else { self.doors[meet].class })
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

    /// The doors from a rank outwards, as far as `end`, which is not one of them.
    pub(super) fn way(&self, rank: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let mut at = Some(self.above[rank]);
        std::iter::from_fn(move || {
            let door = at.filter(|&d| d != end)?;
            at = self.doors[door].parent;
            Some(door)
        })
    }

    /// The memory that a rank's data lie in: the innermost door with one.
    pub(super) fn memory(&self, rank: usize) -> Option<usize> {
        self.way(rank, usize::MAX).find(|&d| self.doors[d].memory.is_some())
    }

    /// The package of a rank.
    pub(super) fn package(&self, rank: usize) -> Option<usize> {
        self.way(rank, usize::MAX).find(|&d| self.doors[d].package)
    }

    /// For each level index, how many pairs of ranks meet there.
    pub(super) fn pairs(&self, levels: usize) -> Vec<f64> {
        let mut below = vec![0.0f64; self.doors.len()];
        let mut pairs = vec![0.0; levels];
        let mut crews: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
        for (&core, &door) in self.core.iter().zip(&self.above) {
            below[door] += 1.0;
            *crews.entry(core).or_default() += 1.0;
        }
        let two = |n: f64| n * (n - 1.0) / 2.0;
        let same: f64 = crews.values().map(|&n| two(n)).sum();
        // A parent comes before its children: sums travel upwards from the end.
        let mut inside = vec![0.0; self.doors.len()];
        for door in (0..self.doors.len()).rev() {
            pairs[self.doors[door].class] += two(below[door]) - inside[door];
            if let Some(parent) = self.doors[door].parent {
                below[parent] += below[door];
                inside[parent] += two(below[door]);
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
