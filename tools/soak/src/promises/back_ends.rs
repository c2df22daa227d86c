//! All back ends describe the same machine: hwloc (where it is there), the system's own files, and
//! the XML that hwloc writes of it (where there is a program that does).

use super::subject::{Kept, Subject, said};
use phalanx::machine::{Level, Machine, NumaNode};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

const LEVELS: [Level; 5] = [Level::Package, Level::Die, Level::L3, Level::L2, Level::L1];

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let machine = subject.machine;
    let files = Machine::from_sysfs("/").map_err(said)?;
    differ(machine, &files).map_or(Ok(()), |what| Err(format!("sysfs: {what}")))?;
    let by = machine.source().cores.clone();
    let mut told = match by.starts_with("sysfs") {
        true => "read from sysfs, without hwloc".to_string(),
        false => format!("{by} and sysfs agree"),
    };
    match own_xml() {
        Ok(text) => {
            let xml = Machine::from_xml_text(&text).map_err(said)?;
            differ(machine, &xml).map_or(Ok(()), |what| Err(format!("its XML: {what}")))?;
            told += ", and so does its XML";
        }
        Err(why) => told += &format!("; no XML: {why}"),
    }
    Ok(Kept::Holds(told))
}

/// The XML that hwloc's own program writes of this machine.
fn own_xml() -> Result<String, String> {
    for program in ["lstopo-no-graphics", "lstopo"] {
        let mut command = Command::new(program);
        command.args(["--disallowed", "--of", "xml", "-"]).stdin(Stdio::null());
        match command.output() {
            Ok(out) if out.status.success() => {
                return String::from_utf8(out.stdout).map_err(said);
            }
            Ok(out) => return Err(said(String::from_utf8_lossy(&out.stderr))),
            Err(_) => {}
        }
    }
    Err("there is no lstopo".to_string())
}

/// By the two nodes' numbers.
fn distances(machine: &Machine) -> BTreeMap<(usize, usize), u64> {
    let nodes = machine.numa_nodes();
    let rows = nodes.iter().zip(machine.distances().unwrap_or_default());
    let row = |(from, row): (&NumaNode, &Vec<u64>)| {
        let cells = nodes.iter().zip(row).map(|(to, value)| ((from.os_id, to.os_id), *value));
        cells.collect::<Vec<_>>()
    };
    rows.flat_map(row).collect()
}

/// The first thing in which two descriptions differ.
fn differ(one: &Machine, other: &Machine) -> Option<String> {
    let cores = |m: &Machine| m.cores().iter().map(|core| core.pus.clone()).collect::<Vec<_>>();
    if cores(one) != cores(other) {
        return Some(format!("cores {:?} and {:?}", cores(one), cores(other)));
    }
    let groups = |m: &Machine, level| -> Vec<_> {
        m.groups(level).iter().map(|group| group.pus.clone()).collect()
    };
    for level in LEVELS {
        let (a, b) = (groups(one, level), groups(other, level));
        if a != b {
            return Some(format!("{level}: {a:?} and {b:?}"));
        }
    }
    let nodes = |m: &Machine| -> BTreeMap<usize, Vec<usize>> {
        m.numa_nodes().iter().map(|node| (node.os_id, node.pus.clone())).collect()
    };
    let (a, b) = (nodes(one), nodes(other));
    if a.keys().ne(b.keys()) {
        return Some(format!("memories {:?} and {:?}", a.keys(), b.keys()));
    }
    // Memory without processors hwloc puts beside those that it is nearest to.
    if let Some((node, pus)) = a.iter().find(|(node, pus)| !pus.is_empty() && b[*node] != **pus) {
        return Some(format!("NUMA node {node}: PUs {pus:?} and {:?}", b[node]));
    }
    if distances(one) != distances(other) {
        return Some(format!("distances {:?} and {:?}", distances(one), distances(other)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        let machine = |text| Machine::from_synthetic(text).unwrap();
        let one = machine("pack:2 [numa] l3:1 core:2 pu:2");
        assert_eq!(differ(&one, &one), None);
        let said = |other| differ(&one, &machine(other)).unwrap();
        assert!(said("pack:2 [numa] l3:1 core:4 pu:1").starts_with("cores"));
        assert!(said("pack:2 [numa] l3:2 core:1 pu:2").starts_with("L3"));
        assert!(said("pack:2 l3:1 core:2 pu:2").starts_with("memories"));
    }
}
