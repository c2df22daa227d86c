//! The costs of a machine's levels: hand-off times, rates, and the source of each number.

use crate::sorted::Arrange;
use std::borrow::Cow;
use std::fmt;

use super::published::{PublishedMachines, table};
use super::transport;
use super::{LevelRates, Profile};
use crate::machine::{Level, Machine, MachineError};
use crate::placement::Assignment;

/// The cost of handing a cache line from one core to another, where the innermost thing that the
/// two share is of this level.
///
/// # Examples
/// ```
/// use phalanx::tuning::{LevelCost, MachineCosts};
/// let rome = MachineCosts::named("epyc-7742-2s-nps4").unwrap();
/// let near: &LevelCost = &rome.levels[1];
/// assert_eq!(near.level.key(), "l3");
/// assert!(near.hand_off[1] < rome.levels[2].hand_off[1]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LevelCost {
    /// The level; [`Level::Core`] for two hardware threads of one core.
    pub level: Level,
    /// Nanoseconds from one core's store to another core's having the line, half of a
    /// compare-and-swap ping-pong: 10th percentile, median, 90th percentile over pairs.
    pub hand_off: [f64; 3],
    /// GB/s at which one core reads lines that a core at that distance has
    /// written. `None` = not known, and derived from the hand-off by Little's law,
    /// with 16 lines under way.
    pub rate: Option<f64>,
    /// Where the numbers are from.
    pub source: Cow<'static, str>,
}

/// Cache lines that a core has under way at once, where no rate was published: the median over the
/// published pairs of rate and hand-off (Kunpeng 920: 8 to 19, Graviton2 26, Graviton4 32,
/// ThunderX2 8 and 10, Phytium 4 to 10; two cores of an EPYC virtual machine: 27).
const LINES_IN_FLIGHT: f64 = 16.0;

/// Bytes of a cache line.
const LINE: f64 = 64.0;

impl LevelCost {
    /// GB/s of one core, known or derived.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::MachineCosts;
    /// let rome = MachineCosts::named("epyc-7742-2s-nps4").unwrap();
    /// // Not published: 16 lines of 64 bytes every 25.3 ns.
    /// assert_eq!(rome.levels[1].rate, None);
    /// assert!((rome.levels[1].core_rate() - 16.0 * 64.0 / 25.3).abs() < 1e-9);
    /// ```
    pub fn core_rate(&self) -> f64 {
        self.rate.unwrap_or(LINES_IN_FLIGHT * LINE / self.hand_off[1])
    }
}

/// Rates of a machine's memories and links, GB/s; `None` = not known, and then
/// not modelled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryCosts {
    /// One core reading its own memory.
    pub one_core: Option<f64>,
    /// All cores of an L3 together, beyond that cache.
    pub per_l3: Option<f64>,
    /// One memory node.
    pub per_node: Option<f64>,
    /// All memory of a package.
    pub per_package: Option<f64>,
    /// Everything that crosses between packages, in one direction.
    pub link: Option<f64>,
    /// MiB of the last level of cache for each core (the vendor's data sheet).
    pub cache_per_core: Option<f64>,
    /// Where the rates are from.
    pub source: Cow<'static, str>,
}

/// A machine's costs, level by level.
///
/// # Examples
/// ```
/// use phalanx::machine::Machine;
/// use phalanx::tuning::MachineCosts;
/// let genoa = MachineCosts::named("epyc-9654-2s-nps4").unwrap();
/// assert_eq!(genoa.machine()?.cores().len(), 192);
/// // Which of the published machines is this one like? The shape is the same.
/// let this = Machine::from_synthetic("pack:2 group:4 [numa] l3:3 core:8 pu:1")?;
/// let (like, same_shape) = MachineCosts::nearest(&this);
/// assert!(same_shape && like.id == "epyc-9654-2s-nps4");
/// # Ok::<(), phalanx::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MachineCosts {
    /// A short name, such as `epyc-7742-2s-nps4`.
    pub id: Cow<'static, str>,
    /// The machine's name.
    pub name: Cow<'static, str>,
    /// Its shape in hwloc's synthetic syntax.
    pub synthetic: Cow<'static, str>,
    /// The levels, innermost first.
    pub levels: Cow<'static, [LevelCost]>,
    /// Memories and links.
    pub memory: MemoryCosts,
}

