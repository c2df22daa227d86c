//! Merges the rounds of a row: the samples of one place, and the signs of a change meanwhile.

use super::call_tally::CallTally;
use super::sample::{FEWEST, Round, SampleResult};
use crate::measure::emulation;
use crate::measure::proximity::{Proximity, ProximityLimits};
use crate::measure::record::is_adrift;
use phalanx_model::median;
use std::fmt;
use std::time::Duration;

/// All rounds of a row so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds(Vec<SampleResult>);

/// Samples of one place, with the facts about them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sorted {
    pub(crate) place: Proximity,
    pub(crate) samples: Vec<f64>,
    /// The median of the probes around them; none without probes.
    pub(crate) floor_ns: Option<f64>,
    /// The median of each round that has some of them.
    pub(crate) medians: Vec<f64>,
    /// Samples of other places, and such between probes that disagree.
    pub(crate) dropped: usize,
    pub(crate) drift: Drift,
}

/// The parts that moved while a row was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drift {
    /// The floor, by more than a quarter, within the place.
    pub(crate) floor: bool,
    /// The host gave time of our cores to others.
    pub(crate) steal: bool,
    /// The library thought that the process is disturbed, and waited as beside load.
    pub(crate) disturbed: bool,
    /// The place, so often that no place has samples enough: the row has the
    /// samples of all.
    pub(crate) place: bool,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let emulated = emulation::emulator().is_some();
        let signs = [
            (emulated, "emulated"),
            (self.place, "place"),
            (self.floor, "floor"),
            (self.steal, "steal"),
            (self.disturbed, "disturbed"),
        ];
        let signs: Vec<&str> = signs.iter().filter(|sign| sign.0).map(|sign| sign.1).collect();
        f.pad(&if signs.is_empty() { "none".to_string() } else { signs.join("+") })
    }
}

impl Rounds {
    /// Adds a round.
    pub(crate) fn add(&mut self, outcome: SampleResult) {
        self.0.push(outcome);
    }

    /// The number of rounds.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Wrong elements in all.
    pub(crate) fn wrong(&self) -> u64 {
        self.0.iter().map(|round| round.wrong).sum()
    }

    /// The counts of the calls of all rounds, where they are recorded.
    pub(crate) fn tally(&self) -> Option<CallTally> {
        CallTally::sum(self.0.iter().filter_map(|round| round.tally.as_ref()))
    }

    /// The cores that the ranks kept busy, with what is not timed: their processor time over the
    /// time.
    pub(crate) fn cores(&self) -> Option<f64> {
        let used = self.0.iter().map(|round| round.used).sum::<Option<Duration>>()?;
        Some(
            used.as_secs_f64()
                / self.0.iter().map(|round| round.took).sum::<Duration>().as_secs_f64(),
        )
    }

    /// Whether a place has `samples` samples.
    pub(crate) fn have(&self, samples: usize, limits: &ProximityLimits) -> bool {
        self.places(limits).iter().any(|sorted| sorted.samples.len() >= samples)
    }

    /// The places that have samples enough (exactly `samples` of them, if that
    /// is given), the one with the most first. If none has, one that has the
    /// samples of all, at [`Proximity::Any`].
    pub(crate) fn sorted(&self, samples: Option<usize>, limits: &ProximityLimits) -> Vec<Sorted> {
        let mut places = self.places(limits);
        places.retain(|sorted| sorted.samples.len() >= samples.unwrap_or(FEWEST));
        places.sort_by_key(|sorted| std::cmp::Reverse(sorted.samples.len()));
        if places.is_empty() {
            places.extend(self.mixed());
        }
        let all: usize = self.0.iter().map(|round| round.record.all().len()).sum();
        for sorted in &mut places {
            sorted.dropped = all - sorted.samples.len();
            sorted.samples.truncate(samples.unwrap_or(usize::MAX));
        }
        places
    }

    fn places(&self, limits: &ProximityLimits) -> Vec<Sorted> {
        let place = |place: Proximity| {
            let mut samples = Vec::new();
            let (mut floors, mut medians) = (Vec::new(), Vec::new());
            for round in &self.0 {
                let filed = round.record.by_place(limits).into_iter();
                for filed in filed.filter(|filed| filed.place == place) {
                    medians.extend(median_of(&filed.samples));
                    samples.extend(filed.samples);
                    floors.extend(filed.floors);
                }
            }
            (!samples.is_empty()).then(|| self.sort(place, samples, floors, medians))
        };
        Proximity::ALL.into_iter().filter_map(place).collect()
    }

    fn mixed(&self) -> Option<Sorted> {
        let records = || self.0.iter().map(|round| &round.record);
        let samples: Vec<f64> = records().flat_map(|r| r.all().iter().cloned()).collect();
        let floors: Vec<f64> = records().flat_map(|r| r.floors()).collect();
        let medians = records().filter_map(|r| median_of(r.all())).collect();
        let probed = !floors.is_empty();
        let mut sorted = self.sort(Proximity::Any, samples, floors, medians);
        sorted.drift = Drift { place: probed, floor: false, ..sorted.drift };
        (!sorted.samples.is_empty()).then_some(sorted)
    }

