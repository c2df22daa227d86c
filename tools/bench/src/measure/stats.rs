//! Statistics of samples without an assumed distribution: times of calls are skewed, with several
//! humps, and follow none that is known.

use phalanx_model::median;
use statrs::distribution::{Binomial, DiscreteCDF};

/// The confidence of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// How many interquartile ranges above the upper quartile a sample is an
/// outlier: Tukey's outer fence ("far out").
const FENCE: f64 = 3.0;

/// Samples, summed up; times in the samples' unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Samples.
    pub(crate) n: usize,
    /// The smallest.
    pub(crate) min: f64,
    /// The median.
    pub(crate) median: f64,
    /// The 99th percentile: the smallest sample that 99 % do not exceed.
    pub(crate) p99: f64,
    /// The largest.
    pub(crate) max: f64,
    /// The mean.
    pub(crate) mean: f64,
    /// The interval of two samples that has the true median between them with
    /// a confidence of [`CONFIDENCE`], were the samples independent. With
    /// fewer than 6 samples no interval can be that sure; it is then all of
    /// them.
    pub(crate) ci: [f64; 2],
    /// Samples beyond Tukey's outer fence. They are counted, and kept.
    pub(crate) outliers: usize,
}

impl Summary {
    /// Of at least one sample; none of none. Sorts them.
    pub(crate) fn of(samples: &mut [f64]) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let sorted = &*samples;
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let (low, high) = median_ranks(n);
        let (lower, upper) = (percentile(sorted, 25), percentile(sorted, 75));
        let fence = upper + FENCE * (upper - lower);
        Some(Summary {
            n,
            min,
            median: median(sorted),
            p99: percentile(sorted, 99),
            max,
            mean: sorted.iter().sum::<f64>() / n as f64,
            ci: [sorted[low], sorted[high]],
            // Where more than half of the samples are equal (a coarse clock),
            // the fence is at that value, and says nothing.
            outliers: if upper > lower { n - sorted.partition_point(|&x| x <= fence) } else { 0 },
        })
    }
}

/// The nearest-rank percentile of sorted samples (at least one).
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
}

/// The largest less the smallest of some values, in percent of their median;
/// 0 of fewer than two.
pub fn spread_percent(values: &[f64]) -> f64 {
    let (median, is_less) = (median(values), |a: &&f64, b: &&f64| a.total_cmp(b));
    match (values.iter().min_by(is_less), values.iter().max_by(is_less)) {
        (Some(min), Some(max)) if median > 0.0 => 100.0 * (max - min) / median,
        _ => 0.0,
    }
}

/// The interval that has the true median of some values between its ends with a confidence of 95 %,
/// were they independent: two of them, by order statistics. With fewer than 6 values no interval is
/// that sure; it is then all of them. None of no values.
pub fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    Summary::of(&mut values.to_vec()).map(|summary| summary.ci)
}

/// Between which two of `n` sorted samples (counted from 0) the true median is,
/// with a confidence of at least [`CONFIDENCE`]: each sample is below it with
/// probability 1/2, so the number of those below is binomial (David and
/// Nagaraja, Order Statistics, 7.1).
pub(crate) fn median_ranks(n: usize) -> (usize, usize) {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let below = match Binomial::new(0.5, n as u64) {
        // The smallest count with a probability to be reached that exceeds the tail.
        Ok(binomial) if n >= 6 => binomial.inverse_cdf(tail) as usize,
        _ => 1,
    };
    let low = below.saturating_sub(1).min(n.saturating_sub(1) / 2);
    (low, n.saturating_sub(1) - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers in 0..1.
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = (*state ^ (*state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn of_known_numbers() {
        assert_eq!(Summary::of(&mut []), None);
        let s = Summary::of(&mut [3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!((s.n, s.min, s.median, s.p99, s.max, s.mean), (4, 1.0, 2.5, 10.0, 10.0, 4.0));
        assert_eq!(s.ci, [1.0, 10.0]);
        let s = Summary::of(&mut (1..=200).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!((s.median, s.p99, s.outliers), (100.5, 198.0, 0));
        let s = Summary::of(&mut [7.0]).unwrap();
        assert_eq!((s.median, s.p99, s.ci), (7.0, 7.0, [7.0, 7.0]));
        let nine = [5.0, 9.0, 1.0, 4.0, 2.0, 8.0, 3.0, 7.0, 6.0];
        assert_eq!((median_interval(&nine), median_interval(&[])), (Some([2.0, 8.0]), None));
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // The ranks, counted from 1, of the tables of the sign test at 95 %.
        for (n, low, high) in
            [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (20, 6, 15), (50, 18, 33), (100, 40, 61)]
        {
            assert_eq!(median_ranks(n), (low - 1, high - 1), "{n}");
        }
        for n in 1..6 {
            assert_eq!(median_ranks(n), (0, n - 1), "{n}");
        }
    }

    #[test]
    fn the_interval_has_the_median_as_often_as_it_says() {
        // Exponential samples: skewed, median ln 2.
        let mut state = 1;
        let trials = 4000;
        let mut hits = 0;
        for _ in 0..trials {
            let mut samples: Vec<f64> =
                (0..41).map(|_| -(1.0 - uniform(&mut state)).ln()).collect();
            let s = Summary::of(&mut samples).unwrap();
            hits += usize::from((s.ci[0]..=s.ci[1]).contains(&std::f64::consts::LN_2));
        }
        let share = hits as f64 / trials as f64;
        // The exact coverage for 41 samples is 0.9596; four standard errors.
        assert!((0.945..0.975).contains(&share), "{share}");
    }

    #[test]
    fn outliers_are_counted_and_kept() {
        let mut samples: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 10)).collect();
        samples.extend([1000.0, 5000.0]);
        let s = Summary::of(&mut samples).unwrap();
        assert_eq!((s.n, s.outliers, s.max), (102, 2, 5000.0));
        // A coarse clock: most samples are equal.
        let mut samples = vec![50.0; 100];
        samples.push(60.0);
        assert_eq!(Summary::of(&mut samples).unwrap().outliers, 0);
    }

    #[test]
    fn the_spread_is_of_the_median() {
        assert_eq!(spread_percent(&[90.0, 100.0, 115.0]), 25.0);
        assert_eq!((spread_percent(&[]), spread_percent(&[3.0])), (0.0, 0.0));
    }
}
