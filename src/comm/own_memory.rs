//! The memory that the library keeps for one rank.

use super::Comm;

impl Comm {
    /// See [`engine::own_memory`](crate::engine::own_memory).
    pub(crate) fn own_memory(&self) -> Vec<(&'static str, usize, usize)> {
        let (fabric, rank) = (self.port.fabric(), self.port.rank());
        if !fabric.is_apart() {
            return Vec::new();
        }
        let (at, bytes) = fabric.inboxes(rank);
        vec![("mailboxes", at, bytes)]
    }
}
