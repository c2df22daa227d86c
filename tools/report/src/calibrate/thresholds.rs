//! The size from which the fused path of each operation is faster.

use super::compare::{ComparedCall, Comparison, contest};
use phalanx::schedule::Operation;
use phalanx::tuning::Tuning;
use phalanx::{Algorithm, Team};
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::matrix::saved_run::rounded;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::proximity::ProximityLimits;
use phalanx_bench::pair::probe_rounds::Effort;
use phalanx_bench::progress::Progress;
use serde_json::{Value, json};
use std::time::Duration;

/// A length that no longer travels in the line that the receiver looks at: a fused path never pays
/// below.
const LEAST: usize = 41;
/// Sizes of the vector, or of a block.
const SIZES: [usize; 7] = [48, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10];
/// Turns of each way, and the samples and the time for one.
const TURNS: usize = 6;
const SAMPLES: usize = 24;
const LIMIT: Duration = Duration::from_millis(25);
/// By how much (of the time, on average over the sizes) another switch has to
/// be better than the library's: less is noise.
const WORTH: f64 = 0.02;

/// The facts that decide for one operation: the size in [`Tuning`], the algorithms
/// below and from it on.
struct ThresholdRow {
    operation: Operation,
    below: Algorithm,
    fused: Algorithm,
    size: fn(&mut Tuning) -> &mut usize,
}

const ROWS: [ThresholdRow; 10] = [
    ThresholdRow {
        operation: Operation::Broadcast,
        below: Algorithm::BC_ANY,
        fused: Algorithm::BC_FUSED,
        size: |t| &mut t.broadcast_fused,
    },
    ThresholdRow {
        operation: Operation::Reduce,
        below: Algorithm::RED_ANY,
        fused: Algorithm::RED_FUSED,
        size: |t| &mut t.reduce_fused,
    },
    ThresholdRow {
        operation: Operation::AllGather,
        below: Algorithm::AG_ANY,
        fused: Algorithm::AG_FUSED,
        size: |t| &mut t.all_gather_fused,
    },
    ThresholdRow {
        operation: Operation::ReduceScatter,
        below: Algorithm::RS_ANY,
        fused: Algorithm::RS_FUSED,
        size: |t| &mut t.reduce_scatter_fused,
    },
    ThresholdRow {
        operation: Operation::AllReduce,
        below: Algorithm::AR_ANY,
        fused: Algorithm::AR_FUSED,
        size: |t| &mut t.all_reduce_fused,
    },
    ThresholdRow {
        operation: Operation::Scan,
        below: Algorithm::SCAN_HCUBE,
        fused: Algorithm::SCAN_FUSED,
        size: |t| &mut t.scan_fused,
    },
    ThresholdRow {
        operation: Operation::Scatter,
        below: Algorithm::SC_ANY,
        fused: Algorithm::SC_FUSED,
        size: |t| &mut t.scatter_fused,
    },
    ThresholdRow {
        operation: Operation::Gather,
        below: Algorithm::GA_ANY,
        fused: Algorithm::GA_FUSED,
        size: |t| &mut t.gather_fused,
    },
    ThresholdRow {
        operation: Operation::AllToAll,
        below: Algorithm::TX_ANY,
        fused: Algorithm::TX_FUSED,
        size: |t| &mut t.all_to_all_fused,
    },
    ThresholdRow {
        operation: Operation::Shift,
        below: Algorithm::CS_ANY,
        fused: Algorithm::CS_FUSED,
        size: |t| &mut t.shift_fused,
    },
];

/// The switch of one operation, and its grounds.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) operation: Operation,
    below: Algorithm,
    fused: Algorithm,
    /// The library's own.
    pub(crate) before: usize,
    /// The size that was found.
    pub(crate) from: usize,
    points: Vec<(usize, Comparison)>,
}

