//! The choice of an algorithm on a machine with levels: quick estimates in place of simulations.

use std::sync::Arc;

use super::costs::{CostsError, MachineCosts};
use super::estimate::{LINE, LevelHop, MemoryRates, Messages, StagePlan, Stages};
use super::flat_estimate::{RankDistances, SplitPart};
use super::meeting::Meeting;
use crate::machine::{Level, Machine};
use crate::placement::{Assignment, hierarchy};
use crate::schedule::{Algorithm, Hierarchy, Operation, Share};

/// The knowledge of `auto` about a machine with levels: which ranks are near each other, and the
/// costs. Chooses between flat and hierarchical algorithms, which of the levels to use, the tree's
/// degree at each stage, and how the outermost leaders exchange.
///
/// # Examples
/// ```
/// use phalanx::tuning::{LevelModel, MachineCosts};
/// use phalanx::placement::{Placement, assign};
/// use phalanx::schedule::{Algorithm, Operation};
/// let costs = MachineCosts::named("epyc-7742-2s-nps4")?;
/// let machine = costs.machine()?;
/// let ranks = assign(&Placement::Compact, &machine, 128)?;
/// let model = LevelModel::new(&machine, &ranks, costs)?.expect("128 cores are no flat machine");
/// let choice = model.choose(Operation::Broadcast, 8, true).expect("it has a hierarchical form");
/// assert_eq!(choice.algorithm, Algorithm::BC_HIER);
/// println!("{choice}"); // BC-HIER (.. degrees ..): 1.21 us; BC-ANY: 1.66 us
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LevelModel {
    hierarchy: Hierarchy,
    /// All levels first, then some of them.
    shapes: Vec<Stages>,
    /// For the algorithms without groups.
    distances: RankDistances,
    memory: MemoryUse,
    costs: String,
}

/// An algorithm, over which groups and how, and its time.
pub(crate) struct Candidate {
    algorithm: Algorithm,
    /// The shape.
    over: Option<usize>,
    /// Over the shape's stages; of a flat one none.
    plan: StagePlan,
    ns: f64,
}

/// The chosen algorithm, and the ones that it was chosen over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The groups and degrees that it is to use.
    pub levels: Arc<Hierarchy>,
    /// Its estimated time in nanoseconds.
    pub ns: f64,
    /// The part of each stage of the levels, innermost first; of a flat algorithm none.
    pub stages: Vec<f64>,
    /// The next best algorithm and its time.
    pub runner_up: Option<(Algorithm, f64)>,
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.algorithm)?;
        if self.algorithm.uses_levels() {
            write!(f, " ({})", self.levels)?;
        }
        write!(f, ": {:.2} us", self.ns / 1e3)?;
        if self.stages.len() > 1 {
            let parts: Vec<String> =
                self.stages.iter().map(|ns| format!("{:.2}", ns / 1e3)).collect();
            write!(f, " = {} from the innermost out", parts.join(" + "))?;
        }
        match self.runner_up {
            Some((next, ns)) => write!(f, "; {next}: {:.2} us", ns / 1e3),
            None => Ok(()),
        }
    }
}

/// A tree's leaves leave a reduction early, where in parts all ranks work for long: parts must take
/// so many times less.
const ALL_BUSY: f64 = 1.5;

/// Of the operations of the published curves (docs/model.md): a word of a message is
/// read, its new place is claimed and written; a read of a line or two takes 1.2 hand-offs. Of
/// others no curve is known, and they are estimated without.
const BY_CURVES: (f64, f64) = (3.0, 1.2);

/// Ranks from which an estimate is worth it where all are equally near.
const MANY: usize = 32;

/// Whether rules of thumb are enough: few ranks, all equally near.
fn is_simple(hierarchy: &Hierarchy) -> bool {
    hierarchy.stages() == 1 && hierarchy.ranks() < MANY
}

/// The links that all ranks of a cache or package share on their way out of it.
struct SharedLinks {
    /// GB/s, the ranks that share it, and the index of the level that one leaves.
    links: Vec<(f64, usize, usize)>,
    /// Of the memories: GB/s, the ranks that share one, and the level that one leaves.
    memories: Vec<(f64, usize, usize)>,
}

/// The index of the outermost level with costs that is at most this one: where a package has one
/// cache, its cores meet at the cache.
fn at_most(costs: &MachineCosts, level: Level) -> Option<usize> {
    costs.levels.iter().rposition(|known| known.level >= level)
}

