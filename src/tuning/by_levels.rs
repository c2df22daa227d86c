//! The choice of an algorithm on a machine with levels: quick estimates in place of simulations.

use std::sync::Arc;

use super::costs::{CostsError, MachineCosts};
use super::estimate::{LevelHop, Messages, StagePlan, Stages};
use super::meeting::Meeting;
use super::transport::Transport;
use crate::machine::Machine;
use crate::placement::{Assignment, hierarchy};
use crate::schedule::{Algorithm, Hierarchy, Operation};

/// What `auto` knows about a machine with levels: who is near whom, and what that costs. Chooses
/// between flat and hierarchical algorithms, which of the levels to use, the tree's degree at each
/// stage, and how the outermost leaders exchange.
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
    /// The worst hand-off and rate between ranks 2^k apart, round the ring: dissemination, Bruck's
    /// rule.
    rounds: Vec<LevelHop>,
    /// The same between ranks that differ in bit k: doubling, binomial trees.
    bits: Vec<LevelHop>,
    /// The mean of 1/rate over all pairs.
    mean_pull: f64,
    transport: Messages,
    costs: String,
}

/// An algorithm, over which groups and how, and its time.
struct Candidate {
    algorithm: Algorithm,
    over: Option<(usize, StagePlan)>,
    ns: f64,
}

/// What was chosen, and what it was chosen over.
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

impl LevelModel {
    /// None where all ranks are equally near.
    ///
    /// # Errors
    /// Costs that cannot be, a level without data, a rank bound to nothing.
    pub fn new(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Option<Self>, CostsError> {
        costs.check()?;
        let hierarchy = hierarchy(machine, assignment);
        if hierarchy.stages() == 1 {
            return Ok(None);
        }
        let meeting = Meeting::new(machine, assignment, costs)?;
        let hop = |a, b| LevelHop::of(&costs.levels[meeting.class(a, b)]);
        Ok(Some(Self::of(hierarchy, &hop, costs.id.to_string())))
    }

    fn of(hierarchy: Hierarchy, hop: &dyn Fn(usize, usize) -> LevelHop, costs: String) -> Self {
        let p = hierarchy.ranks();
        let (mut rounds, mut bits) = (Vec::new(), Vec::new());
        let mut distance = 1;
        while distance < p {
            let apart = (0..p).map(|r| hop(r, (r + distance) % p));
            rounds.push(apart.fold(LevelHop::NOTHING, LevelHop::or));
            let pairs = (0..p).filter(|r| r ^ distance < p).map(|r| hop(r, r ^ distance));
            bits.push(pairs.fold(LevelHop::NOTHING, LevelHop::or));
            distance *= 2;
        }
        if !p.is_power_of_two() {
            // Folding neighbours first, and unfolding last.
            bits.extend([bits[0]; 1]);
        }
        // Over the distances instead of all pairs: enough to tell near from far.
        let some = (1..p).step_by(1.max(p / 32)).map(|d| 1.0 / hop(0, d).rate);
        let (sum, n) = some.fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
        let shapes = hierarchy.thinned().into_iter().map(|shape| Stages::of(shape, hop)).collect();
        let transport = Messages(Transport::PHALANX);
        let mean_pull = sum / f64::from(n.max(1));
        LevelModel { hierarchy, shapes, rounds, bits, mean_pull, transport, costs }
    }

    /// The same for some of the ranks, which get the numbers 0, 1, .. in the order given. None
    /// where they are equally near.
    pub fn of_members(&self, members: &[usize]) -> Option<Self> {
        let hierarchy = self.hierarchy.of_members(members);
        if hierarchy.stages() == 1 {
            return None;
        }
        let whole = &self.shapes[0];
        let hop = |a: usize, b: usize| whole.hop(self.hierarchy.meet(members[a], members[b]));
        Some(Self::of(hierarchy, &hop, self.costs.clone()))
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.hierarchy.ranks()
    }

    /// The groups, all degrees flat.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The machine whose costs these are.
    pub fn costs(&self) -> &str {
        &self.costs
    }

    /// The cheapest algorithm for `bytes` bytes per rank (or block), among the flat ones that
    /// `auto` uses and the hierarchical ones, over all levels or some; None for operations that
    /// have no hierarchical one. Microseconds of work: estimates are sums over stages, no
    /// simulation, and know no saturation.
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
    /// assert!(model.choose(Operation::Gather, 8, true).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose(
        &self,
        operation: Operation,
        bytes: usize,
        commutative: bool,
    ) -> Option<Decision> {
        let mut all = self.flat(operation, bytes as f64, commutative)?;
        for shape in 0..self.shapes.len() {
            self.over(shape, operation, bytes as f64, commutative, &mut all);
        }
        let best = all.iter().min_by(|a, b| a.ns.total_cmp(&b.ns))?;
        let others = all.iter().filter(|c| c.algorithm != best.algorithm);
        let next = others.min_by(|a, b| a.ns.total_cmp(&b.ns));
        let (levels, stages) = match &best.over {
            Some((shape, plan)) => {
                let groups = self.shapes[*shape].hierarchy.clone();
                (groups.degrees(&plan.degrees).exchanges(&plan.exchanges), plan.ns.clone())
            }
            None => (self.hierarchy.clone(), Vec::new()),
        };
        Some(Decision {
            algorithm: best.algorithm,
            levels: Arc::new(levels),
            ns: best.ns,
            stages,
            runner_up: next.map(|c| (c.algorithm, c.ns)),
        })
    }

