//! Estimates of the collectives that use no groups, on a machine whose ranks are not all equally
//! near: sums over steps, by the distances of the ranks of a step.

use super::estimate::{LevelHop, Messages};
use super::transport;
use crate::topology::Extents;

/// The distances of ranks in each step of the usual patterns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankDistances {
    ranks: usize,
    /// The worst hand-off and rate between ranks 2^k apart, round the ring: dissemination, Bruck's
    /// rule.
    rounds: Vec<LevelHop>,
    /// The worst hand-off and rate between ranks that differ in bit k: doubling, binomial trees.
    bits: Vec<LevelHop>,
    /// Between any two.
    worst: LevelHop,
    nearest: LevelHop,
    /// The hops to the others, and how many are as far.
    others: Vec<(LevelHop, usize)>,
    /// The time that it takes to look at the lines that all others show. (Where one rank of a cache
    /// has looked, the next is near; but that one is the last to be done.)
    looks: f64,
    /// The time in which the lines that all show pass through the memory in which they lie, or
    /// over the links to it.
    home: f64,
}

/// How often memory moves a word that is stored: it is claimed and written.
const STORED: f64 = 2.0;

impl RankDistances {
    /// `home`: the nanoseconds in which one memory passes on a line.
    pub(super) fn new(
        p: usize,
        m: &Messages,
        home: f64,
        hop: &dyn Fn(usize, usize) -> LevelHop,
    ) -> Self {
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
        let others = || (1..p).map(|r| hop(0, r));
        let nearest = others().fold(LevelHop::FARTHEST, LevelHop::nearer);
        let mut by_hop: Vec<(LevelHop, usize)> = Vec::new();
        for hop in others() {
            match by_hop.iter_mut().find(|(known, _)| *known == hop) {
                Some((_, count)) => *count += 1,
                None => by_hop.push((hop, 1)),
            }
        }
        RankDistances {
            ranks: p,
            worst: others().fold(LevelHop::NOTHING, LevelHop::or),
            nearest,
            looks: others().map(|h| m.more_in(h, 0.0)).sum(),
            home: p as f64 * others().map(|h| h.line).sum::<f64>().max(home * p as f64),
            others: by_hop,
            rounds,
            bits,
        }
    }

    fn is_cube(&self) -> bool {
        self.ranks.is_power_of_two()
    }

    /// Doubling of the whole vector: one message per bit, all at once.
    pub(super) fn doubling(&self, m: &Messages, bytes: f64) -> f64 {
        self.bits.iter().map(|&hop| m.one_of_all(hop, bytes)).sum::<f64>()
            + self.bits.last().map_or(0.0, |&hop| m.returned(hop, bytes))
    }

    /// A binomial tree.
    pub(super) fn tree(&self, m: &Messages, bytes: f64) -> f64 {
        self.bits.iter().map(|&hop| m.one(hop, bytes)).sum::<f64>()
            + self.bits.first().map_or(0.0, |&hop| m.returned(hop, bytes))
    }

    /// Dissemination: one message per round.
    pub(super) fn dissemination(&self, m: &Messages) -> f64 {
        self.rounds.iter().map(|&hop| m.one(hop, 0.0)).sum()
    }

    /// Bruck: blocks double from round to round.
    pub(super) fn gather(&self, m: &Messages, bytes: f64) -> f64 {
        let p = self.ranks;
        let round = |(k, &hop): (usize, &LevelHop)| {
            let blocks = (1usize << k).min(p - (1 << k)) as f64;
            m.one_of_all(hop, bytes * blocks)
        };
        self.rounds.iter().enumerate().map(round).sum()
    }

    /// An all-gather along the dimensions of a hypercube, the farthest first, or a reduce-scatter
    /// the other way: many blocks go to near ranks only. None for other numbers of ranks.
    pub(super) fn cube_gather(&self, m: &Messages, bytes: f64) -> Option<f64> {
        let steps = self.bits.iter().rev().enumerate();
        let ns = steps.map(|(k, &hop)| m.one_of_all(hop, bytes * (1u64 << k) as f64)).sum();
        self.is_cube().then_some(ns)
    }

    /// An all-gather along the dimensions of a hypercube, the nearest first: many blocks go far.
    fn rising_gather(&self, m: &Messages, bytes: f64) -> f64 {
        let steps = self.bits.iter().enumerate();
        steps.map(|(k, &hop)| m.one_of_all(hop, bytes * (1u64 << k) as f64)).sum()
    }

    /// Parts of a vector combined or dealt out, then collected: by trees or along a hypercube.
    pub(super) fn split(&self, m: &Messages, bytes: f64, ways: [SplitPart; 2]) -> Option<f64> {
        let part = bytes / self.ranks as f64;
        let ns = ways.map(|way| match way {
            SplitPart::All => self.rising_gather(m, part),
            SplitPart::Root => self.block_tree(m, part),
        });
        let back = self.bits.last().map_or(0.0, |&hop| m.returned(hop, bytes / 2.0));
        self.is_cube().then_some(ns[0] + ns[1] + back)
    }

