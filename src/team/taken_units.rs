//! The processing units that the teams of this process have.

use crate::fork;
use crate::machine::Machine;
use crate::placement::{Assignment, Placement, PlacementError, assign};
use crate::sorted::SortedMap;
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
    let is_fixed = matches!(placement, Placement::List(_) | Placement::Unpinned);
    let least = if is_fixed { None } else { least_taken(machine, &taken, ranks) };
    let assignment = match least {
        Some(units) => assign(placement, &machine.narrowed_to(units), ranks)?,
        None => assign(placement, machine, ranks)?,
    };
    let units: Vec<usize> = assignment.pus().iter().copied().flatten().collect();
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
        let low: Vec<_> = cores.filter(|c| !c.is_empty() && c.iter().all(is_low)).collect();
        if low.len() >= ranks {
            return Some(low.concat());
        }
        let units: Vec<usize> = allowed.iter().copied().filter(is_low).collect();
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
    fn a_list_is_taken_as_it_is() {
        let machine = Machine::from_synthetic("core:4 pu:1").unwrap();
        // Numbers that this machine's own teams do not have.
        let list = Placement::List(vec![2, 1]);
        let (first, share) = take_units(&list, &machine, 2).unwrap();
        let (second, _) = take_units(&list, &machine, 2).unwrap();
        assert_eq!((first.pus(), &share.0[..]), (second.pus(), &[2, 1][..]));
    }
}
