//! The processing units that the teams of this process have.

use crate::fork;
use crate::machine::{CpuQuota, Machine};
use crate::placement::{Assignment, Placement, PlacementError, assign};
use crate::sorted::{Listed, SortedMap};
use crate::sync::diagnostic::Mutex;

/// How many ranks are bound to each unit, over all teams that live.
static TAKEN: Mutex<SortedMap<usize, usize>> = Mutex::new(SortedMap::new());

/// A team's share; given back when dropped.
pub(super) struct TakenUnits(Vec<usize>);

/// Places `ranks` ranks beside the teams that are there: on free cores, if there are enough, else
/// where the fewest are.
pub(super) fn take_units(
    placement: &Placement,
    machine: &Machine,
    ranks: usize,
) -> Result<(Assignment, TakenUnits), PlacementError> {
    let _inside = fork::inside();
    // Until it is entered: of two teams that start at once one comes first.
    let mut taken = TAKEN.lock().unwrap_or_else(|e| e.into_inner());
    let assignment = match placement {
        Placement::List(_) | Placement::Unpinned => assign(placement, machine, ranks)?,
        _ => {
            let block = machine.quota().and_then(|quota| {
                block_of_a_container(machine, ranks.max(quota.ranks()), this_container(quota))
            });
            let block = block.map(|units| machine.narrowed_to(units));
            let machine = block.as_ref().unwrap_or(machine);
            match least_taken(machine, &taken, ranks) {
                Some(units) => assign(placement, &machine.narrowed_to(units), ranks)?,
                None => assign(placement, machine, ranks)?,
            }
        }
    };
    let units: Vec<usize> = assignment.pus().iter().copied().flatten().listed();
    units.iter().for_each(|&unit| *taken.or_default(unit) += 1);
    Ok((assignment, TakenUnits(units)))
}

impl Drop for TakenUnits {
    fn drop(&mut self) {
        let _inside = fork::inside();
        let mut taken = TAKEN.lock().unwrap_or_else(|e| e.into_inner());
        for unit in &self.0 {
            if let Some(ranks) = taken.get_mut(unit) {
                *ranks -= 1;
            }
        }
        taken.retain(|ranks| *ranks > 0);
    }
}

/// The units of so many cores, near each other, out of more that are allowed: those of container
/// number `container`. The cores of each group of the innermost level that has enough of them are
/// cut into blocks; of performance cores, if there are enough. Containers do not see each other, so
/// two of them may have one block; they would all have the first one, if each took the first cores
/// that it may use.
fn block_of_a_container(machine: &Machine, cores: usize, container: u64) -> Option<Vec<usize>> {
    let usable = |core: usize| -> Vec<usize> {
        let pus = machine.cores()[core].pus.iter();
        pus.copied().filter(|&unit| machine.is_allowed(unit)).collect()
    };
    let all: Vec<usize> = (0..machine.cores().len()).listed();
    let is_fast = |core: usize| !machine.cores()[core].is_efficiency && !usable(core).is_empty();
    let only_fast = all.iter().filter(|&&core| is_fast(core)).count() >= cores;
    let blocks_of = |group: &[usize]| {
        let mut units = Vec::new();
        for &core in group.iter().filter(|&&core| !only_fast || is_fast(core)) {
            let own = usable(core);
            if !own.is_empty() {
                units.push(own);
            }
        }
        units.chunks_exact(cores).map(|block| block.concat()).listed()
    };
    let mut blocks = Vec::new();
    for level in machine.levels().iter().rev().map(|level| &level.groups) {
        if blocks.is_empty() {
            level.iter().for_each(|group| blocks.extend(blocks_of(&group.cores)));
        }
    }
    if blocks.is_empty() {
        blocks = blocks_of(&all);
    }
    if blocks.is_empty() {
        return None;
    }
    let place = (container % blocks.len() as u64) as usize;
    Some(blocks.swap_remove(place))
}

/// A number that differs from container to container, as a rule, and is the same for all processes
/// of one: of its namespace and its control group.
fn this_container(quota: &CpuQuota) -> u64 {
    let namespace = std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
    let name = format!("{} {quota}", namespace.display());
    // FNV-1a; the last step spreads it over the low bits.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ hash >> 29
}

