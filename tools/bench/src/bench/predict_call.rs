//! The textbook's model of a call on this machine: the sum over the steps of the slowest message's
//! time, by the rates of its level and length; and the time of a rank's copies of its own words.
//!
//! What it takes from the library beside schedules, for all operations alike: an operation with a
//! block for each rank copies a rank's own block, a scan (but the fused one) keeps its vector and
//! its sum apart, and a fused path is two exchanges of notices (showing, and being done), of which
//! a schedule has one. Nothing is fitted to collectives.

use crate::matrix::unit_axis::name;
use phalanx::machine::Machine;
use phalanx::schedule::{Algorithm, Operation, Request, Schedule};
use phalanx::tuning::{LevelRates, LevelTimes, Profile};
use phalanx_model::{Levels, Network};

/// The model of calls at one place of the cores.
#[derive(Clone, Debug)]
pub struct CallModel<'a> {
    profile: &'a Profile,
    levels: Levels,
    /// The rates of each depth of the machine's tree, the outermost first.
    rates: Vec<LevelRates>,
    cores: usize,
}

impl<'a> CallModel<'a> {
    /// By a profile's rates; none if it has none of this place.
    pub fn new(profile: &'a Profile, machine: &Machine, place: &str) -> Option<Self> {
        let rates = rates_by_depth(profile.levels(), machine, place)?;
        let levels = Levels::new(Network::machine(machine), []);
        Some(CallModel { profile, levels, rates, cores: machine.cores().len() })
    }

    /// The time of a schedule on messages and vectors (or blocks) of `m` bytes, in ns. More ranks
    /// than cores are taken for as many cores, as far apart as any: the model knows nothing of
    /// sharing one.
    pub fn time(&self, schedule: &Schedule, m: f64) -> Option<f64> {
        let deepest = self.rates.len() - 1;
        let rates = |level: usize, bytes: f64| self.rates[level.min(deepest)].level_at(bytes);
        let messages = match schedule.contract().ranks > self.cores {
            true => crowded(schedule, m, |bytes| rates(0, bytes)),
            false => self.levels.time_by(schedule, m, rates).ok()?,
        };
        let notices = match is_fused(schedule) && messages > 0.0 {
            true => rates(0, 0.0).t_s,
            false => 0.0,
        };
        Some(messages + notices + self.copies(schedule, m))
    }

    /// The time of an algorithm; none if it cannot serve.
    pub fn call(
        &self,
        algorithm: Algorithm,
        operation: Operation,
        ranks: usize,
        m: f64,
    ) -> Option<f64> {
        let request = Request::new(operation, ranks).shift(1);
        self.time(&algorithm.schedule(&request).ok()?, m)
    }

    fn copies(&self, schedule: &Schedule, m: f64) -> f64 {
        let operation = schedule.contract().operation;
        let scans = operation.base() == Operation::Scan;
        let copies = !operation.is_in_place() || (scans && !is_fused(schedule));
        if copies { self.profile.copy_ns(m) } else { 0.0 }
    }
}

/// Whether it is of a path round the schedules.
fn is_fused(schedule: &Schedule) -> bool {
    schedule.id().ends_with("-FUSED")
}

/// Without a network: every step as long as its longest message.
fn crowded(schedule: &Schedule, m: f64, rates: impl Fn(f64) -> LevelTimes) -> f64 {
    let split = schedule.contract().split.max(1) as f64;
    let message = |send: &phalanx::schedule::Outgoing| {
        let blocks: usize = send.blocks.iter().map(|range| range.count).sum();
        let words = blocks as f64 * m / split;
        let level = rates(words);
        level.t_s + level.t_w * words
    };
    let step = |step| {
        let sends =
            (0..schedule.contract().ranks).flat_map(move |rank| schedule.step(step, rank).sends);
        sends.map(|send| message(&send)).fold(0.0, f64::max)
    };
    (0..schedule.steps()).map(step).sum()
}

/// The rates of each depth of the machine's tree: of what two cores share whose
/// ways part there. The place is that of the farthest cores of a call: it says
/// nothing of nearer levels, which were seen elsewhere, each at its own place;
/// but some level must have been seen there. A level that was not measured has
/// the rates of the nearest one outside of it, else inside.
fn rates_by_depth(rates: &[LevelRates], machine: &Machine, place: &str) -> Option<Vec<LevelRates>> {
    if !rates.iter().any(|r| r.place == place) {
        return None;
    }
    let vertices = machine.tree().vertices();
    let deepest = vertices.iter().map(|v| v.depth).max().unwrap_or(0);
    let of = |level: &str| {
        let own = rates.iter().filter(|r| r.level == level);
        own.max_by_key(|r| (r.place == place, r.samples))
    };
    let mut by_depth: Vec<Option<&LevelRates>> = Vec::new();
    for depth in 0..=deepest {
        let names = vertices.iter().filter(|v| v.depth == depth).map(name);
        by_depth.push(names.filter_map(|level| of(level.key())).next());
    }
    let mut last = by_depth.iter().flatten().next().copied()?;
    let filled = by_depth.into_iter().map(|level| {
        last = level.unwrap_or(last);
        last.clone()
    });
    Some(filled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::tuning::Piece;

    fn profile() -> Profile {
        let rates = LevelRates {
            level: "l3".into(),
            place: "any".into(),
            t_s_ns: 1.0,
            t_s_ci: [1.0; 2],
            t_w_ns_per_byte: 1.0,
            t_w_ci: [1.0; 2],
            samples: 1,
            pieces: vec![
                Piece { from_bytes: 0, t_s_ns: 100.0, t_w_ns_per_byte: 0.0 },
                Piece { from_bytes: 1025, t_s_ns: 200.0, t_w_ns_per_byte: 0.1 },
            ],
        };
        let copies = vec![Piece { from_bytes: 0, t_s_ns: 0.0, t_w_ns_per_byte: 0.01 }];
        Profile::default().with_level(rates).unwrap().with_copies(copies).unwrap()
    }

    #[test]
    fn a_message_has_the_rates_of_its_length() {
        let (machine, profile) = (Machine::from_synthetic("l3:1 core:2 pu:1").unwrap(), profile());
        let model = CallModel::new(&profile, &machine, "any").unwrap();
        let time = |algorithm, operation, m| model.call(algorithm, operation, 2, m).unwrap();
        assert_eq!(time(Algorithm::BC_ANY, Operation::Broadcast, 8.0), 100.0);
        assert_eq!(time(Algorithm::BC_ANY, Operation::Broadcast, 1e4), 1200.0);
        // The own block is copied, and a fused path has notices of the end, too.
        assert_eq!(time(Algorithm::AG_RING, Operation::AllGather, 1e4), 1300.0);
        assert_eq!(time(Algorithm::AG_FUSED, Operation::AllGather, 1e4), 1400.0);
        assert!(CallModel::new(&profile, &machine, "far").is_none());
    }

    #[test]
    fn one_rank_sends_nothing_and_many_are_as_many_cores() {
        let (machine, profile) = (Machine::from_synthetic("l3:1 core:2 pu:1").unwrap(), profile());
        let model = CallModel::new(&profile, &machine, "any").unwrap();
        let all_gather = |ranks| model.call(Algorithm::AG_HCUBE, Operation::AllGather, ranks, 1e4);
        assert_eq!(all_gather(1), Some(100.0));
        // Two steps: a block, then two of them.
        assert_eq!(all_gather(4), Some(1200.0 + 2200.0 + 100.0));
    }
}
