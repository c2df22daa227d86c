//! Which algorithm a topology's view uses.

use super::{Algorithm, Operation};
use crate::topology::Extents;

/// The shape of a topology view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// Ranks round a ring.
    Ring,
    /// Ranks along a line.
    Linear,
    /// A mesh or torus of any number of dimensions.
    Mesh(Extents),
    /// A hypercube; the any-p rules where p is no power of two.
    Hypercube,
    /// Ranks at the leaves of a balanced tree.
    Tree,
}

impl Algorithm {
    /// The algorithm that a topology's view uses for `operation`. It serves
    /// every number of ranks and every root; for a mesh the same extents must
    /// be given to the [`Request`](super::Request).
    ///
    /// With `commutative` false only algorithms come that combine in rank
    /// order. Where the shape's own reduce-scatter would mix the order,
    /// another takes its place: on ring and line `RS-LINEAR-NN` (two ports,
    /// the same words), on a hypercube `RS-HCUBE-ASC`, and elsewhere a
    /// reduction to rank 0 followed by a scatter (`RS-RED-SC`,
    /// `RS-MESH-RED-SC`), which costs a factor log p more in words. On a mesh
    /// the reduction goes along the rows first (`RED-MESH-ROWS`).
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Shape};
    /// let all_gather = |p| {
    ///     Algorithm::for_topology(Operation::AllGather, &Shape::Hypercube, p, true)
    /// };
    /// assert_eq!(all_gather(8), Algorithm::AG_HCUBE);
    /// assert_eq!(all_gather(6), Algorithm::AG_ANY);
    /// ```
    pub fn for_topology(
        operation: Operation,
        shape: &Shape,
        ranks: usize,
        commutative: bool,
    ) -> Algorithm {
        match shape {
            Shape::Ring => ring(operation, commutative),
            Shape::Linear => linear(operation, commutative),
            Shape::Mesh(dims) => mesh(operation, dims.dimensions() > 2, commutative),
            Shape::Hypercube if ranks.is_power_of_two() => cube(operation, commutative),
            Shape::Hypercube => any(operation, commutative),
            Shape::Tree => tree(operation, ranks.is_power_of_two(), commutative),
        }
    }
}

fn ring(operation: Operation, commutative: bool) -> Algorithm {
    match operation {
        Operation::Broadcast => Algorithm::BC_RING,
        Operation::Reduce => Algorithm::RED_RING,
        Operation::AllGather => Algorithm::AG_RING,
        Operation::ReduceScatter if !commutative => Algorithm::RS_LINEAR_NN,
        Operation::ReduceScatter => Algorithm::RS_RING,
        Operation::AllReduce => Algorithm::AR_RING,
        Operation::Barrier => Algorithm::BAR_ANY,
        Operation::Scan | Operation::ExclusiveScan => Algorithm::SCAN_CHAIN,
        Operation::Scatter => Algorithm::SC_RING,
        Operation::Gather => Algorithm::GA_RING,
        Operation::AllToAll => Algorithm::TX_RING,
        Operation::Shift => Algorithm::CS_RING,
    }
}

fn linear(operation: Operation, commutative: bool) -> Algorithm {
    match operation {
        Operation::Broadcast => Algorithm::BC_LINEAR,
        Operation::Reduce => Algorithm::RED_LINEAR,
        Operation::AllGather => Algorithm::AG_LINEAR,
        Operation::ReduceScatter if commutative => Algorithm::RS_LINEAR,
        Operation::AllReduce => Algorithm::AR_NAIVE,
        Operation::Scatter => Algorithm::SC_LINEAR,
        Operation::Gather => Algorithm::GA_LINEAR,
        // The wrap-around of the ring rules uses the idle backward links.
        _ => ring(operation, commutative),
    }
}