impl SharedLinks {
    fn new(costs: &MachineCosts, meeting: &Meeting<'_>, ranks: usize) -> Self {
        let m = &costs.memory;
        let links = [(Level::L3, m.per_l3), (Level::Package, m.link)];
        let memories = [(Level::Numa, m.per_node), (Level::Package, m.per_package)];
        let of = |(level, rate): (Level, Option<f64>)| {
            let at = at_most(costs, level)?;
            let inside = (1..ranks).filter(|&rank| meeting.class(0, rank) <= at).count() + 1;
            Some((rate?, inside, at))
        };
        SharedLinks {
            links: links.into_iter().filter_map(of).collect(),
            memories: memories.into_iter().filter_map(of).collect(),
        }
    }

    /// Those on a way over a level.
    fn crossed(&self, class: usize) -> impl Iterator<Item = (f64, usize)> + '_ {
        self.links.iter().filter(move |link| class > link.2).map(|&(rate, ranks, _)| (rate, ranks))
    }
}

/// Where data lie that are used once.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MemoryUse {
    /// Bytes of cache of each core.
    cache: Option<f64>,
    /// Nanoseconds in which a memory passes on a line; 0 where that is not known.
    home: f64,
    rates: MemoryRates,
}

impl MemoryUse {
    fn new(costs: &MachineCosts, links: &SharedLinks) -> Self {
        let one = costs.memory.one_core.unwrap_or(f64::INFINITY);
        let shares = links.memories.iter().map(|&(rate, ranks, _)| rate / ranks as f64);
        let rates = MemoryRates { one, all: shares.fold(one, f64::min) };
        let home = links.memories.first().map_or(0.0, |&(rate, ..)| LINE / rate);
        MemoryUse { cache: costs.memory.cache_per_core.map(|mib| mib * 1048576.0), home, rates }
    }
}

impl Candidate {
    /// The algorithm, and its groups with the degrees that it is to use.
    pub(crate) fn decided(&self, model: &LevelModel) -> (Algorithm, Arc<Hierarchy>) {
        let levels = match self.over {
            Some(shape) => {
                let mut groups = model.shapes[shape].hierarchy.cloned();
                for (stage, part) in self.plan.iter().enumerate() {
                    groups.set_stage(stage, part.degree, part.exchange);
                }
                groups
            }
            None => model.hierarchy.cloned(),
        };
        (self.algorithm, Arc::new(levels))
    }

    /// What it is chosen by.
    fn cost(&self) -> f64 {
        use Algorithm as A;
        let busy = [A::RED_FUSED, A::RED_SPLIT_HCUBE, A::RED_HIER_SPLIT].contains(&self.algorithm);
        if busy { ALL_BUSY * self.ns } else { self.ns }
    }
}

