//! The blocks that each rank holds after each step of a schedule.

use phalanx::schedule::{BlockRange, Contract, Mode, OFFSET, Operation, RESULT, Schedule, TOTAL};
use std::collections::BTreeMap;

/// The ranks that have contributed to a block, in the order of the operands.
type Operands = Vec<usize>;

/// The blocks of every rank.
pub(crate) struct State {
    contract: Contract,
    held: Vec<BTreeMap<usize, Operands>>,
}

impl State {
    /// Before the first step.
    pub(crate) fn new(contract: &Contract) -> Self {
        let start = |rank| {
            let runs = contract.initial(rank);
            runs.iter().flat_map(|run| run.range()).map(|block| (block, vec![rank])).collect()
        };
        State { contract: *contract, held: (0..contract.ranks).map(start).collect() }
    }

    /// Whether drawing the schedule stays within reason.
    pub(crate) fn is_drawable(schedule: &Schedule) -> bool {
        let contract = schedule.contract();
        let p = contract.ranks;
        // A block of a pair is at one rank, others are at all.
        let places = if contract.operation.has_pairs() { 1 } else { p };
        let blocks = contract.blocks().saturating_mul(places);
        let operands = if contract.operation.combines() { p } else { 1 };
        let drawn = blocks.saturating_mul(operands);
        p <= 1024 && drawn <= 1 << 22 && drawn.saturating_mul(schedule.steps()) <= 1 << 26
    }

    /// Carries out a step.
    pub(crate) fn step(&mut self, schedule: &Schedule, step: usize) {
        let parts: Vec<_> = (0..self.contract.ranks).map(|r| schedule.step(step, r)).collect();
        let mut next = self.held.clone();
        if self.contract.operation.gives_away() {
            for (mine, part) in next.iter_mut().zip(&parts) {
                for block in blocks(part.sends.iter().flat_map(|s| &s.blocks)) {
                    mine.remove(&block);
                }
            }
        }
        let once = self.contract.operation == Operation::Barrier;
        for (rank, part) in parts.iter().enumerate() {
            for recv in &part.recvs {
                for block in blocks(&recv.blocks) {
                    let Some(sent) = self.held.get(recv.from).and_then(|h| h.get(&block)) else {
                        continue;
                    };
                    take(&mut next[rank], block, sent, recv.mode, once);
                    for &(also, mode) in &recv.also {
                        take(&mut next[rank], also, sent, mode, once);
                    }
                }
            }
        }
        self.held = next;
    }

    /// The blocks that a rank holds, as the book's figures write it; `.` for nothing.
    pub(crate) fn cell(&self, rank: usize) -> String {
        let held = &self.held[rank];
        let text = match self.contract.operation {
            Operation::Scan | Operation::ExclusiveScan => self.scan(held),
            op if op.has_pairs() => self.exchange(held),
            Operation::Broadcast if self.contract.split == 1 && !held.is_empty() => "*".into(),
            Operation::Reduce | Operation::AllReduce | Operation::Barrier
                if self.contract.split == 1 =>
            {
                held.values().next().map_or_else(String::new, |who| self.operands(who))
            }
            op if op.combines() => self.partials(held),
            Operation::Broadcast => self.numbers(held.keys().copied().collect(), usize::MAX),
            _ => self.parts(held.keys().copied()),
        };
        if text.is_empty() { ".".to_string() } else { text }
    }

    /// Block numbers, with those cut in parts as `block.part` unless all of a
    /// block's parts are there.
    fn parts(&self, held: impl Iterator<Item = usize>) -> String {
        let split = self.contract.split;
        let mut per_block: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for sub in held {
            per_block.entry(sub / split).or_default().push(sub % split);
        }
        let (whole, cut): (Vec<_>, Vec<_>) =
            per_block.into_iter().partition(|(_, parts)| parts.len() == split);
        let whole = self.numbers(whole.into_iter().map(|(b, _)| b).collect(), self.contract.ranks);
        let mut out: Vec<String> = if whole.is_empty() { vec![] } else { vec![whole] };
        for (block, parts) in cut {
            out.extend(parts.iter().map(|part| format!("{block}.{part}")));
        }
        out.join(" ")
    }

    /// `0123` where every number has one digit, runs such as `0-3,8` elsewhere.
    fn numbers(&self, numbers: Vec<usize>, below: usize) -> String {
        let digits = below <= 10 || self.contract.blocks().max(self.contract.ranks) <= 10;
        if digits { numbers.iter().map(usize::to_string).collect() } else { runs(&numbers) }
    }

