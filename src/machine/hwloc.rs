//! The hwloc back end: the only file that names `hwloc2`.
//!
//! `hwloc2` 2.2.0 is unmaintained and unsound in places, in functions that are not marked unsafe. What is
//! called here is the subset that is sound: `Topology::with_flags`, `depth`, `objects_at_depth` for
//! normal depths, `object_type`, `os_index`, and `cpuset()` consumed at once while the topology
//! lives. Never: names, `Display` or `Debug` of its objects and sets (they corrupt or leak memory),
//! NUMA and I/O objects (wrong depths), `flags`, `support`, `cache_attributes`, `singlify`.
//!
//! `ObjectType` is made straight from a C number, which is sound for hwloc 2 only; `build.rs`
//! refuses hwloc 3.

use std::collections::BTreeSet;

use hwloc2::{ObjectType, Topology, TopologyFlag, TopologyObject};

use super::facts::{Facts, RawCore, RawGroup};
use super::level::Level;
use super::mask::{MAX_PU, format_list};

/// Variables with which hwloc replaces the machine by another one, or changes what it sees of it,
/// without a word: binding under them would be a lie.
const OVERRIDES: [&str; 6] = [
    "HWLOC_SYNTHETIC",
    "HWLOC_XMLFILE",
    "HWLOC_FSROOT",
    "HWLOC_CPUID_PATH",
    "HWLOC_THISSYSTEM",
    "HWLOC_COMPONENTS",
];

/// What hwloc tells us.
pub(super) struct Found {
    pub(super) cores: Vec<RawCore>,
    pub(super) groups: Vec<RawGroup>,
}

/// The name of the back end, with the version it was built against.
pub(super) fn source() -> String {
    format!("hwloc {}", env!("PHALANX_HWLOC_VERSION"))
}

/// Reads this machine, and checks it against what the system itself says.
pub(super) fn read(system: &Facts) -> Result<Found, String> {
    if let Some(name) = OVERRIDES.iter().find(|name| std::env::var_os(name).is_some()) {
        return Err(format!("{name} is set, which may replace the machine by another one"));
    }
    let found = load()?;
    let of = |cores: &[RawCore]| -> BTreeSet<usize> {
        cores.iter().flat_map(|core| core.pus.iter().copied()).collect()
    };
    let (ours, theirs) = (of(&system.cores), of(&found.cores));
    let missing: Vec<usize> = ours.difference(&theirs).copied().collect();
    if !missing.is_empty() {
        return Err(format!("it does not see PU {}", format_list(&missing)));
    }
    let extra: Vec<usize> = theirs.difference(&ours).copied().collect();
    if !extra.is_empty() {
        return Err(format!("it sees PU {} that are not online", format_list(&extra)));
    }
    Ok(found)
}

/// Loads whatever hwloc is told to load.
fn load() -> Result<Found, String> {
    // Disallowed processing units are part of the machine too; what is allowed we know better.
    let topology = Topology::with_flags(vec![TopologyFlag::IncludeDisallowed])
        .ok_or_else(|| "it cannot load the topology".to_owned())?;
    let mut found = Found { cores: Vec::new(), groups: Vec::new() };
    let mut units = Vec::new();
    for depth in 0..topology.depth() {
        for object in topology.objects_at_depth(depth) {
            let pus = || processing_units(object);
            let level = match object.object_type() {
                ObjectType::Core => {
                    found.cores.push(RawCore { pus: pus() });
                    continue;
                }
                ObjectType::PU => {
                    units.push(object.os_index() as usize);
                    continue;
                }
                ObjectType::Package => Level::Package,
                ObjectType::Die => Level::Die,
                ObjectType::Group => Level::Group,
                ObjectType::L1Cache => Level::L1,
                ObjectType::L2Cache => Level::L2,
                ObjectType::L3Cache => Level::L3,
                ObjectType::L4Cache => Level::L4,
                ObjectType::L5Cache => Level::L5,
                _ => continue,
            };
            // hwloc says -1 for "no number".
            let os_id = Some(object.os_index() as usize).filter(|&id| id < u32::MAX as usize);
            found.groups.push(RawGroup { level, os_id, pus: pus() });
        }
    }
    // Old systems and some virtual machines have processing units without a core around them.
    let in_cores: BTreeSet<usize> =
        found.cores.iter().flat_map(|core| core.pus.iter().copied()).collect();
    let bare = units.into_iter().filter(|pu| !in_cores.contains(pu));
    found.cores.extend(bare.map(|pu| RawCore { pus: vec![pu] }));
    Ok(found)
}

/// The processing units of an object. The set is consumed here, while the topology is borrowed.
fn processing_units(object: &TopologyObject) -> Vec<usize> {
    object.cpuset().into_iter().flatten().map(|pu| pu as usize).take(MAX_PU).collect()
}
