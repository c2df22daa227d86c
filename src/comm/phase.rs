//! Phases of the user's program, in a record of the run.

use super::Comm;
use std::panic::Location;

impl Comm {
    /// Calls `f`, which is a phase of the program with a name. Where the run is recorded
    /// ([`Builder::record`](crate::Builder::record)), `phalanx waits` says for each phase how long
    /// each rank worked and waited in it, and what its imbalance costs. Phases may be nested. Ranks
    /// need not agree about them.
    ///
    /// **Cost** a comparison where nothing is recorded, else an event. Does not wait.
    ///
    /// # Examples
    /// ```
    /// let sums = phalanx::run(2, |comm| {
    ///     let mine = comm.phase("assembly", |comm| comm.rank() + 1);
    ///     comm.phase("solve", |comm| comm.sum([mine])[0])
    /// })?;
    /// assert_eq!(sums, [3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn phase<R>(&mut self, name: &'static str, f: impl FnOnce(&mut Comm) -> R) -> R {
        let own = self.port.id();
        let phase = self.port.begin_phase(name, Location::caller());
        let result = f(self);
        // The closure may have put another communicator in this one's place.
        if self.port.id() == own {
            self.port.end_phase(phase);
        }
        result
    }
}
