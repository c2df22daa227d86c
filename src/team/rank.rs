//! One rank's part of a run: call the closure, catch what it throws, leave.

use crate::Comm;
use crate::error::{in_a_run, thrown};
use crate::fabric::{World, discard};

/// Calls `body` on rank `rank` and records how it went. Returns whether the
/// communicator is as good as new.
pub(crate) fn take_part(
    world: &World,
    rank: usize,
    run: u64,
    comm: &mut Comm,
    body: &(dyn Fn(usize, &mut Comm) + Sync),
) -> bool {
    let fabric = comm.fabric_id();
    comm.join_run(run);
    world.records(rank).begin_run();
    if let Err(payload) = in_a_run(|| body(rank, comm)) {
        // The cause first: `poison` keeps the first one that is given.
        let cause = thrown(rank, payload);
        discard(world.poison(run, rank, cause));
    }
    // The closure may have put another communicator in this one's place, or
    // have lost it in a panic that it caught.
    let intact = comm.fabric_id() == fabric && comm.rank() == rank && !comm.is_dead();
    world.leave(rank, run);
    intact
}
