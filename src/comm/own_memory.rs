//! The memory that the library keeps for one rank.

use super::Comm;

impl Comm {
    /// See [`engine::own_memory`](crate::engine::own_memory).
    pub(crate) fn own_memory(&self) -> Vec<(&'static str, usize, usize)> {
        let (shared, rank) = (self.port.shared(), self.port.rank());
        if !shared.is_apart() {
            return Vec::new();
        }
        let (at, bytes) = shared.inboxes(rank);
        vec![("mailboxes", at, bytes)]
    }
}
