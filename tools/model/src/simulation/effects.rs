//! The effects that the simulation adds to t_s + t_w m. Each can be switched off to see its share
//! of the result.

use std::fmt;

/// An effect of real machines that the textbook's model leaves out.
///
/// # Examples
/// ```
/// use phalanx_model::{Effect, Effects};
/// let without = Effects::ALL.without(Effect::Saturation);
/// assert!(without.has(Effect::Levels) && !without.has(Effect::Saturation));
/// assert_eq!(Effect::Saturation.to_string(), "saturation");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// Near cores exchange faster than far ones (core-to-core-latency, per level).
    /// Off: every pair costs the mean over all pairs.
    Levels,
    /// A hand-off takes another time each time, as the pairs of a level do (10th to 90th
    /// percentile). Off: the median.
    Spread,
    /// Ranks go on as soon as they have the data that they need. Off: steps begin together, as in
    /// the textbook.
    Overlap,
    /// A message keeps its sender and its receiver busy (LogP's o; the receiver pulls one line
    /// after the other). Off: messages of one step are free of each other.
    Occupancy,
    /// A core with a message of its own that is still on its way begins to pull the next one only
    /// after it, and from the start (see
    /// [`Transport::turnaround`](phalanx::tuning::Transport::turnaround)).
    Turnaround,
    /// A message with a sender that waits until it is taken goes by a dearer protocol
    /// (see [`Transport::acknowledge_ns`](phalanx::tuning::Transport::acknowledge_ns)).
    Acknowledgement,
    /// Flows that leave or enter an L3, a node or a package share its rate (max-rate model: Gropp,
    /// Olson and Samfass 2016).
    Saturation,
    /// Data that do not fit the cores' share of the cache come from memory.
    Memory,
    /// A line with memory that belongs to another package costs a trip there, even between two
    /// cores of one package (core-to-core-latency issue 97, EPYC).
    Home,
    /// A reader of a line that a core near it has already read pays the way to that core only
    /// (wrBench: Kunpeng 920 31 ns instead of 164).
    ReadSharing,
    /// Each further rank that polls a line makes the store to it dearer; linear, with an
    /// assumed constant, since none was found published.
    Pollers,
    /// Writers of the same line wait for each other.
    SharedWriters,
    /// A sender with memory that a message lends stays in its call until it is told that the
    /// message has been taken (see
    /// [`Transport::lent_from`](phalanx::tuning::Transport::lent_from)).
    Lending,
    /// Direct access as the library has it: a rank that stores to others' memory is busy for as
    /// long, all of them beside each other, and a call ends when the ranks with accessed memory
    /// know that all have finished. Off: a store is a message that its receiver pulls.
    DirectAccess,
}

impl Effect {
    /// All effects.
    pub const ALL: [Effect; 14] = [
        Effect::Levels,
        Effect::Spread,
        Effect::Overlap,
        Effect::Occupancy,
        Effect::Turnaround,
        Effect::Acknowledgement,
        Effect::Saturation,
        Effect::Memory,
        Effect::Home,
        Effect::ReadSharing,
        Effect::Pollers,
        Effect::SharedWriters,
        Effect::Lending,
        Effect::DirectAccess,
    ];
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Effect::Levels => "levels",
            Effect::Spread => "spread",
            Effect::Overlap => "overlap",
            Effect::Occupancy => "occupancy",
            Effect::Turnaround => "turnaround",
            Effect::Acknowledgement => "acknowledgement",
            Effect::Saturation => "saturation",
            Effect::Memory => "memory",
            Effect::Home => "home",
            Effect::ReadSharing => "read-sharing",
            Effect::Pollers => "pollers",
            Effect::SharedWriters => "shared-writers",
            Effect::Lending => "lending",
            Effect::DirectAccess => "direct-access",
        })
    }
}

/// A set of effects.
///
/// # Examples
/// ```
/// use phalanx_model::{Effect, Effects};
/// assert!(Effect::ALL.iter().all(|&e| Effects::ALL.has(e) && !Effects::TEXTBOOK.has(e)));
/// assert_eq!(Effects::TEXTBOOK.with(Effect::Levels).without(Effect::Levels), Effects::TEXTBOOK);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effects(u16);

impl Effects {
    /// Everything.
    pub const ALL: Effects = Effects((1 << Effect::ALL.len()) - 1);
    /// Nothing: t_s + t_w m, step by step.
    pub const TEXTBOOK: Effects = Effects(0);

    /// With one more.
    #[must_use]
    pub const fn with(self, effect: Effect) -> Self {
        Effects(self.0 | 1 << effect as u16)
    }

    /// With one less.
    #[must_use]
    pub const fn without(self, effect: Effect) -> Self {
        Effects(self.0 & !(1 << effect as u16))
    }

    /// Whether an effect is in.
    pub const fn has(self, effect: Effect) -> bool {
        self.0 & 1 << effect as u16 != 0
    }
}

impl Default for Effects {
    fn default() -> Self {
        Effects::ALL
    }
}
