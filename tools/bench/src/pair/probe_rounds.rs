//! The measuring loop: samples in rounds, each round between two probes.

use crate::interrupt;
use crate::measure::probe::Probe;
use crate::measure::proximity::{Proximity, ProximityLimits};
use crate::measure::record::{Filed, Record, is_adrift};
use crate::measure::start_gate::{Seat, StartGate};
use std::time::{Duration, Instant};

/// The number that one side tells the other before a round.
const STOP: u64 = 0;
const GO: u64 = 1;

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Samples of the most frequent place that are enough.
    pub samples: usize,
    /// Samples of one round: as many as fit between two probes, a few milliseconds.
    pub round: usize,
    /// When to give up, however few there are.
    pub limit: Duration,
}

/// The means by which two ranks measure, side 0 and side 1; the others may take part as
/// sides that are not probed.
#[derive(Debug)]
pub struct Meeting {
    gate: StartGate,
    probe: Option<Probe>,
    limits: ProximityLimits,
}

impl Meeting {
    /// For `sides` ranks, that share cores if `crowded`.
    pub fn new(sides: usize, crowded: bool, limits: ProximityLimits) -> Self {
        let probe = (sides > 1).then(Probe::default);
        Meeting { gate: StartGate::new(sides, crowded), probe, limits }
    }

    /// With probes between the rounds, or without: then all samples are at
    /// [`Proximity::Any`].
    pub fn probing(mut self, probing: bool) -> Self {
        self.probe = self.probe.filter(|_| probing);
        self
    }

    /// One side's part: rounds of `round` until there are samples enough. Each
    /// call adds the samples of a round; the first round is a warm-up. Side 0
    /// decides when it is over.
    pub fn rounds<S: Clone>(
        &self,
        side: usize,
        effort: &Effort,
        mut round: impl FnMut(&mut Seat<'_>, &mut Vec<S>),
    ) -> Taken<S> {
        let mut seat = self.gate.seat(side);
        let mut taken = Taken { samples: Vec::new(), order: Record::default() };
        let started = Instant::now();
        for number in 0.. {
            let enough = || {
                if interrupt::asked() {
                    return true;
                }
                let filed = taken.order.by_place(&self.limits);
                let most = filed.iter().map(|filed| filed.samples.len()).max().unwrap_or(0);
                most >= effort.samples || (number > 1 && started.elapsed() >= effort.limit)
            };
            let word = if side == 0 && enough() { STOP } else { GO };
            // Nobody's word: another side has failed, and says why.
            if seat.meet(word).unwrap_or(STOP) == STOP {
                break;
            }
            let mut samples = Vec::with_capacity(effort.round);
            round(&mut seat, &mut samples);
            if number > 0 {
                let from = taken.samples.len();
                taken.order.samples(from..from + samples.len());
                taken.samples.append(&mut samples);
            }
            if seat.meet(0).is_none() {
                break;
            }
            if let (Some(probe), 0 | 1) = (&self.probe, side) {
                taken.order.probe(probe.exchange(side));
            }
        }
        taken
    }
}

/// The samples that one side has measured.
#[derive(Clone, Debug)]
pub struct Taken<S = f64> {
    pub(crate) samples: Vec<S>,
    /// The samples by number, and the probes between them.
    order: Record<usize>,
}

/// Samples of one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub place: Proximity,
    pub samples: Vec<f64>,
    /// Whether the raw exchange moved meanwhile, by more than a quarter.
    pub(crate) adrift: bool,
}

impl<S> Taken<S> {
    /// The numbers of the samples by place, the most frequent first; without
    /// the places that have none.
    fn by_place(&self, limits: &ProximityLimits) -> Vec<Filed<usize>> {
        let mut all = self.order.by_place(limits);
        all.retain(|filed| !filed.samples.is_empty());
        all.sort_by_key(|filed| std::cmp::Reverse(filed.samples.len()));
        all
    }
}

