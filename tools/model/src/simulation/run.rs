//! The simulation: each rank has a clock, and each message is a hand-off.

use super::effects::{Effect, Effects};
use super::error::SimulationError;
use super::layout::RankLayout;
use super::messages::CallSetup;
use super::step_clocks::{Clocks, EndCosts, footprint};
use crate::mix::{STEP, SplitMix};
use phalanx::machine::{Level, Machine};
use phalanx::placement::Assignment;
use phalanx::schedule::{Algorithm, Schedule};
use phalanx::tuning::{CostsError, LINES_IN_FLIGHT, LevelCost, MachineCosts, Transport};

/// Bytes of a cache line.
const LINE: f64 = 64.0;

/// Ranks on a machine, and the costs of their messages.
///
/// Simulated, never measured: the numbers are sums of published hand-off times, rates and the
/// effects that are switched on.
///
/// # Examples
/// ```
/// use phalanx_model::{Effect, Simulation};
/// use phalanx::placement::{Placement, assign};
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx::tuning::MachineCosts;
/// let costs = MachineCosts::named("epyc-9654-2s-nps4")?;
/// let machine = costs.machine()?;
/// let ranks = assign(&Placement::Compact, &machine, 128)?;
/// let simulation = Simulation::new(&machine, &ranks, costs)?;
/// let barrier = Algorithm::BAR_ANY.schedule(&Request::new(Operation::Barrier, 128))?;
/// let time = simulation.run(&barrier, 0.0)?;
/// // Seven rounds over two packages: some microseconds.
/// assert!((1e3..4e3).contains(&time.ns));
/// // On a machine where all cores were equally far, the same with other numbers.
/// let flat = simulation.without(Effect::Levels).run(&barrier, 0.0)?;
/// assert!(flat.ns != time.ns);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(super) layout: RankLayout,
    levels: Vec<LevelCost>,
    /// The mean hand-off over all pairs.
    mean: f64,
    /// The hand-off between the nearest two cores.
    pub(super) near: f64,
    /// GB/s of one core from its memory, and the MiB of cache that it has a share in.
    pub(super) memory: (Option<f64>, Option<f64>),
    pub(super) transport: Transport,
    pub(super) effects: Effects,
    /// The ranks' lines all lie in rank 0's memory, instead of their readers'.
    lines_at_rank_0: bool,
    seed: u64,
}

/// The time of a simulated run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Nanoseconds until the last rank was done.
    pub ns: f64,
    /// Nanoseconds until each rank was done.
    pub ranks: Vec<f64>,
    /// Messages by the index of their level in [`MachineCosts::levels`].
    pub messages: Vec<usize>,
}

