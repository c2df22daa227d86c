//! Whose part of a started collective a rank needs.

use std::ops::Range;

/// Whose cards a rank needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    /// Nobody's.
    #[default]
    Nothing,
    /// Of one rank.
    One(u32),
    /// Of so many, from the first on.
    First(u32),
    /// Of all.
    All,
}

impl Awaits {
    /// These ranks, of so many.
    pub fn ranks(self, size: usize) -> Range<usize> {
        match self {
            Awaits::Nothing => 0..0,
            Awaits::One(rank) => rank as usize..rank as usize + 1,
            Awaits::First(count) => 0..count as usize,
            Awaits::All => 0..size,
        }
    }
}