    /// A scatter or gather along a binomial tree, half of all blocks over the longest way.
    pub(super) fn block_tree(&self, m: &Messages, bytes: f64) -> f64 {
        let p = self.ranks;
        let steps = self.bits.iter().take(p.next_power_of_two().ilog2() as usize).enumerate();
        steps
            .map(|(k, &hop)| m.one(hop, bytes * (1usize << k).min(p - (1 << k)) as f64))
            .sum::<f64>()
            + self.bits.first().map_or(0.0, |&hop| m.returned(hop, bytes * p as f64 / 2.0))
    }

    /// A scatter or gather over a square: first the root's row of near ranks, then the columns.
    pub(super) fn block_square(&self, m: &Messages, bytes: f64) -> Option<f64> {
        let columns = Extents::squarest(self.ranks).columns();
        let low = self.is_cube().then(|| columns.ilog2() as usize)?;
        // Of each dimension the longest way first.
        let order = (0..low).rev().chain((low..self.bits.len()).rev());
        let steps = order.enumerate();
        Some(steps.map(|(i, k)| m.one(self.bits[k], bytes * (self.ranks >> (i + 1)) as f64)).sum())
    }

    /// An all-to-all in as many steps as a number of ranks has bits, half of all blocks in each:
    /// along a hypercube.
    pub(super) fn cube_exchange(&self, m: &Messages, bytes: f64) -> Option<f64> {
        let half = bytes * self.ranks as f64 / 2.0;
        let ns = self.bits.iter().map(|&hop| m.one_of_all(hop, half)).sum();
        self.is_cube().then_some(ns)
    }

    /// An all-to-all by Bruck's rule, half of all blocks in each step.
    pub(super) fn bruck_exchange(&self, m: &Messages, bytes: f64) -> f64 {
        let half = bytes * self.ranks as f64 / 2.0;
        self.rounds.iter().map(|&hop| m.one_of_all(hop, half)).sum()
    }

    /// A message from each to another, in place.
    pub(super) fn shift(&self, m: &Messages, bytes: f64) -> f64 {
        let again =
            if m.is_lent(bytes) { transport::BOUNCE * bytes / self.nearest.rate } else { 0.0 };
        m.one(self.worst, bytes) + m.returned(self.worst, bytes).max(again)
    }

    /// Everybody shows a line and looks at all lines.
    fn exchange(&self, m: &Messages) -> f64 {
        let last = m.one(self.nearest, 0.0) + self.looks;
        last.max(m.one(self.worst, 0.0)) + self.polled()
    }

    /// Everybody shows a line and looks at all lines, through the memory in which they lie: as
    /// published reductions and broadcasts show it.
    fn exchange_at_home(&self, m: &Messages) -> f64 {
        self.exchange(m) + self.home
    }

    fn polled(&self) -> f64 {
        transport::POLLER_NS * self.ranks.saturating_sub(2) as f64
    }

    /// Direct access of all to all: each copies a block of `bytes` from each other.
    pub(super) fn fused(&self, m: &Messages, bytes: f64) -> f64 {
        let rate = |hop: LevelHop| hop.all.min(m.memory.all / m.passes);
        let inline = bytes <= transport::INLINE_BYTES;
        2.0 * self.exchange(m) + if inline { 0.0 } else { self.sum(|hop| bytes / rate(hop)) }
    }

    /// Direct access of all to all: each combines a part of all vectors, and stores it to all.
    pub(super) fn fused_all(&self, m: &Messages, bytes: f64) -> f64 {
        let part = bytes / self.ranks as f64;
        2.0 * self.exchange_at_home(m) + self.combined(m, part) + self.stored(m, part)
    }

    /// A part of `bytes` of each other. Of short parts each waits for its first line.
    fn combined(&self, m: &Messages, bytes: f64) -> f64 {
        if bytes <= transport::INLINE_BYTES {
            return 0.0;
        }
        self.sum(|hop| m.pull(hop, hop.all.min(m.memory.all), bytes))
    }

    /// A part of `bytes` to each other.
    fn stored(&self, m: &Messages, bytes: f64) -> f64 {
        self.sum(|hop| bytes / hop.stores.min(m.memory.all / STORED))
    }

    fn sum(&self, of: impl Fn(LevelHop) -> f64) -> f64 {
        self.others.iter().map(|&(hop, count)| count as f64 * of(hop)).sum()
    }

    /// Direct access in which each part also goes from or to the root.
    pub(super) fn fused_with_root(&self, m: &Messages, bytes: f64, down: bool) -> f64 {
        let part = bytes / self.ranks as f64;
        let way = if down { self.stored(m, part) } else { self.combined(m, part) };
        2.0 * self.exchange_at_home(m) + way + self.at_root(m, part)
    }

    /// A block for or from each rank at the root, all at once.
    fn at_root(&self, m: &Messages, bytes: f64) -> f64 {
        m.body(self.worst.with_readers(self.ranks - 1), bytes)
    }

    /// A scatter or gather by direct access: the root shows its memory and waits for all.
    pub(super) fn fused_at_root(&self, m: &Messages, bytes: f64) -> f64 {
        let shown = m.one(self.worst, 0.0) + self.polled();
        let done = m.one(self.nearest, 0.0) + self.looks;
        shown + self.at_root(m, bytes) + done.max(m.one(self.worst, 0.0))
    }
}

/// How the parts of a vector go.
#[derive(Clone, Copy)]
pub(super) enum SplitPart {
    /// Between all ranks.
    All,
    /// To or from the root.
    Root,
}
