//! Numbers that are the same for every contender.

#[path = "../../src/mix.rs"]
mod mix;

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(mix::SplitMix);

impl Random {
    /// From a seed; other seeds give other numbers.
    pub fn new(seed: u64) -> Self {
        Random(mix::SplitMix(seed))
    }

    /// The next number below `below`.
    pub fn below(&mut self, below: usize) -> usize {
        self.0.below(below)
    }

    /// The next number, from -1 to 1.
    pub fn unit(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0
    }
}
