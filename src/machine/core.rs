//! The parts of a machine: cores, groups of cores, NUMA nodes.

use super::level::Level;

/// A physical core.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Core {
    /// The operating system's ids of the core's processing units (hardware threads), sorted; the
    /// first is the primary thread. Never empty.
    pub pus: Vec<usize>,
    /// The package, as an index into the groups of [`Level::Package`].
    pub package: Option<usize>,
    /// The local memory, as an index into [`Machine::numa_nodes`](super::Machine::numa_nodes).
    pub numa: Option<usize>,
    /// The efficiency class: 0 is the slowest kind of core of this machine, higher is faster. All
    /// cores of a uniform machine have 0.
    pub kind: usize,
    /// Whether it is an efficiency core: a team has none by default
    /// ([`Machine::ranks`](super::Machine::ranks)). Where kinds of cores differ by a fifth or more
    /// in speed, as the system says, those below the largest difference are.
    pub is_efficiency: bool,
    /// What is above the core: vertices of [`Machine::tree`](super::Machine::tree), outermost (the
    /// machine) first.
    pub path: Vec<usize>,
}

/// Cores that share something: a cache, a memory, a package.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The operating system's or the firmware's number, where there is one.
    pub os_id: Option<usize>,
    /// The processing units of the group, sorted.
    pub pus: Vec<usize>,
    /// The cores of the group (indices in logical order), sorted.
    pub cores: Vec<usize>,
}

/// All groups of one level, in logical order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelGroups {
    /// What the cores of a group share.
    pub level: Level,
    /// The groups. They need not cover every core.
    pub groups: Vec<Group>,
}

/// A NUMA node: a memory, and the cores next to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NumaNode {
    /// The operating system's number.
    pub os_id: usize,
    /// The processing units of the node, sorted; empty for a memory-only node.
    pub pus: Vec<usize>,
    /// The cores of the node (indices in logical order), sorted.
    pub cores: Vec<usize>,
    /// The size of the memory, where it is known.
    pub memory_bytes: Option<u64>,
}
