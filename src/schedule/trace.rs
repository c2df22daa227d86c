//! A schedule as a list of messages, as the textbook's figures show them.

use crate::sorted::Arrange;
use std::fmt;

use super::operation::Units;
use super::{BlockRange, Contract, Schedule};

/// An amount of words as a multiple of m, in lowest terms.
///
/// # Examples
/// ```
/// use phalanx::schedule::Words;
/// assert_eq!(Words::new(6, 4).to_string(), "3/2");
/// assert_eq!(Words::new(8, 4).to_string(), "2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Words {
    over: u64,
    under: u64,
}

impl Words {
    /// `over / under`; `under` 0 counts as 1.
    pub const fn new(over: u64, under: u64) -> Self {
        let under = if under == 0 { 1 } else { under };
        let (mut a, mut b) = (over, under);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Words { over: over / a, under: under / a }
    }

    /// The numerator.
    pub const fn numerator(self) -> u64 {
        self.over
    }

    /// The denominator.
    pub const fn denominator(self) -> u64 {
        self.under
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.under {
            1 => f.pad(&self.over.to_string()),
            under => f.pad(&format!("{}/{under}", self.over)),
        }
    }
}

/// One message of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The step, counted from 1.
    pub step: usize,
    /// The sender.
    pub src: usize,
    /// The receiver.
    pub dst: usize,
    /// The blocks by number, in the order in which they travel.
    pub blocks: Vec<BlockRange>,
    contract: Contract,
}

impl Message {
    /// The number of words if m of [the cost model](super) is `words`: of the
    /// vector where blocks are its parts, of one block elsewhere.
    pub fn words(&self, words: u64) -> Words {
        let count: usize = self.blocks.iter().map(|r| r.count).sum();
        Words::new(count as u64 * words, self.contract.split as u64)
    }

    /// The blocks as `phalanx trace` prints them: numbers joined by commas; a
    /// whole vector `*`; of a total exchange `origin>destination`. A part s of
    /// a block cut up in the all-port algorithms is written `block.s`.
    pub fn label(&self) -> String {
        let Contract { operation, ranks: p, split, .. } = self.contract;
        let units = operation.units();
        let whole = |b: usize| match units {
            Units::Pairs => format!("{}>{}", b / p, b % p),
            _ => b.to_string(),
        };
        let name = |b: usize| match units {
            Units::One if split > 1 => b.to_string(),
            Units::One | Units::Prefixes => "*".to_string(),
            _ if split == 1 => whole(b),
            _ => format!("{}.{}", whole(b / split), b % split),
        };
        let names: Vec<String> = self.blocks.iter().flat_map(|r| r.range()).map(name).collect();
        names.join(",")
    }
}

/// All messages, sorted by step, sender and receiver.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request, trace};
/// let schedule = Algorithm::SC_HCUBE.schedule(&Request::new(Operation::Scatter, 8))?;
/// let first = trace(&schedule).next().unwrap();
/// assert_eq!((first.step, first.src, first.dst), (1, 0, 4));
/// assert_eq!((first.label().as_str(), first.words(10).to_string().as_str()), ("4,5,6,7", "40"));
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
pub fn trace(schedule: &Schedule) -> impl Iterator<Item = Message> + '_ {
    let contract = *schedule.contract();
    (0..schedule.steps()).flat_map(move |step| {
        (0..contract.ranks).flat_map(move |src| {
            let mut sends = schedule.step(step, src).sends;
            sends.arrange_by_key(|s| s.to);
            let message = move |s: super::Outgoing| Message {
                step: step + 1,
                src,
                dst: s.to,
                blocks: s.blocks,
                contract,
            };
            sends.into_iter().map(message)
        })
    })
}