/// The samples of all sides by place, the most frequent first. Of each sample
/// the largest of all sides counts, and the probes of the first one.
pub fn placed(sides: &[Taken], limits: &ProximityLimits) -> Vec<Placed> {
    let Some(first) = sides.first() else { return Vec::new() };
    let slowest = |i: usize| {
        let all = sides.iter().filter_map(|side| side.samples.get(i).copied());
        all.max_by(f64::total_cmp)
    };
    let place = |filed: Filed<usize>| Placed {
        place: filed.place,
        samples: filed.samples.into_iter().filter_map(slowest).collect(),
        adrift: is_adrift(&filed.floors),
    };
    first.by_place(limits).into_iter().map(place).collect()
}

/// Adds the samples that were measured later.
pub(crate) fn merge(all: &mut Vec<Placed>, later: Vec<Placed>) {
    for placed in later {
        match all.iter_mut().find(|own| own.place == placed.place) {
            Some(own) => {
                own.samples.extend(placed.samples);
                own.adrift |= placed.adrift;
            }
            None => all.push(placed),
        }
    }
    all.sort_by_key(|placed| std::cmp::Reverse(placed.samples.len()));
}

/// Puts one place in front of all: the one that the most of them have, and have the most samples
/// of. Numbers beside each other in a table are then of one place, where there is such a one.
pub(crate) fn align(all: &mut [Vec<Placed>]) {
    let samples = |place: Proximity| {
        let own = all.iter().flatten().filter(move |placed| placed.place == place);
        own.fold((0, 0), |(ways, samples), placed| (ways + 1, samples + placed.samples.len()))
    };
    let Some(best) = Proximity::ALL.into_iter().max_by_key(|&place| samples(place)) else { return };
    all.iter_mut().for_each(|placed| placed.sort_by_key(|own| own.place != best));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sides_end_together_with_samples_enough() {
        let meeting = Meeting::new(3, true, ProximityLimits { smt: 0.0, ccx: 0.0 });
        let effort = Effort { samples: 20, round: 5, limit: Duration::from_secs(5) };
        let sides: Vec<Taken> = std::thread::scope(|s| {
            let side = |side: usize| {
                let meeting = &meeting;
                s.spawn(move || {
                    meeting.rounds(side, &effort, |_, samples| {
                        samples.extend((0..5).map(|i| (10 * side + i) as f64));
                    })
                })
            };
            let threads = [side(0), side(1), side(2)];
            threads.map(|t| t.join().unwrap()).into()
        });
        assert!(sides.iter().all(|side| side.samples.len() == sides[0].samples.len()));
        let placed = placed(&sides, &ProximityLimits { smt: 0.0, ccx: 0.0 });
        assert_eq!((placed.len(), placed[0].place), (1, Proximity::Far));
        assert_eq!(placed[0].samples[..5], [20.0, 21.0, 22.0, 23.0, 24.0]);
        assert!(placed[0].samples.len() >= 20);
    }

    fn at(place: Proximity, samples: usize) -> Placed {
        Placed { place, samples: vec![1.0; samples], adrift: false }
    }

    #[test]
    fn what_was_measured_in_turns_is_put_together() {
        let mut all = vec![at(Proximity::Ccx, 3)];
        merge(
            &mut all,
            vec![Placed { adrift: true, ..at(Proximity::Ccx, 2) }, at(Proximity::Far, 9)],
        );
        assert_eq!(
            all.iter().map(|p| (p.place, p.samples.len(), p.adrift)).collect::<Vec<_>>(),
            [(Proximity::Far, 9, false), (Proximity::Ccx, 5, true)]
        );
    }

    #[test]
    fn rows_of_a_pair_are_of_one_place() {
        let mut ways = [
            vec![at(Proximity::Far, 9), at(Proximity::Ccx, 5)],
            vec![at(Proximity::Ccx, 4)],
            vec![],
        ];
        align(&mut ways);
        assert_eq!([ways[0][0].place, ways[1][0].place], [Proximity::Ccx; 2]);
        assert_eq!(ways[0].len(), 2);
    }

    #[test]
    fn the_time_is_limited() {
        let meeting = Meeting::new(1, false, ProximityLimits::default());
        let effort = Effort { samples: usize::MAX, round: 1, limit: Duration::from_millis(2) };
        let taken = meeting.rounds(0, &effort, |_, samples| samples.push(1.0));
        assert_eq!(placed(&[taken], &ProximityLimits::default())[0].place, Proximity::Any);
    }
}