impl Switch {
    /// For json.
    pub(crate) fn object(&self) -> Value {
        let size = |size: usize| (size != usize::MAX).then_some(size);
        let point = |(bytes, outcome): &(usize, Comparison)| {
            json!({
                "bytes": bytes,
                "place": outcome.place.name(),
                "turns": outcome.turns,
                "below_ns": rounded(outcome.ns[0]),
                "fused_ns": rounded(outcome.ns[1]),
                "ratio": rounded(outcome.ratio),
            })
        };
        json!({
            "operation": self.operation.name(),
            "below": self.below.id(),
            "fused": self.fused.id(),
            "default_from": size(self.before),
            "from": size(self.from),
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

/// A tuning that never takes a fused path, and one that always does.
fn extremes(tuning: &Tuning) -> [Tuning; 2] {
    [usize::MAX, 0].map(|size| {
        let mut own = *tuning;
        ROWS.iter().for_each(|row| *(row.size)(&mut own) = size);
        own.many_ranks = usize::MAX;
        own
    })
}

/// Measures the switches of `ranks` ranks, and puts them into `tuning`. `build`
/// makes a team with a tuning.
pub(crate) fn measure_switches(
    ranks: usize,
    tuning: &mut Tuning,
    build: impl Fn(Tuning) -> Result<Team, Failure>,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Vec<Switch>, Failure> {
    let [below, fused] = extremes(tuning);
    let (below, fused) = (build(below)?, build(fused)?);
    let effort = Effort { samples: SAMPLES, round: 6, limit: LIMIT };
    let mut progress = Progress::new(ROWS.len() * SIZES.len());
    let mut switches = Vec::new();
    for row in &ROWS {
        let mut points = Vec::new();
        for bytes in SIZES {
            if interrupt::asked() {
                return Err(Failure::Interrupted);
            }
            progress.step(&format!("{} of {bytes} bytes on {ranks} ranks", row.operation));
            let call = ComparedCall { operation: row.operation, bytes };
            let teams = [&below, &fused];
            if let Some(outcome) = contest(teams, &call, TURNS, &effort, limits, clock)? {
                points.push((bytes, outcome));
            }
        }
        // The way that the library would take on so many ranks.
        let before = effective(tuning, row, ranks);
        let ratios: Vec<(usize, f64)> = points.iter().map(|(b, o)| (*b, o.ratio)).collect();
        let from = switch(&ratios, before).max(LEAST);
        *(row.size)(tuning) = from;
        let (operation, below, fused) = (row.operation, row.below, row.fused);
        switches.push(Switch { operation, below, fused, before, from, points });
    }
    // These sizes are for this number of ranks.
    tuning.many_ranks = usize::MAX;
    Ok(switches)
}

/// The size from which a tuning takes the fused path on `ranks` ranks.
fn effective(tuning: &Tuning, row: &ThresholdRow, ranks: usize) -> usize {
    let own = *(row.size)(&mut tuning.clone());
    if ranks >= tuning.many_ranks { own.max(tuning.many_ranks_fused) } else { own }
}

/// The size from which on the second way should be taken, of sizes and its time in the first one's:
/// where the sum of the losses is least. `before` stays unless another is better by more than
/// noise. `usize::MAX`: never.
pub(crate) fn switch(ratios: &[(usize, f64)], before: usize) -> usize {
    // The loss, in logarithms of time, by switching in front of point k.
    let lost = |is_second: &dyn Fn(usize, usize) -> bool| -> f64 {
        let of = |(i, &(bytes, ratio)): (usize, &(usize, f64))| {
            let log = ratio.ln();
            if is_second(i, bytes) { log.max(0.0) } else { (-log).max(0.0) }
        };
        ratios.iter().enumerate().map(of).sum()
    };
    let usable = ratios.iter().all(|&(_, ratio)| ratio > 0.0 && ratio.is_finite());
    if ratios.is_empty() || !usable {
        return before;
    }
    let at = |k: usize| lost(&|i, _| i >= k);
    let best = (0..=ratios.len()).min_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap_or(0);
    let stays = lost(&|_, bytes| bytes >= before);
    if stays - at(best) <= WORTH * ratios.len() as f64 {
        return before;
    }
    match best {
        0 => 0,
        k if k == ratios.len() => usize::MAX,
        k => {
            // Where a straight line through the two logarithms is 0.
            let ((low, above), (high, below)) = (ratios[k - 1], ratios[k]);
            let (above, below) = (above.ln(), below.ln());
            let part = if above > below { (above / (above - below)).clamp(0.0, 1.0) } else { 1.0 };
            let size = low as f64 * (high as f64 / low as f64).powf(part);
            (size.round() as usize).clamp(low + 1, high)
        }
    }
}

/// The changes against the library's own sizes, in words.
pub(crate) fn changes(switches: &[Switch]) -> Vec<String> {
    let size = |size: usize| match size {
        usize::MAX => "never".to_string(),
        0 => "always".to_string(),
        size => format!("from {size}"),
    };
    let changed = switches.iter().filter(|s| s.from != s.before);
    changed
        .map(|s| format!("{} {} {} (was {})", s.operation, s.fused, size(s.from), size(s.before)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::tuning::Profile;

    const LADDER: [usize; 5] = [8, 64, 512, 4096, 32768];

    fn from(ratios: [f64; 5], before: usize) -> usize {
        let points: Vec<(usize, f64)> = LADDER.into_iter().zip(ratios).collect();
        switch(&points, before)
    }

    #[test]
    fn the_switch_is_where_the_second_way_wins() {
        // Crosses 1 between 512 and 4096, halfway on logarithmic scales.
        let found = from([4.0, 3.0, 2.0, 0.5, 0.25], 41);
        assert!((1400..1500).contains(&found), "{found}");
        assert_eq!(from([0.5; 5], usize::MAX), 0);
        assert_eq!(from([2.0; 5], 41), usize::MAX);
        // One point that is off does not move it.
        let found = from([4.0, 0.98, 2.0, 0.5, 0.25], 41);
        assert!((1400..1500).contains(&found), "{found}");
    }

    #[test]
    fn noise_changes_nothing() {
        assert_eq!(from([1.01, 0.99, 1.02, 0.98, 1.0], 300), 300);
        assert_eq!(from([2.0, 2.0, 1.01, 0.5, 0.5], 500), 500);
        assert_eq!(switch(&[], 77), 77);
        assert_eq!(from([f64::NAN, 1.0, 1.0, 1.0, 1.0], 77), 77);
        assert_eq!(from([0.0, 1.0, 1.0, 1.0, 1.0], 77), 77);
    }

    #[test]
    fn the_rows_are_what_the_library_chooses_between() {
        for row in &ROWS {
            let mut tuning = Tuning::default();
            for (size, algorithm) in [(usize::MAX, row.below), (0, row.fused)] {
                *(row.size)(&mut tuning) = size;
                let profile = Profile::default().with_tuning(2, tuning).unwrap();
                assert_eq!(profile.algorithm(row.operation, 2, 100), algorithm);
            }
        }
        let [never, always] = extremes(&Tuning::default());
        for row in &ROWS {
            assert_eq!((effective(&never, row, 64), effective(&always, row, 64)), (usize::MAX, 0));
        }
        let mut tuning = Tuning::default();
        tuning.many_ranks = 4;
        tuning.many_ranks_fused = 1 << 20;
        assert_eq!(effective(&tuning, &ROWS[0], 2), Tuning::default().broadcast_fused);
        assert_eq!(effective(&tuning, &ROWS[0], 4), 1 << 20);
    }
}
