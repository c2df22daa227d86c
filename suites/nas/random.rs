//! The benchmarks' random numbers: x' = a x mod 2^46 with a = 5^13.

/// a = 5^13. It fits 32 bits, so a product of SIMD lanes takes two multiplications and not three.
pub(crate) const A: u64 = 1_220_703_125;
/// x mod 2^46 is x & MASK.
pub(crate) const MASK: u64 = (1 << 46) - 1;
/// The seed of all kernels but EP.
pub(crate) const SEED: u64 = 314_159_265;

const SCALE: f64 = 1.0 / (1u64 << 46) as f64;
/// Streams that are filled side by side: one alone would wait for each product.
const LANES: usize = 4;

/// a^n, by squaring.
pub(crate) fn power(mut n: u64) -> u64 {
    let (mut product, mut square) = (1u64, A);
    while n > 0 {
        if n & 1 == 1 {
            product = product.wrapping_mul(square) & MASK;
        }
        square = square.wrapping_mul(square) & MASK;
        n >>= 1;
    }
    product
}

/// The stream from some number on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The stream without its first `n` numbers.
    pub(crate) fn jumped(self, n: u64) -> Self {
        self.times(power(n))
    }

    /// The stream without its first numbers, as many as `factor` is the [`power`] of.
    pub(crate) fn times(self, factor: u64) -> Self {
        Random(self.0.wrapping_mul(factor) & MASK)
    }

    /// The state that the next number is made from.
    pub(crate) fn state(self) -> u64 {
        self.0
    }

    /// The next number, in (0, 1).
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(A) & MASK;
        self.0 as f64 * SCALE
    }

    /// Fills `out` with the next numbers.
    pub(crate) fn fill(&mut self, out: &mut [f64]) {
        let part = out.len() / LANES;
        let mut lanes: [Random; LANES] =
            std::array::from_fn(|lane| self.jumped((lane * part) as u64));
        let (whole, rest) = out.split_at_mut(part * LANES);
        let (low, high) = whole.split_at_mut(2 * part);
        let ((a, b), (c, d)) = (low.split_at_mut(part), high.split_at_mut(part));
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            for (x, lane) in [a, b, c, d].into_iter().zip(&mut lanes) {
                *x = lane.next();
            }
        }
        *self = lanes[LANES - 1];
        for x in rest {
            *x = self.next();
        }
    }
}
