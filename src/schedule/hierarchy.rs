//! Groups of ranks within groups of ranks: a communicator as a machine's levels divide it.

use crate::sorted::{Arrange, Listed, SortedMap, SortedSet, numbers};
use std::fmt;

/// Nested groups of ranks, and how wide the trees within them are.
///
/// A *stage* is what happens on one level: at the innermost one the ranks of each group, at the
/// next one their leaders, and so on; at the last stage the leaders of the outermost groups. A
/// group's leader is its lowest rank, or the root, if it is in there.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Hierarchy, Operation, Request};
/// // 16 ranks: 4 share a cache, 2 such caches a package.
/// let machine = Hierarchy::even(16, &[4, 2]);
/// assert_eq!(machine.to_string(), "4 groups, 2 groups, degrees flat, flat, flat");
/// let call = Request::new(Operation::Broadcast, 16).levels(machine);
/// // One message to the other package, one to each other cache, one to each rank.
/// assert_eq!(Algorithm::BC_HIER.schedule(&call)?.steps(), 3);
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hierarchy {
    ranks: usize,
    /// Innermost first: for each rank the number of its group.
    groups: Vec<Vec<usize>>,
    /// Children of each rank within a stage, one entry a stage; 0 = all.
    degrees: Vec<usize>,
    /// Where all members of a stage learn from all, one entry a stage.
    exchanges: Vec<Exchange>,
}

/// How the members of a stage all learn from each other: the outermost leaders in a barrier, an
/// all-reduce, an all-gather or a reduce-scatter, and the members of every stage in a scan.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Exchange, Hierarchy, Operation, Request};
/// let groups = Hierarchy::even(32, &[4]);
/// let steps = |exchange| {
///     let groups = groups.clone().exchanges(&[Exchange::Doubling, exchange]);
///     let call = Request::new(Operation::AllReduce, 32).levels(groups);
///     Algorithm::AR_HIER.schedule(&call).map(|schedule| schedule.steps())
/// };
/// // Up, eight leaders, down.
/// assert_eq!(steps(Exchange::Doubling)?, 1 + 3 + 1);
/// assert_eq!(steps(Exchange::Direct)?, 1 + 1 + 1);
/// assert_eq!(steps(Exchange::Tree)?, 1 + 2 + 1);
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exchange {
    /// In log n rounds: recursive doubling; in a barrier dissemination, in an all-gather Bruck's
    /// rule.
    #[default]
    Doubling,
    /// In one, each with all others.
    Direct,
    /// Up the stage's tree to the first of them, and down again. A scan takes doubling for it.
    Tree,
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Exchange::Doubling => "doubling",
            Exchange::Direct => "direct",
            Exchange::Tree => "tree",
        })
    }
}

/// Groups that are not nested, or not of the same ranks.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadHierarchy {
    /// A level that names groups for another number of ranks than the first.
    Ranks {
        /// The level, innermost 0.
        level: usize,
        /// How many it has.
        ranks: usize,
    },
    /// Two ranks that share a group and then don't.
    NotNested {
        /// The outer level.
        level: usize,
        /// The ranks.
        ranks: [usize; 2],
    },
}

impl fmt::Display for BadHierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadHierarchy::Ranks { level, ranks } => {
                write!(
                    f,
                    "level {level} has groups for {ranks} ranks, the innermost for another number"
                )
            }
            BadHierarchy::NotNested { level, ranks: [a, b] } => {
                write!(f, "ranks {a} and {b} share a group below level {level}, but none at it")
            }
        }
    }
}

crate::error_type!(BadHierarchy: Self::Ranks { level, ranks }, Self::NotNested { level, ranks });

/// The ranks (or leaders) of one group at one stage, ascending, and which of them leads.
pub(super) struct LeaderGroup {
    pub(super) members: Vec<usize>,
    pub(super) leader: usize,
}

impl Hierarchy {
    /// Groups by number, one list a level, innermost first; none: one stage of all ranks.
    ///
    /// # Errors
    /// Levels of different numbers of ranks, or groups that cut across each other.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{BadHierarchy, Hierarchy};
    /// assert!(Hierarchy::new(4, &[vec![0, 1, 0, 1]]).is_ok()); // any ranks may form a group
    /// let crossing = Hierarchy::new(4, &[vec![0, 0, 1, 1], vec![0, 1, 1, 1]]);
    /// assert_eq!(crossing, Err(BadHierarchy::NotNested { level: 1, ranks: [0, 1] }));
    /// ```
    pub fn new(ranks: usize, levels: &[Vec<usize>]) -> Result<Self, BadHierarchy> {
        for (level, groups) in levels.iter().enumerate() {
            if groups.len() != ranks {
                return Err(BadHierarchy::Ranks { level, ranks: groups.len() });
            }
            let Some(inner) = level.checked_sub(1).map(|l| &levels[l]) else { continue };
            let mut first: SortedMap<usize, usize> = SortedMap::new();
            for rank in 0..ranks {
                let one = *first.or_insert(inner[rank], rank);
                if groups[one] != groups[rank] {
                    return Err(BadHierarchy::NotNested { level, ranks: [one, rank] });
                }
            }
        }
        Ok(Hierarchy::flat_trees(ranks, levels.to_vec()))
    }

