//! Phases of the user's program, in a record of the run.

use super::{Cart, Comm};
use std::panic::Location;

/// # Records
impl Comm {
    /// Calls `f`, which is a phase of the program with a name. Where the run is recorded
    /// ([`Builder::record`](crate::Builder::record)), `phalanx waits` says for each phase how long
    /// each rank worked and waited in it, and what its imbalance costs. Phases may be nested. Ranks
    /// need not agree about them. A grid has [its own](Cart::phase).
    ///
    /// With the crate feature `tracing`, the phase is a span of the crate of that name (level INFO,
    /// target `phalanx`, fields `phase` and `rank`), recorded or not. Calls and waits of at least
    /// 60 to 200 ns are events of level TRACE, with the user's line, in teams that are built while
    /// a subscriber wants these, or that are recorded. A recorded call then costs as much more as
    /// the subscriber does. Users of `log` enable the feature `log` of `tracing`.
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
    ///
    /// // With the feature `tracing`, a line of standard output for each call and wait:
    /// # #[cfg(feature = "tracing")] {
    /// tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).init();
    /// phalanx::run(2, |comm| comm.phase("meeting", |comm| comm.barrier()))?;
    /// // TRACE phase{phase="meeting" rank=0}: phalanx: barrier rank=0 comm=.. at=src/main.rs:7:54
    /// # }
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn phase<R>(&mut self, name: &'static str, f: impl FnOnce(&mut Comm) -> R) -> R {
        in_phase(self, |comm| comm, name, Location::caller(), f)
    }
}

impl Cart<'_> {
    /// [`Comm::phase`] of a grid: the closure is given the grid.
    ///
    /// # Examples
    /// ```
    /// use phalanx::dist::Halo;
    /// let halo = Halo::new(&[1], 1);
    /// let fields = phalanx::run(3, |comm| {
    ///     let mut u = [0, comm.rank() + 1, 0];
    ///     let mut grid = comm.cart(&[0], &[false]);
    ///     grid.phase("halo", |grid| grid.exchange_halo(&mut u, &halo));
    ///     u
    /// })?;
    /// assert_eq!(fields, [[0, 1, 2], [1, 2, 3], [2, 3, 0]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn phase<R>(&mut self, name: &'static str, f: impl FnOnce(&mut Self) -> R) -> R {
        in_phase(self, |grid| grid.comm, name, Location::caller(), f)
    }
}

/// Calls `f` of `it`, of which `comm` is the communicator, as a phase.
#[inline]
fn in_phase<C, R>(
    it: &mut C,
    comm: impl Fn(&C) -> &Comm,
    name: &'static str,
    at: &'static Location<'static>,
    f: impl FnOnce(&mut C) -> R,
) -> R {
    #[cfg(feature = "tracing")]
    let _span = super::spans::phase(comm(it).port.member(), name);
    let own = comm(it).port.id();
    let phase = comm(it).port.begin_phase(name, at);
    let result = f(it);
    // The closure may have put another communicator in this one's place.
    if comm(it).port.id() == own {
        comm(it).port.end_phase(phase);
    }
    result
}
