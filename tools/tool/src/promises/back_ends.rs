//! All back ends describe the same machine: hwloc (where it is there), the system's own files, and
//! the XML that hwloc writes of it (where there is a program that does).

use super::{Kept, Subject, said};
use phalanx::machine::{Level, Machine};
use std::process::{Command, Stdio};

const LEVELS: [Level; 6] =
    [Level::Package, Level::Die, Level::L3, Level::L2, Level::L1, Level::Numa];

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

/// What hwloc's own program writes of this machine.
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

/// The first thing in which two descriptions differ.
fn differ(one: &Machine, other: &Machine) -> Option<String> {
    let cores = |m: &Machine| m.cores().iter().map(|core| core.pus.clone()).collect::<Vec<_>>();
    if cores(one) != cores(other) {
        return Some(format!("cores {:?} and {:?}", cores(one), cores(other)));
    }
    let groups = |m: &Machine, level| match level {
        Level::Numa => m.numa_nodes().iter().map(|node| node.pus.clone()).collect::<Vec<_>>(),
        _ => m.groups(level).iter().map(|group| group.pus.clone()).collect(),
    };
    for level in LEVELS {
        let (a, b) = (groups(one, level), groups(other, level));
        if a != b {
            return Some(format!("{level}: {a:?} and {b:?}"));
        }
    }
    let nodes = |m: &Machine| m.numa_nodes().iter().map(|node| node.os_id).collect::<Vec<_>>();
    if nodes(one) != nodes(other) {
        return Some(format!("memories {:?} and {:?}", nodes(one), nodes(other)));
    }
    if one.distances() != other.distances() {
        return Some(format!("distances {:?} and {:?}", one.distances(), other.distances()));
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
        assert!(said("pack:2 l3:1 core:2 pu:2").starts_with("NUMA node"));
    }
}
