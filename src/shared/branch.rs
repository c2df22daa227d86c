//! The creation of a communicator for a part of a communicator's ranks.
//!
//! The first rank of the group makes the words and shows them on its board;
//! each member takes its seat, puts its inboxes into its own memory, and says
//! that it is done. Nobody leaves before all ranks of the parent are done, so
//! nobody sends before every inbox is where it belongs.

use super::{CommState, Port, Stop};
use crate::sync::Arc;
use crate::sync::diagnostic::{AtomicBool, Ordering::Relaxed};

/// The seats that the first rank of a group has ready for each of its members.
struct Seats<X> {
    shared: Arc<CommState>,
    /// The common part of the members beside it.
    common: X,
    /// By place: whether it is taken.
    taken: Vec<AtomicBool>,
}

impl Port {
    /// This rank's port in a new communicator of the ranks `group`, of which it
    /// is one, in the call in progress. Every rank of this communicator calls it,
    /// each with its group; `apart` as in [`CommState::new`]. After an error the
    /// port is dead. `common` makes, once, the value that all members get a clone of.
    pub(crate) fn branch<X: Clone + Sync>(
        &mut self,
        group: &[usize],
        apart: bool,
        common: impl FnOnce(&Arc<CommState>) -> X,
    ) -> Result<(Port, X), Stop> {
        let seats = (group.first() == Some(&self.rank())).then(|| {
            let parent = self.shared();
            let members = group.iter().map(|&r| parent.member(r)).collect();
            let shared = CommState::new(parent.world_arc().clone(), members, apart)?.shared();
            let taken = group.iter().map(|_| AtomicBool::new(false)).collect();
            Ok(Seats { common: common(&shared), shared, taken })
        });
        let seats = match seats.transpose() {
            Ok(seats) => seats,
            Err(refused) => {
                self.quiesce();
                return Err(Stop::Refused(refused));
            }
        };
        let own = seats.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let port = self.take_seat(group, own);
        if port.is_err() {
            // Before `seats` goes: a member may be looking at it.
            self.quiesce();
        }
        port
    }

    fn take_seat<X: Clone>(
        &mut self,
        group: &[usize],
        own: *const Seats<X>,
    ) -> Result<(Port, X), Stop> {
        let (run, wait) = (self.run(), self.wait_policy());
        let place = own.cast_mut().cast();
        let shown = if own.is_null() {
            self.show(place, std::ptr::null_mut(), 0);
            self.notice_alone(group[0], None)?.a.cast()
        } else {
            self.show_alone(place, std::ptr::null_mut(), 0);
            own
        };
        let place = group.iter().position(|&r| r == self.rank()).ok_or(Stop::Poisoned)?;
        // SAFETY: the group's first rank shows its `Seats` (same fingerprint, made by the same
        // call) and keeps them until all have finished.
        let seats: &Seats<X> = unsafe { &*shown };
        // A place is taken twice only if the ranks' groups contradict each
        // other, which one all-gather's result does not. Relaxed: of an RMW on
        // one word, and it publishes nothing.
        if seats.taken[place].swap(true, Relaxed) {
            return Err(Stop::Poisoned);
        }
        // SAFETY: the state is new, and place `place` is this rank's alone.
        let port = unsafe { Port::new(seats.shared.clone(), place, run, wait) };
        let mut port = port.map_err(Stop::Refused)?;
        port.first_touch();
        let common = seats.common.clone();
        self.finish();
        self.close()?;
        Ok((port, common))
    }
}
