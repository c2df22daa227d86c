//! t_s and t_w by least squares: time = t_s + t_w * bytes.
//!
//! Lengths go over five orders of magnitude, and so do times; their errors are a share of the time,
//! not a number of nanoseconds. So residuals are weighted by 1/time: the sum that is minimised is
//! that of squared relative errors. The bounds are those of linear regression (Student's t on n - 2
//! degrees of freedom), for errors that are independent: where a straight line is the wrong model
//! they are too narrow, and the residuals say so.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of the bounds.
const CONFIDENCE: f64 = 0.95;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FitPoint {
    pub(crate) bytes: usize,
    pub(crate) ns: f64,
}

/// The residual of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residual {
    pub(crate) point: FitPoint,
    /// The line's value.
    pub(crate) fitted: f64,
}

impl Residual {
    /// Measured less fitted, in the measured.
    pub(crate) fn relative(&self) -> f64 {
        (self.point.ns - self.fitted) / self.point.ns
    }
}

/// A line through measured points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fit {
    /// In ns, and ns per byte, with bounds.
    pub(crate) t_s: f64,
    pub(crate) t_s_ci: [f64; 2],
    pub(crate) t_w: f64,
    pub(crate) t_w_ci: [f64; 2],
    pub(crate) residuals: Vec<Residual>,
}

impl Fit {
    /// Through at least three points of at least two lengths; none through
    /// fewer, or through a value that is no time.
    pub(crate) fn of(points: &[FitPoint]) -> Option<Fit> {
        let n = points.len();
        if n < 3 || points.iter().any(|p| !(p.ns > 0.0 && p.ns.is_finite())) {
            return None;
        }
        // Sums of w, w x, w x x, w y, w x y, with w = 1/y^2.
        let mut sums = [0.0; 5];
        for p in points {
            let (x, w) = (p.bytes as f64, 1.0 / (p.ns * p.ns));
            for (sum, term) in sums.iter_mut().zip([w, w * x, w * x * x, w * p.ns, w * x * p.ns]) {
                *sum += term;
            }
        }
        let [w, wx, wxx, wy, wxy] = sums;
        let det = w * wxx - wx * wx;
        if det.is_nan() || det <= 1e-12 * w * wxx {
            return None;
        }
        let t_s = (wxx * wy - wx * wxy) / det;
        let t_w = (w * wxy - wx * wy) / det;
        let residuals: Vec<Residual> = points
            .iter()
            .map(|&point| Residual { point, fitted: t_s + t_w * point.bytes as f64 })
            .collect();
        let degrees = (n - 2) as f64;
        let variance = residuals.iter().map(|r| r.relative().powi(2)).sum::<f64>() / degrees;
        let t = StudentsT::new(0.0, 1.0, degrees).ok()?.inverse_cdf((1.0 + CONFIDENCE) / 2.0);
        let around = |x: f64, share: f64| {
            let half = t * (variance * share / det).sqrt();
            [x - half, x + half]
        };
        let (t_s_ci, t_w_ci) = (around(t_s, wxx), around(t_w, w));
        Some(Fit { t_s, t_s_ci, t_w, t_w_ci, residuals })
    }

    /// The root of the mean squared relative error.
    pub(crate) fn rms(&self) -> f64 {
        let squares = self.residuals.iter().map(|r| r.relative().powi(2));
        (squares.sum::<f64>() / self.residuals.len() as f64).sqrt()
    }

    /// By which factor the line is off at its worst point: 1 is right, and a
    /// line that says no time there is off by infinity.
    pub(crate) fn worst_factor(&self) -> f64 {
        let factor = |r: &Residual| match r.fitted > 0.0 {
            true => (r.point.ns / r.fitted).max(r.fitted / r.point.ns),
            false => f64::INFINITY,
        };
        self.residuals.iter().map(factor).fold(1.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 10] = [8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20];

    /// Standard normal numbers: twelve uniform ones, less 6.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            (mixed >> 11) as f64 / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    fn line(t_s: f64, t_w: f64, mut error: impl FnMut() -> f64) -> Vec<FitPoint> {
        let point =
            |&bytes: &usize| FitPoint { bytes, ns: (t_s + t_w * bytes as f64) * (1.0 + error()) };
        SIZES.iter().map(point).collect()
    }

    #[test]
    fn a_line_is_found_again() {
        let fit = Fit::of(&line(120.0, 0.25, || 0.0)).unwrap();
        assert!((fit.t_s - 120.0).abs() < 1e-6 && (fit.t_w - 0.25).abs() < 1e-9, "{fit:?}");
        assert!(fit.rms() < 1e-9 && fit.worst_factor() < 1.0 + 1e-9);
        assert!(fit.t_s_ci[0] <= fit.t_s && fit.t_s <= fit.t_s_ci[1]);
    }

    #[test]
    fn with_noise_the_bounds_hold_as_often_as_they_say() {
        let mut noise = Noise(7);
        let trials = 2000;
        let mut hits = [0; 2];
        for _ in 0..trials {
            let points = line(300.0, 0.1, || 0.05 * noise.normal());
            let fit = Fit::of(&points).unwrap();
            hits[0] += usize::from((fit.t_s_ci[0]..=fit.t_s_ci[1]).contains(&300.0));
            hits[1] += usize::from((fit.t_w_ci[0]..=fit.t_w_ci[1]).contains(&0.1));
        }
        for hits in hits {
            let share = hits as f64 / trials as f64;
            assert!((0.93..0.975).contains(&share), "{share}");
        }
    }

    #[test]
    fn small_messages_count_as_much_as_large_ones() {
        // Unweighted, the large messages' noise would drown t_s.
        let mut noise = Noise(3);
        for _ in 0..200 {
            let fit = Fit::of(&line(100.0, 0.5, || 0.02 * noise.normal())).unwrap();
            assert!((fit.t_s - 100.0).abs() < 15.0, "{fit:?}");
        }
    }

    #[test]
    fn a_wrong_model_shows_in_the_residuals() {
        // Two protocols: a jump of 10 at 4 KiB.
        let points: Vec<FitPoint> = SIZES
            .iter()
            .map(|&bytes| FitPoint {
                bytes,
                ns: if bytes < 4096 { 100.0 } else { 1000.0 + 0.1 * bytes as f64 },
            })
            .collect();
        let fit = Fit::of(&points).unwrap();
        assert!(
            fit.rms() > 0.3 && fit.worst_factor() > 2.0,
            "{} {}",
            fit.rms(),
            fit.worst_factor()
        );
        let worst = fit.residuals.iter().map(|r| r.relative().abs()).fold(0.0, f64::max);
        assert!(worst > 0.5);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let point = |bytes, ns| FitPoint { bytes, ns };
        assert_eq!(Fit::of(&[]), None);
        assert_eq!(Fit::of(&[point(1, 1.0), point(2, 2.0)]), None);
        assert_eq!(Fit::of(&[point(8, 1.0), point(8, 2.0), point(8, 3.0)]), None);
        assert_eq!(Fit::of(&[point(1, 1.0), point(2, 0.0), point(3, 3.0)]), None);
        assert_eq!(Fit::of(&[point(1, 1.0), point(2, f64::NAN), point(3, 3.0)]), None);
    }
}
