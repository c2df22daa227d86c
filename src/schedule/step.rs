//! A rank's part of one step: the blocks that it sends, and the use of the blocks that it receives.
//!
//! A *block* is a numbered piece of the data of one collective call; what the
//! numbers mean depends on the operation (see [`Contract`](super::Contract)).
//! Blocks say nothing about memory: the engine's binder decides where each one
//! lives, which is why a schedule cannot race.

use super::StepTraffic;
use std::ops::Range;

/// `count` consecutive blocks, beginning with block `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockRange {
    /// The first block.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl BlockRange {
    /// The run of the one block `block`.
    pub const fn one(block: usize) -> Self {
        BlockRange { first: block, count: 1 }
    }

    /// The block numbers of the run.
    pub const fn range(self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

impl From<Range<usize>> for BlockRange {
    fn from(r: Range<usize>) -> Self {
        BlockRange { first: r.start, count: r.end.saturating_sub(r.start) }
    }
}

/// The blocks of runs, one after the other.
pub(crate) struct BlockWalk<'a> {
    runs: &'a [BlockRange],
    /// Those of the first run that are done.
    done: usize,
}

pub(crate) fn blocks(runs: &[BlockRange]) -> BlockWalk<'_> {
    BlockWalk { runs, done: 0 }
}

impl Iterator for BlockWalk<'_> {
    type Item = usize;

    // One body for all loops.
    #[inline(never)]
    fn next(&mut self) -> Option<usize> {
        while let [run, rest @ ..] = self.runs {
            if self.done < run.count {
                self.done += 1;
                return Some(run.first + self.done - 1);
            }
            (self.runs, self.done) = (rest, 0);
        }
        None
    }
}

/// What becomes of a received block at its receiver.
///
/// Combining into a block that the receiver does not hold stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The received block takes the place of the own one.
    Store,
    /// own = received (+) own: the received operand stands on the left.
    Left,
    /// own = own (+) received.
    Right,
}

impl Mode {
    /// The combination that keeps rank order when each partner's partial
    /// result covers an interval of ranks on its own side: the lower rank's
    /// operand stands on the left.
    pub const fn combine(from: usize, rank: usize) -> Mode {
        if from < rank { Mode::Left } else { Mode::Right }
    }
}

/// A message as its sender sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The receiver.
    pub to: usize,
    /// The blocks, in the order in which they travel. Their content is the one
    /// held when the step begins.
    pub blocks: Vec<BlockRange>,
}

/// A message as its receiver sees it. One *from the rank itself* is none: its
/// own blocks, as they were before the step, take their turn among what is
/// received; there is no [`Outgoing`] for it, and it costs nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The sender.
    pub from: usize,
    /// The blocks, as in the sender's [`Outgoing::blocks`]; each lands in the
    /// block of the same number.
    pub blocks: Vec<BlockRange>,
    /// How they land there.
    pub mode: Mode,
    /// Further blocks into which the payload goes as well. Only for messages
    /// of exactly one block (the scans, where one message changes both the
    /// running total and the result).
    pub also: Vec<(usize, Mode)>,
}

/// One rank's part of one step. Everything that is sent is sent from the
/// state before the step; then the incoming messages are taken in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Messages that the rank sends.
    pub sends: Vec<Outgoing>,
    /// Messages that the rank receives.
    pub recvs: Vec<Incoming>,
}

impl Step {
    /// Adds a message to `to`; none if `blocks` is empty.
    #[inline(never)]
    pub(crate) fn send(&mut self, to: usize, blocks: Vec<BlockRange>) {
        if blocks.iter().any(|b| b.count > 0) {
            self.sends.push(Outgoing { to, blocks });
        }
    }

    /// Adds a message from `from`; none if `blocks` is empty.
    #[inline(never)]
    pub(crate) fn recv(&mut self, from: usize, blocks: Vec<BlockRange>, mode: Mode) {
        if blocks.iter().any(|b| b.count > 0) {
            self.recvs.push(Incoming { from, blocks, mode, also: Vec::new() });
        }
    }
}

