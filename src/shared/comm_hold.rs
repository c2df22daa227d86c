//! A rank's own hold of the words of a communicator.

use super::comm_state::CommState;
use crate::sync::Arc;
use crossbeam_utils::CachePadded;
use std::ops::Deref;

/// See the module documentation.
///
/// An `Arc` of the words is counted on one line for all ranks, which a started call would write
/// when it begins, waits and ends. Holds are counted on a line of the rank's own.
#[derive(Clone)]
pub(crate) struct CommHold(Arc<CachePadded<Arc<CommState>>>);

impl CommHold {
    pub(crate) fn new(words: Arc<CommState>) -> Self {
        CommHold(Arc::new(CachePadded::new(words)))
    }
}

impl Deref for CommHold {
    type Target = Arc<CommState>;

    #[inline(always)]
    fn deref(&self) -> &Arc<CommState> {
        &self.0
    }
}
