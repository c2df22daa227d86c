//! The memory that the library keeps for one rank.

use super::Comm;

impl Comm {
    /// For checks of first touch: the parts of the library's memory that are to lie in this rank's
    /// own NUMA node, each with its name, its address and its bytes. Empty where the ranks are not
    /// in several nodes, as far as the library knows.
    #[doc(hidden)]
    pub fn own_memory(&self) -> Vec<(&'static str, usize, usize)> {
        let (fabric, rank) = (self.port.fabric(), self.port.rank());
        if !fabric.is_apart() {
            return Vec::new();
        }
        let (at, bytes) = fabric.inboxes(rank);
        vec![("mailboxes", at, bytes)]
    }
}
