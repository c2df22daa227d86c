//! The benchmarks' random numbers: x' = a x mod 2^46 with a = 5^13.

/// a = 5^13. It fits 32 bits, so a product of SIMD lanes takes two multiplications and not three.
pub const A: u64 = 1_220_703_125;
/// x mod 2^46 is x & MASK.
pub const MASK: u64 = (1 << 46) - 1;
/// The seed of all kernels but EP.
pub const SEED: u64 = 314_159_265;

const SCALE: f64 = 1.0 / (1u64 << 46) as f64;
/// Streams that are filled side by side: one alone would wait for each product.
const LANES: usize = 4;

/// The stream from some number on.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The stream without its first `n` numbers: x a^n, by squaring.
    pub fn jumped(self, n: u64) -> Self {
        let (mut x, mut power, mut n) = (self.0, A, n);
        while n > 0 {
            if n & 1 == 1 {
                x = x.wrapping_mul(power) & MASK;
            }
            power = power.wrapping_mul(power) & MASK;
            n >>= 1;
        }
        Random(x)
    }

    /// The state that the next number is made from.
    pub fn state(self) -> u64 {
        self.0
    }

    /// The next number, in (0, 1).
    #[inline]
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(A) & MASK;
        self.0 as f64 * SCALE
    }

    /// Fills `out` with the next numbers.
    pub fn fill(&mut self, out: &mut [f64]) {
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
