//! The numbers of SplitMix64 (Steele, Lea, Flood 2014). The tools, tests and benches compile this
//! file as well: there is no other generator.

#![allow(unreachable_pub, reason = "it is public where the tools compile it")]
#![allow(dead_code, reason = "some use a part of it")]

/// Between two states of the generator.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of the words in which every bit depends on every other.
#[inline]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The generator: numbers that look random, from a seed.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next number.
    #[inline]
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`, which is at least 1. The bias is at most `bound` / 2^64.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }
}
