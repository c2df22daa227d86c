//! EP, embarrassingly parallel: pairs of Gaussian deviates by the polar method, counted by square rings.
//!
//! A pair (u, v) of the stream, each in (-1, 1), is accepted if t = u^2 + v^2 <= 1; then X = u f and Y = v f with
//! f = sqrt(-2 ln t / t). The ranks share batches of 2^16 pairs, to which the stream is jumped.
//!
//! A batch is walked in LANES streams side by side, without a branch: what is rejected gets t = 1, hence X = Y = 0.
//! The logarithm is written out so that it vectorises.

use crate::class::Class;
use crate::outcome::{Outcome, Stopwatch, agree};
use crate::random::{A, MASK, Random};
use crate::spmd::Spmd;
use multiversion::multiversion;

const SEED: u64 = 271_828_183;
const BATCH: u64 = 1 << 16;
const LANES: usize = 8;
const RINGS: usize = 10;
/// Rings that are counted without a branch; a pair beyond them comes once in 10^4.
const NEAR: usize = 4;

/// Sums of X and Y, pairs by ring.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    sum: [f64; 2],
    rings: [u64; RINGS],
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        for (a, b) in self.sum.iter_mut().zip(other.sum) {
            *a += b;
        }
        for (a, b) in self.rings.iter_mut().zip(other.rings) {
            *a += b;
        }
        self
    }
}

pub struct Ep {
    class: Class,
}

impl Ep {
    pub fn new(class: Class) -> Self {
        Ep { class }
    }

    fn batches(&self) -> u64 {
        1 << (self.class.of([24, 25, 28, 30]) - 16)
    }

    /// Millions of random numbers.
    pub fn mops(&self) -> f64 {
        (self.batches() * BATCH * 2) as f64 / 1e6
    }

    pub fn spmd<C: Spmd>(&self, comm: &mut C) -> Outcome {
        let clock = Stopwatch::start(comm);
        let mut mine = Tally::default();
        for batch in comm.part(self.batches() as usize) {
            mine = mine.add(tally(batch as u64));
        }
        let [x, y] = comm.sum(mine.sum);
        // Counts below 2^53 are exact as f64.
        let rings = comm.sum(mine.rings.map(|n| n as f64)).map(|n| n as u64);
        let seconds = clock.stop(comm);
        self.judge(seconds, &Tally { sum: [x, y], rings })
    }

    pub fn fork_join(&self) -> Outcome {
        use rayon::prelude::*;
        let clock = std::time::Instant::now();
        let total = (0..self.batches())
            .into_par_iter()
            .map(tally)
            .reduce(Tally::default, Tally::add);
        self.judge(clock.elapsed().as_secs_f64(), &total)
    }

    fn judge(&self, seconds: f64, total: &Tally) -> Outcome {
        let sum = self.class.of([
            [-3.247834652034740e3, -6.958407078382297e3],
            [-2.863319731645753e3, -6.320053679109499e3],
            [-4.295875165629892e3, -1.580732573678431e4],
            [4.033815542441498e4, -2.660669192809235e4],
        ]);
        let accepted = total.rings.iter().sum::<u64>();
        let known = self.class.of([Some(13_176_389), Some(26_354_769), Some(210_832_767), None]);
        let errors = (0..2).map(|i| agree(total.sum[i], sum[i]));
        let counts = known.is_none_or(|n| n == accepted);
        Outcome::new(seconds, errors.fold(if counts { 0.0 } else { 1.0 }, f64::max), 1e-8)
    }
}

/// One batch of pairs.
#[multiversion(targets("x86_64+avx2"))]
fn tally(batch: u64) -> Tally {
    const PAIRS: u64 = BATCH / LANES as u64;
    let start = Random::new(SEED).jumped(2 * BATCH * batch);
    let mut state: [u64; LANES] =
        std::array::from_fn(|lane| start.jumped(2 * PAIRS * lane as u64).state());
    let (mut sum_x, mut sum_y) = ([0.0; LANES], [0.0; LANES]);
    let mut accepted = [0u64; LANES];
    let mut beyond = [[0u64; LANES]; NEAR - 1];
    let mut far = [0u64; RINGS];
    for _ in 0..PAIRS {
        let u = symmetric(&mut state);
        let v = symmetric(&mut state);
        let mut larger = [0.0; LANES];
        for lane in 0..LANES {
            let t = u[lane] * u[lane] + v[lane] * v[lane];
            let inside = t <= 1.0;
            let t = if inside { t } else { 1.0 };
            let f = (-2.0 * ln(t) / t).sqrt();
            let (x, y) = (u[lane] * f, v[lane] * f);
            sum_x[lane] += x;
            sum_y[lane] += y;
            accepted[lane] += u64::from(inside);
            larger[lane] = x.abs().max(y.abs());
        }
        for (ring, count) in (1..).zip(&mut beyond) {
            for lane in 0..LANES {
                count[lane] += u64::from(larger[lane] >= f64::from(ring));
            }
        }
        if larger.iter().any(|&m| m >= NEAR as f64) {
            for m in larger.into_iter().filter(|&m| m >= NEAR as f64) {
                far[m as usize] += 1;
            }
        }
    }
    // From "at least k" to "k".
    let total = |lanes: [u64; LANES]| lanes.iter().sum::<u64>();
    let at_least = [total(accepted), total(beyond[0]), total(beyond[1]), total(beyond[2]), far.iter().sum()];
    let mut rings = far;
    for k in 0..NEAR {
        rings[k] = at_least[k] - at_least[k + 1];
    }
    Tally { sum: [sum_x.iter().sum(), sum_y.iter().sum()], rings }
}

/// The next numbers of the streams, as 2 r - 1.
#[inline(always)]
fn symmetric(state: &mut [u64; LANES]) -> [f64; LANES] {
    let mut out = [0.0; LANES];
    for (x, out) in state.iter_mut().zip(&mut out) {
        *x = x.wrapping_mul(A) & MASK;
        // The 46 bits as a mantissa: 1 + r, exactly.
        *out = 2.0 * f64::from_bits(*x << 6 | 1.0f64.to_bits()) - 3.0;
    }
    out
}

/// ln t for normal 0 < t < 2, to 2 units in the last place: t = 2^k m with m in [sqrt(1/2), sqrt 2),
/// ln m = 2 atanh((m - 1) / (m + 1)) by its series, whose 11th term is below 1e-17 of the first.
#[inline(always)]
fn ln(t: f64) -> f64 {
    const ONE: u64 = 1.0f64.to_bits();
    const OFFSET: u64 = ONE - std::f64::consts::FRAC_1_SQRT_2.to_bits();
    // 2^52, below whose bits an integer of 52 bits can be laid.
    const LAID: u64 = ((1u64 << 52) as f64).to_bits();
    let biased = (t.to_bits() + OFFSET) >> 52;
    let m = f64::from_bits(t.to_bits() + ONE - (biased << 52));
    let k = f64::from_bits(LAID | biased) - ((1u64 << 52) + 1023) as f64;
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut series = 1.0 / 21.0;
    for n in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = series * z + 1.0 / n;
    }
    k * std::f64::consts::LN_2 + (2.0 * s + 2.0 * s * z * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_is_that_of_the_standard_library() {
        let mut stream = Random::new(SEED);
        for t in (0..100_000).map(|_| stream.next()).chain([1.0, 1e-9, 0.5, 0.7071067811865476]) {
            assert!((ln(t) - t.ln()).abs() <= 4e-16 * t.ln().abs(), "{t}");
        }
    }
}
