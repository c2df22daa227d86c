//! The hwloc back end: the only file that names `hwloc2`.
//!
//! `hwloc2` 2.2.0 is unmaintained and unsound in places, in functions that are not marked unsafe.
//! Only the sound subset is called here: `Topology::with_flags`, `depth`,
//! `objects_at_depth` for normal depths, `object_type`, `os_index`, and `cpuset()` consumed at once
//! while the topology lives. Never: names, `Display` or `Debug` of its objects and sets (they
//! corrupt or leak memory), NUMA and I/O objects (wrong depths), `flags`, `support`,
//! `cache_attributes`, `singlify`.
//!
//! `ObjectType` is made straight from a C number, which is sound for hwloc 2 only; `build.rs` and
//! the loader refuse hwloc 3.

mod loader;

use crate::sorted::{Listed, SortedSet};

use hwloc2::{ObjectType, Topology, TopologyFlag, TopologyObject};

use super::facts::{Facts, RawCore, RawGroup};
use super::level::Level;
use super::mask::{MAX_PU, format_list};

/// Variables with which hwloc replaces the machine by another one, or hides a part of it,
/// without a word: binding under them would be a lie.
const OVERRIDES: [&str; 6] = [
    "HWLOC_SYNTHETIC",
    "HWLOC_XMLFILE",
    "HWLOC_FSROOT",
    "HWLOC_CPUID_PATH",
    "HWLOC_THISSYSTEM",
    "HWLOC_COMPONENTS",
];

/// The facts that hwloc gives.
pub(super) struct Found {
    pub(super) cores: Vec<RawCore>,
    pub(super) groups: Vec<RawGroup>,
}

/// The name of the back end, with the version it was built against.
pub(super) fn source() -> String {
    format!("hwloc {}", env!("PHALANX_HWLOC_VERSION"))
}

/// Reads this machine, and checks it against the system's own files.
pub(super) fn read(system: &Facts) -> Result<Found, String> {
    if let Some(name) = OVERRIDES.iter().find(|name| std::env::var_os(name).is_some()) {
        return Err(format!("{name} is set, which may replace the machine by another one"));
    }
    let mut found = load()?;
    found.groups.retain(|group| group.level != Level::Group || !from_distances(group, system));
    let of = |cores: &[RawCore]| -> SortedSet<usize> {
        cores.iter().flat_map(|core| core.pus.iter().copied()).collect()
    };
    let (ours, theirs) = (of(&system.cores), of(&found.cores));
    let missing: Vec<usize> = ours.keys().copied().filter(|pu| !theirs.contains(pu)).listed();
    if !missing.is_empty() {
        return Err(format!("it does not see PU {}", format_list(&missing)));
    }
    let extra: Vec<usize> = theirs.keys().copied().filter(|pu| !ours.contains(pu)).listed();
    if !extra.is_empty() {
        return Err(format!("it sees PU {} that are not online", format_list(&extra)));
    }
    Ok(found)
}

/// Whether hwloc made this group from distances: it has several memories, and the system does not
/// name it. hwloc knows, but `hwloc2` does not tell.
fn from_distances(group: &RawGroup, system: &Facts) -> bool {
    let has = |pu| group.pus.contains(pu);
    let memories = system.nodes.iter().filter(|node| node.pus.iter().any(has)).count();
    let named = |other: &RawGroup| other.level == Level::Group && other.pus == group.pus;
    memories > 1 && !system.groups.iter().any(named)
}

/// Loads whatever hwloc is told to load.
fn load() -> Result<Found, String> {
    loader::open()?;
    // Disallowed processing units are part of the machine too; the allowed ones we know better.
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
    let in_cores: SortedSet<usize> =
        found.cores.iter().flat_map(|core| core.pus.iter().copied()).collect();
    let bare = units.into_iter().filter(|pu| !in_cores.contains(pu));
    found.cores.extend(bare.map(|pu| RawCore { pus: vec![pu] }));
    Ok(found)
}

/// The processing units of an object. The set is consumed here, while the topology is borrowed.
fn processing_units(object: &TopologyObject) -> Vec<usize> {
    object.cpuset().into_iter().flatten().map(|pu| pu as usize).take(MAX_PU).listed()
}

#[cfg(test)]
mod tests {
    //! Does hwloc see the same as our own readers? hwloc takes other machines from environment
    //! variables only, so every case is a process of its own: this test program again, with the
    //! ignored test.

    use std::process::Command;

    use super::super::facts::{Facts, RawNode};
    use super::super::source::MachineSource;
    use super::super::tests::{FROM_DISTANCES, FROM_FILES, four_memories};
    use super::super::{Machine, build};
    use super::*;

    /// Holds the synthetic string or the path that the child compares.
    const CASE: &str = "PHALANX_TEST_CASE";