impl LevelModel {
    /// None where fewer than 32 ranks are all equally near.
    ///
    /// # Errors
    /// Costs that cannot be, a level without data, a rank bound to nothing.
    pub fn new(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Option<Self>, CostsError> {
        costs.check()?;
        Self::of_known(machine, assignment, costs)
    }

    /// As [`new`](LevelModel::new), without the error's words.
    pub(crate) fn of_sensible(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Option<Option<Self>> {
        costs.absurdity().is_none().then(|| Self::of_known(machine, assignment, costs).ok())?
    }

    fn of_known(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Option<Self>, CostsError> {
        let hierarchy = hierarchy(machine, assignment);
        if is_simple(&hierarchy) {
            return Ok(None);
        }
        let meeting = Meeting::new(machine, assignment, costs)?;
        let links = SharedLinks::new(costs, &meeting, assignment.ranks());
        let package = at_most(costs, Level::Package).unwrap_or(usize::MAX);
        let link = costs.memory.link.unwrap_or(f64::INFINITY);
        let hop = |a, b| {
            let class = meeting.class(a, b);
            let line = if class > package { LINE / link } else { 0.0 };
            LevelHop { line, ..LevelHop::of(&costs.levels[class], links.crossed(class)) }
        };
        let memory = MemoryUse::new(costs, &links);
        Ok(Some(Self::of(hierarchy, &hop, memory, costs.id.to_string())))
    }

    fn of(
        hierarchy: Hierarchy,
        hop: &dyn Fn(usize, usize) -> LevelHop,
        memory: MemoryUse,
        costs: String,
    ) -> Self {
        let p = hierarchy.ranks();
        let cached = Messages { memory: MemoryRates::CACHED, passes: 1.0, short: 0.0 };
        let distances = RankDistances::new(p, &cached, memory.home, hop);
        let mut shapes = hierarchy.thinned();
        // One group of all.
        shapes.push(Hierarchy::even(p, &[]));
        let shapes = shapes.into_iter().map(|shape| Stages::of(shape, hop)).collect();
        LevelModel { hierarchy, shapes, distances, memory, costs }
    }

    /// Messages of a call: of data that fit the caches, or not.
    fn messages(&self, operation: Operation, bytes: f64) -> Messages {
        // A vector, or a block for each rank.
        let is_vector = [operation.input(true), operation.output(true)]
            .iter()
            .all(|&share| share == Share::Vector);
        let all = if is_vector { bytes } else { bytes * self.ranks() as f64 };
        let cached = self.memory.cache.is_none_or(|cache| all <= cache);
        let memory = if cached { MemoryRates::CACHED } else { self.memory.rates };
        use Operation::{AllReduce, Broadcast, Reduce};
        let (passes, short) = match operation {
            AllReduce | Broadcast | Reduce => BY_CURVES,
            _ => (1.0, 0.0),
        };
        Messages { memory, passes, short }
    }

    /// The estimates for some of the ranks, which get the numbers 0, 1, .. in the order given. None
    /// where they are few, and equally near.
    pub fn of_members(&self, members: &[usize]) -> Option<Self> {
        let hierarchy = self.hierarchy.of_members(members);
        if is_simple(&hierarchy) {
            return None;
        }
        let whole = &self.shapes[0];
        let hop = |a: usize, b: usize| whole.hop(self.hierarchy.meet(members[a], members[b]));
        Some(Self::of(hierarchy, &hop, self.memory, self.costs.clone()))
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.hierarchy.ranks()
    }

    /// The groups, all degrees flat.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The machine of these costs.
    pub fn costs(&self) -> &str {
        &self.costs
    }

    /// The cheapest algorithm for `bytes` bytes per rank (or block), among flat ones and the
    /// hierarchical ones, over all levels or some. Microseconds of work: estimates are sums over
    /// stages or steps, no simulation; a link's share is that of as many as use it at once. None
    /// for an operation without estimates, of which there is none today.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::{LevelModel, MachineCosts};
    /// use phalanx::placement::{Placement, assign};
    /// use phalanx::schedule::Operation;
    /// let costs = MachineCosts::named("epyc-9654-2s-nps4")?;
    /// let machine = costs.machine()?;
    /// let ranks = assign(&Placement::Compact, &machine, 192)?;
    /// let model = LevelModel::new(&machine, &ranks, costs)?.expect("two packages");
    /// let decision = model.choose(Operation::AllReduce, 8, true).expect("a hierarchical form");
    /// let (next, ns) = decision.runner_up.expect("another form");
    /// assert!(next != decision.algorithm && ns >= decision.ns);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose(
        &self,
        operation: Operation,
        bytes: usize,
        commutative: bool,
    ) -> Option<Decision> {
        self.choose_among(&self.candidates(operation, bytes, commutative))
    }

    /// The algorithms that may be chosen. Of an operation that the compiler knows only its own
    /// estimates get into the program.
    #[inline(always)]
    pub(crate) fn candidates(
        &self,
        operation: Operation,
        bytes: usize,
        commutative: bool,
    ) -> Vec<Candidate> {
        let mut all = Vec::new();
        self.flat(operation, bytes as f64, commutative, &mut all);
        for shape in 0..self.shapes.len() {
            self.over(shape, operation, bytes as f64, commutative, &mut all);
        }
        all
    }

    /// The cheapest of the [`candidates`](LevelModel::candidates).
    pub(crate) fn best_among<'a>(&self, all: &'a [Candidate]) -> Option<&'a Candidate> {
        all.iter().min_by(|a, b| a.cost().total_cmp(&b.cost()))
    }

    fn choose_among(&self, all: &[Candidate]) -> Option<Decision> {
        let best = self.best_among(all)?;
        let others = all.iter().filter(|c| c.algorithm != best.algorithm);
        let next = others.min_by(|a, b| a.cost().total_cmp(&b.cost()));
        let (algorithm, levels) = best.decided(self);
        Some(Decision {
            algorithm,
            levels,
            ns: best.ns,
            stages: best.plan.iter().map(|part| part.ns).collect(),
            runner_up: next.map(|c| (c.algorithm, c.ns)),
        })
    }