impl MachineCosts {
    /// The published machines.
    pub fn all() -> &'static [MachineCosts] {
        &table().all
    }

    /// A published machine by its id; the error names the one with the longest common beginning, of
    /// at least three letters.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::MachineCosts;
    /// let error = MachineCosts::named("epyc-9654").unwrap_err();
    /// let nearest = "the nearest is 'epyc-9654-2s-nps4'";
    /// assert_eq!(error.to_string(), format!("no machine 'epyc-9654' in the table; {nearest}"));
    /// ```
    pub fn named(id: &str) -> Result<&'static MachineCosts, CostsError> {
        Self::all().iter().find(|m| m.id == id).ok_or_else(|| {
            let alike = |m: &&MachineCosts| {
                let common = m.id.bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count();
                (common, usize::MAX - m.id.len())
            };
            let nearest = Self::all().iter().max_by_key(alike).filter(|m| alike(m).0 >= 3);
            CostsError::Unknown {
                id: id.to_string(),
                nearest: nearest.map_or("", |m| &m.id).to_string(),
            }
        })
    }

    /// The machine's shape.
    ///
    /// # Errors
    /// A synthetic description that cannot be read.
    pub fn machine(&self) -> Result<Machine, MachineError> {
        Machine::from_synthetic(&self.synthetic)
    }

    /// The published machine with the shape that is most like that of `machine`, among those with
    /// levels that are all known; and whether the shapes are the same: packages, memory nodes, L3
    /// caches, cores, threads.
    pub fn nearest(machine: &Machine) -> (&'static MachineCosts, bool) {
        let wanted = shape(machine);
        let log = |n: usize| (n as f64).ln();
        let gap = |(a, b): (usize, usize)| (log(a) - log(b)).abs();
        let unlike = |known: [usize; 5]| wanted.into_iter().zip(known).map(gap).sum::<f64>();
        let PublishedMachines { all, shapes } = table();
        let ranked = shapes.iter().map(|&(known, at)| (unlike(known), at));
        let nearest = ranked.min_by(|a, b| a.0.total_cmp(&b.0));
        let (gap, at) = nearest.expect("the table has machines whose levels are all known");
        (&all[at], gap == 0.0)
    }

    /// The costs that a profile has measured: of each level the rates with the most samples, a
    /// message's start-up less its software as `transfers` hand-offs, and its time per byte. None
    /// without levels.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{LevelRates, MachineCosts, Profile};
    /// assert!(MachineCosts::of_profile(&Profile::default()).is_none());
    /// let near = LevelRates {
    ///     level: "l3".to_string(),
    ///     place: "ccx".to_string(),
    ///     t_s_ns: 105.0,
    ///     t_s_ci: [95.0, 115.0],
    ///     t_w_ns_per_byte: 0.05,
    ///     t_w_ci: [0.04, 0.06],
    ///     samples: 600,
    ///     pieces: Vec::new(),
    /// };
    /// let costs = MachineCosts::of_profile(&Profile::default().with_level(near)?).unwrap();
    /// // 105 ns are two hand-offs and 5 ns of software.
    /// assert_eq!(costs.levels[0].hand_off[1], 50.0);
    /// assert_eq!(costs.levels[0].core_rate(), 20.0);
    /// # Ok::<(), phalanx::tuning::ProfileError>(())
    /// ```
    pub fn of_profile(profile: &Profile) -> Option<MachineCosts> {
        let mut best: Vec<(Level, &LevelRates)> = Vec::new();
        for rates in profile.levels() {
            let Ok(level) = rates.level.parse::<Level>() else { continue };
            match best.iter_mut().find(|(known, _)| *known == level) {
                Some((_, known)) if known.samples < rates.samples => *known = rates,
                Some(_) => {}
                None => best.push((level, rates)),
            }
        }
        // Innermost first.
        best.arrange_by_key(|(level, _)| std::cmp::Reverse(*level));
        let hand_off = |t_s: f64| ((t_s - transport::one_way(0.0)) / transport::TRANSFERS).max(1.0);
        let cost = |(level, rates): (Level, &LevelRates)| LevelCost {
            level,
            hand_off: [rates.t_s_ci[0], rates.t_s_ns, rates.t_s_ci[1]].map(hand_off),
            rate: (rates.t_w_ns_per_byte > 0.0).then(|| 1.0 / rates.t_w_ns_per_byte),
            source: "phalanx calibrate".into(),
        };
        let levels: Vec<LevelCost> = best.into_iter().map(cost).collect();
        (!levels.is_empty()).then(|| MachineCosts {
            id: "profile".into(),
            name: "this machine, by its profile".into(),
            synthetic: "".into(),
            levels: levels.into(),
            memory: MemoryCosts::default(),
        })
    }

    /// The core of each rank, where the costs of all levels of `machine` are known.
    ///
    /// # Errors
    /// [`CostsError::Unbound`] for a rank without a core, [`CostsError::NoData`] for a level of
    /// which nothing is known and at which two cores meet.
    ///
    /// # Examples
    /// ```
    /// use phalanx::placement::{Placement, assign};
    /// use phalanx::tuning::MachineCosts;
    /// let rome = MachineCosts::named("epyc-7742-2s-nps4")?;
    /// let machine = rome.machine()?;
    /// let ranks = assign(&Placement::Compact, &machine, 3)?;
    /// assert_eq!(rome.cores(&machine, &ranks)?, [0, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cores(
        &self,
        machine: &Machine,
        assignment: &Assignment,
    ) -> Result<Vec<usize>, CostsError> {
        let core = |rank| assignment.pu(rank).and_then(|pu| machine.core_of(pu));
        let cores = (0..assignment.ranks())
            .map(|rank| core(rank).ok_or(CostsError::Unbound { rank }))
            .collect::<Result<Vec<_>, _>>()?;
        match self.missing(machine) {
            Some(level) => Err(CostsError::NoData { id: self.id.to_string(), level }),
            None => Ok(cores),
        }
    }

    /// The first level of `machine` at which two cores can meet and of which nothing is known.
    pub(super) fn missing(&self, machine: &Machine) -> Option<Level> {
        let known = |levels: &[Level]| levels.iter().any(|&l| self.position(l).is_some());
        machine
            .tree()
            .vertices()
            .iter()
            .filter(|v| v.cores.len() > 1)
            .find(|v| !known(&v.levels))
            .map(|v| *v.levels.last().unwrap_or(&Level::Machine))
    }

    /// The index of a level in [`levels`](MachineCosts::levels).
    ///
    /// # Examples
    /// ```
    /// use phalanx::machine::Level;
    /// use phalanx::tuning::MachineCosts;
    /// let rome = MachineCosts::named("epyc-7742-2s-nps4")?;
    /// assert_eq!(rome.position(Level::L3), Some(1));
    /// # Ok::<(), phalanx::tuning::CostsError>(())
    /// ```
    pub fn position(&self, level: Level) -> Option<usize> {
        self.levels.iter().position(|l| l.level == level)
    }

    /// Checks that every number can be one: times and rates positive and below a second and
    /// 100 TB/s, percentiles in order, no level twice.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{LevelCost, MachineCosts};
    /// let mut costs = MachineCosts::named("graviton3").unwrap().clone();
    /// assert!(costs.check().is_ok());
    /// costs.levels.to_mut()[0].hand_off[1] = -5.0;
    /// assert_eq!(
    ///     costs.check().unwrap_err().to_string(),
    ///     "graviton3: a hand-off of -5 ns at level l3 cannot be"
    /// );
    /// ```
    pub fn check(&self) -> Result<(), CostsError> {
        match self.absurdity() {
            Some(it) => Err(CostsError::Absurd { id: self.id.to_string(), what: it.in_words() }),
            None => Ok(()),
        }
    }

    /// The first number that cannot be one. Not in words: a program whose costs are in order has no
    /// code that writes numbers.
    pub(super) fn absurdity(&self) -> Option<Absurdity> {
        for (i, level) in self.levels.iter().enumerate() {
            let key = level.level.key();
            if let Some(ns) = level.hand_off.into_iter().find(|&ns| !(ns > 0.0 && ns < 1e9)) {
                return Some(Absurdity::HandOff(ns, key));
            }
            let [low, median, high] = level.hand_off;
            if !(low <= median && median <= high) {
                return Some(Absurdity::Percentiles(level.hand_off, key));
            }
            if let Some(rate) = level.rate.filter(|r| !is_rate(*r)) {
                return Some(Absurdity::Rate(rate, key));
            }
            if self.levels[..i].iter().any(|l| l.level == level.level) {
                return Some(Absurdity::Twice(key));
            }
        }
        let m = &self.memory;
        let rates = [m.one_core, m.per_l3, m.per_node, m.per_package, m.link, m.cache_per_core];
        rates.into_iter().flatten().find(|r| !is_rate(*r)).map(Absurdity::Memory)
    }
}

