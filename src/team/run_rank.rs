//! One rank's part of a run: call the closure, catch what it throws, leave.

use super::run_body::{RunBody, SmallResult};
use crate::Comm;
use crate::error::thrown;
use crate::shared::{TeamState, Thread, discard};
use crate::sync::catch_unwind;
use crate::wait::give_back;
use std::panic::AssertUnwindSafe;

/// Calls `body` as rank `rank` on the calling thread, which is `thread`, with `place` for a small
/// result.
/// Returns whether the communicator is as good as new, and nothing is recorded.
#[inline(always)]
pub(crate) fn take_part(
    thread: &'static Thread,
    world: &TeamState,
    rank: usize,
    run: u64,
    comm: &mut Comm,
    body: *const RunBody,
    place: &mut SmallResult,
) -> bool {
    let shared = comm.comm_id();
    comm.join_run(thread, run);
    world.records(rank).begin_run();
    // SAFETY: once for each rank of a run, while `Team::run` waits for all of them with what the
    // body was made of.
    let body = AssertUnwindSafe(|| unsafe { RunBody::call(body, rank, comm, place) });
    let result = thread.within(world, run, true, || catch_unwind(body));
    if let Err(payload) = result {
        // The cause first: `poison` keeps the first one that is given.
        let cause = thrown((world.id(), run), rank, payload);
        discard(world.poison(run, rank, cause));
    }
    // The closure may have put another communicator in this one's place, or
    // have lost it in a panic that it caught.
    let intact = comm.comm_id() == shared && comm.rank() == rank && comm.is_plain();
    world.take_back(rank, thread);
    world.leave(rank, run);
    give_back();
    intact
}
