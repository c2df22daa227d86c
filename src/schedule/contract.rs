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

    /// So many coarse blocks in a row.
    fn run(&self, first: usize, count: usize) -> Vec<BlockRange> {
        match count * self.split {
            0 => vec![],
            count => vec![BlockRange { first: first * self.split, count }],
        }
    }

    fn held(&self, held: Held, rank: usize) -> Vec<BlockRange> {
        let p = self.ranks;
        match held {
            Held::Nothing => vec![],
            Held::All => self.run(0, self.coarse_blocks()),
            Held::Own => self.run(rank, 1),
            Held::Row => self.run(rank * p, p),
            Held::Column if p == 1 => self.run(0, 1),
            Held::Column => {
                let mut column = Vec::new();
                for x in 0..p {
                    column.extend(self.run(x * p + rank, 1));
                }
                column
            }
            Held::Shifted => self.run((rank + p - self.shift % p) % p, 1),
            Held::Total => self.run(TOTAL, 1),
            Held::TotalAndResult => self.run(TOTAL, 2),
            Held::ResultButFirst if rank == 0 => vec![],
            Held::Result | Held::ResultButFirst => self.run(RESULT, 1),
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
