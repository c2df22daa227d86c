//! Waits for words that are not the library's: a rank of an interface that moves data by itself
//! waits as in a call of the library, on the same graph of waits, and is woken like it.

use crate::Comm;
use crate::shared::{LongWait, RankWait, TeamState};
use crate::sync::Arc;
use crate::wait;
use std::fmt;
use std::time::Duration;

/// Waits until `ready`, which rank `peer` makes true, and wakes this one by [`wake`]; by none: any
/// rank of the communicator does, and nothing else. Spins, yields and sleeps as every wait, ends if
/// the peer has left, and with a deadlock once the ranks that may make `ready` true all wait.
///
/// Like any call that fails it throws; so it belongs into [`attempt`](super::attempt).
///
/// # Examples
/// ```
/// use phalanx::engine;
/// use std::sync::atomic::{AtomicBool, Ordering::{Acquire, Release}};
/// let has_come = AtomicBool::new(false);
/// phalanx::run(2, |comm| match comm.rank() {
///     0 => engine::wait(comm, Some(1), &mut || has_come.load(Acquire)),
///     _ => {
///         has_come.store(true, Release);
///         engine::wake(comm, 0);
///     }
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn wait(comm: &mut Comm, peer: Option<usize>, ready: &mut dyn FnMut() -> bool) {
    comm.wait_foreign(peer, &mut || ready());
}

/// Where ranks outnumber cores: lets other threads have the core for a turn, as a [`wait()`] for a
/// rank begins, before the caller says to anybody that it waits. Whether it did: not where ranks
/// have cores of their own, nor where yields have been slow lately and a wait sleeps.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// phalanx::run(2, |comm| {
///     let others_had_the_core: bool = engine::give_way(comm);
///     if others_had_the_core { /* the awaited word may have come: look before waiting */ }
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn give_way(comm: &Comm) -> bool {
    comm.give_way()
}

/// Wakes rank `peer` if it sleeps in [`wait()`], after something has been made true for it.
///
/// **Cost** a fence and a load if it does not sleep; else a system call.
///
/// # Examples
/// See [`wait()`].
#[inline]
pub fn wake(comm: &Comm, peer: usize) {
    comm.wake_foreign(peer);
}

/// Whether ranks of this process have lost much time to other programs lately, so that all wait as
/// beside load. For programs that measure.
///
/// # Examples
/// ```
/// phalanx::run(2, |comm| comm.barrier())?;
/// let _measured_beside_load: bool = phalanx::engine::is_beside_load();
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn is_beside_load() -> bool {
    wait::is_beside_load()
}

/// The waits of a team's ranks, to be looked at by any of them.
///
/// # Examples
/// ```
/// use phalanx::engine::Waits;
/// use std::time::Duration;
/// let waits = phalanx::run(2, |comm| {
///     let waits = Waits::of(comm);
///     waits.set_stall_text(|wait| format!("{wait} (a wait of MPI's)"));
///     // Tests in vain are no wait. After 30 s of them a warning is written.
///     waits.warn_of_tests(comm.rank(), Duration::from_millis(1), || "MPI_Test".into());
///     waits.of_rank(comm.rank())
/// })?;
/// assert_eq!(waits, [None, None]); // no rank has waited for long
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Waits(Arc<TeamState>);

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").finish_non_exhaustive()
    }
}

impl Waits {
    /// Of the ranks of `comm`'s team.
    pub fn of(comm: &Comm) -> Waits {
        Waits(comm.comm_state().world_arc().clone())
    }

    /// From now on `text` makes the warning of a wait that lasts
    /// ([`Builder::stall_warning`](crate::Builder::stall_warning)), of the wait in words: for an
    /// interface that knows more of its ranks. It is called by a rank that waits, once in a run.
    pub fn set_stall_text(&self, text: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.0.set_stall_text(Box::new(text));
    }

    /// Rank `rank`, the calling one, has tested in vain for `time`, in `call`: says so as a wait
    /// does, if that is long enough.
    pub fn warn_of_tests(&self, rank: usize, time: Duration, call: impl FnOnce() -> String) {
        let run = self.0.run();
        if self.0.is_stall(time, run) {
            self.0.warn_of_stall(LongWait::InTests { rank, call: &call() }, run);
        }
    }

    /// The wait that rank `rank` of the team is in, if it has waited for long.
    pub fn of_rank(&self, rank: usize) -> Option<RankWait> {
        self.0.long_wait_of(rank)
    }
}
