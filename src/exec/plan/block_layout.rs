//! Where each block lies, and how long it is, in the memory in which its kind of block is laid out.

use crate::exec::Partition;
use crate::schedule::{Contract, Share};

/// Where the blocks of one rank lie.
pub(super) struct BlockLayout<'a> {
    contract: &'a Contract,
    rank: usize,
    cut: Partition<'a>,
    /// Where blocks begin, if they vary: those sent, of an all-to-all, and those received.
    starts: [Vec<usize>; 2],
}

/// Of a list of lengths: where each begins.
#[inline(never)]
fn starts(counts: &[usize]) -> Vec<usize> {
    let (mut at, mut starts) = (0, Vec::new());
    for n in counts {
        starts.push(at);
        at += n;
    }
    starts
}

impl<'a> BlockLayout<'a> {
    pub(super) fn new(contract: &'a Contract, rank: usize, cut: Partition<'a>) -> Self {
        let starts = match cut {
            Partition::Varied(counts) => [starts(counts), Vec::new()],
            Partition::Pairs { send, recv } => [starts(send), starts(recv)],
            Partition::Vector(_) | Partition::Equal(_) => [Vec::new(), Vec::new()],
        };
        BlockLayout { contract, rank, cut, starts }
    }

    /// Offset and length of block `b` in the memory in which its kind of block
    /// is laid out.
    #[inline(never)]
    pub(super) fn extent(&self, b: usize, home: bool) -> (usize, usize) {
        let split = self.contract.split;
        let (coarse, part) = (b / split, b % split);
        let (offset, len) = self.coarse_extent(coarse, home);
        let (from, to) = (len * part / split, len * (part + 1) / split);
        (offset + from, to - from)
    }

    fn coarse_extent(&self, b: usize, home: bool) -> (usize, usize) {
        let p = self.contract.ranks;
        let op = self.contract.operation;
        // The number of the block within a buffer of all blocks.
        let (index, len) = match (op.has_pairs(), self.cut) {
            (true, cut) => {
                let (origin, destination) = (b / p, b % p);
                let index = if home { origin } else { destination };
                match cut {
                    Partition::Equal(m) => return (index * m, m),
                    Partition::Pairs { send, recv } => {
                        let counts = if home { recv } else { send };
                        return (self.starts[usize::from(home)][index], counts[index]);
                    }
                    _ => unreachable!("a total exchange is cut into pairs"),
                }
            }
            (_, Partition::Vector(m)) => return (0, m),
            (_, Partition::Equal(m)) => (b, m),
            (_, Partition::Varied(counts)) => (b, counts[b]),
            (_, Partition::Pairs { .. }) => unreachable!("pairs are for total exchanges"),
        };
        let share = if home { op.output(true) } else { op.input(true) };
        let whole = share == Share::Blocks;
        let offset = match self.cut {
            _ if !whole => 0,
            Partition::Varied(_) => self.starts[0][index],
            _ => index * len,
        };
        (offset, len)
    }

    #[inline(never)]
    pub(super) fn len(&self, b: usize) -> usize {
        // A forwarded all-to-all block has one length everywhere; for the
        // others both views agree.
        match self.cut {
            Partition::Pairs { .. } => {
                let home = b % self.contract.ranks == self.rank;
                self.extent(b, home).1
            }
            _ => self.extent(b, false).1,
        }
    }
}
