//! The simulation: every rank a clock, every message a hand-off.

use std::collections::HashMap;

use super::costs::{CostsError, LINE, LevelCost, MachineCosts};
use super::effects::{Effect, Effects};
use super::layout::Layout;
use super::transport::Transport;
use crate::machine::Machine;
use crate::placement::Assignment;
use crate::schedule::{Algorithm, Run, Schedule, Step};

/// Ranks on a machine, and what their messages cost.
///
/// Simulated, never measured: the numbers are what published hand-off times, rates and the effects that are
/// switched on add up to.
///
/// # Examples
/// ```
/// use phalanx::model::{Effect, MachineCosts, Simulation};
/// use phalanx::placement::{Placement, assign};
/// use phalanx::schedule::{Algorithm, Operation, Request};
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
    layout: Layout,
    levels: Vec<LevelCost>,
    /// The mean hand-off over all pairs.
    mean: f64,
    /// GB/s of one core from its memory, and the MiB of cache that it has a share in.
    memory: (Option<f64>, Option<f64>),
    transport: Transport,
    effects: Effects,
    /// The ranks' lines all lie in rank 0's memory, instead of their readers'.
    lines_at_rank_0: bool,
    seed: u64,
}

/// What a simulated run took.
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

/// A message of the step in progress.
struct Letter {
    from: usize,
    to: usize,
    bytes: f64,
    posted: f64,
    /// Bytes of this pair's messages in the step so far, this one's included.
    queued: f64,
    /// It is read from a board, by others as well.
    shared: bool,
}

/// What the ranks of a step have done so far.
struct Clocks {
    now: Vec<f64>,
    /// When the rank's own messages have arrived.
    sent: Vec<f64>,
    /// When the rank's last pull ended.
    pulled: Vec<f64>,
}

