//! Counts of varied blocks, as this rank has given them: said in short, and compared in full.

use super::super::counts::CountFacts;
use super::super::digest::Digest;
use super::{Port, Stop};

impl Port {
    /// The digest of this rank's next call, which has varied blocks of `counts`,
    /// perhaps on a mesh. Once that call is on record, and before it waits for anybody, they
    /// are to be [compared](Port::compare_counts).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn varied(&mut self, counts: &[usize], extents: &[usize]) -> Digest {
        let (digest, is_new) = self.counts.say(counts, extents);
        if is_new {
            self.log_counts(digest, counts, extents);
        }
        digest
    }

    #[cold]
    fn log_counts(&self, digest: Digest, counts: &[usize], extents: &[usize]) {
        let records = self.shared.world().records(self.shared.member(self.rank));
        records.varied(digest, counts, extents);
    }

    /// What follows from `counts`, if this rank has just given these, on no mesh.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn counts_again(&self, counts: &[usize]) -> Option<CountFacts> {
        self.counts.again(counts)
    }

    /// The number of the latest counts, which no others of this communicator have.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn number_of_counts(&self) -> u64 {
        self.counts.number()
    }

    /// Whether the latest counts have yet to be compared with those of the other ranks.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_new_counts(&self) -> bool {
        !self.counts.is_compared()
    }

    /// Compares the latest counts with the other ranks', in full. Does not wait.
    #[cold]
    pub(crate) fn compare_counts(&mut self) -> Result<(), Stop> {
        let (rank, size) = (self.rank, self.size());
        let said = self.shared.counts();
        let compared = self.counts.compare(said, rank, size);
        compared.map_err(|(peer, what)| Stop::Differs { peer, what })
    }
}
