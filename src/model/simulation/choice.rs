//! The choice of an algorithm on a machine with levels: quick estimates in place of simulations.

use std::sync::Arc;

use super::costs::{CostsError, LevelCost, MachineCosts};
use super::layout::Layout;
use super::transport::Transport;
use crate::machine::Machine;
use crate::placement::{Assignment, hierarchy};
use crate::schedule::{Algorithm, Hierarchy, Operation};

/// What `auto` knows about a machine with levels: who is near whom, and what that costs. Chooses
/// between flat and hierarchical algorithms, and the tree's degree at each stage.
///
/// # Examples
/// ```
/// use phalanx::model::{LevelModel, MachineCosts};
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
    /// The members of the largest group at each stage, innermost first.
    sizes: Vec<usize>,
    /// The worst hand-off within a group of each stage, and the core's rate there.
    stages: Vec<Hop>,
    /// The same between ranks 2^k apart, round the ring: dissemination, Bruck's rule.
    rounds: Vec<Hop>,
    /// The same between ranks that differ in bit k: doubling, binomial trees.
    bits: Vec<Hop>,
    /// The mean of 1/rate over all pairs.
    mean_pull: f64,
    transport: Transport,
    costs: String,
}

/// A hand-off in ns, and GB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hop {
    hand_off: f64,
    rate: f64,
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
        match self.runner_up {
            Some((next, ns)) => write!(f, "; {next}: {:.2} us", ns / 1e3),
            None => Ok(()),
        }
    }
}

/// Degrees that are tried for a stage; 0 = all at once.
const DEGREES: [usize; 6] = [0, 2, 3, 4, 6, 8];

