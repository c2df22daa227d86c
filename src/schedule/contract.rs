//! The blocks that each rank has before and after a collective.
//!
//! | operation | blocks | rank `r` starts with | rank `r` ends with |
//! |---|---|---|---|
//! | broadcast | parts of the vector | root: all | all |
//! | reduce | parts of the vector | all (own contribution) | root: all |
//! | all-reduce, barrier | parts of the vector | all | all |
//! | all-gather | one per origin | `r` | all |
//! | reduce-scatter | one per destination | all | `r` |
//! | scatter | one per destination | root: all | `r` |
//! | gather | one per origin | `r` | root: all |
//! | all-to-all | `origin * p + destination` | origin `r` | destination `r` |
//! | shift by `q` | one per origin | `r` | `r - q` |
//! | scan | [`TOTAL`], [`RESULT`], [`OFFSET`], a prefix per rank | total and result | result |
//! | exclusive scan | the same | total | result (none at rank 0) |
//!
//! Every block of this table may be cut further into [`Contract::split`]
//! sub-blocks (the split-message and all-port versions): sub-block `s` of
//! block `b` has the number `b * split + s`. For the whole-vector operations
//! the number of parts *is* `split`.
//!
//! [`OFFSET`]: super::OFFSET

use super::operation::{Held, Units};
use super::{BlockRange, Operation, RESULT, TOTAL};

/// The meaning of a schedule's block numbers.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Contract, Operation, BlockRange};
/// let c = Contract { operation: Operation::AllGather, ranks: 4, root: 0, shift: 0, split: 1 };
/// assert_eq!(c.blocks(), 4);
/// assert_eq!(c.initial(2), [BlockRange::one(2)]);
/// assert_eq!(c.wanted(2), [BlockRange { first: 0, count: 4 }]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Contract {
    /// The operation.
    pub operation: Operation,
    /// The number of ranks, p.
    pub ranks: usize,
    /// The root of a rooted operation, else 0.
    pub root: usize,
    /// The distance of a shift, reduced mod p, else 0.
    pub shift: usize,
    /// Into how many sub-blocks every block is cut; at least 1.
    pub split: usize,
}

impl Contract {
    /// The number of block numbers in use.
    pub fn blocks(&self) -> usize {
        self.split * self.coarse_blocks()
    }

    fn coarse_blocks(&self) -> usize {
        match self.operation.units() {
            Units::One => 1,
            Units::Ranks => self.ranks,
            Units::Pairs => self.ranks * self.ranks,
            Units::Prefixes => 3 + self.ranks,
        }
    }

    fn runs(&self, coarse: impl IntoIterator<Item = usize>) -> Vec<BlockRange> {
        let mut out: Vec<BlockRange> = Vec::new();
        for b in coarse {
            match out.last_mut() {
                Some(last) if last.first + last.count == b * self.split => last.count += self.split,
                _ => out.push(BlockRange { first: b * self.split, count: self.split }),
            }
        }
        out
    }

    fn held(&self, held: Held, rank: usize) -> Vec<BlockRange> {
        let p = self.ranks;
        match held {
            Held::Nothing => vec![],
            Held::All => self.runs(0..self.coarse_blocks()),
            Held::Own => self.runs([rank]),
            Held::Row => self.runs(rank * p..(rank + 1) * p),
            Held::Column => self.runs((0..p).map(|x| x * p + rank)),
            Held::Shifted => self.runs([(rank + p - self.shift % p) % p]),
            Held::Total => self.runs([TOTAL]),
            Held::TotalAndResult => self.runs([TOTAL, RESULT]),
            Held::ResultButFirst if rank == 0 => vec![],
            Held::Result | Held::ResultButFirst => self.runs([RESULT]),
        }
    }

    /// The blocks that `rank` holds before the first step.
    pub fn initial(&self, rank: usize) -> Vec<BlockRange> {
        self.held(self.operation.starts(rank == self.root), rank)
    }

    /// The blocks that `rank` must hold after the last step, complete.
    pub fn wanted(&self, rank: usize) -> Vec<BlockRange> {
        self.held(self.operation.ends(rank == self.root), rank)
    }
}
