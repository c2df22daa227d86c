//! What a communicator has chosen before, and what it says of its choices where they are to be
//! printed (`PHALANX_EXPLAIN=1`).

use crate::exec::copy_way;
use crate::mailbox::EAGER;
use crate::schedule::{Algorithm, Hierarchy, Operation};
use crate::sync::Arc;
use crate::tuning::{Decision, LevelModel, Rates, Tuning};
use std::sync::LazyLock;

/// What was chosen before.
pub(super) struct Decisions {
    /// By operation: the bytes of a rank's vector from which it has no route of its own
    /// among the short ones.
    pub(super) short: [usize; Operation::ALL.len()],
    /// By operation: the bytes from which the library accesses the peers' memory directly,
    /// and the algorithm that does so.
    pub(super) direct: [(usize, Algorithm); Operation::ALL.len()],
    /// By the cost model.
    pub(super) modelled: Vec<(Modelled, Algorithm)>,
    /// By the model of the levels: operation, power of two of the bytes, kind of
    /// operator.
    pub(super) by_levels: Vec<((Operation, u32, bool), Option<Decision>)>,
    /// The groups for the call in progress, if its algorithm is hierarchical.
    pub(super) levels: Option<Arc<Hierarchy>>,
}

/// What the cost model's choice depends on.
#[derive(Clone, PartialEq)]
pub(super) struct Modelled {
    pub(super) rates: Rates,
    pub(super) operation: Operation,
    pub(super) parameter: usize,
    pub(super) words: usize,
    pub(super) commutative: bool,
    pub(super) pairs: bool,
}

/// Choices by the cost model that are kept.
pub(super) const KEPT: usize = 64;

impl Decisions {
    pub(super) fn new(tuning: &Tuning, ranks: usize) -> Self {
        let short = Operation::ALL.map(|operation| {
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
        });
        let direct = Operation::ALL.map(|operation| {
            let direct = tuning.fused_from(operation, ranks).zip(operation.usual().direct);
            direct.unwrap_or((usize::MAX, operation.usual().messages.of(false)))
        });
        Decisions { short, direct, modelled: Vec::new(), by_levels: Vec::new(), levels: None }
    }
}

/// Whether choices are to be printed.
pub(super) fn explains() -> bool {
    static EXPLAINS: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("PHALANX_EXPLAIN").is_some_and(|v| v == "1"));
    let _inside = crate::fork::inside();
    *EXPLAINS
}

/// Says, if choices are to be printed, by what they are made in a team of `ranks`: by the machine's
/// levels, or `Err(why)` not; and the way to copy.
pub(crate) fn explain_team(ranks: usize, levels: Result<&LevelModel, &str>) {
    if !explains() {
        return;
    }
    match levels {
        Ok(model) => eprintln!(
            "phalanx: {ranks} ranks on {} levels of {}: each choice is printed when it is made; {}",
            model.hierarchy().stages(),
            model.costs(),
            copy_way()
        ),
        Err(why) => eprintln!(
            "phalanx: {ranks} ranks: algorithms by operation and length alone \
             (`tuning::Tuning`), as {why}; {}",
            copy_way()
        ),
    }
}

#[cold]
pub(super) fn explain(
    model: &LevelModel,
    operation: Operation,
    bytes: usize,
    decision: Option<&Decision>,
) {
    let (p, costs) = (model.ranks(), model.costs());
    match decision {
        Some(decision) => eprintln!(
            "phalanx: {operation} of {bytes} to {} bytes on {p} ranks: {decision} (the cheapest by \
             estimates; levels of {costs})",
            2 * bytes - 1
        ),
        None => eprintln!("phalanx: {operation} on {p} ranks: by rules, no hierarchical algorithm"),
    }
}