    /// The algorithms without groups.
    #[inline(always)]
    fn flat(&self, operation: Operation, m: f64, commutative: bool, all: &mut Vec<Candidate>) {
        use Algorithm as A;
        use SplitPart::{All, Root};
        let (p, d, t) = (self.ranks() as f64, &self.distances, &self.messages(operation, m));
        // Parts of a vector are combined out of order.
        let split = |ways| d.split(t, m, ways).filter(|_| commutative);
        let mut some = |algorithm, ns| add(all, algorithm, ns);
        match operation {
            Operation::Barrier => {
                some(A::BAR_ANY, Some(d.dissemination(t)));
                some(A::BAR_AR, Some(d.doubling(t, 0.0)));
            }
            Operation::AllReduce => {
                some(A::AR_ANY, Some(d.doubling(t, m)));
                some(A::AR_FUSED, Some(d.fused_all(t, m)));
                some(A::AR_SPLIT_HCUBE, split([All, All]));
            }
            Operation::Broadcast => {
                some(A::BC_ANY, Some(d.tree(t, m)));
                some(A::BC_FUSED, Some(d.fused_with_root(t, m, true)));
                some(A::BC_SPLIT_HCUBE, d.split(t, m, [Root, All]));
            }
            Operation::Reduce => {
                some(A::RED_ANY, Some(d.tree(t, m)));
                some(A::RED_FUSED, Some(d.fused_with_root(t, m, false)));
                some(A::RED_SPLIT_HCUBE, split([All, Root]));
            }
            Operation::AllGather => {
                some(A::AG_ANY, Some(d.gather(t, m)));
                some(A::AG_HCUBE_DESC, d.cube_gather(t, m));
                some(A::AG_FUSED, Some(d.fused(t, m)));
            }
            Operation::ReduceScatter => {
                some(A::RS_ANY, Some(d.gather(t, m)).filter(|_| commutative));
                some(A::RS_HCUBE_ASC, d.cube_gather(t, m));
                some(A::RS_FUSED, Some(d.fused(t, m)));
            }
            Operation::Scan | Operation::ExclusiveScan => {
                some(A::SCAN_HCUBE, Some(d.doubling(t, m)));
                some(A::SCAN_FUSED, Some(d.fused(t, 2.0 * m / p)));
            }
            Operation::Scatter => {
                some(A::SC_ANY, Some(d.block_tree(t, m)));
                some(A::SC_MESH, d.block_square(t, m));
                some(A::SC_FUSED, Some(d.fused_at_root(t, m)));
            }
            Operation::Gather => {
                some(A::GA_ANY, Some(d.block_tree(t, m)));
                some(A::GA_MESH, d.block_square(t, m));
                some(A::GA_FUSED, Some(d.fused_at_root(t, m)));
            }
            Operation::AllToAll | Operation::AllToAllInPlace => {
                some(A::TX_BRUCK, Some(d.bruck_exchange(t, m)));
                some(A::TX_HCUBE, d.cube_exchange(t, m));
                some(A::TX_FUSED, Some(d.fused(t, m)));
            }
            Operation::Shift => {
                some(A::CS_ANY, Some(d.shift(t, m)));
                some(A::CS_FUSED, Some(d.fused(t, 2.0 * m / p)));
            }
        }
    }

    /// The hierarchical ones over one set of groups.
    #[inline(always)]
    fn over(
        &self,
        shape: usize,
        operation: Operation,
        bytes: f64,
        commutative: bool,
        all: &mut Vec<Candidate>,
    ) {
        let (stages, m) = (&self.shapes[shape], &self.messages(operation, bytes));
        let ordered = commutative || stages.consecutive;
        let mut some = |algorithm, plan| add_over(all, algorithm, shape, plan);
        match operation {
            Operation::Barrier => {
                some(Algorithm::BAR_HIER, stages.all_reduce(m, 0.0));
                some(Algorithm::BAR_RADIX, stages.radix(m, 0.0));
            }
            Operation::AllReduce if ordered => {
                some(Algorithm::AR_HIER, stages.all_reduce(m, bytes));
                some(Algorithm::AR_RADIX, stages.radix(m, bytes));
                some(Algorithm::AR_HIER_SPLIT, stages.split(m, bytes));
            }
            Operation::Broadcast => some(Algorithm::BC_HIER, stages.one_way(m, bytes, false)),
            Operation::Reduce if ordered => {
                some(Algorithm::RED_HIER, stages.one_way(m, bytes, true));
                some(Algorithm::RED_HIER_SPLIT, stages.split(m, bytes));
            }
            Operation::AllGather => some(Algorithm::AG_HIER, stages.all_gather(m, bytes)),
            Operation::ReduceScatter if commutative => {
                some(Algorithm::RS_HIER, stages.all_gather(m, bytes));
            }
            Operation::Scan | Operation::ExclusiveScan if stages.consecutive => {
                some(Algorithm::SCAN_HIER, stages.scan(m, bytes));
            }
            _ => {}
        }
    }
}

