//! The interface of a network between the nodes of a team.
//!
//! A *node* is one process with a team of threads. On a node ranks exchange as ever; between nodes
//! one thread of each (the leader, or one thread a rail) hands a [`Net`] one contiguous piece of
//! memory at a time. So the seam is small, and does not know of element types, operators or ranks:
//! [`Transfer`] has bytes. Reductions are made here, by the same kernels as on one node, in rank
//! order; but for built-in operators on numbers, which the network may combine itself
//! ([`Transfer::AllReduce`]).
//!
//! `phalanx-mpi` is the engine for clusters. [`run_across`](crate::run_across) runs a closure on
//! all nodes' ranks.

pub use crate::number::{NetFold, NetNumber};

use std::fmt;
use std::sync::Arc;

/// A transfer could not be made.
///
/// # Examples
/// ```
/// let e = phalanx_nodes::net::NetError::new("the cable is cut");
/// assert_eq!(e.to_string(), "the cable is cut");
/// ```
#[derive(Clone)]
pub struct NetError {
    what: String,
}

impl NetError {
    /// With this text.
    ///
    /// ```
    /// # use phalanx_nodes::net::NetError;
    /// assert_eq!(NetError::new("no route").to_string(), "no route");
    /// ```
    pub fn new(what: impl Into<String>) -> Self {
        NetError { what: what.into() }
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

phalanx::error_type!(NetError: Self { what });

/// One call of all nodes together, or one message. Nodes are numbered within
/// the [`Net`]; lengths and counts are bytes, one count for each node, blocks one
/// after the other.
///
/// All nodes start the same collective transfers in the same order; lengths
/// agree as they say. Any number of transfers may be under way at once.
///
/// # Examples
/// ```
/// use phalanx_nodes::net::Transfer;
/// let mut x = [1u8, 2];
/// let t = Transfer::Broadcast { root: 0, at: x.as_mut_ptr(), bytes: 2 };
/// assert!(matches!(t, Transfer::Broadcast { bytes: 2, .. }));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Transfer<'a> {
    /// `root`'s bytes to all others.
    Broadcast {
        /// The node that has them.
        root: usize,
        /// Where they are, or shall be.
        at: *mut u8,
        /// How many.
        bytes: usize,
    },
    /// Every node's block to all others, in place: the own one is there.
    AllGather {
        /// All blocks.
        all: *mut u8,
        /// Of each node.
        counts: &'a [usize],
    },
    /// Every node's block to `root`.
    Gather {
        /// The node that collects.
        root: usize,
        /// The own block; on the root it is in its place in `all`.
        mine: *const u8,
        /// On the root: all blocks.
        all: *mut u8,
        /// Of each node.
        counts: &'a [usize],
    },
    /// A block of `root`'s to every node.
    Scatter {
        /// The node that has them.
        root: usize,
        /// On the root: all blocks; the own one stays there.
        all: *const u8,
        /// Elsewhere: where the own block goes.
        mine: *mut u8,
        /// Of each node.
        counts: &'a [usize],
    },
    /// Block `j` to node `j`.
    AllToAll {
        /// Blocks to each node.
        send: *const u8,
        /// Their lengths.
        send_counts: &'a [usize],
        /// Blocks from each node; overlaps `send` nowhere.
        recv: *mut u8,
        /// Their lengths.
        recv_counts: &'a [usize],
    },
    /// Numbers combined element by element, in place. Every node gets the same
    /// bits.
    AllReduce {
        /// The numbers, aligned.
        at: *mut u8,
        /// How many numbers.
        count: usize,
        /// Their type.
        number: NetNumber,
        /// The operator.
        fold: NetFold,
    },
    /// A message; such with one tag arrive in their order.
    Send {
        /// To this node.
        to: usize,
        /// Below [`Net::tags`].
        tag: usize,
        /// The bytes.
        at: *const u8,
        /// How many.
        bytes: usize,
    },
    /// The next message with this tag. Where there is room for no more than 2 KiB,
    /// fewer bytes may come.
    Recv {
        /// From this node.
        from: usize,
        /// Below [`Net::tags`].
        tag: usize,
        /// Where they go.
        at: *mut u8,
        /// How many there is room for.
        bytes: usize,
    },
}

/// A transfer under way.
///
/// Dropped before it is done, it ends the job, or at least touches its memory
/// never again.
pub trait Pending {
    /// Whether it is done; makes progress. Not called again after that.
    ///
    /// # Errors
    /// If it never will be.
    fn test(&mut self) -> Result<bool, NetError>;
}

/// A group of nodes, seen from one of them.
///
/// # Safety
/// - A transfer writes the memory that it names, nothing else, and its memory is touched by
///   nobody after [`Pending::test`] has returned true or the [`Pending`] is dropped.
/// - A transfer delivers the bytes that the other nodes gave it.
/// - All nodes run the same build of the same program: types and their layouts are the same on all.
pub unsafe trait Net: Send + Sync {
    /// How many nodes there are.
    fn nodes(&self) -> usize;

    /// Which of them this is.
    fn node(&self) -> usize;

    /// The name of this node, for people.
    fn name(&self) -> String;

    /// How many tags there are for messages between two nodes.
    fn tags(&self) -> usize;

    /// Starts a transfer. Returns without waiting for other nodes.
    ///
    /// # Errors
    /// If it cannot be made.
    ///
    /// # Safety
    /// - The memory is valid as [`Transfer`] says, for reads and writes, by
    ///   nobody else, until the result is done or dropped.
    unsafe fn start(&self, transfer: Transfer<'_>) -> Result<Box<dyn Pending>, NetError>;

    /// Makes groups of nodes (each a list of this net's, in the order in which
    /// they are to be numbered): for each that this node is in, a net. Called by
    /// one thread of every node, with the same groups; may wait for the other
    /// nodes, and calls `pause` meanwhile: an error of that ends it.
    ///
    /// # Errors
    /// If it cannot be done.
    fn groups(
        &self,
        groups: &[Vec<usize>],
        pause: &mut dyn FnMut() -> Result<(), NetError>,
    ) -> Result<Vec<Option<Arc<dyn Net>>>, NetError>;

    /// The same nodes on resources of their own, for the threads with number
    /// `rail` of all nodes; none for engines without.
    fn rail(&self, rail: usize) -> Option<Arc<dyn Net>> {
        let _ = rail;
        None
    }

    /// Ends the job on all nodes. Said has been why. It need not return; if it
    /// does, transfers under way fail soon on all nodes.
    fn abort(&self);
}
