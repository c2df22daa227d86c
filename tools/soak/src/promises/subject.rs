//! The machine that the promises are checked on, and the result of a check.

use super::expectation::ExpectedMachine;
use phalanx::machine::Machine;
use phalanx::{Builder, Team};
use std::time::Duration;

/// The result of a check that found nothing wrong.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// The promise holds; the parts that were looked at.
    Holds(String),
    /// There is nothing to check here, and why.
    NotHere(String),
}

/// The machine that is checked.
pub(crate) struct Subject<'a> {
    pub(super) machine: &'a Machine,
    pub(super) expected: &'a ExpectedMachine,
    /// The most ranks of a team.
    pub(super) most: usize,
    pub(super) deadline: Duration,
}

impl Subject<'_> {
    /// A team that ends with an error where it would hang.
    pub(super) fn builder(&self, ranks: usize) -> Builder {
        Team::builder().ranks(ranks).deadline(self.deadline)
    }

    /// As many ranks as usable cores, and as usable units, as far as they may be.
    pub(super) fn rank_numbers(&self) -> Vec<usize> {
        let usable = |pus: &[usize]| pus.iter().any(|&pu| self.machine.is_allowed(pu));
        let cores = self.machine.cores().iter().filter(|core| usable(&core.pus)).count();
        let mut numbers = vec![cores, self.machine.allowed_pus().len()];
        numbers.iter_mut().for_each(|n| *n = (*n).clamp(1, self.most));
        numbers.dedup();
        numbers
    }

    /// The usable units; where they are more than a team may have ranks, some from everywhere.
    pub(super) fn spread_units(&self) -> Vec<usize> {
        let all = self.machine.allowed_pus();
        let n = all.len().min(self.most);
        (0..n).map(|i| all[i * all.len() / n]).collect()
    }
}

/// An error as one line.
pub(super) fn said(error: impl std::fmt::Display) -> String {
    phalanx_bench::failure::one_line(&error.to_string())
}