impl Simulation {
    /// All effects, this library's messages.
    ///
    /// # Errors
    /// Costs that cannot be, a level without data, a rank bound to nothing.
    ///
    /// # Examples
    /// ```
    /// use phalanx::placement::{Placement, assign};
    /// use phalanx::tuning::MachineCosts;
    /// use phalanx_model::{Simulation};
    /// let costs = MachineCosts::named("xeon-8468-2s-snc4")?;
    /// let machine = costs.machine()?;
    /// let error = Simulation::new(&machine, &assign(&Placement::Compact, &machine, 2)?, costs);
    /// assert_eq!(
    ///     error.unwrap_err().to_string(),
    ///     "xeon-8468-2s-snc4: no hand-off is known between cores of the same machine"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        machine: &Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Self, SimulationError> {
        costs.check()?;
        let layout = RankLayout::new(machine, assignment, costs)?;
        let pairs = layout.pairs(costs.levels.len());
        let total: f64 = pairs.iter().sum();
        let weighted = pairs.iter().zip(costs.levels.iter()).map(|(n, l)| n * l.hand_off[1]);
        let mean = if total > 0.0 { weighted.sum::<f64>() / total } else { 0.0 };
        let cores = costs.levels.iter().filter(|l| l.level != Level::Core);
        let near = cores.map(|l| l.hand_off[1]).fold(f64::INFINITY, f64::min);
        Ok(Simulation {
            layout,
            levels: costs.levels.to_vec(),
            mean,
            near,
            memory: (costs.memory.one_core, costs.memory.cache_per_core),
            transport: Transport::PHALANX,
            effects: Effects::ALL.without(Effect::Spread),
            lines_at_rank_0: false,
            seed: 0,
        })
    }

    /// The textbook's machine: any two ranks are t_s and t_w per byte apart, steps begin together.
    /// Gives exactly [`Cost`](crate::Cost)'s times.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Cost, Simulation};
    /// let schedule = Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// let simulated = Simulation::textbook(8, 100.0, 2.0).run(&schedule, 10.0)?;
    /// assert_eq!(simulated.ns, Cost::of(&schedule).time(100.0, 2.0, 10.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn textbook(ranks: usize, t_s: f64, t_w: f64) -> Self {
        let level = LevelCost {
            level: Level::Machine,
            hand_off: [t_s; 3],
            rate: Some(1.0 / t_w),
            source: "t_s + t_w m".into(),
        };
        Simulation {
            layout: RankLayout::flat(ranks),
            levels: vec![level],
            mean: t_s,
            near: t_s,
            memory: (None, None),
            transport: Transport::TEXTBOOK,
            effects: Effects::TEXTBOOK,
            lines_at_rank_0: false,
            seed: 0,
        }
    }

    /// With another library's messages.
    #[must_use]
    pub fn with_transport(self, transport: Transport) -> Self {
        Simulation { transport, ..self }
    }

    /// With these effects only.
    #[must_use]
    pub fn with_effects(self, effects: Effects) -> Self {
        Simulation { effects, ..self }
    }

    /// Without one effect.
    #[must_use]
    pub fn without(&self, effect: Effect) -> Self {
        Simulation { effects: self.effects.without(effect), ..self.clone() }
    }

    /// With all mailboxes in rank 0's memory, as they would lie if it had touched them first.
    #[must_use]
    pub fn with_lines_at_rank_0(self) -> Self {
        Simulation { lines_at_rank_0: true, ..self }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.layout.ranks()
    }

    /// The time of a schedule in which m is `bytes` bytes: of the vector, or of one block where
    /// there are p.
    ///
    /// 10 to 100 ns of work a message, by the kind of schedule: with 4096 ranks a ring's 16.8
    /// million messages take 0.2 s, an all-to-all 0.6 to 1.8 s (`phalanx model scale` times all
    /// algorithms).
    ///
    /// # Errors
    /// A schedule for another number of ranks, or of more than 2^26 messages, or of more than 2^22
    /// in one step that are not sent in the order of ranks; a transport, times or a length that
    /// cannot be.
    pub fn run(&self, schedule: &Schedule, bytes: f64) -> Result<Outcome, SimulationError> {
        Ok(self.calls(schedule, bytes, 1)?.1)
    }

    /// Nanoseconds of one call where one follows the other at once, as in a benchmark's loop: the
    /// mean of all but the first of `calls`, which are at least two.
    ///
    /// # Errors
    /// As for [`run`](Simulation::run).
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::Simulation;
    /// // Ranks that have passed the message on begin the next call.
    /// let chain = Algorithm::BC_RING.schedule(&Request::new(Operation::Broadcast, 8))?;
    /// let textbook = Simulation::textbook(8, 100.0, 1.0);
    /// let once = textbook.run(&chain, 0.0)?.ns;
    /// assert_eq!(textbook.back_to_back(&chain, 0.0, 5)?, once); // steps begin together
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn back_to_back(
        &self,
        schedule: &Schedule,
        bytes: f64,
        calls: usize,
    ) -> Result<f64, SimulationError> {
        let calls = calls.max(2);
        let (first, all) = self.calls(schedule, bytes, calls)?;
        Ok((all.ns - first) / (calls - 1) as f64)
    }

    /// Whether all that the clocks are moved by can be.
    fn check(&self, bytes: f64) -> Result<(), SimulationError> {
        let absurd = |id: &str, what| Err(CostsError::Absurd { id: id.to_string(), what }.into());
        self.transport.check()?;
        // Table and profile are checked when they come; t_s and t_w are not.
        for level in &self.levels {
            let [_, t_s, _] = level.hand_off;
            if !(0.0..1e12).contains(&t_s) {
                return absurd("the machine", format!("a hand-off of {t_s} ns"));
            }
            if let Some(rate) = level.rate.filter(|rate| rate.is_nan() || *rate <= 0.0) {
                return absurd("the machine", format!("a rate of {rate} bytes per ns"));
            }
        }
        match (0.0..1e15).contains(&bytes) {
            true => Ok(()),
            false => absurd("the call", format!("{bytes} bytes")),
        }
    }

    /// The common part of all steps of a call.
    pub(super) fn setup<'a>(&self, schedule: &'a Schedule, bytes: f64) -> CallSetup<'a> {
        let cached = self.memory.1.is_none_or(|mib| footprint(schedule, bytes) <= mib * 1048576.0);
        CallSetup {
            schedule,
            block: bytes / schedule.contract().split.max(1) as f64,
            boards: schedule.id().parse::<Algorithm>().is_ok_and(Algorithm::is_direct),
            from_memory: self.effects.has(Effect::Memory) && !cached,
        }
    }

    /// When the first of several calls has ended, and the state that the last has left.
    fn calls(
        &self,
        schedule: &Schedule,
        bytes: f64,
        calls: usize,
    ) -> Result<(f64, Outcome), SimulationError> {
        let contract = schedule.contract();
        let p = self.layout.ranks();
        if contract.ranks != p {
            return Err(SimulationError::Ranks { schedule: contract.ranks, layout: p });
        }
        self.check(bytes)?;
        let setup = self.setup(schedule, bytes);
        let (mut clocks, mut ends) = (Clocks::new(self), EndCosts::new(self));
        let mut first = 0.0;
        for call in 0..calls {
            for step in 0..schedule.steps() {
                clocks.step(self, &setup, &mut ends, step)?;
            }
            clocks.close(self, &setup, &ends);
            if call == 0 {
                first = clocks.last();
            }
        }
        let ns = clocks.last();
        let super::step_clocks::RankClocks { now, messages, .. } = clocks.ranks;
        Ok((first, Outcome { ns, ranks: now, messages }))
    }

    /// The 10th percentile, median and 90th percentile of `runs` runs in which hand-offs spread as
    /// the pairs of their level do.
    ///
    /// # Errors
    /// As for [`run`](Simulation::run).
    pub fn spread(
        &self,
        schedule: &Schedule,
        bytes: f64,
        runs: usize,
    ) -> Result<[f64; 3], SimulationError> {
        let mut all = Vec::with_capacity(runs.max(1));
        for seed in 1..=runs.max(1) as u64 {
            let effects = self.effects.with(Effect::Spread);
            let one = Simulation { effects, seed, ..self.clone() };
            all.push(one.run(schedule, bytes)?.ns);
        }
        all.sort_by(f64::total_cmp);
        let at = |q: f64| all[((all.len() - 1) as f64 * q).round() as usize];
        Ok([at(0.1), at(0.5), at(0.9)])
    }

    /// A barrier in which every rank adds to one counter and polls it: writers of the same line
    /// wait for each other, and all pollers fetch it at the end. This is the cost of central
    /// counters and central fork-join barriers.
    ///
    /// # Examples
    /// ```
    /// use phalanx::placement::{Placement, assign};
    /// use phalanx::tuning::MachineCosts;
    /// use phalanx_model::{Simulation};
    /// let costs = MachineCosts::named("epyc-7742-2s-nps4")?;
    /// let machine = costs.machine()?;
    /// let at = |p| Simulation::new(&machine, &assign(&Placement::Compact, &machine, p)?, costs)
    ///     .map(|s| s.counter_barrier())
    ///     .map_err(Box::<dyn std::error::Error>::from);
    /// assert!(at(128)? > 20.0 * at(4)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counter_barrier(&self) -> f64 {
        let p = self.ranks();
        let hand = |a, b| self.hand_off(self.layout.class(a, b), a, b, 0);
        let chain = (1..p).map(|rank| hand(rank - 1, rank));
        let arrive: f64 = if self.effects.has(Effect::SharedWriters) {
            chain.sum()
        } else {
            chain.fold(0.0, f64::max)
        };
        let pollers = if self.effects.has(Effect::Pollers) {
            self.transport.poller_ns * p.saturating_sub(2) as f64
        } else {
            0.0
        };
        let release = (0..p.saturating_sub(1)).map(|rank| hand(p - 1, rank)).fold(0.0, f64::max);
        self.transport.send_ns + arrive + pollers + release + self.transport.receive_ns
    }

    /// GB/s of one core, over a level.
    pub(super) fn core_rate(&self, class: usize) -> f64 {
        let hardware = if self.effects.has(Effect::Levels) || self.levels.len() == 1 {
            self.levels[class].core_rate()
        } else {
            LINES_IN_FLIGHT * LINE / self.mean
        };
        self.transport.copy_rate.map_or(hardware, |own| own.min(hardware))
    }

    /// GB/s of one core from the nearest other.
    pub(super) fn nearest_rate(&self) -> f64 {
        let others = (0..self.levels.len()).filter(|&c| self.levels[c].level != Level::Core);
        let rate = others.map(|class| self.core_rate(class)).fold(0.0, f64::max);
        if rate > 0.0 { rate } else { f64::INFINITY }
    }

    /// The number of levels.
    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Nanoseconds of one transfer of a line between two ranks that meet at a level.
    pub(super) fn hand_off(&self, mut class: usize, a: usize, b: usize, step: usize) -> f64 {
        if !self.effects.has(Effect::Levels) {
            return self.mean;
        }
        if self.lines_at_rank_0 && self.effects.has(Effect::Home) {
            let home = self.layout.package(0);
            let away = home.is_some() && self.layout.package(a) != home;
            // Within one cache nobody asks the home.
            if away && self.layout.group(a) != self.layout.group(b) {
                class = self.levels.len() - 1;
            }
        }
        let [low, median, high] = self.levels[class].hand_off;
        if !self.effects.has(Effect::Spread) {
            return median;
        }
        let u = uniform(self.seed, a, b, step);
        // Straight lines through the three known points.
        if u < 0.5 {
            (median + (low - median) * (0.5 - u) / 0.4).max(low * 0.5)
        } else {
            median + (high - median) * (u - 0.5) / 0.4
        }
    }
}

/// A number in 0..1 that depends on nothing but its arguments (splitmix64).
fn uniform(seed: u64, a: usize, b: usize, step: usize) -> f64 {
    let at = (a as u64) << 40 ^ (b as u64) << 20 ^ step as u64;
    SplitMix(seed.wrapping_mul(STEP).wrapping_add(at)).word() as f64 / u64::MAX as f64
}
