//! Every call is right, with as many ranks as units and with twice as many: those of the soak, each
//! compared with a sequential oracle.

use super::subject::{Kept, Subject, said};
use crate::kit::{Script, judge};
use crate::longest_waits::LongestWaits;
use crate::script::play;
use std::time::Duration;

const SEED: u64 = 5;

pub(super) fn check(subject: &Subject<'_>) -> Result<Kept, String> {
    let units = subject.machine.allowed_pus().len();
    let mut numbers = [units, 2 * units].map(|ranks| ranks.min(subject.most)).to_vec();
    numbers.dedup();
    let script = Script::of_every_call(SEED);
    for &ranks in &numbers {
        let team = subject.builder(ranks).build().map_err(said)?;
        let waits = LongestWaits::default();
        let end = team.run(|comm| play(comm, &script, SEED, &waits, Duration::ZERO)).map(drop);
        judge(&script, &end).map_err(|why| format!("{ranks} ranks: {}", said(why)))?;
    }
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    Ok(Kept::Holds(format!(
        "{} calls on {} ranks, each compared with a serial program",
        script.acts.len(),
        numbers.join(" and ")
    )))
}
