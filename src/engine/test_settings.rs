//! What only tests of the library, and of layers on it, ask for.

use crate::wait::know_cores;
use crate::{Builder, Comm};

/// Settings of a team that no program has a use for: methods of [`Builder`].
///
/// # Examples
/// ```
/// use phalanx::engine::TestSettings;
/// assert_eq!(phalanx::Team::builder().ranks(1).counting_from(7).build()?.size(), 1);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub trait TestSettings {
    /// The counters of messages, waits and calls begin from `start`, as if there had been so many,
    /// so that they wrap within a test's time.
    ///
    /// # Examples
    /// ```
    /// use phalanx::engine::TestSettings;
    /// let team = phalanx::Team::builder().ranks(2).counting_from(u32::MAX - 1).build()?;
    /// team.run(|comm| (0..9).for_each(|_| comm.barrier()))?; // they wrap
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    fn counting_from(self, start: u32) -> Self;

    /// From now on this process waits, and chooses its ways, as on a machine with so many cores.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Wait, engine::TestSettings};
    /// let team = phalanx::Team::builder().ranks(2).wait(Wait::Yield).pretending_cores(1000);
    /// team.build()?.run(|comm| comm.barrier())?; // as those of many cores go
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    fn pretending_cores(self, cores: usize) -> Self;
}

impl TestSettings for Builder {
    fn counting_from(mut self, start: u32) -> Self {
        self.start = start;
        self
    }

    fn pretending_cores(self, cores: usize) -> Self {
        know_cores(cores);
        self
    }
}

/// For checks of first touch: the parts of the library's memory that are to lie in this rank's own
/// NUMA node, each with its name, its address and its bytes. Empty where the ranks are not in
/// several nodes, as far as the library knows.
///
/// # Examples
/// ```
/// phalanx::run(2, |comm| {
///     for (name, address, bytes) in phalanx::engine::own_memory(comm) {
///         println!("rank {}: {name}, {bytes} bytes at {address:#x}", comm.rank());
///     }
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn own_memory(comm: &Comm) -> Vec<(&'static str, usize, usize)> {
    comm.own_memory()
}
