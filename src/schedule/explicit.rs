//! Schedules that are given message by message: another library's algorithm, or a tree from a
//! paper. For paper only: checked, counted and simulated like the catalogue's, never executed.

use super::{BlockRange, Mode, Rule, Step};
use crate::sorted::Listed;

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

/// Sender, receiver, blocks, in the order in which receivers take them.
pub(super) type RoundMessages<'a> = &'a mut dyn Iterator<Item = (usize, usize, Vec<BlockRange>)>;

impl ExplicitRounds {
    pub(super) fn new(p: usize, rounds: Vec<Round>) -> Self {
        let mut given = ExplicitRounds(Vec::new());
        for round in rounds {
            given.round(p, round.combine, &mut round.messages.into_iter());
        }
        given
    }

    pub(super) fn of_steps(steps: Vec<Vec<Step>>) -> Self {
        ExplicitRounds(steps)
    }

    /// Adds a [`Round`].
    pub(super) fn round(&mut self, p: usize, combine: bool, messages: RoundMessages<'_>) {
        let mut parts = Vec::new();
        parts.resize_with(p, Step::default);
        for (from, to, blocks) in messages {
            if from >= p || to >= p {
                continue;
            }
            let mode = if combine { Mode::combine(from, to) } else { Mode::Store };
            parts[to].recv(from, blocks.clone(), mode);
            if from != to || !combine {
                parts[from].send(to, blocks);
            }
        }
        for (rank, part) in parts.iter_mut().enumerate() {
            // Its own blocks have their turn.
            if combine && part.recvs.iter().any(|recv| recv.from == rank) {
                for (i, recv) in part.recvs.iter_mut().enumerate() {
                    recv.mode = if i == 0 { Mode::Store } else { Mode::Right };
                }
            }
        }
        self.0.push(parts);
    }

    /// Adds all rounds backwards, of which nothing is combined.
    pub(super) fn and_back(&mut self) {
        for step in (0..self.0.len()).rev() {
            let turned = self.0[step].iter().map(|part| part.clone().reversed(None));
            self.0.push(turned.listed());
        }
    }

    /// The most messages of a rank in one direction in a step; at least 1.
    pub(super) fn ports(&self) -> usize {
        let mut ports = 1;
        for part in self.0.iter().flatten() {
            ports = ports.max(part.sends.len()).max(part.recvs.len());
        }
        ports
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
