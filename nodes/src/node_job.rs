//! A job on several nodes, which a failure ends.

use crate::net::Net;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What all ranks of a job on several nodes have in common, on one of them.
pub(crate) struct NodeJob {
    net: Arc<dyn Net>,
    failed: AtomicBool,
    /// Messages sent to other nodes less messages received from them.
    pub(crate) balance: AtomicU64,
}

impl NodeJob {
    pub(crate) fn new(net: Arc<dyn Net>) -> Self {
        NodeJob { net, failed: AtomicBool::new(false), balance: AtomicU64::new(0) }
    }

    /// Says why, and ends the job on all nodes, if nobody has yet.
    #[cold]
    pub(crate) fn fail(&self, why: &str) {
        if !self.failed.swap(true, Relaxed) {
            eprintln!("phalanx: {}: {why}", self.net.name());
            self.net.abort();
        }
    }
}