/// A number that cannot be one, and the key of its level.
pub(super) enum Absurdity {
    HandOff(f64, &'static str),
    Percentiles([f64; 3], &'static str),
    Rate(f64, &'static str),
    Twice(&'static str),
    Memory(f64),
}

impl Absurdity {
    fn in_words(&self) -> String {
        match self {
            Absurdity::HandOff(ns, level) => format!("a hand-off of {ns} ns at level {level}"),
            Absurdity::Percentiles([low, median, high], level) => {
                format!("percentiles {low}, {median}, {high} ns at level {level}")
            }
            Absurdity::Rate(rate, level) => format!("a rate of {rate} GB/s at level {level}"),
            Absurdity::Twice(level) => format!("level {level} twice"),
            Absurdity::Memory(rate) => format!("a memory with {rate} GB/s or MiB"),
        }
    }
}

fn is_rate(rate: f64) -> bool {
    rate > 0.0 && rate < 1e5
}

/// Packages, memory nodes, L3 caches, cores, threads.
pub(super) fn shape(machine: &Machine) -> [usize; 5] {
    let count = |level| machine.groups(level).len().max(1);
    [
        count(Level::Package),
        machine.numa_nodes().len().max(1),
        count(Level::L3),
        machine.cores().len(),
        machine.pu_count(),
    ]
}

/// Costs that cannot serve.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum CostsError {
    /// No such machine in the table.
    Unknown {
        /// The name that was asked for.
        id: String,
        /// The id most like it; empty where none is like it.
        nearest: String,
    },
    /// A number that cannot be.
    Absurd {
        /// The machine.
        id: String,
        /// The number and where it stands.
        what: String,
    },
    /// Nothing is known of a level that ranks meet at.
    NoData {
        /// The machine.
        id: String,
        /// The level.
        level: Level,
    },
    /// A rank that is bound to nothing has no distance to anybody.
    Unbound {
        /// The rank.
        rank: usize,
    },
}

impl fmt::Display for CostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostsError::Unknown { id, nearest } if nearest.is_empty() => {
                write!(f, "no machine '{id}' in the table of published machines")
            }
            CostsError::Unknown { id, nearest } => {
                write!(f, "no machine '{id}' in the table; the nearest is '{nearest}'")
            }
            CostsError::Absurd { id, what } => write!(f, "{id}: {what} cannot be"),
            CostsError::NoData { id, level } => {
                write!(f, "{id}: no hand-off is known between cores of the same {level}")
            }
            CostsError::Unbound { rank } => {
                write!(f, "rank {rank} is bound to nothing: it has no distance to anybody")
            }
        }
    }
}

crate::error_type!(CostsError:
    Self::Unknown { id, nearest }, Self::Absurd { id, what }, Self::NoData { id, level },
    Self::Unbound { rank },
);
