//! One rank's part of a run: call the closure, catch what it throws, leave.

use crate::Comm;
use crate::error::thrown;
use crate::fabric::{Thread, World, discard};
use crate::sync::catch_unwind;
use std::panic::AssertUnwindSafe;

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
    let body = AssertUnwindSafe(|| body(rank, comm));
    let thread = Thread::here();
    world.sit(rank, thread);
    let result = thread.within(world, run, true, || catch_unwind(body));
    if let Err(payload) = result {
        // The cause first: `poison` keeps the first one that is given.
        let cause = thrown((world.id(), run), rank, payload);
        discard(world.poison(run, rank, cause));
    }
    // The closure may have put another communicator in this one's place, or
    // have lost it in a panic that it caught.
    let intact = comm.fabric_id() == fabric && comm.rank() == rank && !comm.is_dead();
    world.leave(rank, run);
    world.rise(rank);
    intact
}
