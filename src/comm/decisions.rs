//! What a communicator has chosen before.

use crate::mailbox::EAGER;
use crate::schedule::{Algorithm, Hierarchy, Operation};
use crate::sync::Arc;
use crate::tuning::Tuning;

/// An algorithm, and its groups.
type Chosen = (Algorithm, Arc<Hierarchy>);

/// What was chosen before.
pub(super) struct Decisions {
    /// By operation: the bytes of a rank's vector from which it has no route of its own
    /// among the short ones.
    pub(super) short: [usize; Operation::ALL.len()],
    /// By operation: the bytes from which the library accesses the peers' memory directly,
    /// and the algorithm that does so.
    pub(super) direct: [(usize, Algorithm); Operation::ALL.len()],
    /// By the model of the levels: operation, power of two of the bytes, kind of
    /// operator.
    pub(super) by_levels: Vec<((Operation, u32, bool), Option<Chosen>)>,
    /// The groups for the call in progress, if its algorithm is hierarchical.
    pub(super) levels: Option<Arc<Hierarchy>>,
}

impl Decisions {
    pub(super) fn new(tuning: &Tuning, ranks: usize) -> Self {
        let mut short = [0; Operation::ALL.len()];
        let none = (usize::MAX, Operation::Barrier.usual().messages.of(false));
        let mut direct = [none; Operation::ALL.len()];
        // (Not by maps, which are unrolled.)
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            short[at] = short_limit(operation, tuning, ranks);
            let usual = operation.usual();
            let found = tuning.fused_from(operation, ranks).zip(usual.direct);
            direct[at] = found.unwrap_or((usize::MAX, usual.messages.of(false)));
        }
        Decisions { short, direct, by_levels: Vec::new(), levels: None }
    }
}

/// The bytes from which there is no short route.
#[inline(never)]
fn short_limit(operation: Operation, tuning: &Tuning, ranks: usize) -> usize {
    let limit = match operation.base() {
        Operation::Barrier => return usize::MAX,
        Operation::AllReduce => tuning.all_reduce_fused,
        Operation::Broadcast if tuning.is_star_of_few_bytes(ranks) => 0,
        Operation::Broadcast => tuning.broadcast_fused,
        Operation::AllGather => tuning.all_gather_fused,
        // The sizes are those of a block.
        Operation::AllToAll => tuning.all_to_all_fused.saturating_mul(ranks),
        Operation::Scan if tuning.is_chain_of_few_bytes(ranks) => 0,
        Operation::Scan => tuning.scan_fused,
        // Between two ranks: one message, or one in each direction.
        Operation::ReduceScatter if ranks == 2 => tuning.reduce_scatter_fused,
        // Through the gates: all blocks.
        Operation::ReduceScatter => tuning.reduce_scatter_fused.min(EAGER / ranks + 1),
        Operation::Reduce if ranks == 2 => tuning.reduce_fused,
        Operation::Gather if ranks == 2 => tuning.gather_fused,
        Operation::Scatter if ranks == 2 => tuning.scatter_fused,
        _ => 0,
    };
    limit.min(EAGER + 1)
}