/// The allowed units of `machine` that as few ranks as possible have, as many as `ranks` need:
/// whole cores before single hardware threads. None if that is all of them.
fn least_taken(
    machine: &Machine,
    taken: &SortedMap<usize, usize>,
    ranks: usize,
) -> Option<Vec<usize>> {
    let load = |unit: usize| taken.get(&unit).copied().unwrap_or(0);
    let allowed = machine.allowed_pus();
    let most = allowed.iter().map(|&unit| load(unit)).max().unwrap_or(0);
    (0..most).find_map(|limit| {
        let is_low = |unit: &usize| load(*unit) <= limit;
        let usable = |core: &crate::machine::Core| -> Vec<usize> {
            core.pus.iter().copied().filter(|&unit| machine.is_allowed(unit)).collect()
        };
        let cores = machine.cores().iter().map(usable);
        let low: Vec<_> = cores.filter(|c| !c.is_empty() && c.iter().all(is_low)).listed();
        if low.len() >= ranks {
            return Some(low.concat());
        }
        let units: Vec<usize> = allowed.iter().copied().filter(is_low).listed();
        (units.len() >= ranks).then_some(units)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The units that a team of `ranks` would be placed on.
    fn units(machine: &Machine, taken: &[usize], ranks: usize) -> Vec<usize> {
        let mut counts = SortedMap::new();
        taken.iter().for_each(|&unit| *counts.or_default(unit) += 1);
        let mut units = least_taken(machine, &counts, ranks).unwrap_or_default();
        units.sort_unstable();
        units
    }

    #[test]
    fn free_cores_come_first_then_free_threads_then_the_least_taken() {
        let machine = Machine::from_synthetic("core:4 pu:2").unwrap();
        assert_eq!(machine.cores()[1].pus, [2, 3]);
        assert_eq!(units(&machine, &[], 3), [], "all are free");
        assert_eq!(units(&machine, &[0, 2], 2), [4, 5, 6, 7]);
        assert_eq!(units(&machine, &[0, 2], 3), [1, 3, 4, 5, 6, 7]);
        assert_eq!(units(&machine, &[0, 2], 7), [], "more than are free");
        // All cores are in use, two of them twice.
        assert_eq!(units(&machine, &[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2], 2), [4, 5, 6, 7]);
        // A unit that the machine does not have, or does not allow.
        let part = machine.narrowed_to(vec![4, 5, 6, 7]);
        assert_eq!(units(&part, &[0, 4, 99], 1), [6, 7]);
        assert_eq!(part.allowed_pus(), [4, 5, 6, 7]);
        assert_eq!(part.cores(), machine.cores());
    }

    #[test]
    fn containers_have_blocks_of_near_cores() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:6 pu:2").unwrap();
        let block = |cores, container| block_of_a_container(&machine, cores, container);
        let units = |cores: std::ops::Range<usize>| {
            Some(machine.cores()[cores].iter().flat_map(|it| it.pus.clone()).collect::<Vec<_>>())
        };
        // Two cores: three blocks in each of four caches, whichever container comes.
        let all: Vec<_> = (0..12).map(|container| block(2, container)).collect();
        assert_eq!(all, (0..12).map(|i| units(2 * i..2 * i + 2)).collect::<Vec<_>>());
        assert_eq!(block(2, 12), block(2, 0));
        // One block a cache, then one a package, then what the machine has.
        assert_eq!([block(4, 1), block(4, 7)], [units(6..10), units(18..22)]);
        assert_eq!([block(8, 0), block(8, 1)], [units(0..8), units(12..20)]);
        assert_eq!([block(13, 0), block(13, 1)], [units(0..13), units(0..13)]);
        assert_eq!(block(25, 0), None);
        // Of what is allowed.
        let part = machine.narrowed_to(vec![0, 4, 6, 13, 20]);
        assert_eq!(block_of_a_container(&part, 2, 1), Some(vec![13, 20]));
    }

    #[test]
    fn a_share_is_given_back() {
        // No machine has it.
        let unit = usize::MAX;
        let ranks = || TAKEN.lock().unwrap().get(&unit).copied();
        *TAKEN.lock().unwrap().or_default(unit) += 2;
        let left: Vec<_> = (0..2).map(|_| (drop(TakenUnits(vec![unit])), ranks()).1).collect();
        assert_eq!(left, [Some(1), None]);
    }

    #[test]
    fn a_list_is_taken_as_it_is() {
        let machine = Machine::from_synthetic("core:4 pu:1").unwrap();
        // Numbers that this machine's own teams do not have.
        let list = Placement::List(vec![2, 1]);
        let (first, share) = take_units(&list, &machine, 2).unwrap();
        let (second, _) = take_units(&list, &machine, 2).unwrap();
        assert_eq!((first.pus(), &share.0[..]), (second.pus(), &[2, 1][..]));
    }
}