impl Simulation {
    /// All effects, this library's messages.
    ///
    /// # Errors
    /// Costs that cannot be, a level without data, a rank bound to nothing.
    ///
    /// # Examples
    /// ```
    /// use phalanx::model::{MachineCosts, Simulation};
    /// use phalanx::placement::{Placement, assign};
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
    ) -> Result<Self, CostsError> {
        costs.check()?;
        let layout = Layout::new(machine, assignment, costs)?;
        let pairs = layout.pairs(costs.levels.len());
        let total: f64 = pairs.iter().sum();
        let weighted = pairs.iter().zip(costs.levels.iter()).map(|(n, l)| n * l.hand_off[1]);
        let mean = if total > 0.0 { weighted.sum::<f64>() / total } else { 0.0 };
        Ok(Simulation {
            layout,
            levels: costs.levels.to_vec(),
            mean,
            memory: (costs.memory.one_core, costs.memory.cache_per_core),
            transport: Transport::PHALANX,
            effects: Effects::ALL.without(Effect::Spread),
            lines_at_rank_0: false,
            seed: 0,
        })
    }

    /// The textbook's machine: any two ranks are t_s and t_w per byte apart, steps begin together. Gives
    /// exactly [`Cost`](super::super::Cost)'s times.
    ///
    /// # Examples
    /// ```
    /// use phalanx::model::{Cost, Simulation};
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// let schedule = Algorithm::AG_HCUBE.schedule(&Request::new(Operation::AllGather, 8))?;
    /// let simulated = Simulation::textbook(8, 100.0, 2.0).run(&schedule, 10.0)?;
    /// assert_eq!(simulated.ns, Cost::of(&schedule).time(100.0, 2.0, 10.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn textbook(ranks: usize, t_s: f64, t_w: f64) -> Self {
        let level = LevelCost {
            level: crate::machine::Level::Machine,
            hand_off: [t_s; 3],
            rate: Some(1.0 / t_w),
            source: "t_s + t_w m".into(),
        };
        Simulation {
            layout: Layout::flat(ranks),
            levels: vec![level],
            mean: t_s,
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

    /// The time of a schedule in which m is `bytes` bytes: of the vector, or of one block where there
    /// are p.
    ///
    /// # Errors
    /// A schedule for another number of ranks.
    pub fn run(&self, schedule: &Schedule, bytes: f64) -> Result<Outcome, CostsError> {
        let contract = schedule.contract();
        let p = self.layout.ranks();
        if contract.ranks != p {
            return Err(CostsError::Ranks { schedule: contract.ranks, layout: p });
        }
        let block = bytes / contract.split.max(1) as f64;
        let boards = schedule.id().parse::<Algorithm>().is_ok_and(Algorithm::is_fused);
        let from_memory = self.effects.has(Effect::Memory)
            && self.memory.1.is_some_and(|mib| footprint(schedule, bytes) > mib * 1048576.0);
        let mut clocks = Clocks { now: vec![0.0; p], sent: vec![0.0; p], pulled: vec![0.0; p] };
        let mut messages = vec![0; self.levels.len()];
        for step in 0..schedule.steps() {
            let parts: Vec<Step> = (0..p).map(|rank| schedule.step(step, rank)).collect();
            let letters = self.post(&parts, block, boards, step, &mut clocks);
            let shares = self.shares(&letters, from_memory);
            self.deliver(&parts, &letters, &shares, step, &mut clocks, &mut messages);
            if !self.effects.has(Effect::Overlap) {
                let last = clocks.now.iter().copied().fold(0.0, f64::max);
                clocks.now.fill(last);
                clocks.sent.fill(last);
                clocks.pulled.fill(last);
            }
        }
        let ns = clocks.now.iter().copied().fold(0.0, f64::max);
        Ok(Outcome { ns, ranks: clocks.now, messages })
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
    ) -> Result<[f64; 3], CostsError> {
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

    /// A barrier in which every rank adds to one counter and polls it: writers of the same line wait
    /// for each other, and all pollers fetch it at the end. What central counters and central
    /// fork-join barriers cost.
    ///
    /// # Examples
    /// ```
    /// use phalanx::model::{MachineCosts, Simulation};
    /// use phalanx::placement::{Placement, assign};
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
        let hand = |a, b| self.hand_off(a, b, 0);
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

    fn post(
        &self,
        parts: &[Step],
        block: f64,
        boards: bool,
        step: usize,
        clocks: &mut Clocks,
    ) -> Vec<Letter> {
        let mut letters = Vec::new();
        for (from, part) in parts.iter().enumerate() {
            let mut queued: Vec<(usize, f64)> = Vec::new();
            for send in &part.sends {
                let bytes = count(&send.blocks) as f64 * block;
                let all = match queued.iter_mut().find(|q| q.0 == send.to) {
                    Some(q) => {
                        q.1 += bytes;
                        q.1
                    }
                    None => {
                        if part.sends.len() <= 64 {
                            queued.push((send.to, bytes));
                        }
                        bytes
                    }
                };
                // One line shows the addresses to all.
                let shared = boards && part.sends.len() > 1;
                if self.effects.has(Effect::Occupancy)
                    && !(shared && std::ptr::eq(&part.sends[0], send))
                {
                    clocks.now[from] += self.transport.send_ns;
                }
                letters.push(Letter {
                    from,
                    to: send.to,
                    bytes,
                    posted: clocks.now[from],
                    queued: all,
                    shared,
                });
                if self.effects.has(Effect::Occupancy) && self.transport.send_share > 0.0 && !shared
                {
                    clocks.now[from] +=
                        self.transport.send_share * self.hand_off(from, send.to, step);
                }
                if self.transport.sender_copies
                    && self.effects.has(Effect::Occupancy)
                    && bytes > self.transport.inline_bytes
                {
                    clocks.now[from] += bytes / self.core_rate(from, send.to);
                }
            }
        }
        letters
    }

    /// GB/s of each letter: its core's, or its share of the narrowest door.
    fn shares(&self, letters: &[Letter], from_memory: bool) -> Vec<f64> {
        let heavy = |l: &Letter| l.bytes > self.transport.inline_bytes;
        let saturates = self.effects.has(Effect::Saturation);
        // Flows through each door, out and in, and from each memory. A rank that takes several letters in a step
        // takes one after the other: each of them counts for its part of the time.
        let mut out = vec![0.0f64; self.layout.doors()];
        let mut into = out.clone();
        let mut drawn = out.clone();
        if saturates {
            let mut takes = vec![0u32; self.layout.ranks()];
            letters.iter().filter(|l| heavy(l)).for_each(|l| takes[l.to] += 1);
            let in_turn = self.effects.has(Effect::Occupancy);
            for l in letters.iter().filter(|l| heavy(l)) {
                let part = if in_turn { 1.0 / f64::from(takes[l.to]) } else { 1.0 };
                let meet = self.layout.meet(l.from, l.to);
                self.layout.way(l.from, meet).for_each(|d| out[d] += part);
                self.layout.way(l.to, meet).for_each(|d| into[d] += part);
                if from_memory && let Some(d) = self.layout.memory(l.from) {
                    drawn[d] += part;
                }
            }
        }
        let share = |l: &Letter| {
            let mut rate = self.core_rate(l.from, l.to);
            if from_memory && let Some(one) = self.memory.0 {
                rate = rate.min(one);
            }
            if !saturates || !heavy(l) {
                return rate;
            }
            let meet = self.layout.meet(l.from, l.to);
            for d in self.layout.way(l.from, meet) {
                rate = rate.min(self.layout.rate(d).0 / out[d].max(1.0));
            }
            for d in self.layout.way(l.to, meet) {
                rate = rate.min(self.layout.rate(d).0 / into[d].max(1.0));
            }
            if from_memory
                && let Some(d) = self.layout.memory(l.from)
                && let Some(all) = self.layout.rate(d).1
            {
                rate = rate.min(all / drawn[d].max(1.0));
            }
            rate
        };
        letters.iter().map(share).collect()
    }

    fn deliver(
        &self,
        parts: &[Step],
        letters: &[Letter],
        shares: &[f64],
        step: usize,
        clocks: &mut Clocks,
        messages: &mut [usize],
    ) {
        let has = |effect| self.effects.has(effect);
        let turns = has(Effect::Turnaround) && self.transport.turnaround;
        let k = self.transport.transfers;
        // Letters by receiver, in the order in which they were posted.
        let mut inbox: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
        for (i, letter) in letters.iter().enumerate() {
            inbox[letter.to].push(i);
            if turns {
                let busy = letter.posted + k * self.hand_off(letter.from, letter.to, step);
                clocks.sent[letter.from] = clocks.sent[letter.from].max(busy);
            }
        }
        // When a group of cores first had a shared letter's line.
        let mut seen: HashMap<(usize, usize), f64> = HashMap::new();
        let began = clocks.now.clone();
        for (to, part) in parts.iter().enumerate() {
            let mut cursor = 0;
            for recv in &part.recvs {
                let Some(at) = find(&inbox[to], letters, recv.from, &mut cursor) else { continue };
                let letter = &letters[at];
                messages[self.layout.class(letter.from, to)] += 1;
                let mut h = self.hand_off(letter.from, to, step);
                let mut posted = letter.posted;
                if letter.shared && has(Effect::Pollers) {
                    posted +=
                        self.transport.poller_ns * (parts[letter.from].sends.len() - 1) as f64;
                }
                if letter.shared && has(Effect::ReadSharing) {
                    let group = self.layout.group(to);
                    match seen.get(&(letter.from, group)) {
                        Some(&when) if group != self.layout.group(letter.from) => {
                            posted = posted.max(when);
                            h = h.min(self.near());
                        }
                        _ => {
                            seen.insert((letter.from, group), posted + k * h);
                        }
                    }
                }
                let body = if letter.bytes > self.transport.inline_bytes {
                    letter.queued / shares[at]
                } else {
                    0.0
                };
                if !has(Effect::Occupancy) {
                    let arrival = posted + k * h + body;
                    clocks.now[to] = clocks.now[to].max(arrival);
                    continue;
                }
                let body = if letter.bytes > self.transport.inline_bytes {
                    letter.bytes / shares[at]
                } else {
                    0.0
                };
                let turning = turns && !part.sends.is_empty();
                let end = if turning {
                    let start = posted.max(clocks.sent[to]);
                    (start + k * h).max(clocks.pulled[to] + h / self.transport.pulls) + body
                } else {
                    let ready = posted + k * h;
                    ready.max(clocks.pulled[to] + h / self.transport.pulls) + body
                };
                clocks.pulled[to] = end;
                let before = clocks.now[to];
                // What waits in a queue is handled in one go.
                let soft = self.transport.receive_ns;
                clocks.now[to] = (before + soft / self.transport.pulls).max(end + soft);
                let only_waited = part.sends.is_empty() && end > before && recv.from != to;
                if has(Effect::LongWait)
                    && only_waited
                    && began[to] == before
                    && part.recvs.len() == 1
                {
                    clocks.now[to] += self.transport.waited_ns;
                }
            }
        }
    }

    /// The nearest distance there is.
    fn near(&self) -> f64 {
        let cores = |l: &&LevelCost| l.level != crate::machine::Level::Core;
        self.levels.iter().filter(cores).map(|l| l.hand_off[1]).fold(f64::INFINITY, f64::min)
    }

    fn core_rate(&self, a: usize, b: usize) -> f64 {
        let hardware = if self.effects.has(Effect::Levels) {
            self.levels[self.layout.class(a, b)].core_rate()
        } else if self.levels.len() == 1 {
            self.levels[0].core_rate()
        } else {
            super::costs::LINES_IN_FLIGHT * LINE / self.mean
        };
        self.transport.copy_rate.map_or(hardware, |own| own.min(hardware))
    }

    fn hand_off(&self, a: usize, b: usize, step: usize) -> f64 {
        if !self.effects.has(Effect::Levels) {
            return self.mean;
        }
        let mut class = self.layout.class(a, b);
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

/// Bytes of one rank's buffers: what it starts with and what it ends with.
fn footprint(schedule: &Schedule, bytes: f64) -> f64 {
    let contract = schedule.contract();
    let block = bytes / contract.split.max(1) as f64;
    let of = |runs: Vec<Run>| count(&runs) as f64 * block;
    of(contract.initial(contract.root)).max(of(contract.wanted(contract.root)))
}

fn count(blocks: &[Run]) -> usize {
    blocks.iter().map(|r| r.count).sum()
}

/// The next letter from `from`, where letters of one pair come in order.
fn find(inbox: &[usize], letters: &[Letter], from: usize, cursor: &mut usize) -> Option<usize> {
    // Usually the one after the last; schedules take them in the order of ranks or just one.
    let n = inbox.len();
    for i in 0..n {
        let at = (*cursor + i) % n;
        if letters[inbox[at]].from == from {
            *cursor = at + 1;
            return Some(inbox[at]);
        }
    }
    None
}

/// A number in 0..1 that depends on nothing but its arguments (splitmix64).
fn uniform(seed: u64, a: usize, b: usize, step: usize) -> f64 {
    let mut x = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((a as u64) << 40 ^ (b as u64) << 20 ^ step as u64)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ x >> 31) as f64 / u64::MAX as f64
}
