//! Schedules that are given message by message: another library's algorithm, or a tree from a
//! paper. For paper only: checked, counted and simulated like the catalogue's, never executed.

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

/// The rounds, by rank.
pub(super) struct ExplicitRounds(Vec<Vec<Step>>);

impl ExplicitRounds {
    pub(super) fn new(p: usize, rounds: Vec<Round>) -> Self {
        let steps = rounds.into_iter().map(|round| {
            let mut parts = vec![Step::default(); p];
            let mut in_turn = vec![false; p];
            let own = round.messages.iter().filter(|m| round.combine && m.0 == m.1 && m.0 < p);
            own.for_each(|&(rank, ..)| in_turn[rank] = true);
            for (from, to, blocks) in round.messages.into_iter().filter(|m| m.0 < p && m.1 < p) {
                let mode = match (round.combine, in_turn[to]) {
                    (true, true) if parts[to].recvs.is_empty() => Mode::Store,
                    (true, true) => Mode::Right,
                    (true, false) => Mode::combine(from, to),
                    (false, _) => Mode::Store,
                };
                parts[to].recv(from, blocks.clone(), mode);
                if from != to || !in_turn[to] {
                    parts[from].send(to, blocks);
                }
            }
            parts
        });
        ExplicitRounds(steps.collect())
    }

    pub(super) fn of_steps(steps: Vec<Vec<Step>>) -> Self {
        ExplicitRounds(steps)
    }

    /// The most messages of a rank in one direction in a step; at least 1.
    pub(super) fn ports(&self) -> usize {
        let messages = |s: &Step| s.sends.len().max(s.recvs.len());
        self.0.iter().flatten().map(messages).max().unwrap_or(0).max(1)
    }
}

impl Rule for ExplicitRounds {
    fn steps(&self) -> usize {
        self.0.len()
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        self.0[step].get(rank).cloned().unwrap_or_default()
    }
}