    fn sort(
        &self,
        place: Proximity,
        samples: Vec<f64>,
        floors: Vec<f64>,
        medians: Vec<f64>,
    ) -> Sorted {
        let steal = self.0.iter().any(|round| round.stolen_ms > 0.0);
        let disturbed = self.0.iter().any(|round| round.disturbed);
        let drift = Drift { floor: is_adrift(&floors), steal, disturbed, place: false };
        let floor_ns = (!floors.is_empty()).then(|| median(&floors));
        Sorted { place, samples, floor_ns, medians, dropped: 0, drift }
    }
}

/// The median, if there are some.
fn median_of(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| median(samples))
}

/// How the samples of a row are spread over its rounds: `samples` of them, or
/// as many as fit `time`, `fewest` at least.
pub(crate) fn schedule(
    rounds: usize,
    samples: Option<usize>,
    fewest: usize,
    time: Duration,
) -> Vec<Round> {
    let count = samples.map_or(rounds, |samples| rounds.min(samples)).max(1);
    let share = |total: usize, number: usize| total * (number + 1) / count - total * number / count;
    (0..count)
        .map(|number| Round {
            number,
            samples: samples.map(|samples| share(samples, number)),
            time: time / count as u32,
            fewest: fewest.div_ceil(count),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::record::Record;

    /// A round of samples between probes: `(ns of the probe, samples after it)`.
    fn round(parts: &[(f64, &[f64])]) -> SampleResult {
        let mut record = Record::default();
        for (probe, samples) in parts {
            record.probe(*probe);
            record.samples(samples.iter().copied());
        }
        SampleResult { record, wrong: 1, ..SampleResult::default() }
    }

    #[test]
    fn the_place_with_most_samples_is_the_row() {
        let mut rounds = Rounds::default();
        rounds.add(round(&[(60.0, &[1.0, 2.0, 3.0]), (61.0, &[4.0]), (280.0, &[])]));
        rounds.add(round(&[(62.0, &[5.0, 6.0]), (63.0, &[]), (280.0, &[100.0; 6]), (290.0, &[])]));
        let sorted = rounds.sorted(None, &ProximityLimits::default());
        assert_eq!(
            sorted.iter().map(|s| s.place).collect::<Vec<_>>(),
            [Proximity::Far, Proximity::Ccx]
        );
        assert_eq!((sorted[0].samples.len(), sorted[0].dropped), (6, 6));
        assert_eq!((sorted[1].samples.len(), sorted[1].dropped), (5, 7));
        assert_eq!(sorted[1].medians, [2.0, 5.5]);
        assert_eq!(sorted[1].floor_ns, Some(61.5));
        assert_eq!(sorted[1].drift.to_string(), "none");
        assert_eq!(rounds.wrong(), 2);
        assert!(
            rounds.have(6, &ProximityLimits::default())
                && !rounds.have(7, &ProximityLimits::default())
        );
        // With a number of samples: those that have so many, and so many.
        let sorted = rounds.sorted(Some(5), &ProximityLimits::default());
        assert!(sorted.iter().all(|s| s.samples.len() == 5) && sorted.len() == 2);
    }

    #[test]
    fn without_agreement_all_samples_are_one_row_and_marked() {
        let mut rounds = Rounds::default();
        rounds.add(round(&[(60.0, &[1.0; 4]), (280.0, &[2.0; 4]), (25.0, &[])]));
        let sorted = rounds.sorted(None, &ProximityLimits::default());
        assert_eq!((sorted.len(), sorted[0].place), (1, Proximity::Any));
        assert_eq!((sorted[0].samples.len(), sorted[0].dropped), (8, 0));
        assert_eq!(sorted[0].drift.to_string(), "place");
    }

    #[test]
    fn what_moves_is_marked() {
        let mut rounds = Rounds::default();
        rounds.add(round(&[(60.0, &[1.0; 8]), (80.0, &[])]));
        (rounds.0[0].stolen_ms, rounds.0[0].disturbed) = (10.0, true);
        let sorted = rounds.sorted(None, &ProximityLimits::default());
        assert_eq!(
            (sorted[0].place, sorted[0].drift.to_string().as_str()),
            (Proximity::Ccx, "floor+steal+disturbed")
        );
    }

    #[test]
    fn samples_are_spread_over_the_rounds() {
        let samples = |rounds, n| -> Vec<_> {
            schedule(rounds, n, 5, Duration::from_millis(100)).iter().map(|r| r.samples).collect()
        };
        assert_eq!(samples(5, Some(3)), [Some(1); 3]);
        assert_eq!(samples(2, Some(7)), [Some(3), Some(4)]);
        let timed = schedule(4, None, 6, Duration::from_millis(100));
        assert!(timed.iter().all(|r| r.fewest == 2 && r.time == Duration::from_millis(25)));
    }
}
