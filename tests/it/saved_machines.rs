//! Saved machines: the XML reader and the sysfs reader agree, and the facts are right.
//! `PHALANX_TOPOLOGIES=DIR` names a directory with hwloc's saved machines: XML files, and
//! `.tar.bz2` files in its sub-directory `sysfs`. Without it the tests skip, and say so.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::damaged_machines::scratch_folder;
use phalanx::machine::{Level, Machine};
use phalanx::placement::{Assignment, Placement, PlacementReport, assign};

/// Says so where the test harness does not swallow it.
fn say_skipped(what: &str) {
    let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {what}");
}

/// The directories with saved machines.
fn directories() -> Vec<PathBuf> {
    let named = std::env::var_os("PHALANX_TOPOLOGIES").map(PathBuf::from);
    if named.is_none() {
        say_skipped("PHALANX_TOPOLOGIES names no directory with saved machines");
    }
    named.into_iter().collect()
}

/// The files of a directory with this ending, sorted, with their names without it.
fn files(dir: &Path, ending: &str) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(ending)?.to_owned(), entry.path()))
        })
        .collect();
    found.sort();
    found
}

/// Unpacks a saved tree; `None`, with a word about it, when there is no `tar` that can.
fn unpack(name: &str, archive: &Path) -> Option<PathBuf> {
    let dir = scratch_folder(name);
    std::fs::create_dir_all(&dir).unwrap();
    // Thousands of small files that nobody reads take their time.
    let status = Command::new("tar")
        .args(
            ["cpuidle", "power", "acpi_cppc", "hugepages", "memory[0-9]*", "irq", "class", "bus"]
                .map(|part| format!("--exclude=*/{part}")),
        )
        .arg("-xjf")
        .arg(archive)
        .arg("-C")
        .arg(&dir)
        .status();
    if status.is_ok_and(|status| status.success()) {
        return Some(dir);
    }
    say_skipped(&format!("{name}: tar cannot unpack it"));
    std::fs::remove_dir_all(&dir).unwrap();
    None
}

/// Runs `test` on every sysfs tree.
fn for_each_tree(mut test: impl FnMut(&str, &Machine)) {
    for dir in directories() {
        for (name, archive) in files(&dir.join("sysfs"), ".tar.bz2") {
            let Some(tree) = unpack(&name, &archive) else { continue };
            let machine = Machine::from_sysfs(&tree);
            std::fs::remove_dir_all(&tree).unwrap();
            test(&name, &machine.unwrap_or_else(|error| panic!("{name}: {error}")));
        }
    }
}

/// Runs `test` on every XML file.
fn for_each_xml(mut test: impl FnMut(&str, &Machine)) {
    for dir in directories() {
        for (name, file) in files(&dir, ".xml") {
            let machine = Machine::from_xml(&file);
            test(&name, &machine.unwrap_or_else(|error| panic!("{name}: {error}")));
        }
    }
}

/// A level's sets of processing units, as far as both machines have the units.
fn sets(machine: &Machine, level: Level, units: &[usize]) -> Vec<Vec<usize>> {
    let keep = |pus: &[usize]| -> Vec<usize> {
        pus.iter().copied().filter(|pu| units.binary_search(pu).is_ok()).collect()
    };
    let mut sets: Vec<Vec<usize>> = match level {
        Level::Core => machine.cores().iter().map(|core| keep(&core.pus)).collect(),
        Level::Numa => machine.numa_nodes().iter().map(|node| keep(&node.pus)).collect(),
        _ => machine.groups(level).iter().map(|group| keep(&group.pus)).collect(),
    };
    sets.retain(|set| !set.is_empty());
    sets.sort();
    sets
}

fn all_units(machine: &Machine) -> Vec<usize> {
    let mut pus: Vec<usize> = machine.cores().iter().flat_map(|core| core.pus.clone()).collect();
    pus.sort_unstable();
    pus
}

