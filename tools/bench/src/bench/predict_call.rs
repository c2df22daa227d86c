//! The textbook's model of a call on this machine: the sum over the steps of the slowest message's
//! time, by the rates of its level and length; and the time of a rank's copies of its own words.
//!
//! What it takes from the library beside schedules, for all operations alike: an operation with a
//! block for each rank copies a rank's own block, a scan (but the fused one) keeps its vector and
//! its sum apart, and a fused path is two exchanges of notices (showing, and being done), of which
//! a schedule has one. Nothing is fitted to collectives.

use crate::matrix::unit_axis::name;
use phalanx::machine::Machine;
use phalanx::schedule::{Operation, Schedule};
use phalanx::tuning::{LevelRates, LevelTimes, Profile};
use phalanx_model::{Levels, Network};

/// The model of calls at one place of the cores.
#[derive(Clone, Debug)]
pub(crate) struct CallModel<'a> {
    profile: &'a Profile,
    levels: Levels,
    /// The rates of each depth of the machine's tree, the outermost first.
    rates: Vec<LevelRates>,
    cores: usize,
}

impl<'a> CallModel<'a> {
    /// By a profile's rates; none if it has none of this place.
    pub(crate) fn new(profile: &'a Profile, machine: &Machine, place: &str) -> Option<Self> {
        let rates = rates_by_depth(profile.levels(), machine, place)?;
        let levels = Levels::new(Network::machine(machine), []);
        Some(CallModel { profile, levels, rates, cores: machine.cores().len() })
    }

    /// The time of a schedule on messages and vectors (or blocks) of `m` bytes, in ns. More ranks
    /// than cores are taken for as many cores, as far apart as any: the model knows nothing of
    /// sharing one.
    pub(crate) fn time(&self, schedule: &Schedule, m: f64) -> Option<f64> {
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
    use phalanx::schedule::{Algorithm, Request};
    use phalanx::tuning::Piece;

    fn rates(level: &str, place: &str, t_s_ns: f64, t_w: f64) -> LevelRates {
        LevelRates {
            level: level.into(),
            place: place.into(),
            t_s_ns,
            t_s_ci: [t_s_ns; 2],
            t_w_ns_per_byte: t_w,
            t_w_ci: [t_w; 2],
            samples: 1,
            pieces: Vec::new(),
        }
    }

    fn call(
        model: &CallModel<'_>,
        algorithm: Algorithm,
        operation: Operation,
        ranks: usize,
        m: f64,
    ) -> Option<f64> {
        model.time(&algorithm.schedule(&Request::new(operation, ranks).shift(1)).ok()?, m)
    }

    fn profile() -> Profile {
        let pieces = vec![
            Piece { from_bytes: 0, t_s_ns: 100.0, t_w_ns_per_byte: 0.0 },
            Piece { from_bytes: 1025, t_s_ns: 200.0, t_w_ns_per_byte: 0.1 },
        ];
        let rates = LevelRates { pieces, ..rates("l3", "any", 1.0, 1.0) };
        let copies = vec![Piece { from_bytes: 0, t_s_ns: 0.0, t_w_ns_per_byte: 0.01 }];
        Profile::default().with_level(rates).unwrap().with_copies(copies).unwrap()
    }

    #[test]
    fn a_message_has_the_rates_of_its_length() {
        let (machine, profile) = (Machine::from_synthetic("l3:1 core:2 pu:1").unwrap(), profile());
        let model = CallModel::new(&profile, &machine, "any").unwrap();
        let time = |algorithm, operation, m| call(&model, algorithm, operation, 2, m).unwrap();
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
        let all_gather =
            |ranks| call(&model, Algorithm::AG_HCUBE, Operation::AllGather, ranks, 1e4);
        assert_eq!(all_gather(1), Some(100.0));
        // Two steps: a block, then two of them.
        assert_eq!(all_gather(4), Some(1200.0 + 2200.0 + 100.0));
    }

    /// A dissemination barrier's time at a place.
    fn barrier(profile: &Profile, machine: &Machine, place: &str, ranks: usize) -> Option<f64> {
        let model = CallModel::new(profile, machine, place)?;
        call(&model, Algorithm::BAR_ANY, Operation::Barrier, ranks, 0.0)
    }

    #[test]
    fn the_level_that_a_message_crosses_is_what_it_costs() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:2 pu:1").unwrap();
        let profile = [("l3", 50.0), ("package", 100.0), ("machine", 400.0)]
            .into_iter()
            .fold(Profile::default(), |profile, (level, t_s)| {
                profile.with_level(rates(level, "any", t_s, 0.0)).unwrap()
            });
        // In every step somebody crosses the widest border there is.
        let times = [2, 4, 8].map(|ranks| barrier(&profile, &machine, "any", ranks));
        assert_eq!(times, [50.0, 200.0, 1200.0].map(Some));
        assert_eq!(barrier(&profile, &machine, "far", 2), None);
    }

    #[test]
    fn a_level_without_rates_has_its_neighbours() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:2 pu:1").unwrap();
        let profile = Profile::default().with_level(rates("machine", "any", 400.0, 0.1)).unwrap();
        let model = CallModel::new(&profile, &machine, "any").unwrap();
        let message = call(&model, Algorithm::BC_ANY, Operation::Broadcast, 2, 1000.0);
        assert_eq!(message, Some(500.0));
        assert!(CallModel::new(&Profile::default(), &machine, "any").is_none());
    }

    #[test]
    fn near_levels_keep_their_own_place() {
        let machine = Machine::from_synthetic("pack:2 core:2 pu:1").unwrap();
        let of = |rates: [LevelRates; 2]| {
            rates.into_iter().fold(Profile::default(), |p, rates| p.with_level(rates).unwrap())
        };
        let profile = of([rates("package", "ccx", 50.0, 0.0), rates("machine", "far", 400.0, 0.0)]);
        // Of four: a step across, after one that has a message across already.
        assert_eq!(barrier(&profile, &machine, "far", 4), Some(800.0));
        assert_eq!(barrier(&profile, &machine, "ccx", 2), Some(50.0));
        // Seen at two places, by a machine with cores that move: the call's own place counts.
        let profile = of([rates("machine", "ccx", 50.0, 0.0), rates("machine", "far", 400.0, 0.0)]);
        let flat = Machine::from_synthetic("core:2 pu:1").unwrap();
        assert_eq!(barrier(&profile, &flat, "ccx", 2), Some(50.0));
        assert_eq!(barrier(&profile, &flat, "far", 2), Some(400.0));
    }
}
