//! Samples and probes in order of time, sorted by place: a sample counts only if the probes before
//! and after it saw the same place.

use super::proximity::{Proximity, ProximityLimits};

/// How far the floor may move between two probes of one place, before the
/// samples around them are marked.
const DRIFT: f64 = 1.25;

/// Samples of one place, between probes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filed<S> {
    /// The place.
    pub(crate) place: Proximity,
    /// The samples, in the order in which they came.
    pub(crate) samples: Vec<S>,
    /// The probes around them, in ns.
    pub(crate) floors: Vec<f64>,
}

/// Whether the floors around the samples of one place differ by more than a
/// quarter: then these are of different machines, as it were.
/// The extreme tenths are left out: with hundreds of probes one was disturbed.
pub(crate) fn is_adrift(floors: &[f64]) -> bool {
    let mut sorted = floors.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 10;
    match (sorted.get(cut), sorted.iter().rev().nth(cut)) {
        (Some(low), Some(high)) => *high > DRIFT * low,
        _ => false,
    }
}

/// Samples, and the findings of the probes between them.
#[derive(Clone, Debug)]
pub(crate) struct Record<S = f64> {
    samples: Vec<S>,
    /// How many samples there were when a probe was made, and its finding, in ns.
    probes: Vec<(usize, f64)>,
}

impl<S> Default for Record<S> {
    fn default() -> Self {
        Record { samples: Vec::new(), probes: Vec::new() }
    }
}

impl<S: Clone> Record<S> {
    /// Adds samples.
    pub(crate) fn samples(&mut self, samples: impl IntoIterator<Item = S>) {
        self.samples.extend(samples);
    }

    /// Adds a probe.
    pub(crate) fn probe(&mut self, ns: f64) {
        self.probes.push((self.samples.len(), ns));
    }

    /// All samples.
    pub(crate) fn all(&self) -> &[S] {
        &self.samples
    }

    /// All probes, in ns.
    pub(crate) fn floors(&self) -> impl Iterator<Item = f64> {
        self.probes.iter().map(|probe| probe.1)
    }

    /// The samples by place, nearest first. A sample between two probes that disagree, before the
    /// first or after the last, is in none. Without any probe all samples are at
    /// [`Proximity::Any`].
    pub(crate) fn by_place(&self, limits: &ProximityLimits) -> Vec<Filed<S>> {
        if self.probes.is_empty() {
            let (samples, floors) = (self.samples.clone(), Vec::new());
            return vec![Filed { place: Proximity::Any, samples, floors }];
        }
        let mut filed: Vec<Filed<S>> = Vec::new();
        for two in self.probes.windows(2) {
            let [(from, before), (to, after)] = [two[0], two[1]];
            let place = limits.place(before);
            if from == to || place != limits.place(after) || place == Proximity::Any {
                continue;
            }
            let index = filed.iter().position(|f| f.place == place).unwrap_or_else(|| {
                filed.push(Filed { place, samples: Vec::new(), floors: Vec::new() });
                filed.len() - 1
            });
            filed[index].samples.extend_from_slice(&self.samples[from..to]);
            filed[index].floors.extend([before, after]);
        }
        filed.sort_by_key(|f| f.place);
        filed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_samples_between_probes_that_agree_count() {
        let mut record = Record::default();
        record.samples([1.0]);
        for (probe, samples) in [
            (60.0, vec![2.0, 3.0]),
            (70.0, vec![4.0]),
            (280.0, vec![5.0]),
            (270.0, vec![]),
            (25.0, vec![5.5]),
            (65.0, vec![6.0]),
            (90.0, vec![7.0]),
        ] {
            record.probe(probe);
            record.samples(samples);
        }
        let filed = record.by_place(&ProximityLimits::default());
        let floors = vec![60.0, 70.0, 65.0, 90.0];
        assert_eq!(
            filed,
            [
                Filed { place: Proximity::Ccx, samples: vec![2.0, 3.0, 6.0], floors },
                Filed { place: Proximity::Far, samples: vec![5.0], floors: vec![280.0, 270.0] },
            ]
        );
        assert!(is_adrift(&filed[0].floors) && !is_adrift(&filed[1].floors));
        assert_eq!(record.all().len(), 8);
        assert_eq!(record.floors().count(), 7);
    }

    #[test]
    fn without_probes_there_is_no_place() {
        let mut record = Record::default();
        record.samples([2.0, 3.0]);
        let filed = record.by_place(&ProximityLimits::default());
        assert_eq!((filed.len(), filed[0].place), (1, Proximity::Any));
        assert!(!is_adrift(&filed[0].floors));
    }
}
