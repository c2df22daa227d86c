//! Schedules that are given message by message: those over a machine's levels, another library's
//! algorithm, or a tree from a paper. Those of [`Schedule::of_rounds`](super::Schedule::of_rounds)
//! are for paper only: checked and counted like the catalogue's, never executed.

use super::{BlockRange, Mode, Rule, Step};

/// One round: who sends which blocks to whom, in this order.
///
/// # Examples
/// ```
/// use phalanx::schedule::{BlockRange, Contract, Operation, Round, Schedule, check};
/// // A barrier through rank 0: everybody reports, then is let go.
/// let p = 5;
/// let operation = Operation::Barrier;
/// let contract = Contract { operation, ranks: p, root: 0, shift: 0, split: 1 };
/// let report = (1..p).map(|r| (r, 0, vec![BlockRange::one(0)])).collect();
/// let release = (1..p).map(|r| (0, r, vec![BlockRange::one(0)])).collect();
/// let report = Round { combine: true, messages: report };
/// let rounds = vec![report, Round { combine: false, messages: release }];
/// let linear = Schedule::of_rounds("LINEAR", contract, rounds);
/// assert!(check(&linear).is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Whether what arrives is combined with what is there, the lower rank's operand on the left;
    /// else it is stored.
    pub combine: bool,
    /// Sender, receiver, blocks. A receiver takes its messages in this order. Where a round
    /// combines and names a rank as its own sender, the rank's own blocks take their turn there,
    /// and all are combined from left to right in the order given.
    pub messages: Vec<(usize, usize, Vec<BlockRange>)>,
}

/// A message of a round.
#[derive(Clone, Copy)]
struct GivenMessage {
    from: usize,
    to: usize,
    mode: Mode,
    /// Its blocks begin and end there in the list of all.
    blocks: (usize, usize),
    /// The next message of its sender in the round, and of its receiver.
    next: [usize; 2],
}

/// No message.
const NONE: usize = usize::MAX;

/// The rounds, in flat lists, whose items need no destructors.
pub(super) struct ExplicitRounds {
    ranks: usize,
    /// The first message of each round.
    rounds: Vec<usize>,
    /// In the order in which receivers take them.
    messages: Vec<GivenMessage>,
    blocks: Vec<BlockRange>,
    /// By round and rank: its first message.
    first: Vec<usize>,
    /// By rank: its latest message in the latest round.
    latest: Vec<usize>,
}

impl ExplicitRounds {
    pub(super) fn new(ranks: usize) -> Self {
        let (rounds, messages, blocks) = (Vec::new(), Vec::new(), Vec::new());
        ExplicitRounds { ranks, rounds, messages, blocks, first: Vec::new(), latest: Vec::new() }
    }

    pub(super) fn of_rounds(ranks: usize, rounds: Vec<Round>) -> Self {
        let mut given = ExplicitRounds::new(ranks);
        for Round { combine, messages } in rounds {
            given.begin();
            for (from, to, blocks) in messages {
                if from < ranks && to < ranks {
                    given.message(from, to, combine);
                    blocks.into_iter().for_each(|run| given.run(run));
                }
            }
        }
        given
    }

    /// Begins a round.
    #[inline(never)]
    pub(super) fn begin(&mut self) {
        self.rounds.push(self.messages.len());
        self.first.resize(self.rounds.len() * self.ranks, NONE);
        self.latest.clear();
        self.latest.resize(self.ranks, NONE);
    }

    /// Adds a message of a [`Round`] to the latest round; its blocks follow.
    pub(super) fn message(&mut self, from: usize, to: usize, combine: bool) {
        self.send(from, to, if combine { Mode::combine(from, to) } else { Mode::Store });
    }

    /// Adds a message to the latest round; its blocks follow. Where a rank combines and is its own
    /// sender, its messages are combined in the order given.
    #[inline(never)]
    pub(super) fn send(&mut self, from: usize, to: usize, mode: Mode) {
        let (at, end) = (self.messages.len(), self.blocks.len());
        self.messages.push(GivenMessage { from, to, mode, blocks: (end, end), next: [NONE; 2] });
        self.link(from, at);
        if from != to {
            self.link(to, at);
        }
    }

    fn link(&mut self, rank: usize, at: usize) {
        let latest = std::mem::replace(&mut self.latest[rank], at);
        match self.messages.get_mut(latest) {
            Some(message) => message.next[usize::from(message.from != rank)] = at,
            None => {
                let round = (self.rounds.len() - 1) * self.ranks;
                self.first[round + rank] = at;
            }
        }
    }

    /// Adds blocks to the latest message.
    #[inline(never)]
    pub(super) fn run(&mut self, run: BlockRange) {
        self.blocks.push(run);
        if let Some(latest) = self.messages.last_mut() {
            latest.blocks.1 = self.blocks.len();
        }
    }

    /// Adds all rounds backwards, of which nothing is combined: the messages whose blocks `root`
    /// needs, or those of all.
    pub(super) fn and_back(&mut self, root: Option<usize>) {
        let (rounds, all) = (self.rounds.clone(), self.messages.len());
        let mut needed = vec![root.is_none(); self.ranks];
        root.into_iter().for_each(|root| needed[root] = true);
        let (mut kept, mut firsts, mut begin) = (Vec::new(), Vec::new(), 0);
        for end in rounds.iter().copied().skip(1).chain([all]) {
            let first = kept.len();
            firsts.push(first);
            for at in begin..end {
                if needed[self.messages[at].from] {
                    kept.push(at);
                }
            }
            for &at in &kept[first..] {
                needed[self.messages[at].to] = true;
            }
            begin = end;
        }
        for &first in firsts.iter().rev() {
            if first < kept.len() {
                self.begin();
            }
            for &at in &kept[first..] {
                let GivenMessage { from, to, blocks, .. } = self.messages[at];
                self.send(to, from, Mode::Store);
                if let Some(back) = self.messages[all..].last_mut() {
                    back.blocks = blocks;
                }
            }
            kept.truncate(first);
        }
    }
}

impl Rule for ExplicitRounds {
    fn steps(&self) -> usize {
        self.rounds.len()
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        let (mut part, mut in_turn) = (Step::default(), false);
        if rank >= self.ranks {
            return part;
        }
        let mut at = self.first[step * self.ranks + rank];
        while let Some(&GivenMessage { from, to, mode, blocks, next }) = self.messages.get(at) {
            at = next[usize::from(from != rank)];
            let blocks = &self.blocks[blocks.0..blocks.1];
            let is_turn =
                from == to && mode != Mode::Store && blocks.iter().any(|run| run.count > 0);
            if to == rank {
                in_turn |= is_turn;
                part.recv(from, blocks.to_vec(), mode);
            }
            if from == rank && !is_turn {
                part.send(to, blocks.to_vec());
            }
        }
        if in_turn {
            for (i, recv) in part.recvs.iter_mut().enumerate() {
                recv.mode = if i == 0 { Mode::Store } else { Mode::Right };
            }
        }
        part
    }
}

/// The most messages of a rank in one direction in a step; at least 1. (One that a rank has from
/// itself is none.)
#[inline(never)]
pub(super) fn ports(rule: &dyn Rule, ranks: usize) -> usize {
    let mut ports = 1;
    for (step, rank) in (0..rule.steps() * ranks).map(|i| (i / ranks, i % ranks)) {
        let part = rule.step(step, rank);
        let heard = part.recvs.iter().filter(|recv| recv.from != rank).count();
        ports = ports.max(part.sends.len()).max(heard);
    }
    ports
}
