//! `split_by` gives the groups that the machine has: those that the system's own files name.

use super::subject::{Kept, Subject, said};
use phalanx::machine::{Level, Machine};
use phalanx::placement::Placement;
use phalanx_bench::source::list;
use std::collections::BTreeMap;

const LEVELS: [Level; 6] =
    [Level::Package, Level::Die, Level::Numa, Level::L3, Level::L2, Level::Core];

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let units = subject.spread_units();
    let files = Machine::from_sysfs("/").map_err(said)?;
    let team = subject.builder(units.len()).placement(Placement::List(units.clone()));
    let found = team.build().and_then(|team| {
        team.run(|comm| {
            LEVELS.map(|level| {
                let mut group = comm.split_by(level);
                let mut members = vec![0; group.size()];
                group.all_gather_into(&[units[comm.rank()]], &mut members);
                members
            })
        })
    });
    let found = found.map_err(said)?;
    let mut told = Vec::new();
    for (which, level) in LEVELS.into_iter().enumerate() {
        let mut groups: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for &pu in &units {
            groups.entry(files.group_of(pu, level)).or_default().push(pu);
        }
        for (rank, pu) in units.iter().enumerate() {
            let theirs = groups.values().find(|group| group.contains(pu));
            if theirs != Some(&found[rank][which]) {
                return Err(format!(
                    "{level}: PU {pu} is in a group with PUs {}, the system says {}",
                    list(&found[rank][which]),
                    list(theirs.map_or(&[], Vec::as_slice))
                ));
            }
        }
        let known = groups.keys().filter(|key| key.is_some()).count();
        if known > 0 {
            told.push(format!("{known} x {level}"));
        }
    }
    Ok(Kept::Holds(format!(
        "split_by of {} ranks gives the system's groups: {}",
        units.len(),
        told.join(", ")
    )))
}
