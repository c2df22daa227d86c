//! The end of a run on purpose: from inside, and from outside; and how a loop that makes no other
//! call hears of it.

use super::Comm;
use crate::error::Error;
use crate::shared::{Signature, TeamState, Thread, discard};
use crate::sync::Arc;
use std::fmt;
use std::panic::Location;

/// Ends runs from outside: for Ctrl-C, time limits, servers that shut down.
///
/// A rank hears of it in its next call, or in the call in which it waits (within 10 ms, the longest
/// nap of a parked rank), on whichever communicator of the team; a rank that computes goes on until
/// then. The run ends with [`Error::Cancelled`], as by any other cause: each rank leaves its
/// closure by unwinding, and the team can be used again. A run whose ranks make no further call
/// ends as if nothing had happened.
///
/// Of what it ends there are two sorts:
/// - [`Team::canceller`](crate::Team::canceller): the run under way, **and every later one** before
///   it begins, until [`Team::clear_cancel`](crate::Team::clear_cancel). A cancel that comes
///   between two runs is therefore never lost.
/// - [`Comm::canceller`]: the run in which it was made, and no other; when that is over, `cancel`
///   does nothing.
///
/// A rank that runs another team inside its closure, or waits there, hears of it afterwards.
///
/// # Examples
/// ```
/// use phalanx::{Error, Team};
/// use std::time::Duration;
///
/// let team = Team::builder().ranks(2).build()?;
/// let stop = team.canceller();
/// std::thread::spawn(move || {
///     std::thread::sleep(Duration::from_millis(20)); // or until Ctrl-C
///     stop.cancel();
/// });
/// let endless = team.run(|comm| loop {
///     comm.barrier();
/// });
/// let endless: Result<Vec<()>, Error> = endless;
/// assert!(matches!(endless, Err(Error::Cancelled { rank: None })));
/// assert!(team.run(|_| ()).is_err(), "still cancelled");
/// team.clear_cancel();
/// team.run(|comm| comm.barrier())?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Canceller {
    world: Arc<TeamState>,
    /// The number of the last run that it ends.
    last: u64,
}

impl Canceller {
    /// Ends runs of `world` up to number `last`.
    pub(crate) fn new(world: Arc<TeamState>, last: u64) -> Self {
        Canceller { world, last }
    }

    /// Ends the run; see the [type](Canceller). Returns at once; a second call changes nothing.
    ///
    /// Takes no lock and allocates nothing: a signal handler may call it.
    ///
    /// ```
    /// let error = phalanx::run(2, |comm| {
    ///     if comm.rank() == 1 {
    ///         comm.canceller().cancel();
    ///     }
    ///     comm.barrier();
    /// });
    /// assert!(matches!(error, Err(phalanx::Error::Cancelled { .. })));
    /// ```
    pub fn cancel(&self) {
        self.world.cancel(self.last);
    }

    /// Whether it has been cancelled: for loops that make no call.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(1).build()?;
    /// let stop = team.canceller();
    /// assert!(!stop.is_cancelled());
    /// stop.cancel();
    /// assert!(stop.clone().is_cancelled());
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.world.is_cancelled(self.last)
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("is_cancelled", &self.is_cancelled()).finish()
    }
}

/// # Ends of a run
impl Comm {
    /// Ends the run for all ranks, with [`Error::Cancelled`], which names this rank.
    ///
    /// It returns: this rank, as all others, leaves its closure by unwinding in its next call, on
    /// whichever communicator, or returns. (On a sub-communicator it is the whole run that ends.)
    /// If the run that the communicator belongs to is over, nothing happens, nor on another thread
    /// than its rank's (for that there is [`canceller`](Comm::canceller)). To end a run *with an
    /// error of one's own*, return that from [`Team::try_run`](crate::Team::try_run).
    ///
    /// # Examples
    /// ```
    /// let error = phalanx::run(3, |comm| {
    ///     for step in 0.. {
    ///         if comm.rank() == 1 && step == 5 {
    ///             comm.cancel();
    ///         }
    ///         comm.barrier();
    ///     }
    /// });
    /// assert_eq!(error.unwrap_err().to_string(), "rank 1 cancelled the run");
    /// ```
    pub fn cancel(&self) {
        let (shared, run) = (self.port.shared(), self.port.run());
        let (world, member) = (shared.world(), shared.member(self.port.rank()));
        // Poison is for a run under way: what fails with it would be hit too late.
        if self.roster.is_some() && !Thread::here().is_in(world, run) {
            return;
        }
        let error = Error::Cancelled { rank: Some(member) };
        discard(world.poison(run, member, Some(error)));
    }

    /// Leaves the closure if the run is over, as every call does; otherwise it does nothing, and
    /// waits for nobody. For loops that wait for something else than a call of the library: an
    /// atomic of a [window](Comm::shared_atomic), a channel, a lock. Without a call such a loop
    /// goes on for ever if the rank that it waits for has failed; no cancel or deadline ends it.
    ///
    /// (A rank that has *returned* ends the run only when a call waits for it.)
    ///
    /// **Cost** a comparison. Where ranks outnumber cores it gives the core to others.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::Ordering::*;
    /// let out = phalanx::run(2, |comm| {
    ///     let ready = comm.shared_atomic::<bool>(1);
    ///     if comm.rank() == 0 {
    ///         ready.part(1)[0].store(true, Release); // or a panic, which ends rank 1's loop, too
    ///     } else {
    ///         while !ready.mine()[0].load(Acquire) {
    ///             comm.check();
    ///         }
    ///     }
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn check(&mut self) {
        static SIG: Signature = Signature::of::<()>("check", "");
        if self.check_usable((&SIG, Location::caller())) {
            self.port.let_others_run();
        }
    }

    /// Ends this run from elsewhere: for a time limit, or a rank's own helper threads.
    ///
    /// Once the run is over it does nothing. For all runs of a team there is
    /// [`Team::canceller`](crate::Team::canceller).
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Error, Team};
    /// use std::time::Duration;
    ///
    /// let team = Team::builder().ranks(2).build()?;
    /// let result: Result<Vec<()>, Error> = team.run(|comm| {
    ///     if comm.rank() == 0 {
    ///         let limit = comm.canceller();
    ///         std::thread::spawn(move || {
    ///             std::thread::sleep(Duration::from_millis(20));
    ///             limit.cancel(); // too late for any later run
    ///         });
    ///     }
    ///     loop {
    ///         comm.barrier();
    ///     }
    /// });
    /// assert!(matches!(result, Err(Error::Cancelled { rank: None })));
    /// team.run(|comm| comm.barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn canceller(&self) -> Canceller {
        Canceller::new(self.port.shared().world_arc().clone(), self.port.run())
    }
}
