//! A job on several nodes, which a failure ends.

use crate::net::Net;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The state that all ranks of a job on several nodes share, on one of them.
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

    /// Says why, and ends the job on all nodes, if no rank of this one has yet.
    #[cold]
    pub(crate) fn fail(&self, why: &str) {
        self.fails_first(why);
    }

    /// The same; whether no rank had.
    #[cold]
    pub(crate) fn fails_first(&self, why: &str) -> bool {
        let is_first = !self.failed.swap(true, Relaxed);
        if is_first {
            eprintln!("phalanx: {}: {why}", self.net.name());
            self.net.abort();
        }
        is_first
    }
}
