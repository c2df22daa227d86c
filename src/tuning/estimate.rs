//! Estimates of a collective over one set of groups, as sums over stages: no simulation, no
//! saturation.

use super::costs::LevelCost;
use super::transport;
use crate::schedule::{Exchange, Hierarchy};

/// A hand-off in ns, and GB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LevelHop {
    pub(super) hand_off: f64,
    pub(super) rate: f64,
    /// The rate of each where all ranks pull at once.
    pub(super) all: f64,
    /// The rate of each where all ranks store at once: a core claims many lines ahead.
    pub(super) stores: f64,
    /// Nanoseconds of a line on the links between packages, if it crosses them.
    pub(super) line: f64,
    /// GB/s for all that leave or enter a group together on this way.
    pub(super) link: f64,
}

impl LevelHop {
    /// A hop that costs nothing.
    pub(super) const NOTHING: LevelHop = LevelHop {
        hand_off: 0.0,
        rate: f64::INFINITY,
        all: f64::INFINITY,
        stores: f64::INFINITY,
        line: 0.0,
        link: f64::INFINITY,
    };

    /// A hop that is farther than any.
    pub(super) const FARTHEST: LevelHop = LevelHop {
        hand_off: f64::INFINITY,
        rate: 0.0,
        all: 0.0,
        stores: 0.0,
        line: f64::INFINITY,
        link: 0.0,
    };

    /// With the links on the way: the rate of each, and how many ranks share it.
    pub(super) fn of(level: &LevelCost, links: impl Iterator<Item = (f64, usize)>) -> Self {
        let rate = level.core_rate();
        let hand_off = level.hand_off[1];
        let alone = LevelHop {
            hand_off,
            rate,
            all: rate,
            stores: AHEAD * rate,
            line: 0.0,
            link: f64::INFINITY,
        };
        links.fold(alone, |hop, (link, ranks)| LevelHop {
            all: hop.all.min(link / ranks as f64),
            stores: hop.stores.min(link / ranks as f64),
            link: hop.link.min(link),
            ..hop
        })
    }

    /// The worse of each.
    pub(super) fn or(self, other: LevelHop) -> LevelHop {
        LevelHop {
            hand_off: self.hand_off.max(other.hand_off),
            rate: self.rate.min(other.rate),
            all: self.all.min(other.all),
            stores: self.stores.min(other.stores),
            line: self.line.max(other.line),
            link: self.link.min(other.link),
        }
    }

    /// The nearer of the two.
    pub(super) fn nearer(self, other: LevelHop) -> LevelHop {
        if other.hand_off < self.hand_off { other } else { self }
    }

    /// This hop where so many ranks pull from one group at once.
    pub(super) fn with_readers(self, readers: usize) -> LevelHop {
        LevelHop { rate: self.rate.min(self.link / readers.max(1) as f64), ..self }
    }
}

/// Messages of a call, and the time that they take over a hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Messages {
    /// The rates that bound a pull where the data do not fit the caches.
    pub(super) memory: MemoryRates,
    /// How often memory moves a word of a message where all ranks have one.
    pub(super) passes: f64,
    /// The hand-offs that a read of a line or two takes, however many are under way.
    pub(super) short: f64,
}

/// Bytes of a cache line.
pub(super) const LINE: f64 = 64.0;

/// How many more lines a core claims ahead to store them than it reads ahead: there, at least.
const AHEAD: f64 = 8.0;

/// GB/s from memory: of one rank, and of each where all read at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MemoryRates {
    pub(super) one: f64,
    pub(super) all: f64,
}

impl MemoryRates {
    /// From the caches.
    pub(super) const CACHED: MemoryRates = MemoryRates { one: f64::INFINITY, all: f64::INFINITY };
}

impl Messages {
    pub(super) fn body(&self, hop: LevelHop, bytes: f64) -> f64 {
        if bytes > transport::INLINE_BYTES {
            self.pull(hop, hop.rate.min(self.memory.one), bytes)
        } else {
            0.0
        }
    }

