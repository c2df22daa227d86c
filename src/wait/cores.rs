//! The ranks that share a core, and the number of a core's ranks that sleep.

use crate::sorted::Arrange;
use crate::sync::diagnostic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use crossbeam_utils::CachePadded;
use std::cell::Cell;

crate::sync::thread_local! {
    /// Whether this thread has woken somebody on its own core since it slept: who may not have had
    /// the core yet.
    static HAS_WOKEN: Cell<bool> = const { Cell::new(false) };
}

/// The caller has woken a rank on its own core.
pub(crate) fn has_woken_neighbour() {
    HAS_WOKEN.set(true);
}

/// Of a team's ranks. Fixed when the team is made, so that all its communicators see the same.
#[derive(Default)]
pub(crate) struct Cores {
    /// By rank: the place of its core in `all`. Empty if no rank is bound.
    of: Box<[Option<usize>]>,
    all: Box<[CachePadded<CoreSleepers>]>,
    /// By place in `all`: its processing unit.
    units: Box<[usize]>,
    /// By place in `all`: the number of its memory, if its ranks may roam there.
    memories: Box<[Option<usize>]>,
    are_shared: bool,
    /// Whether ranks of other cores have to share them since, as was seen last. A hint.
    have_shrunk: AtomicBool,
}

#[derive(Default)]
struct CoreSleepers {
    /// Ranks that are bound to it.
    ranks: usize,
    /// Of those, how many sleep. A hint: nothing depends on it.
    asleep: AtomicUsize,
}

/// As long as it lives its rank counts as asleep.
pub(crate) struct Asleep<'a>(Option<&'a CoreSleepers>);

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        if let Some(core) = self.0 {
            core.asleep.fetch_sub(1, Relaxed);
        }
    }
}

impl Cores {
    /// Of ranks that are bound to these processing units, in memories of these numbers; if those
    /// are given, a rank may roam among the units of its memory.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn new(pus: &[Option<usize>], memories: Option<&[usize]>) -> Self {
        let mut units: Vec<usize> = pus.iter().copied().flatten().collect();
        units.arrange();
        units.dedup();
        let place = |pu: &Option<usize>| pu.and_then(|pu| units.binary_search(&pu).ok());
        let of: Box<[_]> = pus.iter().map(place).collect();
        let core = |place| CoreSleepers {
            ranks: of.iter().filter(|&&at| at == Some(place)).count(),
            asleep: AtomicUsize::new(0),
        };
        let all: Box<[_]> = (0..units.len()).map(|at| CachePadded::new(core(at))).collect();
        let memory = |unit: &usize| {
            let rank = pus.iter().position(|pu| pu.as_ref() == Some(unit));
            memories?.get(rank?).copied()
        };
        let memories = units.iter().map(memory).collect();
        let are_shared = all.iter().any(|core| core.ranks > 1);
        let have_shrunk = AtomicBool::new(false);
        Cores { of, all, memories, units: units.into(), are_shared, have_shrunk }
    }

    /// Whether ranks of the team share a core: by its placement, or where the process had fewer
    /// cores than before when the team was made; or as masks or a cpuset have shrunk since.
    pub(crate) fn are_shared(&self) -> bool {
        self.are_shared || self.have_shrunk.load(Relaxed)
    }

    /// Finds out whether ranks, none of which shared its core, have too few units now: the closure
    /// gets whether they had, and gives none if that is still so.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn follow(&self, too_few: impl FnOnce(bool) -> Option<bool>) {
        let before = self.have_shrunk.load(Relaxed);
        // Only if it is news: all ranks read the line.
        if !self.are_shared && too_few(before) == Some(!before) {
            self.have_shrunk.store(!before, Relaxed);
        }
    }

    /// The processing units among which `rank` may roam, sorted: its own, and others of the team in
    /// the same memory. None if it is not bound.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn range(&self, rank: usize) -> Box<[usize]> {
        let Some(own) = self.of(rank) else { return Box::default() };
        let memory = self.memories[own];
        let is_near =
            |&place: &usize| place == own || memory.is_some() && self.memories[place] == memory;
        (0..self.units.len()).filter(is_near).map(|place| self.units[place]).collect()
    }

    /// That of `rank`, if it is bound.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn unit(&self, rank: usize) -> Option<usize> {
        Some(self.units[self.of(rank)?])
    }

    /// The core of `rank`, if it is bound.
    pub(crate) fn of(&self, rank: usize) -> Option<usize> {
        self.of.get(rank).copied().flatten()
    }

    /// For each of these ranks the number of its group, and how many groups there are: ranks of one
    /// core are one, and so are all that are not bound.
    pub(crate) fn groups(&self, ranks: &[usize]) -> (Box<[usize]>, usize) {
        let mut cores = Vec::new();
        let group = |&rank: &usize| {
            let core = self.of(rank);
            cores.iter().position(|&c| c == core).unwrap_or_else(|| {
                cores.push(core);
                cores.len() - 1
            })
        };
        let groups = ranks.iter().map(group).collect();
        (groups, cores.len())
    }

    /// Whether all other ranks on the core of `rank`, the caller, sleep.
    pub(crate) fn is_alone(&self, rank: usize) -> bool {
        let Some(core) = self.of(rank) else { return false };
        let core = &self.all[core];
        !HAS_WOKEN.get()
            && !self.have_shrunk.load(Relaxed)
            && core.asleep.load(Relaxed) + 1 >= core.ranks
    }

    /// `rank`, the caller, sleeps as long as the result lives.
    pub(crate) fn sleep(&self, rank: usize) -> Asleep<'_> {
        HAS_WOKEN.set(false);
        let core = self.of(rank).map(|core| &*self.all[core]);
        if let Some(core) = core {
            core.asleep.fetch_add(1, Relaxed);
        }
        Asleep(core)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_core_are_a_group() {
        let cores = Cores::new(&[Some(7), Some(3), None, Some(7), None, Some(3)], None);
        assert_eq!(cores.groups(&[0, 1, 2, 3, 4, 5]), ([0, 1, 2, 0, 2, 1].into(), 3));
        assert_eq!(cores.groups(&[5, 1]), ([0, 0].into(), 1));
        assert_eq!(Cores::default().groups(&[0, 1]), ([0, 0].into(), 1));
    }

    #[test]
    fn ranks_roam_within_their_memory() {
        let units = [Some(7), Some(3), None, Some(5), Some(4), Some(3)];
        let cores = Cores::new(&units, Some(&[0, 1, 0, 0, 1, 1]));
        assert_eq!(*cores.range(0), [5, 7]);
        assert_eq!((cores.range(1), cores.range(5)), ([3, 4].into(), [3, 4].into()));
        assert!(cores.range(2).is_empty());
        assert_eq!(*Cores::new(&units, None).range(0), [7], "on units that the program has named");
    }

    #[test]
    fn a_rank_is_alone_while_its_neighbours_sleep() {
        let cores = Cores::new(&[Some(0), Some(1), Some(0), Some(0), None], None);
        assert!(cores.is_alone(1) && !cores.is_alone(0) && !cores.is_alone(4));
        let first = cores.sleep(2);
        assert!(!cores.is_alone(0));
        let second = cores.sleep(3);
        assert!(cores.is_alone(0));
        has_woken_neighbour();
        assert!(!cores.is_alone(0));
        drop(cores.sleep(0));
        assert!(cores.is_alone(0));
        drop((first, second));
        assert!(!cores.is_alone(0));
    }
}