/// Adds an algorithm without groups, if it can serve.
#[inline(never)]
fn add(all: &mut Vec<Candidate>, algorithm: Algorithm, ns: Option<f64>) {
    if let Some(ns) = ns {
        all.push(Candidate { algorithm, over: None, plan: StagePlan::new(), ns });
    }
}

/// Adds an algorithm over the groups of a shape.
#[inline(never)]
fn add_over(all: &mut Vec<Candidate>, algorithm: Algorithm, shape: usize, plan: StagePlan) {
    let ns = plan.iter().map(|part| part.ns).sum();
    all.push(Candidate { algorithm, over: Some(shape), plan, ns });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{Placement, assign};

    #[test]
    fn candidates_are_in_programs_that_force_no_algorithm() {
        let costs = MachineCosts::named("epyc-7742-2s-nps4").unwrap();
        let machine = costs.machine().unwrap();
        let ranks = assign(&Placement::Compact, &machine, 128).unwrap();
        let model = LevelModel::new(&machine, &ranks, costs).unwrap().unwrap();
        for operation in Operation::ALL {
            for commutative in [true, false] {
                for Candidate { algorithm, .. } in model.candidates(operation, 8, commutative) {
                    if operation.usual().direct != Some(algorithm) {
                        let (builders, levels) =
                            (operation.unforced_builders(), Some(model.hierarchy()));
                        algorithm.chosen_schedule(builders, operation, 128, (0, 0), levels);
                    }
                }
            }
        }
    }

    /// A table by operation, length and number of ranks would choose otherwise for communicators
    /// that are not the first ranks of a machine (DESIGN.md, "Choice"): of which share of the
    /// cells, and how much slower at most, by these estimates.
    #[test]
    fn members_choose_by_their_places() {
        let (mut shares, mut slowest) = (Vec::new(), 1.0_f64);
        for id in ["epyc-7742-2s-nps4", "epyc-2x64", "epyc-9654-2s-nps4", "epyc-7763-2s"] {
            let costs = MachineCosts::named(id).unwrap();
            let machine = costs.machine().unwrap();
            let first = |ranks: usize| {
                let ranks = assign(&Placement::Compact, &machine, ranks).unwrap();
                LevelModel::new(&machine, &ranks, costs).unwrap().unwrap()
            };
            let cores = machine.cores().len();
            let all = first(cores);
            for (from, to, step) in [(0, cores, 2), (0, cores, 4), (3, cores / 2 + 3, 1)] {
                let members: Vec<usize> = (from..to).step_by(step).collect();
                let (own, table) = (all.of_members(&members).unwrap(), first(members.len()));
                let (mut cells, mut others) = (0, 0);
                for operation in Operation::ALL {
                    for bytes in (3..=26).map(|log| 1 << log) {
                        let candidates = own.candidates(operation, bytes, true);
                        let best = own.choose_among(&candidates).unwrap();
                        let other = table.choose(operation, bytes, true).unwrap().algorithm;
                        let times = candidates.iter().filter(|it| it.algorithm == other);
                        let ns = times.map(|it| it.ns).fold(f64::INFINITY, f64::min);
                        cells += 1;
                        others += usize::from(other != best.algorithm);
                        slowest = slowest.max(if ns.is_finite() { ns / best.ns } else { 1.0 });
                    }
                }
                shares.push(100 * others / cells);
            }
        }
        println!("{shares:?} % of the cells, up to {slowest:.1} times as slow");
        assert!(shares.iter().all(|share| *share >= 1) && slowest > 2.0, "{shares:?} {slowest}");
    }
}
