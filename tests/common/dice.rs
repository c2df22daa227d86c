//! Random numbers from a seed.

#[path = "../../src/mix.rs"]
mod mix;

#[allow(unused_imports, reason = "some tests need numbers alone")]
pub(crate) use mix::{SplitMix as Dice, mix};

impl Dice {
    /// One of several.
    #[allow(dead_code, reason = "some tests need numbers alone")]
    pub(crate) fn of<T: Copy>(&mut self, many: &[T]) -> T {
        many[self.below(many.len())]
    }

    /// The numbers that a seed stands for; those of the next seed are others.
    #[allow(dead_code, reason = "some tests have random seeds")]
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self(mix(seed))
    }
}
