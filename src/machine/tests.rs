//! The machine that the tests run on, and the rules that hold for every machine.

use super::*;

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
