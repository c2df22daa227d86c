//! The facts that a back end finds, before they become a [`Machine`](super::Machine).
//!
//! Back ends only collect sets of processing units; everything that must not depend on where the
//! facts came from (dropping what is damaged, the tree, the logical order) is done once, in
//! `build.rs`.

use super::level::Level;
use super::quota::CpuQuota;

/// A core, as found.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawCore {
    pub(crate) pus: Vec<usize>,
}

/// A set of processing units that share something.
#[derive(Clone, Debug)]
pub(crate) struct RawGroup {
    pub(crate) level: Level,
    pub(crate) os_id: Option<usize>,
    pub(crate) pus: Vec<usize>,
}

/// A NUMA node, with or without processors.
#[derive(Clone, Debug)]
pub(crate) struct RawNode {
    pub(crate) os_id: usize,
    pub(crate) pus: Vec<usize>,
    pub(crate) memory_bytes: Option<u64>,
}

/// Distances between NUMA nodes, by their operating-system ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawDistances {
    pub(crate) nodes: Vec<usize>,
    pub(crate) values: Vec<Vec<u64>>,
}

/// Everything that a back end found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) cores: Vec<RawCore>,
    pub(crate) groups: Vec<RawGroup>,
    pub(crate) nodes: Vec<RawNode>,
    pub(crate) distances: Option<RawDistances>,
    /// Data caches: level and bytes; a level may come up several times.
    pub(crate) caches: Vec<(Level, u64)>,
    /// Processing unit and its efficiency class; absent units are of class 0.
    pub(crate) kinds: Vec<(usize, usize)>,
    /// Processing unit and how fast it is beside the others, where that is known.
    pub(crate) speeds: Vec<(usize, u64)>,
    /// Processing units that may be used; `None` = all.
    pub(crate) allowed: Option<Vec<usize>>,
    /// How much of the processors' time the process may use; `None` = all.
    pub(crate) quota: Option<CpuQuota>,
    pub(crate) warnings: Vec<String>,
}
