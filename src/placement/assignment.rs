//! Assignments of ranks to processing units.

use super::core_order;
use super::error::PlacementError;
use super::policy::Placement;
use super::search;
use crate::machine::Machine;
use crate::sorted::{Listed, SortedMap};

/// A processing unit for each rank.
///
/// ```
/// use phalanx::machine::Machine;
/// use phalanx::placement::{Placement, assign};
///
/// let machine = Machine::this()?;
/// let assignment = assign(&Placement::Compact, &machine, 2)?;
/// assert_eq!(assignment.ranks(), 2);
/// assert!(machine.is_allowed(assignment.pu(0).unwrap()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// `None` = bound to nothing.
    pus: Vec<Option<usize>>,
    most_on_one_pu: usize,
    most_on_one_core: usize,
}

impl Assignment {
    /// Counts how crowded it gets. For unpinned ranks that is the best that the system can do.
    fn new(machine: &Machine, pus: Vec<Option<usize>>) -> Assignment {
        let mut on_pu: SortedMap<usize, usize> = SortedMap::new();
        let mut on_core: SortedMap<usize, usize> = SortedMap::new();
        for &pu in pus.iter().flatten() {
            *on_pu.or_default(pu) += 1;
            *on_core.or_default(machine.core_of(pu).expect("a unit of the machine")) += 1;
        }
        let free = pus.iter().filter(|pu| pu.is_none()).count();
        let most = |counts: &SortedMap<usize, usize>, places: usize| {
            counts.values().copied().max().unwrap_or(0).max(free.div_ceil(places.max(1)))
        };
        Assignment {
            most_on_one_pu: most(&on_pu, machine.allowed_pus().len()),
            most_on_one_core: most(&on_core, core_order::usable(machine).len()),
            pus,
        }
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.pus.len()
    }

    /// The processing unit of a rank; `None` for a rank that is not bound, or that does not exist.
    #[must_use]
    pub fn pu(&self, rank: usize) -> Option<usize> {
        self.pus.get(rank).copied().flatten()
    }

    /// The processing units of all ranks; `None` = not bound.
    #[must_use]
    pub fn pus(&self) -> &[Option<usize>] {
        &self.pus
    }

    /// Whether some ranks must take turns, as several share a processing unit (or, unpinned, there
    /// are more ranks than units).
    #[must_use]
    pub fn oversubscribed(&self) -> bool {
        self.most_on_one_pu > 1
    }

    /// The most ranks that share one physical core.
    #[must_use]
    pub fn most_on_one_core(&self) -> usize {
        self.most_on_one_core
    }
}

/// Places `ranks` ranks on the allowed processing units of `machine`.
///
/// Physical cores are used before second hardware threads, and when all units are taken the next
/// rank starts over at the first.
///
/// # Errors
///
/// [`PlacementError`]: no ranks, a list that is too short or names a unit twice, one that is absent
/// or disallowed, a topology whose extents do not match the number of ranks.
///
/// ```
/// use phalanx::machine::Machine;
/// use phalanx::placement::{Placement, PlacementError, assign};
///
/// let machine = Machine::this()?;
/// let mesh = assign(&Placement::Mesh(2, 3), &machine, 5);
/// assert_eq!(mesh.unwrap_err().to_string(), "5 ranks cannot be placed as mesh:2x3");
/// let twice = assign(&Placement::List(vec![machine.allowed_pus()[0]; 2]), &machine, 2);
/// assert!(matches!(twice, Err(PlacementError::Duplicate { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assign(
    placement: &Placement,
    machine: &Machine,
    ranks: usize,
) -> Result<Assignment, PlacementError> {
    if ranks == 0 {
        return Err(PlacementError::NoRanks);
    }
    let cores = match placement {
        Placement::Unpinned => return Ok(Assignment::new(machine, vec![None; ranks])),
        Placement::List(list) => return from_list(list, machine, ranks),
        Placement::Compact => core_order::usable(machine),
        Placement::Scatter => core_order::scattered(machine),
        Placement::Identity => core_order::by_number(machine),
        Placement::Random(seed) => core_order::shuffled(machine, *seed),
        _ => match placement.pattern(ranks)? {
            Some(pattern) => {
                let units = search::place(machine, &pattern);
                return Ok(Assignment::new(machine, bound(units.into_iter())));
            }
            None => core_order::fastest(machine, ranks),
        },
    };
    let units = core_order::units(machine, &cores);
    Ok(Assignment::new(machine, bound((0..ranks).map(|rank| units[rank % units.len()]))))
}

fn bound(units: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
    units.map(Some).listed()
}

/// Checks every entry of the list, also those that no rank needs.
fn from_list(
    list: &[usize],
    machine: &Machine,
    ranks: usize,
) -> Result<Assignment, PlacementError> {
    let mut seen: SortedMap<usize, usize> = SortedMap::new();
    for (rank, &pu) in list.iter().enumerate() {
        if machine.core_of(pu).is_none() {
            return Err(PlacementError::Absent { pu, rank });
        }
        if !machine.is_allowed(pu) {
            return Err(PlacementError::Disallowed { pu, rank });
        }
        if let Some(first) = seen.insert(pu, rank) {
            return Err(PlacementError::Duplicate { pu, ranks: [first, rank] });
        }
    }
    if list.len() < ranks {
        return Err(PlacementError::ListTooShort { entries: list.len(), ranks });
    }
    Ok(Assignment::new(machine, bound(list[..ranks].iter().copied())))
}