/// Where two descriptions of one machine differ.
fn differences(xml: &Machine, sysfs: &Machine) -> Vec<String> {
    let in_sysfs = all_units(sysfs);
    let units: Vec<usize> = all_units(xml);
    let mut found = Vec::new();
    if units.iter().any(|pu| in_sysfs.binary_search(pu).is_err()) {
        found.push("units".to_owned());
    }
    for level in
        [Level::Package, Level::Die, Level::Numa, Level::L3, Level::L2, Level::L1, Level::Core]
    {
        let (a, b) = (sets(xml, level, &units), sets(sysfs, level, &units));
        if a != b {
            found.push(format!("{level}: {a:?} and {b:?}"));
        }
    }
    let order = |machine: &Machine| -> Vec<usize> {
        let pus = machine.cores().iter().flat_map(|core| core.pus.clone());
        pus.filter(|pu| units.binary_search(pu).is_ok()).collect()
    };
    if order(xml) != order(sysfs) {
        found.push(format!("order: {:?} and {:?}", order(xml), order(sysfs)));
    }
    if xml.allowed_pus() != sysfs.allowed_pus() {
        found.push(format!("allowed: {:?} and {:?}", xml.allowed_pus(), sysfs.allowed_pus()));
    }
    // hwloc drops nodes that the cpuset does not allow.
    let distances = |machine: &Machine| {
        let nodes = machine.numa_nodes();
        let kept = |os_id: usize| xml.numa_nodes().iter().any(|node| node.os_id == os_id);
        let mut found = Vec::new();
        for (from, row) in nodes.iter().zip(machine.distances().unwrap_or_default()) {
            for (to, value) in nodes.iter().zip(row) {
                if kept(from.os_id) && kept(to.os_id) {
                    found.push((from.os_id, to.os_id, *value));
                }
            }
        }
        found.sort_unstable();
        found
    };
    if distances(xml) != distances(sysfs) {
        found.push("distances".to_owned());
    }
    let kinds =
        |machine: &Machine| machine.cores().iter().map(|core| core.kind).collect::<Vec<_>>();
    if xml.cores().len() == sysfs.cores().len() && kinds(xml) != kinds(sysfs) {
        found.push("kinds".to_owned());
    }
    found
}

/// The facts that may differ, and why. The XML of all but the first two is that which
/// hwloc's own reader makes of the same tree (`.ci/topologies`).
const EXPECTED: [(&str, &[&str]); 22] = [
    // hwloc leaves out the memories that the cpuset does not allow, and shows their cores without;
    // sysfs still has them.
    ("16amd64-8n2c-cpusets", &["NUMA node"]),
    // PU 3 claims another package than its siblings see, PU 2 another L3. hwloc drops the sets that
    // contradict the wrong ones, the sysfs reader drops the wrong ones.
    ("40intel64-4n10c+pci-conflicts", &["package", "L3"]),
    ("16amd64-4n4c-cgroup-distance-merge", &["NUMA node"]),
    ("4fake-4gr1nu1pu", &["NUMA node"]),
    // A disallowed unit is the smallest of its group: hwloc orders by those that are left.
    ("16em64t-4s2ca2c-cpusetreorder", &["order"]),
    // The XML was saved in a cgroup, of which the tree has nothing.
    ("16em64t-4s2c2t-offlines", &["allowed"]),
    // hwloc reads the units that the cpuset asks for, we those that it has.
    ("nvidiagpunumanodes", &["allowed"]),
    // The kernel names no memory: hwloc makes one, of the whole machine.
    ("2arm-2c", &["NUMA node"]),
    ("2i386-2c-nohugepage", &["NUMA node"]),
    ("2i386-2t-hugepagesizecount", &["NUMA node"]),
    ("2ps3-2t", &["NUMA node"]),
    // .. nor a number of the package, so that its set means nothing on other kernels.
    ("2s390-2c", &["package", "NUMA node"]),
    ("20s390-2g6s4c", &["package", "NUMA node"]),
    ("256ppc-8n8s4t", &["package"]),
    ("4ia64-4s", &["package"]),
    // The two units of a module share a core of the kernel's; hwloc goes by their numbers.
    ("64amd64-4s2n4ca2co", &["core"]),
    // A cache on the memory's side, which hwloc counts as L3; and memories without processors,
    // which hwloc puts beside those that are near.
    ("64intel64-fakeKNL-A2A-cache", &["L3"]),
    ("64intel64-fakeKNL-SNC4-hybrid", &["NUMA node", "L3", "distances"]),
    ("fakeheteromemtiers", &["NUMA node"]),
    ("fakememinitiators-1np2c+1npp+gi", &["NUMA node"]),
    // Memories that contradict each other: hwloc drops them.
    ("8em64t-2s2ca2c-buggynuma", &["NUMA node", "distances"]),
    ("fakeheterocpunuma", &["NUMA node", "order"]),
];

