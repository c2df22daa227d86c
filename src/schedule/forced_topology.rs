//! The algorithm that a forced topology uses.

use super::{Algorithm, Operation};
use crate::topology::Extents;

/// The shape of a topology view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topology {
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
    /// use phalanx::schedule::{Algorithm, Operation, Topology};
    /// let all_gather = |p| {
    ///     Algorithm::for_topology(Operation::AllGather, &Topology::Hypercube, p, true)
    /// };
    /// assert_eq!(all_gather(8), Algorithm::AG_HCUBE);
    /// assert_eq!(all_gather(6), Algorithm::AG_ANY);
    /// ```
    pub fn for_topology(
        operation: Operation,
        shape: &Topology,
        ranks: usize,
        commutative: bool,
    ) -> Algorithm {
        let usual = operation.usual();
        let pick = match shape {
            Topology::Ring => usual.ring,
            // The wrap-around of the ring rules uses the idle backward links.
            Topology::Linear => usual.linear,
            Topology::Mesh(dims) => usual.mesh[usize::from(dims.dimensions() > 2)],
            // For other numbers of ranks the generalisation.
            Topology::Hypercube => usual.cube[usize::from(!ranks.is_power_of_two())],
            // On a tree of switches the messages over the top links are what costs:
            // the near-first versions, and the ring's neighbours where there is none.
            Topology::Tree => usual.tree[usize::from(!ranks.is_power_of_two())],
        };
        pick.of(commutative)
    }
}