fn mesh(operation: Operation, many: bool, commutative: bool) -> Algorithm {
    let pick = |flat, deep| if many { deep } else { flat };
    match operation {
        Operation::Broadcast => pick(Algorithm::BC_MESH, Algorithm::BC_MESHD),
        Operation::Reduce if !commutative => Algorithm::RED_MESH_ROWS,
        Operation::Reduce => pick(Algorithm::RED_MESH, Algorithm::RED_MESHD),
        Operation::AllGather => pick(Algorithm::AG_MESH, Algorithm::AG_MESHD),
        Operation::ReduceScatter if !commutative => Algorithm::RS_MESH_RED_SC,
        Operation::ReduceScatter => pick(Algorithm::RS_MESH, Algorithm::RS_MESHD),
        Operation::AllReduce => Algorithm::AR_MESH,
        Operation::Barrier => Algorithm::BAR_ANY,
        Operation::Scan | Operation::ExclusiveScan => Algorithm::SCAN_MESH,
        Operation::Scatter => Algorithm::SC_MESH,
        Operation::Gather => Algorithm::GA_MESH,
        Operation::AllToAll => pick(Algorithm::TX_MESH, Algorithm::TX_MESHD),
        Operation::Shift => Algorithm::CS_MESH_MIN,
    }
}

fn cube(operation: Operation, commutative: bool) -> Algorithm {
    match operation {
        Operation::Broadcast => Algorithm::BC_HCUBE_SRC,
        Operation::Reduce => Algorithm::RED_HCUBE,
        Operation::AllGather => Algorithm::AG_HCUBE,
        Operation::ReduceScatter if !commutative => Algorithm::RS_HCUBE_ASC,
        Operation::ReduceScatter => Algorithm::RS_HCUBE,
        Operation::AllReduce => Algorithm::AR_HCUBE,
        Operation::Barrier => Algorithm::BAR_AR,
        Operation::Scan | Operation::ExclusiveScan => Algorithm::SCAN_HCUBE,
        Operation::Scatter => Algorithm::SC_HCUBE,
        Operation::Gather => Algorithm::GA_HCUBE,
        Operation::AllToAll => Algorithm::TX_HCUBE,
        Operation::Shift => Algorithm::CS_HC_ECUBE,
    }
}

fn any(operation: Operation, commutative: bool) -> Algorithm {
    match operation {
        Operation::Broadcast => Algorithm::BC_ANY,
        Operation::Reduce => Algorithm::RED_ANY,
        Operation::AllGather => Algorithm::AG_ANY,
        Operation::ReduceScatter if !commutative => Algorithm::RS_RED_SC,
        Operation::ReduceScatter => Algorithm::RS_ANY,
        Operation::AllReduce => Algorithm::AR_ANY,
        Operation::Barrier => Algorithm::BAR_ANY,
        Operation::Scan | Operation::ExclusiveScan => Algorithm::SCAN_HCUBE,
        Operation::Scatter => Algorithm::SC_ANY,
        Operation::Gather => Algorithm::GA_ANY,
        Operation::AllToAll => Algorithm::TX_ANY,
        Operation::Shift => Algorithm::CS_ANY,
    }
}

/// On a tree of switches the messages over the top links are what costs: the
/// near-first versions, and the ring's neighbours where there is none.
fn tree(operation: Operation, power_of_two: bool, commutative: bool) -> Algorithm {
    match operation {
        Operation::Broadcast => Algorithm::BC_TREE_LEAF,
        Operation::Reduce => Algorithm::RED_TREE_LEAF,
        Operation::AllGather if power_of_two => Algorithm::AG_HCUBE_DESC,
        Operation::AllGather => Algorithm::AG_RING,
        Operation::ReduceScatter if power_of_two => Algorithm::RS_HCUBE_ASC,
        Operation::ReduceScatter if commutative => Algorithm::RS_RING,
        Operation::AllReduce => Algorithm::AR_NAIVE,
        Operation::Scatter => Algorithm::SC_TREE_LEAF,
        Operation::Gather => Algorithm::GA_TREE_LEAF,
        _ => any(operation, commutative),
    }
}
