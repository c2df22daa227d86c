//! Random numbers from a seed.

use phalanx_model::mix::SplitMix;
pub(crate) use phalanx_model::mix::mix;

/// A die of any number of sides.
#[derive(Clone, Debug)]
pub(crate) struct Dice(SplitMix);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(SplitMix(mix(seed)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.word()
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0.below(sides)
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    /// One of `them`.
    pub(crate) fn pick<'a, T>(&mut self, them: &'a [T]) -> &'a T {
        &them[self.roll(them.len())]
    }
}
