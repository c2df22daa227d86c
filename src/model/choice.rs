//! The automatic choice of an algorithm, by operation, length and number of
//! ranks.
//!
//! Rules of thumb, from measurements at p = 2 (`DESIGN.md`, "Choice") and step
//! counts for more: combining goes through the fused paths as soon as a
//! message no longer fits a cache line, since they touch every word least
//! often; what is only moved goes by the algorithm with the fewest steps whose
//! blocks move once.

use crate::schedule::{Algorithm, Operation};

/// Bytes from which a tree that forwards (log p steps, every block copied up
/// to log p times) loses to p - 1 direct messages (every block copied once).
const DIRECT: usize = 4 << 10;

/// Bytes up to which a vector is combined step by step by few messages rather
/// than by everybody looking at everybody's board, where there are many ranks.
const FEW_LOOKS: usize = 2 << 10;

/// Ranks from which looking at all boards costs more than a tree's steps.
const MANY: usize = 16;

/// The algorithm for `operation` on `bytes` bytes per rank (or block).
#[inline(always)]
pub(crate) fn auto(
    operation: Operation,
    ranks: usize,
    bytes: usize,
    commutative: bool,
    varied: bool,
) -> Algorithm {
    let small = ranks >= MANY && bytes <= FEW_LOOKS;
    let copied = bytes <= crate::mailbox::EAGER;
    match operation {
        Operation::Broadcast => Algorithm::BC_ANY,
        Operation::Reduce if copied || small => Algorithm::RED_ANY,
        Operation::Reduce => Algorithm::RED_FUSED,
        Operation::AllGather => Algorithm::AG_ANY,
        Operation::ReduceScatter if commutative && (copied || small) => Algorithm::RS_ANY,
        Operation::ReduceScatter => Algorithm::RS_FUSED,
        Operation::AllReduce if copied || small => Algorithm::AR_ANY,
        Operation::AllReduce => Algorithm::AR_FUSED,
        Operation::Barrier => Algorithm::BAR_ANY,
        Operation::Scan | Operation::ExclusiveScan => Algorithm::SCAN_HCUBE,
        Operation::Scatter if bytes <= DIRECT => Algorithm::SC_ANY,
        Operation::Scatter => Algorithm::SC_NAIVE,
        Operation::Gather if bytes <= DIRECT => Algorithm::GA_ANY,
        Operation::Gather => Algorithm::GA_NAIVE,
        Operation::AllToAll if bytes <= crate::mailbox::INLINE && ranks >= 8 && !varied => {
            Algorithm::TX_BRUCK
        }
        Operation::AllToAll => Algorithm::TX_ANY,
        Operation::Shift => Algorithm::CS_ANY,
    }
}