    /// Consecutive ranks: `sizes[0]` of them a group, `sizes[1]` of those groups a group of the
    /// next level, and so on; the last group of a level may be smaller. A size of 0 counts as 1.
    pub fn even(ranks: usize, sizes: &[usize]) -> Self {
        let mut per = 1usize;
        let groups = sizes.iter().map(|&size| {
            per = per.saturating_mul(size.max(1));
            (0..ranks).map(|rank| rank / per).listed()
        });
        Hierarchy::flat_trees(ranks, groups.listed())
    }

    fn flat_trees(ranks: usize, groups: Vec<Vec<usize>>) -> Self {
        let stages = groups.len() + 1;
        Hierarchy {
            ranks,
            groups,
            degrees: vec![0; stages],
            exchanges: vec![Exchange::Doubling; stages],
        }
    }

    /// Sets how many children a rank has at each stage, innermost first: 0 for all at once (a
    /// star), 2 for a binary tree. For `AR-RADIX` and `BAR-RADIX` it is how many parts meet in a
    /// step, 0 for at most 8. Stages without an entry stay as they are.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::Hierarchy;
    /// let tree = Hierarchy::even(64, &[8]).degrees(&[0, 3]);
    /// assert_eq!(tree.to_string(), "8 groups, degrees flat, 3");
    /// ```
    #[must_use]
    pub fn degrees(mut self, degrees: &[usize]) -> Self {
        for (own, &degree) in self.degrees.iter_mut().zip(degrees) {
            *own = degree;
        }
        self
    }

    /// Sets how the members of each stage exchange, where all of them do, innermost first. Stages
    /// without an entry stay as they are.
    #[must_use]
    pub fn exchanges(mut self, exchanges: &[Exchange]) -> Self {
        for (own, &exchange) in self.exchanges.iter_mut().zip(exchanges) {
            *own = exchange;
        }
        self
    }

    /// A clone, by one body.
    #[inline(never)]
    pub(crate) fn cloned(&self) -> Hierarchy {
        self.clone()
    }

    /// Sets both for a stage.
    pub(crate) fn set_stage(&mut self, stage: usize, degree: usize, exchange: Exchange) {
        (self.degrees[stage], self.exchanges[stage]) = (degree, exchange);
    }

