//! Checks a model in many schedules as it is, and once for each fault, which must be found.

use crate::{settled, team};
use checker::{Outcome, Plan, explore};
use phalanx::{Comm, Team};
use std::io::Write as _;
use std::time::Duration;

/// A program, and its demanded outcome.
pub struct Model {
    name: &'static str,
    ranks: usize,
    schedules: usize,
    reaches: &'static [&'static str],
    catches: &'static [Fault],
}

/// The model `path: case`, as in the table, of so many ranks. So many schedules are tried, times
/// `MODELS_TIMES`, which is 5 unless it is set.
pub fn model(name: &'static str, ranks: usize, schedules: usize) -> Model {
    Model { name, ranks, schedules, reaches: &[], catches: &[] }
}

/// What must be found: a twin, or a site whose stores publish nothing; `Both`: also the one whose
/// loads take over nothing.
#[derive(Clone, Copy)]
pub enum Fault {
    Twin(&'static str),
    Publish(&'static str),
    Both(&'static str),
}

impl Fault {
    fn plans(self) -> Vec<Plan> {
        match self {
            Fault::Twin(name) => vec![Plan::Twin(name)],
            Fault::Publish(site) => vec![Plan::Publish(site)],
            Fault::Both(site) => vec![Plan::Publish(site), Plan::Consume(site)],
        }
    }
}

/// Schedules within which a twin must be found.
const WITHIN: usize = 30_000;

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name}: no number: {v}")))
}

/// Straight to the file: not captured by the test harness.
fn row(text: &str) {
    writeln!(std::io::stderr(), "{text}").unwrap_or_default();
}

impl Model {
    /// Labels given to `reached`: each must be reached.
    pub fn reaches(self, reaches: &'static [&'static str]) -> Self {
        Model { reaches, ..self }
    }

    /// What must be found, in [`WITHIN`] schedules.
    pub fn catches(self, catches: &'static [Fault]) -> Self {
        Model { catches, ..self }
    }

    /// Checks `f` on threads of the program's own, none of which may fail.
    pub fn threads(self, f: impl Fn(&mut Comm) + Clone + Send + Sync + 'static) {
        let ranks = self.ranks;
        self.check(move || settled(ranks, f.clone()));
    }

    /// Checks what `f` does with a team.
    pub fn team(self, f: fn(&Team)) {
        let ranks = self.ranks;
        self.check(move || team(ranks, f));
    }

    pub fn check(self, body: impl Fn() + Clone + Send + Sync + 'static) {
        let seed = number("MODELS_SEED", 20_261_122);
        let schedules = self.schedules * number("MODELS_TIMES", 5) as usize;
        let sound = explore(body.clone(), Plan::Sound, seed, schedules, None);
        let Outcome { steps, time, .. } = sound;
        if let Some(failure) = sound.failure {
            let n = sound.schedules;
            panic!("{}: schedule {n} of seed {seed}: {failure}", self.name);
        }
        if checker::trace::is_wanted() {
            return;
        }
        row(&format!(
            "{:<60} | ranks {} | {:>7} schedules | {steps:>6} steps | {:>6.1} s",
            self.name,
            self.ranks,
            sound.schedules,
            time.as_secs_f64()
        ));
        for label in self.reaches {
            assert!(sound.reached.contains(label), "{}: never reaches: {label}", self.name);
        }
        for plan in self.catches.iter().flat_map(|fault| fault.plans()) {
            let outcome = explore(body.clone(), plan, seed, WITHIN, Some(Duration::from_secs(120)));
            assert!(outcome.passed, "{}: never comes by: {plan:?}", self.name);
            let Some(failure) = outcome.failure else {
                panic!("{}: in {} schedules not found: {plan:?}", self.name, outcome.schedules);
            };
            row(&format!(
                "{:<60} |   {plan:?}: found in schedule {}, {:.1} s: {}",
                "",
                outcome.schedules,
                outcome.time.as_secs_f64(),
                failure.lines().next().unwrap_or_default()
            ));
            if std::env::var_os("MODELS_SAY").is_some() {
                row(&failure);
            }
        }
    }
}