    fn run_child(variable: &str, value: &str) {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "machine::hwloc::tests::child", "--ignored", "--nocapture"])
            .env(variable, value)
            .env("HWLOC_THISSYSTEM", "0")
            .env(CASE, value)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        let errors = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{value}\n{text}\n{errors}");
        assert!(text.contains("1 passed"), "{value}\n{text}");
    }

    /// The memories and the groups, as the system would name them.
    fn named_by(machine: &Machine) -> Facts {
        let nodes = machine.numa_nodes().iter().map(|node| RawNode {
            os_id: node.os_id,
            pus: node.pus.clone(),
            memory_bytes: None,
        });
        let of = |group: &super::super::Group| RawGroup {
            level: Level::Group,
            os_id: None,
            pus: group.pus.clone(),
        };
        let levels = machine.levels().iter().filter(|level| level.level == Level::Group);
        let groups = levels.flat_map(|level| level.groups.iter().map(of));
        Facts { nodes: nodes.collect(), groups: groups.collect(), ..Facts::default() }
    }

    #[test]
    #[ignore = "started by the other tests, with a machine in the environment"]
    fn child() {
        let Ok(case) = std::env::var(CASE) else { return };
        let ours = if std::path::Path::new(&case).is_file() {
            Machine::from_xml(&case).unwrap()
        } else {
            Machine::from_synthetic(&case).unwrap()
        };
        let Found { cores, mut groups } = load().unwrap();
        let system = named_by(&ours);
        groups.retain(|group| group.level != Level::Group || !from_distances(group, &system));
        // Memories are the system's, as on this machine.
        let facts = Facts { cores, groups, ..system };
        let theirs = build::build(facts, MachineSource::all("hwloc")).unwrap();
        let cores = |machine: &Machine| -> Vec<Vec<usize>> {
            machine.cores().iter().map(|core| core.pus.clone()).collect()
        };
        assert_eq!(cores(&ours), cores(&theirs));
        for level in [Level::Package, Level::Die, Level::L3, Level::L2, Level::L1] {
            let sets = |machine: &Machine| -> Vec<(Option<usize>, Vec<usize>)> {
                let of = |group: &super::super::Group| {
                    let os_id = group.os_id.filter(|_| level == Level::Package);
                    (os_id, group.pus.clone())
                };
                machine.groups(level).iter().map(of).collect()
            };
            assert_eq!(sets(&ours), sets(&theirs), "{level}");
        }
    }

    #[test]
    fn synthetic_strings_mean_the_same() {
        for text in [
            "4",
            "2 3",
            "2 3 4",
            "2 3 4 5",
            "2 3 2 2 2",
            "2 2 2 2 2 2",
            "2 2 2 2 2 2 2",
            "pack:2 [numa] l3:4 core:8 pu:2",
            "node:2 l3:4 core:8 pu:2",
            "Package:2 L3Cache:2 L2:2 Core:2 PU:1",
            "pa:2 die:2 l1d:2 core:1 pu:2",
            "pack:2[numa(memory=16GB)]core:2 pu:2",
            "pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)",
            "pack:2 core:2 pu:2(indexes=pack:core)",
            "pack:2 core:2 pu:2(indexes=core:pack)",
            "pack:2 core:2 pu:2(indexes=4*2)",
            "pack:2(indexes=3,5) l2:2 l1i:1 core:1 pu:2",
            "group:2 group:2 core:2 pu:1",
            "pack:2 core:2 l2:2 pu:2",
        ] {
            run_child("HWLOC_SYNTHETIC", text);
        }
    }

    #[test]
    fn saved_machines_mean_the_same() {
        let Some(dir) = std::env::var_os("PHALANX_TOPOLOGIES") else {
            return crate::machine::tests::say_skipped("PHALANX_TOPOLOGIES names no directory");
        };
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "xml") {
                run_child("HWLOC_XMLFILE", path.to_str().unwrap());
            }
        }
    }

    #[test]
    fn groups_from_distances_mean_nothing() {
        let name = format!("phalanx-groups-{}.xml", std::process::id());
        let path = std::env::temp_dir().join(name);
        for kind in [FROM_DISTANCES, FROM_FILES] {
            std::fs::write(&path, four_memories(kind)).unwrap();
            run_child("HWLOC_XMLFILE", path.to_str().unwrap());
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_replaced_machine_is_not_taken_for_this_one() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "machine::hwloc::tests::child_reads_this", "--ignored"])
            .env("HWLOC_SYNTHETIC", "pack:3 core:5 pu:1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && text.contains("1 passed"), "{text}");
    }

    #[test]
    #[ignore = "started by the other tests, with a machine in the environment"]
    fn child_reads_this() {
        if std::env::var_os("HWLOC_SYNTHETIC").is_none() {
            return;
        }
        let machine = Machine::this().unwrap();
        assert!(machine.source().cores.starts_with("sysfs"), "{}", machine.source());
        assert!(machine.warnings().iter().any(|w| w.contains("HWLOC_SYNTHETIC")));
    }
}
