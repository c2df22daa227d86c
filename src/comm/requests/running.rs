//! The part that any started call has, whichever call of its thread goes on with it.

use crate::exec::board::started::WorkDesk;
use crate::shared::{
    CommState, Disagreement, Envelope, Owed, Place, Port, RankPlace, Signature, Ticket,
};
use crate::sync::Arc;
use std::any::Any;

/// Why a request cannot be completed.
pub(crate) enum Failure {
    /// A peer has started another call than this rank of the communicator, in the run.
    Disagrees(Box<Disagreement>),
    /// An operator has panicked.
    Panicked(Box<dyn Any + Send>),
    /// The run is over.
    Over,
}

/// A communicator, a rank there, and a run.
pub(crate) type Whose = (Arc<CommState>, usize, u64);

/// A call that was started: it goes on wherever its rank waits, and owes its peers that it does.
/// `at` is the rank's place in the communicator.
pub(crate) trait Running {
    /// Goes on as far as it can without waiting; whether it is complete. Not called again once it
    /// is, or has failed.
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure>;

    /// The work of it that peers may wait for, from its start on.
    fn owed(&self) -> Owed {
        Owed::Nothing
    }

    /// Whether peers may still wait that this rank publishes something for it.
    fn owes(&self) -> bool;

    /// It has met so many ranks, in its present stage.
    fn passed(&self) -> usize {
        0
    }

    /// Where the rank can wait until this may go on.
    fn place(&self, at: &RankPlace) -> Place;

    /// The rank that is awaited there.
    fn awaited(&self, at: &RankPlace) -> usize;

    /// That rank, if it has left: it never comes.
    fn left(&self, at: &RankPlace) -> Option<usize>;

    /// Makes this the call in progress of its port, for errors.
    fn blame(&self, port: &mut Port);

    /// The called operation.
    fn sig(&self, at: &RankPlace) -> &'static Signature;

    /// The rank that has completed it, if that was not known before.
    fn source(&self, _at: &RankPlace) -> Option<usize> {
        None
    }

    /// Of an early receive that is set up: the message that has come, or the ticket that it is
    /// posted with.
    fn settle(&mut self, _: Result<Envelope, Arc<Ticket>>) {}

    /// Waits, after the rank has [given up](RankPlace::give_up), until nobody touches its memory.
    fn quiesce(&self, at: &RankPlace);
}

/// A running call, and its request's result.
pub(crate) trait Underway {
    fn running(&self) -> &dyn Running;

    fn running_mut(&mut self) -> &mut dyn Running;

    /// As [`Running::advance`].
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        self.running_mut().advance(desk)
    }

    /// Hands its result out.
    ///
    /// # Safety
    /// It is complete, and there is room for the result of its kind of request at `to`.
    unsafe fn give(self: Box<Self>, to: *mut u8);
}