    /// The flat algorithms that `auto` knows.
    fn flat(&self, operation: Operation, m: f64, commutative: bool) -> Option<Vec<Candidate>> {
        let p = self.ranks() as f64;
        let all = match operation {
            Operation::Barrier => vec![
                (Algorithm::BAR_ANY, self.dissemination()),
                (Algorithm::BAR_AR, self.doubling(0.0)),
            ],
            Operation::AllReduce => {
                vec![
                    (Algorithm::AR_ANY, self.doubling(m)),
                    (Algorithm::AR_FUSED, self.fused(2.0 * m, 2)),
                ]
            }
            Operation::Broadcast => {
                vec![(Algorithm::BC_ANY, self.doubling(m)), (Algorithm::BC_FUSED, self.fused(m, 2))]
            }
            Operation::Reduce => vec![
                (Algorithm::RED_ANY, self.doubling(m)),
                // The root pulls all parts but its own.
                (Algorithm::RED_FUSED, self.fused(2.0 * m, 2)),
            ],
            Operation::AllGather => vec![
                (Algorithm::AG_ANY, self.gather(m)),
                (Algorithm::AG_FUSED, self.fused(m * p, 1)),
            ],
            Operation::ReduceScatter => {
                let mut all = vec![(Algorithm::RS_FUSED, self.fused(m * p, 1))];
                if commutative {
                    all.push((Algorithm::RS_ANY, self.gather(m)));
                }
                all
            }
            Operation::Scan | Operation::ExclusiveScan => vec![
                (Algorithm::SCAN_HCUBE, self.doubling(m)),
                (Algorithm::SCAN_FUSED, self.fused(2.0 * m, 2)),
            ],
            _ => return None,
        };
        let candidate = |(algorithm, ns)| Candidate { algorithm, over: None, ns };
        Some(all.into_iter().map(candidate).collect())
    }

    /// The hierarchical ones over one set of groups.
    fn over(
        &self,
        shape: usize,
        operation: Operation,
        bytes: f64,
        commutative: bool,
        all: &mut Vec<Candidate>,
    ) {
        let (stages, m) = (&self.shapes[shape], &self.transport);
        let ordered = commutative || stages.consecutive;
        let mut add = |algorithm, plan: StagePlan| {
            let ns = plan.ns.iter().sum();
            all.push(Candidate { algorithm, over: Some((shape, plan)), ns });
        };
        match operation {
            Operation::Barrier => add(Algorithm::BAR_HIER, stages.all_reduce(m, 0.0)),
            Operation::AllReduce if ordered => {
                add(Algorithm::AR_HIER, stages.all_reduce(m, bytes));
                if stages.even {
                    add(Algorithm::AR_HIER_SPLIT, stages.split(m, bytes));
                }
            }
            Operation::Broadcast => add(Algorithm::BC_HIER, stages.one_way(m, bytes, false)),
            Operation::Reduce if ordered => {
                add(Algorithm::RED_HIER, stages.one_way(m, bytes, true));
            }
            Operation::AllGather => add(Algorithm::AG_HIER, stages.all_gather(m, bytes)),
            Operation::ReduceScatter if commutative => {
                add(Algorithm::RS_HIER, stages.all_gather(m, bytes));
            }
            Operation::Scan | Operation::ExclusiveScan if stages.consecutive => {
                add(Algorithm::SCAN_HIER, stages.scan(m, bytes));
            }
            _ => {}
        }
    }

    /// Doubling, a binomial tree: one message per bit.
    fn doubling(&self, bytes: f64) -> f64 {
        self.bits.iter().map(|&hop| self.transport.one(hop, bytes)).sum()
    }

    /// Dissemination: one message per round.
    fn dissemination(&self) -> f64 {
        self.rounds.iter().map(|&hop| self.transport.one(hop, 0.0)).sum()
    }

    /// Bruck: blocks double from round to round.
    fn gather(&self, bytes: f64) -> f64 {
        let p = self.ranks();
        let round = |(k, &hop): (usize, &LevelHop)| {
            let blocks = (1usize << k).min(p - (1 << k)) as f64;
            self.transport.one(hop, bytes * blocks)
        };
        self.rounds.iter().enumerate().map(round).sum()
    }

    /// Everybody looks at everybody, `times`, and reads `bytes` in all, at the mean rate.
    fn fused(&self, bytes: f64, times: u32) -> f64 {
        let (p, t) = (self.ranks() as f64, &self.transport.0);
        let hop = LevelHop { rate: f64::INFINITY, ..self.shapes[0].worst() };
        let looks = (p - 1.0) * self.transport.more_in(hop, 0.0);
        let polled = t.poller_ns * (p - 2.0).max(0.0);
        f64::from(times) * (self.transport.one(hop, 0.0) + looks + polled)
            + bytes * (p - 1.0) / p * self.mean_pull
    }
}
