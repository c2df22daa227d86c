//! Waits for words that are not the library's: a rank of an interface that moves data by itself
//! waits as in a call of the library, on the same graph of waits, and is woken like it.

use crate::Comm;
use crate::fabric::{LongWait, RankWait, TeamState};
use crate::sync::Arc;
use std::fmt;
use std::time::Duration;

/// Waits until `ready`, which rank `peer` makes true, and wakes this one by [`wake`]; by none: any
/// rank does. Spins, yields and sleeps as every wait, ends if the peer has left, and is on the
/// graph of waits if there is a peer: then no other rank may make `ready` true.
///
/// Like any call that fails it throws; so it belongs into [`attempt`](super::attempt).
pub fn wait(comm: &mut Comm, peer: Option<usize>, ready: &mut dyn FnMut() -> bool) {
    comm.wait_foreign(peer, ready);
}

/// Where ranks outnumber cores: lets other threads have the core for a turn, as a [`wait`] for a
/// rank begins, before the caller says to anybody that it waits. Whether it did: not where ranks
/// have cores of their own, nor where yields have been slow lately and a wait sleeps.
pub fn give_way(comm: &Comm) -> bool {
    comm.give_way()
}

/// Wakes rank `peer` if it sleeps in [`wait`], after something has been made true for it.
#[inline]
pub fn wake(comm: &Comm, peer: usize) {
    comm.wake_foreign(peer);
}

/// What the ranks of a team wait for, to be looked at by any of them.
pub struct Waits(Arc<TeamState>);

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").finish_non_exhaustive()
    }
}

impl Waits {
    /// Of the ranks of `comm`'s team.
    pub fn of(comm: &Comm) -> Waits {
        Waits(comm.fabric().world_arc().clone())
    }

    /// From now on `text` makes what is said of a wait that lasts
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

/// The calling thread uses the communicator from now on.
///
/// # Safety
/// All threads that use it do so one after the other, each after the one before has told it so;
/// none of them has a scope of requests open on a communicator of the rank meanwhile.
#[inline]
pub unsafe fn adopt(comm: &mut Comm) {
    // SAFETY: passed on.
    unsafe { comm.adopt() }
}

/// From now on any thread may use the communicator, one of threads of the program's own, and those
/// that are split off it, without being asked whether the thread before has ended.
///
/// # Safety
/// As [`adopt`], of all communicators of the rank.
pub unsafe fn take_turns(comm: &mut Comm) {
    // SAFETY: passed on.
    unsafe { comm.take_turns() }
}

/// As [`adopt`], if the thread may: a communicator of a team's run stays on its rank's thread if
/// the rank has split off others, and is no other rank's; and none goes to another thread while one
/// has a scope of requests open on the rank.
///
/// # Safety
/// As [`adopt`].
pub unsafe fn take(comm: &mut Comm) -> bool {
    comm.take_foreign()
}

/// The rank, of a thread of the program's own, makes no more calls: who waits for it hears of it,
/// on all communicators of the team.
pub fn leave(comm: Comm) {
    comm.leave_run();
}
