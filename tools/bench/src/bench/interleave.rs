//! Measures the rows of one operation in turns, so that a change of the machine meanwhile meets all
//! of them.

use super::exchange;
use super::rounds::{Rounds, schedule};
use super::sample::{FEWEST, Root, Round, SampleCase, SampleResult, Tools, measure};
use crate::progress::Progress;
use crate::prose::say;
use crate::{byte_size, interrupt};
use phalanx::{Error, Team};

/// How often the planned rounds are added where the cores moved so often that
/// no place has samples enough.
const MORE_ROUNDS: usize = 2;

/// The cases of one operation, and the tools that measure them.
pub(crate) struct Turns<'a> {
    pub(crate) team: &'a Team,
    pub(crate) cases: &'a [SampleCase],
    pub(crate) tools: &'a Tools,
    /// Rounds of each case.
    pub(crate) rounds: usize,
    pub(crate) progress: &'a mut Progress,
    /// Takes each failure, and why.
    pub(crate) failed: &'a mut Vec<String>,
}

impl Turns<'_> {
    /// Measures the cases of one operation in turns. Whether the team is dead
    /// afterwards.
    pub(crate) fn rounds(&mut self) -> (Vec<Rounds>, bool) {
        let cases = self.cases;
        let mut block = vec![Rounds::default(); cases.len()];
        let mut broken = Vec::new();
        for number in 0..self.rounds * (1 + MORE_ROUNDS) {
            for (case, rounds) in cases.iter().zip(&mut block) {
                if interrupt::asked() {
                    return (block, false);
                }
                if broken.contains(&case.force.name()) {
                    continue;
                }
                let Some(round) = self.round(case, rounds, number) else { continue };
                match self.measure(case, round) {
                    Ok(outcome) => rounds.add(outcome),
                    Err(dead) if dead => return (block, true),
                    Err(_) => broken.push(case.force.name()),
                }
            }
        }
        (block, false)
    }

    /// Round `number` of a case, if it has one: those that were planned, and some
    /// more where no place has samples enough.
    fn round(&self, case: &SampleCase, rounds: &Rounds, number: usize) -> Option<Round> {
        let (samples, time, tools) = (case.effort.samples, case.effort.time, self.tools);
        let planned = schedule(self.rounds, samples, fewest(case, self.team.size()), time);
        match planned.get(number) {
            Some(round) => Some(*round),
            None if number >= planned.len() * (1 + MORE_ROUNDS) => None,
            None if tools.probe.is_none() => None,
            None if rounds.have(samples.unwrap_or(FEWEST), &tools.limits) => None,
            None => Some(Round { number, ..planned[number % planned.len()] }),
        }
    }

    /// Measures a round. If it failed, that is noted; whether the team is dead.
    fn measure(&mut self, case: &SampleCase, round: Round) -> Result<SampleResult, bool> {
        let (op, algorithm) = (case.shape.operation, case.force.name());
        let what =
            format!("{op} {algorithm} {}", byte_size::text(case.shape.count * case.ty.size()));
        self.progress.step(&what);
        measure(self.team, case, round, self.tools).map_err(|e| {
            self.progress.clear();
            let what = format!("{what}: {e}");
            say(&what);
            self.failed.push(what);
            matches!(e, Error::Dead)
        })
    }
}

/// The raw exchange now, unless ranks share cores.
pub(crate) fn floor(team: &Team, tools: &Tools) -> Result<Option<f64>, Error> {
    tools.probe.as_ref().map_or(Ok(None), |probe| exchange::exchange(team, probe))
}

/// The samples that a case needs at least.
fn fewest(case: &SampleCase, ranks: usize) -> usize {
    if case.root == Root::All { FEWEST.max(ranks) } else { FEWEST }
}
