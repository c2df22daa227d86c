//! Numbers that are the same for every contender.

/// Marsaglia's generator of 64 bits by three shifts.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed; other seeds give other numbers.
    pub fn new(seed: u64) -> Self {
        Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1) << 20)
    }

    /// The next number below `below`.
    pub fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    /// The next number, from -1 to 1.
    pub fn unit(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0
    }
}
