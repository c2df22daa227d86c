//! Strings that hwloc reads the same way (see `hwloc.rs`), and strings that are wrong.

use super::super::{Level, Machine, MachineError};

fn shape(text: &str) -> Vec<(Level, usize)> {
    let machine = Machine::from_synthetic(text).unwrap();
    machine.levels().iter().map(|l| (l.level, l.groups.len())).collect()
}

fn first_cores(text: &str) -> Vec<Vec<usize>> {
    let machine = Machine::from_synthetic(text).unwrap();
    machine.cores().iter().map(|core| core.pus.clone()).collect()
}

#[test]
fn types_and_attached_memories() {
    let text = "pack:2 [numa(memory=16GB)] l3:4 core:8 pu:2";
    assert_eq!(shape(text), [(Level::Package, 2), (Level::Numa, 2), (Level::L3, 8)]);
    let machine = Machine::from_synthetic(text).unwrap();
    assert_eq!((machine.cores().len(), machine.pu_count()), (64, 128));
    assert_eq!(machine.numa_nodes()[1].memory_bytes, Some(16 << 30));
    assert_eq!(machine.group_of(127, Level::L3), Some(7));
    assert_eq!(shape("node:2 l3:4 core:8 pu:2"), [(Level::Numa, 2), (Level::L3, 8)]);
    assert_eq!(shape("2 2 2 2")[..], shape("pack:2 numa:2 core:2 pu:2"));
    assert_eq!(shape("group:2 group:2 core:2 pu:1")[1], (Level::Group, 2));
    assert_eq!(first_cores("4").len(), 4);
}

#[test]
fn indexes_as_lists_steps_and_types() {
    let first = |text: &str| first_cores(text)[0].clone();
    assert_eq!(first("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)"), [0, 4]);
    assert_eq!(first("pack:2 core:2 pu:2(indexes=pack:core)"), [0, 4]);
    assert_eq!(first_cores("pack:2 core:2 pu:2(indexes=pack:core)")[1], [2, 6]);
    assert_eq!(first_cores("pack:2 core:2 pu:2(indexes=core:pack)")[1], [1, 5]);
    assert_eq!(first_cores("pack:2 core:2 pu:2(indexes=4*2)")[1], [4, 6]);
}

#[test]
fn errors_name_the_position() {
    for (text, position) in [
        ("", 0),
        ("pack:2 foo:2 pu:1", 7),
        ("pack:0 pu:1", 5),
        ("pack:2 core:4", 7),
        ("pack:2 2 pu:2", 7),
        ("pack:2 pack:2 pu:1", 7),
        ("pack:2 pu", 9),
        ("pack:2 pu:", 10),
        ("pack:2 [core] pu:2", 8),
        ("pack:2 [numa pu:2", 13),
        ("numa:2 pu:2 [numa]", 7),
        ("core:2 pu:2(indexes=0,1)", 20),
        ("core:2 pu:2(indexes=0,0,1,2)", 20),
        ("core:2 pu:2(indexes=0,1,x,2)", 24),
        ("core:2 pu:2(indexes=3*3)", 20),
        ("core:2 pu:2(indexes=l2)", 20),
        ("core:2(foo=1) pu:2", 7),
        ("core:2(memory=12XB) pu:2", 16),
        ("core:2(memory=99999999999999GB) pu:2", 14),
        ("core:70000 pu:2", 5),
        ("core:60000 pu:60000", 14),
        ("core:2 pu:18446744073709551616", 10),
        ("core:2 pu:2 é", 12),
        ("1 1 1 1 1 1 1 1", 14),
    ] {
        match Machine::from_synthetic(text) {
            Err(MachineError::Malformed { position: found, .. }) => {
                assert_eq!(found, position, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}
