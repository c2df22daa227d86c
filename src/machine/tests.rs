//! The machine that the tests run on, and the rules that hold for every machine.

use std::io::Write;

use super::*;

/// Says so where the test harness does not swallow it.
pub(super) fn say_skipped(what: &str) {
    let _: Result<_, _> = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Kinds of groups in hwloc's XML: made from distances; the kernel's clusters.
pub(super) const FROM_DISTANCES: usize = 900;
pub(super) const FROM_FILES: usize = 222;

/// hwloc's XML of four packages, each a memory and two cores, of which the outer and the inner two
/// stand in a group of this kind.
pub(super) fn four_memories(kind: usize) -> String {
    let sets = |pus: usize, nodes: usize| {
        format!(
            "cpuset=\"{pus:#x}\" complete_cpuset=\"{pus:#x}\" nodeset=\"{nodes:#x}\" \
             complete_nodeset=\"{nodes:#x}\""
        )
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" {} \
         allowed_cpuset=\"0xff\" allowed_nodeset=\"0xf\" gp_index=\"1\">\n",
        sets(0xff, 0xf)
    );
    for (group, packages) in [[0, 3], [1, 2]].iter().enumerate() {
        let all = |bits: usize| packages.iter().map(|at| ((1 << bits) - 1) << (bits * at)).sum();
        text += &format!(
            "<object type=\"Group\" {} gp_index=\"{}\" kind=\"{kind}\" subkind=\"0\">\n",
            sets(all(2), all(1)),
            2 + group
        );
        for &at in packages {
            let (both, node) = (sets(3 << (2 * at), 1 << at), 10 + at);
            text += &format!(
                "<object type=\"Package\" os_index=\"{at}\" {both} gp_index=\"{}\">\n\
                 <object type=\"NUMANode\" os_index=\"{at}\" {both} gp_index=\"{node}\" \
                 local_memory=\"268435456\"/>\n",
                20 + at
            );
            for pu in [2 * at, 2 * at + 1] {
                let own = sets(1 << pu, 1 << at);
                text += &format!(
                    "<object type=\"Core\" os_index=\"{pu}\" {own} gp_index=\"{}\">\n\
                     <object type=\"PU\" os_index=\"{pu}\" {own} gp_index=\"{}\"/></object>\n",
                    30 + pu,
                    40 + pu
                );
            }
            text += "</object>\n";
        }
        text += "</object>\n";
    }
    text + "</object></topology>\n"
}

#[test]
fn groups_from_distances_are_no_level() {
    let order = |machine: &Machine| -> Vec<usize> {
        machine.cores().iter().flat_map(|core| core.pus.clone()).collect()
    };
    let machine = Machine::from_xml_text(&four_memories(FROM_DISTANCES)).unwrap();
    check_invariants(&machine);
    assert_eq!(order(&machine), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(machine.groups(Level::Group).is_empty());
    let machine = Machine::from_xml_text(&four_memories(FROM_FILES)).unwrap();
    check_invariants(&machine);
    assert_eq!(order(&machine), [0, 1, 6, 7, 2, 3, 4, 5]);
    assert_eq!(machine.groups(Level::Group).len(), 2);
}

/// What must hold whatever the machine was read from.
fn check_invariants(machine: &Machine) {
    let mut pus: Vec<usize> = machine.cores().iter().flat_map(|core| core.pus.clone()).collect();
    assert_eq!(pus.len(), machine.pu_count());
    pus.sort_unstable();
    pus.dedup();
    assert_eq!(pus.len(), machine.pu_count(), "a processing unit is in two cores");
    assert!(!machine.allowed_pus().is_empty());
    assert!(machine.allowed_pus().iter().all(|pu| pus.binary_search(pu).is_ok()));
    for (index, core) in machine.cores().iter().enumerate() {
        assert_eq!(core.path.first(), Some(&0));
        assert_eq!(core.path.last(), Some(&machine.tree().above(index)));
        for &vertex in &core.path {
            assert!(machine.tree().vertices()[vertex].cores.contains(&index));
        }
        assert_eq!(machine.group_of(core.pus[0], Level::Core), Some(index));
    }
    for level in machine.levels() {
        for group in &level.groups {
            assert!(!group.cores.is_empty());
            for &pu in &group.pus {
                assert!(group.cores.contains(&machine.core_of(pu).unwrap()));
            }
        }
    }
    for (index, vertex) in machine.tree().vertices().iter().enumerate() {
        assert!(vertex.parent.is_none_or(|parent| parent < index));
        assert!(!vertex.cores.is_empty());
    }
    if let Some(rows) = machine.distances() {
        assert_eq!(rows.len(), machine.numa_nodes().len());
        assert!(rows.iter().all(|row| row.len() == rows.len()));
    }
}

#[test]
fn this_machine_is_read() {
    let machine = Machine::this().unwrap();
    check_invariants(&machine);
    if let Ok(allowed) = affinity::allowed_pus() {
        assert_eq!(machine.allowed_pus(), allowed);
    }
    assert_eq!(machine.group_of(usize::MAX, Level::Machine), None);
}

#[test]
fn machines_from_text_keep_the_rules() {
    for text in [
        "1",
        "pack:2 [numa] l3:4 core:8 pu:2",
        "group:2 group:3 group:2 l2:2 core:2 pu:2(indexes=core:group)",
        "pack:3 [numa] [numa] core:1 pu:4",
        "[numa] numa:1 pu:2",
        "die:2 l3:3 pu:5",
    ] {
        if let Ok(machine) = Machine::from_synthetic(text) {
            check_invariants(&machine);
        }
    }
    let Some(dir) = std::env::var_os("PHALANX_TOPOLOGIES") else {
        return say_skipped("saved machines: PHALANX_TOPOLOGIES names no directory");
    };
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "xml") {
            check_invariants(&Machine::from_xml(entry.path()).unwrap());
        }
    }
}

#[test]
fn sets_that_cross_stay_out_of_the_tree() {
    use super::facts::{Facts, RawCore, RawGroup};

    let group = |level, pus: &[usize]| RawGroup { level, os_id: None, pus: pus.to_vec() };
    let facts = Facts {
        cores: (0..4).map(|pu| RawCore { pus: vec![pu] }).collect(),
        groups: vec![group(Level::Package, &[0, 1, 2]), group(Level::L3, &[2, 3])],
        allowed: Some(vec![7]),
        ..Facts::default()
    };
    let machine = build::build(facts, MachineSource::all("test")).unwrap();
    check_invariants(&machine);
    assert_eq!(machine.tree().vertices().len(), 2);
    assert_eq!(machine.group_of(3, Level::L3), Some(0));
    assert_eq!(machine.group_of(3, Level::Package), None);
    assert_eq!(machine.allowed_pus(), [0, 1, 2, 3]);
    assert_eq!(machine.warnings().len(), 2);
}