    /// Bytes that are read at a rate; if they are few, the reader waits for their first line.
    pub(super) fn pull(&self, hop: LevelHop, rate: f64, bytes: f64) -> f64 {
        let beside = transport::INLINE_BYTES + LINE;
        let first = if bytes > beside { self.short * hop.hand_off } else { 0.0 };
        (bytes / rate).max(first)
    }

    /// One.
    #[inline(never)]
    pub(super) fn one(&self, hop: LevelHop, bytes: f64) -> f64 {
        transport::one_way(hop.hand_off) + self.body(hop, bytes)
    }

    /// One of as many as there are ranks.
    #[inline(never)]
    pub(super) fn one_of_all(&self, hop: LevelHop, bytes: f64) -> f64 {
        self.one(self.of_all(hop), bytes)
    }

    /// This hop where all ranks have a message on it.
    fn of_all(&self, hop: LevelHop) -> LevelHop {
        LevelHop { rate: hop.all.min(self.memory.all / self.passes), ..hop }
    }

    /// Whether it lends its sender's memory.
    pub(super) fn is_lent(&self, bytes: f64) -> bool {
        bytes >= transport::LENT_FROM
    }

    /// The time that it takes its sender to hear that it was taken.
    pub(super) fn returned(&self, hop: LevelHop, bytes: f64) -> f64 {
        if self.is_lent(bytes) { transport::TRANSFERS * hop.hand_off } else { 0.0 }
    }

    /// The time that each further one takes a receiver that several wait for.
    pub(super) fn more_in(&self, hop: LevelHop, bytes: f64) -> f64 {
        hop.hand_off / transport::PULLS + transport::RECEIVE_NS + self.body(hop, bytes)
    }

    /// The time that each further one takes a sender; its receivers pull side by side.
    fn more_out(&self, hop: LevelHop) -> f64 {
        transport::SEND_NS + transport::SEND_SHARE * hop.hand_off
    }

    /// `n` ranks, each to all others.
    #[inline(never)]
    pub(super) fn direct(&self, n: usize, hop: LevelHop, bytes: f64) -> f64 {
        if n < 2 {
            return 0.0;
        }
        let more = (n - 2) as f64;
        self.one(hop, bytes) + more * self.more_out(hop).max(self.more_in(hop, bytes))
    }

    /// A tree of a degree over `n` ranks, upwards or downwards.
    #[inline(never)]
    fn climb(&self, n: usize, hop: LevelHop, degree: usize, bytes: f64, up: bool) -> f64 {
        let wide = if degree == 0 { n } else { degree };
        let (mut left, mut ns) = (n, 0.0);
        while left > 1 {
            let children = wide.min(left - 1);
            let more = match up {
                true => self.more_in(hop, bytes),
                false => self.more_out(hop),
            };
            let first = match up {
                true => hop,
                // All pull at once.
                false => hop.with_readers(children),
            };
            ns += self.one(first, bytes) + (children - 1) as f64 * more;
            left = (left - 1).div_ceil(children);
        }
        ns
    }
}

/// Groups within groups, and the distances of their members.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stages {
    pub(super) hierarchy: Hierarchy,
    pub(super) consecutive: bool,
    /// The members of the largest group at each stage, innermost first.
    sizes: Vec<usize>,
    /// The ranks of the smallest group at each stage.
    least: Vec<usize>,
    /// The worst hand-off within a group of each stage, and the core's rate there.
    hops: Vec<LevelHop>,
    /// The worst between outermost leaders with numbers that differ in bit k.
    bits: Vec<LevelHop>,
    /// The worst between outermost leaders 2^k apart, round the ring.
    rounds: Vec<LevelHop>,
}

/// The algorithm of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StagePart {
    pub(super) degree: usize,
    pub(super) exchange: Exchange,
    /// Nanoseconds.
    pub(super) ns: f64,
}

/// The stages' algorithms, innermost first.
pub(super) type StagePlan = Vec<StagePart>;

/// A stage whose best degree is still to be found.
const OPEN: StagePart = StagePart { degree: 0, exchange: Exchange::Doubling, ns: f64::INFINITY };

impl StagePart {
    /// Takes this degree, if it is cheaper than those before.
    fn try_degree(&mut self, degree: usize, ns: f64) {
        if ns < self.ns {
            (self.degree, self.ns) = (degree, ns);
        }
    }
}

