//! A rank's place in a communicator: all that a call of its thread, on whichever communicator,
//! needs to go on with the calls that the rank has started there.

use super::comm_hold::CommHold;
use super::comm_state::CommState;
use crate::sync::Arc;
use crate::wait::{Wait, has_woken_neighbour};

/// See the module documentation. The requests of a scope share one. (If each had its own, each
/// would count a hold of the communicator: an atomic instruction, which waits until all that the
/// rank has stored before is in the cache, the notices that its peers look for, too.)
pub(crate) struct RankPlace {
    pub(crate) hold: CommHold,
    pub(crate) rank: usize,
    pub(crate) run: u64,
    pub(crate) wait: Wait,
}

impl RankPlace {
    /// As [`Port::tell`](super::Port::tell).
    pub(crate) fn tell(&self) {
        for peer in (0..self.hold.size()).filter(|&peer| peer != self.rank) {
            self.wake(peer);
        }
    }

    /// This rank has published something for `peer`, which may sleep until any rank does.
    pub(crate) fn wake(&self, peer: usize) {
        let RankPlace { hold, rank, .. } = self;
        let seat = hold.seat(peer);
        let may_sleep = hold.world().is_crowded() || seat.mark().is_set();
        let is_near = || hold.group(peer) == hold.group(*rank);
        if may_sleep && seat.berth().call(*rank, || true) && is_near() {
            has_woken_neighbour();
        }
    }

    /// Its communicator, this rank there, and the run.
    pub(crate) fn whose(&self) -> (&Arc<CommState>, usize, u64) {
        (&self.hold, self.rank, self.run)
    }

    /// Whether this rank has declared that it touches nobody's memory any more.
    pub(crate) fn has_left(&self) -> bool {
        self.hold.is_gone(self.rank, self.run)
    }

    /// Calls `f`, which may run an operator of the user's: if that fails in a call on another
    /// communicator, the rank is not done yet.
    pub(crate) fn in_user_code<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Out<'a>(&'a RankPlace);
        impl Drop for Out<'_> {
            fn drop(&mut self) {
                let shared = &self.0.hold;
                shared.world().line(shared.member(self.0.rank)).leave_user_code();
            }
        }
        self.hold.world().line(self.hold.member(self.rank)).enter_user_code();
        let _out = Out(self);
        f()
    }

    /// Ends the run for a cause that is to follow, and declares that this rank touches nobody's
    /// memory in the communicator any more: it never goes on with the calls that it has started.
    pub(crate) fn give_up(&self) {
        let &RankPlace { ref hold, rank, run, .. } = self;
        let (world, member) = (hold.world(), hold.member(rank));
        drop(world.poison(run, member, None));
        hold.leave(rank);
        // As in `Port::quiesce`.
        if !world.is_inside(member) {
            world.leave(member, run);
        }
        hold.wake_everybody();
    }
}