impl LevelModel {
    /// None where all ranks are equally near.
    ///
    /// # Errors
    /// As [`Simulation::new`](super::Simulation::new).
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
        let layout = Layout::new(machine, assignment, costs)?;
        let hop = |a, b| Hop::of(&costs.levels[layout.class(a, b)]);
        Ok(Self::of(hierarchy, &hop, costs.id.to_string()))
    }

    fn of(hierarchy: Hierarchy, hop: &dyn Fn(usize, usize) -> Hop, costs: String) -> Option<Self> {
        let p = hierarchy.ranks();
        let mut sizes = Vec::new();
        let mut stages = Vec::new();
        for stage in 0..hierarchy.stages() {
            let mut worst = Hop { hand_off: 0.0, rate: f64::INFINITY };
            let mut largest = 1;
            for members in hierarchy.members(stage) {
                largest = largest.max(members.len());
                for &member in &members[1..] {
                    worst = worst.or(hop(members[0], member));
                }
            }
            sizes.push(largest);
            stages.push(worst);
        }
        let nothing = Hop { hand_off: 0.0, rate: f64::INFINITY };
        let (mut rounds, mut bits) = (Vec::new(), Vec::new());
        let mut distance = 1;
        while distance < p {
            let apart = (0..p).map(|r| hop(r, (r + distance) % p));
            rounds.push(apart.fold(nothing, Hop::or));
            let pairs = (0..p).filter(|r| r ^ distance < p).map(|r| hop(r, r ^ distance));
            bits.push(pairs.fold(nothing, Hop::or));
            distance *= 2;
        }
        if !p.is_power_of_two() {
            // Folding neighbours first, and unfolding last.
            bits.extend([bits[0]; 1]);
        }
        // Over the distances instead of all pairs: enough to tell near from far.
        let some = (1..p).step_by(1.max(p / 32)).map(|d| 1.0 / hop(0, d).rate);
        let (sum, n) = some.fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
        Some(LevelModel {
            hierarchy,
            sizes,
            stages,
            rounds,
            bits,
            mean_pull: sum / f64::from(n.max(1)),
            transport: Transport::PHALANX,
            costs,
        })
    }

    /// The same for some of the ranks, which get the numbers 0, 1, .. in the order given. None where they are
    /// equally near.
    pub fn of_members(&self, members: &[usize]) -> Option<Self> {
        let hierarchy = self.hierarchy.of_members(members);
        if hierarchy.stages() == 1 {
            return None;
        }
        let hop = |a: usize, b: usize| self.stages[self.hierarchy.meet(members[a], members[b])];
        Self::of(hierarchy, &hop, self.costs.clone())
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
    /// `auto` uses and the hierarchical ones; None for operations that have no hierarchical one. Microseconds of work:
    /// estimates are sums over stages, no simulation.
    pub fn choose(
        &self,
        operation: Operation,
        bytes: usize,
        commutative: bool,
    ) -> Option<Decision> {
        let m = bytes as f64;
        let ordered = commutative || self.hierarchy.is_consecutive();
        let mut all: Vec<(Algorithm, Vec<usize>, f64)> = Vec::new();
        let mut add = |algorithm, (degrees, ns)| all.push((algorithm, degrees, ns));
        let flat = |ns| (Vec::new(), ns);
        match operation {
            Operation::Barrier => {
                add(Algorithm::BAR_ANY, flat(self.dissemination()));
                add(Algorithm::BAR_AR, flat(self.doubling(0.0)));
                add(Algorithm::BAR_HIER, self.both_ways(0.0));
            }
            Operation::AllReduce => {
                add(Algorithm::AR_ANY, flat(self.doubling(m)));
                add(Algorithm::AR_FUSED, flat(self.fused(2.0 * m)));
                if ordered {
                    add(Algorithm::AR_HIER, self.both_ways(m));
                    if self.hierarchy.is_even() {
                        add(Algorithm::AR_HIER_SPLIT, flat(self.split(m)));
                    }
                }
            }
            Operation::Broadcast => {
                add(Algorithm::BC_ANY, flat(self.doubling(m)));
                add(Algorithm::BC_HIER, self.one_way(m, false));
            }
            Operation::Reduce => {
                add(Algorithm::RED_ANY, flat(self.doubling(m)));
                add(Algorithm::RED_FUSED, flat(self.fused(2.0 * m)));
                if ordered {
                    add(Algorithm::RED_HIER, self.one_way(m, true));
                }
            }
            Operation::AllGather => {
                add(Algorithm::AG_ANY, flat(self.gather(m)));
                add(Algorithm::AG_HIER, self.gather_by_level(m));
            }
            Operation::ReduceScatter => {
                add(Algorithm::RS_FUSED, flat(self.fused(m * self.ranks() as f64)));
                if commutative {
                    add(Algorithm::RS_ANY, flat(self.gather(m)));
                    add(Algorithm::RS_HIER, self.gather_by_level(m));
                }
            }
            Operation::Scan | Operation::ExclusiveScan => {
                add(Algorithm::SCAN_HCUBE, flat(self.doubling(m)));
                if self.hierarchy.is_consecutive() {
                    add(Algorithm::SCAN_HIER, self.scan(m));
                }
            }
            _ => return None,
        }
        all.sort_by(|a, b| a.2.total_cmp(&b.2));
        let runner_up = all.get(1).map(|(algorithm, _, ns)| (*algorithm, *ns));
        let (algorithm, degrees, ns) = all.into_iter().next()?;
        let levels = Arc::new(self.hierarchy.clone().degrees(&degrees));
        Some(Decision { algorithm, levels, ns, runner_up })
    }

    fn body(&self, hop: Hop, bytes: f64) -> f64 {
        if bytes > self.transport.inline_bytes { bytes / hop.rate } else { 0.0 }
    }

    fn message(&self, hop: Hop, bytes: f64) -> f64 {
        self.transport.one_way(hop.hand_off) + self.body(hop, bytes)
    }

    /// Doubling, a binomial tree: one message per bit.
    fn doubling(&self, bytes: f64) -> f64 {
        self.bits.iter().map(|&hop| self.message(hop, bytes)).sum()
    }

    /// Dissemination: one message per round.
    fn dissemination(&self) -> f64 {
        self.rounds.iter().map(|&hop| self.message(hop, 0.0)).sum()
    }

    /// One stage up (`up`) or down a tree of a degree.
    fn climb(&self, stage: usize, degree: usize, bytes: f64, up: bool) -> f64 {
        let (n, hop) = (self.sizes[stage], self.stages[stage]);
        let wide = if degree == 0 { n } else { degree };
        let (mut left, mut ns) = (n, 0.0);
        while left > 1 {
            let children = wide.min(left - 1);
            let more = (children - 1) as f64;
            // Up: the parent pulls one child's part after the other. Down: the parent posts one message after the
            // other, and the children pull at the same time.
            ns += self.message(hop, bytes);
            ns += match up {
                true => {
                    let t = &self.transport;
                    more * ((hop.hand_off + t.receive_ns) / t.pulls + self.body(hop, bytes))
                }
                false => {
                    let t = &self.transport;
                    more * (t.send_ns + t.send_share * hop.hand_off)
                }
            };
            left = (left - 1).div_ceil(children);
        }
        ns
    }

    /// The best degrees for what a stage costs with a degree; the last stage `top` apart.
    fn best(&self, stages: usize, cost: impl Fn(usize, usize) -> f64) -> (Vec<usize>, f64) {
        let mut degrees = Vec::with_capacity(stages);
        let mut sum = 0.0;
        for stage in 0..stages {
            let tried = DEGREES.iter().filter(|&&d| d < self.sizes[stage]);
            let timed = tried.map(|&degree| (degree, cost(stage, degree)));
            let (degree, ns) =
                timed.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, cost(stage, 0)));
            degrees.push(degree);
            sum += ns;
        }
        (degrees, sum)
    }

    /// Up or down all stages.
    fn one_way(&self, bytes: f64, up: bool) -> (Vec<usize>, f64) {
        self.best(self.stages.len(), |stage, degree| self.climb(stage, degree, bytes, up))
    }

    /// Up, an exchange between the outermost leaders, down.
    fn both_ways(&self, bytes: f64) -> (Vec<usize>, f64) {
        let top = self.stages.len() - 1;
        let (degrees, ns) = self.best(top, |stage, degree| {
            self.climb(stage, degree, bytes, true) + self.climb(stage, degree, bytes, false)
        });
        (degrees, ns + self.between(bytes))
    }

    /// Rounds between the outermost leaders.
    fn between(&self, bytes: f64) -> f64 {
        let top = self.stages.len() - 1;
        let n = self.sizes[top];
        let unfold = if n.is_power_of_two() { 0 } else { 2 };
        f64::from(n.ilog2() + unfold) * self.message(self.stages[top], bytes)
    }

    /// Everybody reads its part of all vectors: `bytes` in all, at the mean rate.
    fn fused(&self, bytes: f64) -> f64 {
        let p = self.ranks() as f64;
        let worst = self.stages.iter().map(|h| h.hand_off).fold(0.0, f64::max);
        let looks = p * (worst + self.transport.receive_ns) / self.transport.pulls;
        2.0 * (self.transport.one_way(worst) + looks) + bytes * (p - 1.0) / p * self.mean_pull
    }

    /// Combine in the outermost groups, exchange parts, store in the groups.
    fn split(&self, bytes: f64) -> f64 {
        let top = self.stages.len() - 1;
        let groups = self.sizes[top];
        let size = self.ranks() / groups;
        let part = bytes / size as f64;
        let near = self.stages[top - 1];
        let looks = (size - 1) as f64;
        let t = &self.transport;
        let pull = |bytes| {
            self.message(near, bytes)
                + (looks - 1.0) * (near.hand_off / t.pulls + self.body(near, bytes))
        };
        2.0 * pull(part) + self.between(part)
    }

    /// Bruck: blocks double from round to round.
    fn gather(&self, bytes: f64) -> f64 {
        let p = self.ranks();
        let round = |(k, &hop): (usize, &Hop)| {
            let blocks = (1usize << k).min(p - (1 << k)) as f64;
            self.message(hop, bytes * blocks)
        };
        self.rounds.iter().enumerate().map(round).sum()
    }

    fn gather_by_level(&self, bytes: f64) -> (Vec<usize>, f64) {
        let top = self.stages.len() - 1;
        let all = bytes * self.ranks() as f64;
        let inside = |stage: usize| bytes * self.sizes[..stage].iter().product::<usize>() as f64;
        let (degrees, ns) = self.best(top, |stage, degree| {
            self.climb(stage, degree, inside(stage), true) + self.climb(stage, degree, all, false)
        });
        (degrees, ns + self.between(all / 2.0))
    }

    fn scan(&self, bytes: f64) -> (Vec<usize>, f64) {
        let stage = |(stage, &hop): (usize, &Hop)| {
            let n = self.sizes[stage];
            let rounds = n.next_power_of_two().ilog2() + u32::from(!n.is_power_of_two());
            let back = if stage + 1 < self.stages.len() {
                self.climb(stage, 0, bytes, false)
            } else {
                0.0
            };
            f64::from(rounds) * self.message(hop, bytes) + back
        };
        (Vec::new(), self.stages.iter().enumerate().map(stage).sum())
    }
}

impl Hop {
    fn of(level: &LevelCost) -> Self {
        Hop { hand_off: level.hand_off[1], rate: level.core_rate() }
    }

    /// The worse of each.
    fn or(self, other: Hop) -> Hop {
        Hop { hand_off: self.hand_off.max(other.hand_off), rate: self.rate.min(other.rate) }
    }
}
