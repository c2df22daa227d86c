//! The schedules of the fused paths, on paper: what `engine::fused` does, for
//! the checker, the cost model and the traces. The engine does not walk them.

use super::{Mode, Rule, Run, Step};

/// Every rank sends part `j` of its vector to rank `j`, which combines the
/// parts in rank order.
pub(super) struct EverybodyCombines {
    pub(super) p: usize,
}

impl Rule for EverybodyCombines {
    fn steps(&self) -> usize {
        usize::from(self.p > 1)
    }

    fn step(&self, _: usize, rank: usize) -> Step {
        let mut step = Step::default();
        for to in (0..self.p).filter(|&to| to != rank) {
            step.send(to, vec![Run::one(to)]);
        }
        // From the own position outwards, so that intervals stay adjacent.
        for from in (0..rank).rev().chain(rank + 1..self.p) {
            step.recv(from, vec![Run::one(rank)], Mode::combine(from, rank));
        }
        step
    }
}

/// Every rank stores its part to everybody, or to the root alone.
pub(super) struct EverybodyStores {
    pub(super) p: usize,
    pub(super) only: Option<usize>,
}

impl Rule for EverybodyStores {
    fn steps(&self) -> usize {
        usize::from(self.p > 1)
    }

    fn step(&self, _: usize, rank: usize) -> Step {
        let mut step = Step::default();
        let takes = |r: usize| self.only.is_none_or(|root| r == root);
        for to in (0..self.p).filter(|&to| to != rank && takes(to)) {
            step.send(to, vec![Run::one(rank)]);
        }
        for from in (0..self.p).filter(|&from| from != rank && takes(rank)) {
            step.recv(from, vec![Run::one(from)], Mode::Store);
        }
        step
    }
}