/// The fault, if the two back ends differ otherwise than expected.
fn xml_agrees(name: &str, sysfs: &Machine) -> Option<String> {
    let found = directories().iter().find_map(|dir| {
        let file = dir.join(format!("{name}.xml"));
        file.is_file().then(|| Machine::from_xml(file).unwrap())
    });
    let xml = found?;
    let expected = EXPECTED.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, list)| list);
    let differences = differences(&xml, sysfs);
    let what: Vec<&str> =
        differences.iter().map(|text| text.split(':').next().unwrap_or(text)).collect();
    (what != expected).then(|| format!("{name}: {differences:#?}, not {expected:?}"))
}

/// Whatever the machine: ranks up to all allowed cores get a core each, and never a disallowed
/// unit.
fn placements_fit(name: &str, machine: &Machine) {
    let cores = (0..machine.cores().len())
        .filter(|&core| machine.cores()[core].pus.iter().any(|&pu| machine.is_allowed(pu)))
        .count();
    for placement in [
        Placement::Auto,
        Placement::Compact,
        Placement::Scatter,
        Placement::Identity,
        Placement::Random(3),
    ] {
        for ranks in [1, 2, cores, cores + 1, 3 * machine.pu_count()] {
            let assignment = assign(&placement, machine, ranks).unwrap();
            assert!(assignment.pus().iter().all(|pu| machine.is_allowed(pu.unwrap())), "{name}");
            assert_eq!(assignment.most_on_one_core() == 1, ranks <= cores, "{name} {placement}");
            assert_eq!(assignment.oversubscribed(), ranks > machine.allowed_pus().len(), "{name}");
        }
    }
}

/// Optimised placements never cost more than compact or identity on cores as fast.
fn placements_pay(name: &str, machine: &Machine) {
    let cores = machine.cores();
    let usable =
        cores.iter().filter(|core| core.pus.iter().any(|&pu| machine.is_allowed(pu))).count();
    for ranks in [2, 4, usable.div_ceil(2), usable, usable + 1] {
        for placement in [
            Placement::Auto,
            Placement::Ring,
            Placement::Tree,
            Placement::Torus(vec![2, ranks / 2]),
            Placement::Hypercube,
        ] {
            let Ok(Some(pattern)) = placement.pattern(ranks) else { continue };
            let slowest = |assignment: &Assignment| {
                let pus = assignment.pus().iter().flatten();
                pus.map(|&pu| cores[machine.core_of(pu).unwrap()].kind).min()
            };
            let placed = assign(&placement, machine, ranks).unwrap();
            let cost = PlacementReport::new(machine, &pattern, &placed).cost;
            for other in [Placement::Compact, Placement::Identity] {
                let beside = assign(&other, machine, ranks).unwrap();
                let as_fast = slowest(&beside) >= slowest(&placed);
                let beside = PlacementReport::new(machine, &pattern, &beside).cost;
                assert!(
                    !as_fast || cost <= beside + 1e-9,
                    "{name}: {ranks} ranks, {placement}: {cost}, {other}: {beside}"
                );
            }
        }
    }
}

/// By default a team has a rank for each performance core, and all are on those.
fn efficiency_cores_are_left_out(name: &str, machine: &Machine) {
    let (all, fast) = match name {
        "20em64t-hybrid-1p6c2t+2ca4co1t" => (14, 6),
        // Capacities of 718, 731, 997, 1017 and 1024.
        "nvidia-dgx-gb10" => (20, 10),
        // Made up by hwloc's authors: capacities of 234 and 1025.
        "fakeheterocpunuma" => (12, 6),
        _ => (machine.cores().len(), machine.cores().len()),
    };
    let slow = machine.cores().iter().filter(|core| core.is_efficiency).count();
    assert_eq!((machine.cores().len(), slow), (all, all - fast), "{name}");
    if slow == 0 {
        return;
    }
    assert_eq!(machine.ranks(), fast, "{name}");
    for (ranks, on_slow) in [(1, 0), (fast, 0), (all, slow)] {
        let placed = assign(&Placement::Auto, machine, ranks).unwrap();
        let core = |pu: &usize| &machine.cores()[machine.core_of(*pu).unwrap()];
        let pus = placed.pus().iter().flatten();
        let count = pus.filter(|pu| core(pu).is_efficiency).count();
        assert_eq!(count, on_slow, "{name}, {ranks} ranks");
    }
}

#[test]
fn optimised_placements_pay() {
    for_each_xml(placements_pay);
}

#[test]
fn saved_trees() {
    let mut wrong = Vec::new();
    for_each_tree(|name, machine| {
        wrong.extend(xml_agrees(name, machine));
        placements_fit(name, machine);
        efficiency_cores_are_left_out(name, machine);
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn saved_xml() {
    for_each_xml(placements_fit);
    for_each_xml(efficiency_cores_are_left_out);
}
