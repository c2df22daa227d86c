//! A communicator for some ranks of a team, of which the others need not know.

use super::Comm;
use super::audit::Audit;
use crate::error::Error;
use crate::mailbox::RefusedMemory;
use crate::shared::{CommState, Port};
use crate::sync::Arc;
use crate::sync::diagnostic::{AtomicBool, Ordering::Relaxed};
use std::fmt;

/// What the members of a new communicator share: one of them makes it, each takes its seat. A call
/// of the other ranks, as [`Comm::split`] is for them, is not needed.
///
/// # Examples
/// ```
/// use phalanx::engine::MemberSeats;
/// use std::sync::OnceLock;
/// let seats = OnceLock::new();
/// let places = phalanx::run(4, |comm| {
///     let seats = seats.get_or_init(|| MemberSeats::new(comm, &[3, 1]).unwrap());
///     // SAFETY: a barrier comes before the first use.
///     let own = unsafe { seats.take(comm).unwrap() };
///     comm.barrier();
///     own.map(|mut own| {
///         own.barrier(); // of ranks 3 and 1
///         own.rank()
///     })
/// })?;
/// assert_eq!(places, [None, Some(1), None, Some(0)]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct MemberSeats {
    shared: Arc<CommState>,
    audit: Arc<Audit>,
    /// By place: whether it is taken.
    taken: Vec<AtomicBool>,
}

impl fmt::Debug for MemberSeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberSeats").finish_non_exhaustive()
    }
}

impl MemberSeats {
    /// For these ranks of `comm`, in this order, each once.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough.
    pub fn new(comm: &Comm, members: &[usize]) -> Result<MemberSeats, Error> {
        let parent = comm.port.shared();
        let world = members.iter().map(|&rank| parent.member(rank)).collect();
        let state = CommState::new(parent.world_arc().clone(), world, parent.is_apart());
        let refused = |it: RefusedMemory| Error::refused(members.len(), it.bytes);
        let shared = state.map_err(refused)?.shared();
        let audit = Arc::new(Audit::new(shared.clone(), comm.port.run()));
        let taken = members.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(MemberSeats { shared, audit, taken })
    }

    /// The new communicator, for the rank of `comm`, a communicator of the same team; none if the
    /// rank is no member, or has taken its seat.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough: the seat is taken all the same.
    ///
    /// # Safety
    /// No member uses the new communicator before all have taken their seats, and know it: a seat
    /// puts the rank's mailboxes into its own memory.
    pub unsafe fn take(&self, comm: &Comm) -> Result<Option<Comm>, Error> {
        let me = comm.port.shared().member(comm.port.rank());
        let place = (0..self.shared.size()).find(|&place| self.shared.member(place) == me);
        // Relaxed: of an RMW on one word, and it publishes nothing.
        let free = place.filter(|&place| !self.taken[place].swap(true, Relaxed));
        let Some(place) = free else { return Ok(None) };
        let (run, wait) = (comm.port.run(), comm.port.wait_policy());
        // SAFETY: the place is this rank's, and nobody had taken it.
        let port = unsafe { Port::new(self.shared.clone(), place, run, wait) };
        let refused = |it: RefusedMemory| Error::refused(self.shared.size(), it.bytes);
        let mut port = port.map_err(refused)?;
        port.first_touch();
        Ok(Some(comm.child(port, self.audit.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    #[test]
    fn members_alone_make_a_communicator() {
        let seats = OnceLock::new();
        let sums = crate::run(4, |comm| {
            let seats = seats.get_or_init(|| MemberSeats::new(comm, &[3, 1]).unwrap());
            // SAFETY: a barrier comes before the first use.
            let (own, again) = unsafe { (seats.take(comm).unwrap(), seats.take(comm).unwrap()) };
            assert!(again.is_none());
            comm.barrier();
            own.map(|mut own| {
                let mut sum = [comm.rank()];
                own.all_reduce(&mut sum, crate::op::Sum);
                (own.rank(), own.size(), sum[0])
            })
        });
        assert_eq!(sums.unwrap(), [None, Some((1, 2, 4)), None, Some((0, 2, 4))]);
    }
}