impl Step {
    /// The rank also sends itself its own blocks that take their turn among those that it receives.
    pub(crate) fn with_own_sent(mut self, rank: usize) -> Step {
        for recv in self.recvs.iter().filter(|recv| recv.from == rank) {
            self.sends.push(Outgoing { to: rank, blocks: recv.blocks.clone() });
        }
        self
    }

    /// Run backwards: stored blocks are combined at the rank, if one is given.
    pub(super) fn reversed(mut self, combine_at: Option<usize>) -> Step {
        let mut turned = Step::default();
        for recv in &mut self.recvs {
            let blocks = std::mem::take(&mut recv.blocks);
            turned.sends.push(Outgoing { to: recv.from, blocks });
        }
        for send in &mut self.sends {
            let (from, blocks) = (send.to, std::mem::take(&mut send.blocks));
            let mode = combine_at.map_or(Mode::Store, |rank| Mode::combine(from, rank));
            turned.recvs.push(Incoming { from, blocks, mode, also: Vec::new() });
        }
        turned
    }
}

/// The pure function behind a schedule: what `rank` does in step `step`
/// (counted from 0). Both ends of a message must describe it alike; the
/// symbolic checker proves that they do.
pub(crate) trait Rule: Send + Sync {
    /// The number of steps.
    fn steps(&self) -> usize;
    /// The part of `rank` in `step < self.steps()`.
    fn step(&self, step: usize, rank: usize) -> Step;

    /// Adds the other ends of the rank's messages, as `step` has them. Rules of very many messages
    /// count their blocks instead of listing them; a test compares.
    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        out.add(self.step(step, rank), rank);
    }

    /// Whether every rank has the same peers in `step`, in the same order and for as many blocks,
    /// as in the step before. Always false for step 0; false says nothing.
    fn repeats(&self, step: usize) -> bool {
        let _ = step;
        false
    }
}

/// A schedule run backwards: its dual. Messages change direction, steps change
/// order; `combine` says whether what was stored is now combined
/// (broadcast to reduce) or still stored (scatter to gather).
pub(crate) struct Reversed {
    pub(crate) rule: Box<dyn Rule>,
    pub(crate) combine: bool,
}

impl Rule for Reversed {
    fn steps(&self) -> usize {
        self.rule.steps()
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        let forward = self.rule.step(self.rule.steps() - 1 - step, rank);
        forward.reversed(self.combine.then_some(rank))
    }

    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        let (sends, recvs) = (out.sends.len(), out.recvs.len());
        self.rule.peers(self.rule.steps() - 1 - step, rank, out);
        out.reverse(sends, recvs);
    }

    fn repeats(&self, step: usize) -> bool {
        step > 0 && self.rule.repeats(self.rule.steps() - step)
    }
}

/// One rule after the other.
pub(crate) struct Chain {
    rules: Vec<Box<dyn Rule>>,
    /// The steps up to the end of each rule: of as many rules as there are ranks,
    /// a step's is found by halving.
    ends: Vec<usize>,
}

impl Rule for Chain {
    fn steps(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        self.at(step).map_or_else(Step::default, |(rule, step)| rule.step(step, rank))
    }

    fn peers(&self, step: usize, rank: usize, out: &mut StepTraffic) {
        if let Some((rule, step)) = self.at(step) {
            rule.peers(step, rank, out);
        }
    }

    fn repeats(&self, step: usize) -> bool {
        self.at(step).is_some_and(|(rule, step)| step > 0 && rule.repeats(step))
    }
}

impl Chain {
    pub(crate) fn new(rules: Vec<Box<dyn Rule>>) -> Self {
        let mut end = 0;
        let ends = rules.iter().map(|rule| {
            end += rule.steps();
            end
        });
        Self { ends: ends.collect(), rules }
    }

    /// The rule of a step, and the number that the step has there.
    fn at(&self, step: usize) -> Option<(&dyn Rule, usize)> {
        let i = self.ends.partition_point(|&end| end <= step);
        let before = if i > 0 { self.ends[i - 1] } else { 0 };
        self.rules.get(i).map(|rule| (&**rule, step - before))
    }
}