/// Degrees that are tried for a stage; 0 = all at once.
const DEGREES: [usize; 6] = [0, 2, 3, 4, 6, 8];

impl Stages {
    pub(super) fn of(hierarchy: Hierarchy, hop: &dyn Fn(usize, usize) -> LevelHop) -> Self {
        let (mut sizes, mut least, mut hops) = (Vec::new(), Vec::new(), Vec::new());
        for stage in 0..hierarchy.stages() {
            least.push(hierarchy.smallest(stage));
            let (mut worst, mut largest) = (LevelHop::NOTHING, 1);
            for members in hierarchy.members(stage) {
                largest = largest.max(members.len());
                worst = members[1..].iter().fold(worst, |w, &m| w.or(hop(members[0], m)));
            }
            sizes.push(largest);
            hops.push(worst);
        }
        let consecutive = hierarchy.is_consecutive();
        let leaders: Vec<usize> = hierarchy.members(hierarchy.stages() - 1).concat();
        let n = leaders.len();
        let (mut bits, mut rounds) = (Vec::new(), Vec::new());
        let mut distance = 1;
        while distance < n {
            let worst = |other: &dyn Fn(usize) -> usize| {
                let pairs = (0..n).map(|i| (i, other(i))).filter(|&(_, other)| other < n);
                let hops = pairs.map(|(i, other)| hop(leaders[i], leaders[other]));
                hops.fold(LevelHop::NOTHING, LevelHop::or)
            };
            bits.push(worst(&|i| i ^ distance));
            rounds.push(worst(&|i| (i + distance) % n));
            distance *= 2;
        }
        Stages { hierarchy, consecutive, sizes, least, hops, bits, rounds }
    }

    /// The worst hop of a stage, where all its groups have messages at once: they share memory.
    fn crowded(&self, stage: usize, m: &Messages) -> LevelHop {
        let leaders: usize = self.sizes[..stage].iter().product();
        let hop = self.hops[stage];
        LevelHop { rate: hop.rate.min(m.memory.all / m.passes * leaders as f64), ..hop }
    }

    /// The worst hop of a stage.
    pub(super) fn hop(&self, stage: usize) -> LevelHop {
        self.hops[stage]
    }

    fn top(&self) -> usize {
        self.hops.len() - 1
    }

