//! Random numbers from a seed.

#[path = "../../src/mix.rs"]
mod mix;

pub(crate) use mix::SplitMix as Dice;

impl Dice {
    /// One of several.
    #[allow(dead_code, reason = "some tests need numbers alone")]
    pub(crate) fn of<T: Copy>(&mut self, many: &[T]) -> T {
        many[self.below(many.len())]
    }
}
