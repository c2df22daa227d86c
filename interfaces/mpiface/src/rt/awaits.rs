//! The ranks of the cards that a rank needs in a started collective.

/// Ranks of a communicator: those with cards that a rank needs, or those that use its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    /// Nobody.
    #[default]
    Nobody,
    /// So many, from this one on.
    Range(u32, u32),
    /// The neighbours from which this rank takes, in its grid or graph.
    Givers(u32),
    /// The neighbours to which it gives.
    Takers(u32),
    /// All.
    All,
}

impl Awaits {
    /// One rank.
    pub fn one(rank: usize) -> Awaits {
        Awaits::Range(rank as u32, 1)
    }
}