    /// The degrees that are tried for a stage.
    #[inline(never)]
    fn degrees(&self, stage: usize) -> &'static [usize] {
        &DEGREES[..DEGREES.partition_point(|&degree| degree < self.sizes[stage])]
    }

    /// Up or down all stages.
    pub(super) fn one_way(&self, m: &Messages, bytes: f64, up: bool) -> StagePlan {
        let mut plan = StagePlan::new();
        for stage in 0..self.hops.len() {
            let (n, hop, mut part) = (self.sizes[stage], self.crowded(stage, m), OPEN);
            for &degree in self.degrees(stage) {
                part.try_degree(degree, m.climb(n, hop, degree, bytes, up));
            }
            plan.push(part);
        }
        plan
    }

    /// Up, an exchange between the outermost leaders, down: for stages that take `up` bytes, or all
    /// of their members' if it `grows`, and hand down `down`, an exchange that takes `doubling`, or
    /// of which each message of all with all has `direct` bytes.
    fn both_ways(
        &self,
        m: &Messages,
        (up, grows): (f64, bool),
        down: f64,
        doubling: f64,
        direct: f64,
    ) -> StagePlan {
        let (mut plan, mut up) = (StagePlan::new(), up);
        for stage in 0..self.hops.len() {
            let (n, hop, mut part) = (self.sizes[stage], self.crowded(stage, m), OPEN);
            for &degree in self.degrees(stage) {
                let there = m.climb(n, hop, degree, up, true);
                part.try_degree(degree, there + m.climb(n, hop, degree, down, false));
            }
            plan.push(part);
            if grows {
                up *= n as f64;
            }
        }
        // The last stage as a tree, unless an exchange is cheaper.
        let top = self.top();
        plan[top].exchange = Exchange::Tree;
        for (exchange, ns) in [
            (Exchange::Direct, m.direct(self.sizes[top], self.hops[top], direct)),
            (Exchange::Doubling, doubling),
        ] {
            if ns <= plan[top].ns {
                plan[top] = StagePart { degree: 0, exchange, ns };
            }
        }
        plan
    }

    /// Whole vectors.
    pub(super) fn all_reduce(&self, m: &Messages, bytes: f64) -> StagePlan {
        self.both_ways(m, (bytes, false), bytes, self.doubling(m, bytes), bytes)
    }

    /// Whole vectors by recursive multiplying: at each stage all members of a part at once.
    pub(super) fn radix(&self, m: &Messages, bytes: f64) -> StagePlan {
        let mut plan = StagePlan::new();
        for (stage, &hop) in self.hops.iter().enumerate() {
            let (hop, mut part) = (m.of_all(hop), OPEN);
            for &degree in self.degrees(stage) {
                let mut ns = 0.0;
                for radix in Hierarchy::radices(self.sizes[stage], degree) {
                    ns += m.direct(radix, hop, bytes);
                }
                part.try_degree(degree, ns);
            }
            plan.push(part);
        }
        plan[self.top()].ns += m.returned(self.hops[self.top()], bytes);
        plan
    }

    /// Blocks of `bytes`.
    pub(super) fn all_gather(&self, m: &Messages, bytes: f64) -> StagePlan {
        let all = bytes * self.hierarchy.ranks() as f64;
        let (inside, n) = (&self.sizes[..self.top()], self.sizes[self.top()]);
        let own = bytes * inside.iter().product::<usize>() as f64;
        // Bruck's rule.
        let round = |(k, &hop): (usize, &LevelHop)| {
            m.one_of_all(hop, own * (1usize << k).min(n - (1 << k)) as f64)
        };
        let rounds = self.rounds.iter().enumerate().map(round).sum();
        self.both_ways(m, (bytes, true), all, rounds, own)
    }

    /// Rounds between the outermost leaders.
    fn doubling(&self, m: &Messages, bytes: f64) -> f64 {
        let n = self.sizes[self.top()];
        let unfold = if n.is_power_of_two() { 0.0 } else { 1.0 };
        let bits: f64 = self.bits.iter().map(|&hop| m.one_of_all(hop, bytes)).sum();
        bits + unfold * m.one(self.hops[self.top()], bytes)
    }

    /// Parts of a vector by recursive multiplying, and back to all or to the root.
    pub(super) fn split(&self, m: &Messages, bytes: f64) -> StagePlan {
        let (mut plan, mut left) = (StagePlan::new(), bytes);
        for (stage, &hop) in self.hops.iter().enumerate() {
            let (hop, mut best) = (m.of_all(hop), OPEN);
            for &degree in self.degrees(stage) {
                let (mut part, mut ns) = (left, 0.0);
                for &radix in Hierarchy::radices(self.sizes[stage], degree).iter().rev() {
                    part /= radix as f64;
                    ns += m.direct(radix, hop, part);
                }
                best.try_degree(degree, 2.0 * ns);
            }
            plan.push(best);
            // Few ranks in a group have large pieces, and hear all of its share.
            left = bytes / self.least[stage] as f64;
        }
        plan
    }

    pub(super) fn scan(&self, m: &Messages, bytes: f64) -> StagePlan {
        let mut plan = StagePlan::new();
        for (stage, &hop) in self.hops.iter().enumerate() {
            let n = self.sizes[stage];
            let rounds = n.next_power_of_two().ilog2() + u32::from(!n.is_power_of_two());
            let doubling = f64::from(rounds) * m.one(hop, bytes);
            let direct = m.direct(n, hop, bytes);
            let back = match stage < self.top() {
                true => m.climb(n, hop, 0, bytes, false),
                false => 0.0,
            };
            let (exchange, ns) = match direct < doubling {
                true => (Exchange::Direct, direct),
                false => (Exchange::Doubling, doubling),
            };
            plan.push(StagePart { degree: 0, exchange, ns: ns + back });
        }
        plan
    }
}
