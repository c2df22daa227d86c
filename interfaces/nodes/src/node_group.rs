//! The nodes of a communicator.

use crate::layout::NodeLayout;
use crate::net::Net;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The places of the ranks, and the network between them.
pub(crate) struct NodeGroup {
    pub(crate) rank: usize,
    pub(crate) layout: Arc<NodeLayout>,
    pub(crate) net: Arc<dyn Net>,
    /// The own thread's network, with rails.
    pub(crate) rail: Option<Arc<dyn Net>>,
    /// Calls so far.
    pub(crate) calls: AtomicU64,
}
