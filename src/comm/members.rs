//! A rank's number, how many there are, and the communicator's own number.

use super::Comm;

/// # The ranks
impl Comm {
    /// This rank's number, `0..size()`.
    ///
    /// ```
    /// assert_eq!(phalanx::run(3, |comm| comm.rank())?, [0, 1, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline(always)]
    pub fn rank(&self) -> usize {
        self.port.rank()
    }

    /// The number of ranks.
    ///
    /// ```
    /// assert_eq!(phalanx::run(3, |comm| comm.size())?, [3, 3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.port.size()
    }

    pub(crate) fn comm_id(&self) -> u64 {
        self.port.id()
    }
}