    /// How the members of a stage exchange.
    pub fn exchange(&self, stage: usize) -> Exchange {
        self.exchanges.get(stage).copied().unwrap_or_default()
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of stages: one more than levels.
    pub fn stages(&self) -> usize {
        self.groups.len() + 1
    }

    /// The degree of a stage; 0 = all.
    pub fn degree(&self, stage: usize) -> usize {
        self.degrees.get(stage).copied().unwrap_or(0)
    }

    /// The number of a rank's group at a level, innermost 0.
    pub fn group(&self, level: usize, rank: usize) -> Option<usize> {
        self.groups.get(level)?.get(rank).copied()
    }

    /// Whether every group consists of consecutive ranks: only then combining leader by leader
    /// keeps rank order.
    pub fn is_consecutive(&self) -> bool {
        self.groups.iter().all(|groups| {
            let mut seen = SortedSet::new();
            groups.chunk_by(|a, b| a == b).all(|run| seen.add(run[0]))
        })
    }

    /// These groups for some of the ranks, which get the numbers 0, 1, .. in the order given.
    /// Levels that group nothing, or everything, go.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::Hierarchy;
    /// let all = Hierarchy::even(16, &[2, 4]);
    /// assert_eq!(all.of_members(&[0, 1, 2, 3]).to_string(), "2 groups, degrees flat, flat");
    /// assert_eq!(all.of_members(&[0, 8]).stages(), 1);
    /// ```
    #[must_use]
    pub fn of_members(&self, members: &[usize]) -> Hierarchy {
        let ranks = members.len();
        let level = |groups: &Vec<usize>| -> Vec<usize> {
            members.iter().map(|&m| groups.get(m).copied().unwrap_or(0)).listed()
        };
        Hierarchy::tidy(ranks, self.groups.iter().map(level).listed())
    }

    /// Nested levels, those left out that group nothing, everything, or the same as another.
    pub(crate) fn tidy(ranks: usize, mut levels: Vec<Vec<usize>>) -> Hierarchy {
        levels.retain(|groups| (2..ranks).contains(&count(groups)));
        levels.dedup_by_key(|groups| count(groups));
        Hierarchy::new(ranks, &levels).unwrap_or_else(|_| Hierarchy::even(ranks, &[]))
    }

    /// This one, with each of its levels left out, and with each alone: what a choice of levels
    /// tries.
    pub(crate) fn thinned(&self) -> Vec<Hierarchy> {
        let n = self.groups.len();
        let mut kept: Vec<Vec<usize>> = vec![(0..n).listed()];
        kept.extend((0..n).map(|out| (0..n).filter(|&level| level != out).listed()));
        kept.extend((0..n).map(|level| vec![level]));
        kept.retain(|levels| !levels.is_empty());
        kept.arrange_by_key(|levels| std::cmp::Reverse(levels.len()));
        kept.dedup();
        let of = |levels: Vec<usize>| {
            let groups = levels.into_iter().map(|level| self.groups[level].clone());
            Hierarchy::flat_trees(self.ranks, groups.listed())
        };
        kept.into_iter().map(of).listed()
    }

    /// The innermost stage at which two ranks meet.
    pub(crate) fn meet(&self, a: usize, b: usize) -> usize {
        let together = |groups: &Vec<usize>| groups[a] == groups[b];
        self.groups.iter().position(together).unwrap_or(self.groups.len())
    }

    /// The members of each group of a stage (ranks, or leaders), leaders first.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::Hierarchy;
    /// let pairs = Hierarchy::even(4, &[2]);
    /// assert_eq!(pairs.members(0), [[0, 1], [2, 3]]);
    /// assert_eq!(pairs.members(1), [[0, 2]]);
    /// ```
    pub fn members(&self, stage: usize) -> Vec<Vec<usize>> {
        self.groups_of(stage, 0).into_iter().map(|g| g.members).listed()
    }

    /// The ranks of the smallest group of a stage; of the last, all.
    pub(crate) fn smallest(&self, stage: usize) -> usize {
        let Some(groups) = self.groups.get(stage) else { return self.ranks };
        let mut ranks: SortedMap<usize, usize> = SortedMap::new();
        groups.iter().for_each(|&group| *ranks.or_insert(group, 0) += 1);
        groups.iter().map(|&group| *ranks.or_insert(group, 0)).min().unwrap_or(self.ranks)
    }

    /// The groups of a stage, by their leaders' ranks ascending.
    pub(super) fn groups_of(&self, stage: usize, root: usize) -> Vec<LeaderGroup> {
        let mut members = numbers(self.ranks);
        let mut out = Vec::new();
        for at in 0..=stage {
            let mut numbers: Vec<usize> = Vec::new();
            let mut place: SortedMap<usize, usize> = SortedMap::new();
            out = Vec::new();
            for &rank in &members {
                let number = self.group(at, rank).unwrap_or(0);
                let next = numbers.len();
                let i = *place.or_insert(number, next);
                if i == next {
                    numbers.push(number);
                    out.push(LeaderGroup { members: Vec::new(), leader: 0 });
                }
                out[i].members.push(rank);
            }
            for group in &mut out {
                // The root leads every group that it is in, so it is a member at every stage.
                group.leader = group.members.iter().position(|&m| m == root).unwrap_or(0);
            }
            members = out.iter().map(|g| g.members[g.leader]).listed();
            members.arrange();
        }
        out
    }
}

/// How many groups a level has.
#[inline(never)]
fn count(groups: &[usize]) -> usize {
    SortedSet::from_iter(groups.iter().copied()).len()
}

impl fmt::Display for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for groups in &self.groups {
            let count = count(groups);
            write!(f, "{count} group{}, ", if count == 1 { "" } else { "s" })?;
        }
        f.write_str("degrees")?;
        for (i, degree) in self.degrees.iter().enumerate() {
            f.write_str(if i == 0 { " " } else { ", " })?;
            match degree {
                0 => f.write_str("flat")?,
                d => write!(f, "{d}")?,
            }
        }
        // What is not said is doubling.
        let last = self.exchanges.iter().rposition(|&e| e != Exchange::Doubling);
        if let Some(last) = last {
            f.write_str("; exchange")?;
            for (stage, exchange) in self.exchanges.iter().enumerate().take(last + 1) {
                if *exchange != Exchange::Doubling {
                    write!(f, " {exchange} at stage {}", stage + 1)?;
                }
            }
        }
        Ok(())
    }
}
