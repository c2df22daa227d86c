//! The machine that the caller expects: for tests, and for owners that know their machine.

use super::subject::{Kept, Subject};
use phalanx::machine::{Level, Machine};
use phalanx_bench::source::list;
use std::collections::BTreeMap;
use std::str::FromStr;

/// `numa=4,4 allowed=0-7 memories=3 cheaper=ring`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedMachine {
    /// By level: the usable units of each group.
    groups: Vec<(Level, Vec<usize>)>,
    /// The usable units, as a list.
    allowed: Option<String>,
    /// Memories, with and without processors.
    memories: Option<usize>,
    /// Placements that cost less than identity here.
    cheaper: Vec<String>,
}

impl FromStr for ExpectedMachine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut expected = ExpectedMachine::default();
        for word in text.split_whitespace() {
            let wrong = || {
                format!(
                    "'{word}' is no expectation; accepted are numa=4,4 (or another level: the PUs \
                     of each group), allowed=0-3,8, memories=2 and cheaper=ring,mesh (than \
                     identity)"
                )
            };
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            match name {
                "allowed" => expected.allowed = Some(value.to_string()),
                "memories" => expected.memories = Some(value.parse().map_err(|_| wrong())?),
                "cheaper" => expected.cheaper = value.split(',').map(String::from).collect(),
                level => {
                    let level = level.parse().map_err(|_| wrong())?;
                    let sizes: Result<_, _> = value.split(',').map(str::parse).collect();
                    expected.groups.push((level, sizes.map_err(|_| wrong())?));
                }
            }
        }
        Ok(expected)
    }
}

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let (expected, machine) = (subject.expected, subject.machine);
    if *expected == ExpectedMachine::default() {
        return Ok(Kept::NotHere("nothing was expected (--expect)".to_string()));
    }
    let wrong = expected.differs_from(machine);
    wrong.map_or(Ok(Kept::Holds("as --expect says".to_string())), Err)
}

impl ExpectedMachine {
    /// The placements that must cost less than identity, by name.
    pub(super) fn cheaper(&self) -> &[String] {
        &self.cheaper
    }

    fn differs_from(&self, machine: &Machine) -> Option<String> {
        let allowed = list(machine.allowed_pus());
        if let Some(wanted) = self.allowed.as_ref().filter(|wanted| **wanted != allowed) {
            return Some(format!("PUs {allowed} may be used, not {wanted}"));
        }
        let memories = machine.numa_nodes().len();
        if let Some(wanted) = self.memories.filter(|wanted| *wanted != memories) {
            return Some(format!("{memories} memories, not {wanted}"));
        }
        self.groups.iter().find_map(|(level, wanted)| {
            // A unit that is in no group of this level counts for none.
            let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
            for group in machine.allowed_pus().iter().filter_map(|&pu| machine.group_of(pu, *level))
            {
                *groups.entry(group).or_default() += 1;
            }
            let found: Vec<usize> = groups.into_values().collect();
            (found != *wanted).then(|| format!("{level}: groups of {found:?} PUs, not {wanted:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let machine = Machine::from_synthetic("pack:2 [numa] core:2 pu:2").unwrap();
        let said = |text: &str| ExpectedMachine::from_str(text).unwrap().differs_from(&machine);
        assert_eq!(said("package=4,4 numa=4,4 core=2,2,2,2 allowed=0-7 memories=2"), None);
        assert_eq!(said("numa=8").unwrap(), "NUMA node: groups of [4, 4] PUs, not [8]");
        assert_eq!(said("allowed=0-3").unwrap(), "PUs 0-7 may be used, not 0-3");
        let plain = Machine::from_synthetic("pack:2 core:2 pu:2").unwrap();
        let said_of_plain = ExpectedMachine::from_str("l3=8").unwrap().differs_from(&plain);
        assert_eq!(said_of_plain.unwrap(), "L3: groups of [] PUs, not [8]");
        assert_eq!(said("memories=3").unwrap(), "2 memories, not 3");
        assert!(ExpectedMachine::from_str("numa").is_err());
        assert!(ExpectedMachine::from_str("sockets=2").is_err());
    }
}
