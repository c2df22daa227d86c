//! The errors of networks: extents that make none, and schedules that do not fit.

use std::fmt;

use super::{MOST_NODES, Network};
use phalanx::topology::Extents;

/// Why there is no such network.
///
/// # Examples
/// ```
/// use phalanx_model::Network;
/// assert_eq!(
///     Network::named("star", 8, None).unwrap_err().to_string(),
///     "unknown network 'star'; known are ring, linear, mesh, torus, hypercube, tree"
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadNetwork {
    /// No such name.
    Name(String),
    /// No nodes.
    Empty,
    /// More than [`MOST_NODES`] nodes.
    TooLarge(usize),
    /// A hypercube of a number of nodes that is no power of two.
    PowerOfTwo(usize),
    /// A mesh that has another number of nodes.
    Extents {
        /// The mesh.
        extents: Extents,
        /// The number of nodes that was asked for.
        nodes: usize,
    },
    /// Fewer nodes than ranks.
    TooFew {
        /// The nodes.
        nodes: usize,
        /// The ranks.
        ranks: usize,
    },
    /// A rank is placed on a node that does not exist.
    Node {
        /// The rank.
        rank: usize,
        /// The node.
        node: usize,
        /// The number of nodes.
        nodes: usize,
    },
}

impl fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadNetwork::Name(name) => {
                write!(f, "unknown network '{name}'; known are {}", Network::NAMES.join(", "))
            }
            BadNetwork::Empty => f.write_str("a network needs at least one node"),
            BadNetwork::TooLarge(n) => {
                write!(f, "{n} nodes are more than the {MOST_NODES} provided for")
            }
            BadNetwork::PowerOfTwo(n) => {
                write!(f, "a hypercube has a power of two of nodes, and {n} is none")
            }
            BadNetwork::Extents { extents, nodes } => {
                write!(f, "a {extents} mesh has {} nodes, not {nodes}", extents.ranks())
            }
            BadNetwork::TooFew { nodes, ranks } => {
                write!(f, "{ranks} ranks do not fit on {nodes} nodes")
            }
            BadNetwork::Node { rank, node, nodes } => {
                write!(f, "rank {rank} is placed on node {node}, and there are {nodes}")
            }
        }
    }
}

phalanx::error_type!(BadNetwork:
    Self::Name(it), Self::Empty, Self::TooLarge(it), Self::PowerOfTwo(it),
    Self::Extents { extents, nodes }, Self::TooFew { nodes, ranks },
    Self::Node { rank, node, nodes },
);