    /// An interval of ranks as `0-3`, other orders one after the other.
    fn operands(&self, who: &[usize]) -> String {
        match who {
            [] => String::new(),
            [one] => one.to_string(),
            _ if who.windows(2).all(|w| w[0] + 1 == w[1]) => {
                format!("{}-{}", who[0], who[who.len() - 1])
            }
            _ if self.contract.ranks <= 10 => who.iter().map(usize::to_string).collect(),
            _ => runs(who),
        }
    }

    /// `block=operands`, blocks with the same operands together.
    fn partials(&self, held: &BTreeMap<usize, Operands>) -> String {
        let split = self.contract.split;
        let coarse = self.contract.operation == Operation::ReduceScatter && split > 1;
        let name = |b: usize| {
            if coarse { format!("{}.{}", b / split, b % split) } else { b.to_string() }
        };
        let mut out: Vec<String> = Vec::new();
        let all: Vec<(&usize, &Operands)> = held.iter().collect();
        for same in all.chunk_by(|a, b| a.1 == b.1) {
            let blocks: Vec<usize> = same.iter().map(|(b, _)| **b).collect();
            let names = match (coarse, &blocks[..]) {
                (true, _) => blocks.iter().map(|&b| name(b)).collect::<Vec<_>>().join(","),
                (false, _) => runs(&blocks),
            };
            out.push(format!("{names}={}", self.operands(same[0].1)));
        }
        out.join(" ")
    }

    /// `[result] (total)`, as Fig. 4.13.
    fn scan(&self, held: &BTreeMap<usize, Operands>) -> String {
        let block = |b: usize| held.get(&b).map(|who| self.operands(who));
        let mut out = format!("[{}]", block(RESULT).unwrap_or_default());
        if let Some(total) = block(TOTAL) {
            out += &format!(" ({total})");
        }
        if let Some(offset) = block(OFFSET) {
            out += &format!(" +{offset}");
        }
        out
    }

    /// `01>0246`: origins with the same destinations together.
    fn exchange(&self, held: &BTreeMap<usize, Operands>) -> String {
        let (p, split) = (self.contract.ranks, self.contract.split);
        if split > 1 {
            let mut whole: BTreeMap<usize, usize> = BTreeMap::new();
            held.keys().for_each(|sub| *whole.entry(sub / split).or_default() += 1);
            let (mut full, mut cut) = (BTreeMap::new(), Vec::new());
            for (block, parts) in whole {
                if parts == split {
                    full.insert(block, vec![]);
                } else {
                    let name = format!("{}>{}", block / p, block % p);
                    let parts = (0..split).filter(|s| held.contains_key(&(block * split + s)));
                    cut.extend(parts.map(|s| format!("{name}.{s}")));
                }
            }
            let mut out = vec![self.pairs(&full)];
            out.retain(|s| !s.is_empty());
            out.extend(cut);
            return out.join(" ");
        }
        self.pairs(held)
    }

    fn pairs(&self, held: &BTreeMap<usize, Operands>) -> String {
        let p = self.contract.ranks;
        let mut by_origin: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for block in held.keys() {
            by_origin.entry(block / p).or_default().push(block % p);
        }
        let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for (origin, to) in by_origin {
            match groups.iter_mut().find(|(_, same)| *same == to) {
                Some((origins, _)) => origins.push(origin),
                None => groups.push((vec![origin], to)),
            }
        }
        let name = |numbers: Vec<usize>| self.numbers(numbers, p);
        let groups = groups.into_iter().map(|(from, to)| format!("{}>{}", name(from), name(to)));
        groups.collect::<Vec<_>>().join(" ")
    }
}

fn blocks<'a>(runs: impl IntoIterator<Item = &'a BlockRange>) -> impl Iterator<Item = usize> {
    runs.into_iter().flat_map(|run| run.range())
}

fn take(
    held: &mut BTreeMap<usize, Operands>,
    block: usize,
    sent: &[usize],
    mode: Mode,
    once: bool,
) {
    let own = match mode {
        Mode::Store => vec![],
        _ => held.remove(&block).unwrap_or_default(),
    };
    let mut both = match mode {
        Mode::Right => [&own, sent].concat(),
        _ => [sent, &own].concat(),
    };
    if once {
        both.sort_unstable();
        both.dedup();
    }
    held.insert(block, both);
}

/// Ascending neighbours joined: `0-3,8`.
fn runs(numbers: &[usize]) -> String {
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        [a, b] => format!("{a},{b}"),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    numbers.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(",")
}
