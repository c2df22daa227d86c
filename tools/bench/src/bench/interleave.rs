//! Measures the rows of one operation in turns, so that a change of the machine meanwhile meets all
//! of them.

use super::exchange;
use super::rounds::{Rounds, schedule};
use super::sample::{FEWEST, Root, Round, SampleCase, SampleResult, Tools, measure};
use crate::measure::proximity::Proximity;
use crate::progress::Progress;
use crate::prose::say;
use crate::{byte_size, interrupt};
use phalanx::{Error, Team};
use std::time::{Duration, Instant};

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

    /// Measures the cases of one operation once at each place asked for, as the
    /// places come; a short sleep lets the host move the cores.
    pub(crate) fn seek(&mut self, places: &[Proximity], seconds: f64) -> (Vec<Rounds>, bool) {
        let (cases, limits) = (self.cases, self.tools.limits);
        let mut block = vec![Rounds::default(); cases.len()];
        let mut broken = Vec::new();
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        let mut naps = (100..8000).step_by(1931).map(Duration::from_micros).cycle();
        while !interrupt::asked() && Instant::now() < until {
            let here = match floor(self.team, self.tools) {
                Ok(Some(ns)) => limits.place(ns),
                _ => return (block, true),
            };
            let lacks =
                |place: &Proximity, rounds: &Rounds| !rounds.have_at(*place, FEWEST, &limits);
            let is_open = |case: &SampleCase, rounds: &Rounds, place: &Proximity| {
                lacks(place, rounds) && !broken.contains(&case.force.name())
            };
            let pairs = || cases.iter().zip(&block);
            let wanted = |case: &SampleCase, rounds: &Rounds| {
                places.contains(&here) && is_open(case, rounds, &here)
            };
            let next = pairs().position(|(case, rounds)| wanted(case, rounds));
            let Some(next) = next else {
                let left = |(case, rounds)| places.iter().any(|p| is_open(case, rounds, p));
                if !pairs().any(left) {
                    break;
                }
                naps.by_ref().take(1).for_each(std::thread::sleep);
                continue;
            };
            let effort = &cases[next].effort;
            let round = Round {
                number: block[next].len(),
                samples: effort.samples,
                time: effort.time,
                fewest: fewest(&cases[next], self.team.size()),
            };
            match self.measure(&cases[next], round) {
                Ok(outcome) => block[next].add(outcome),
                Err(dead) if dead => return (block, true),
                Err(_) => broken.push(cases[next].force.name()),
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
