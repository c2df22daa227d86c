//! One rank's part of a run: call the closure, catch what it throws, leave.

use crate::Comm;
use crate::error::Error;
use crate::fabric::{Thread, World, discard};
use crate::machine::{Level, Machine};
use crate::model::LevelModel;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a rank throws to leave the closure when the run has ended for another
/// reason than a panic of its own. Thrown without calling the panic hook.
pub(crate) struct Quit {
    /// The run that is over: the world's id, and the run's number.
    pub(crate) of: (u64, u64),
    /// An error that is the run's of whoever catches this.
    pub(crate) error: Option<Error>,
    /// Why, for whoever catches it in another run.
    pub(crate) text: String,
}

/// What a rank has thrown in run `run` of `world`, as an error; none if it left because
/// that run is over.
pub(crate) fn thrown(
    world: &World,
    run: u64,
    rank: usize,
    payload: Box<dyn Any + Send>,
) -> Option<Error> {
    match payload.downcast::<Quit>() {
        Ok(quit) if quit.error.is_none() && quit.of != (world.id(), run) => {
            let text = format!("(passed on from another run) {}", quit.text);
            Some(Error::panicked(rank, Box::new(text)))
        }
        Ok(quit) => quit.error,
        Err(payload) => Some(Error::panicked(rank, payload)),
    }
}

/// Whether this thread is in a rank's closure.
pub(crate) fn is_in_a_run() -> bool {
    Thread::here().is_in_a_run()
}

/// Where the ranks of a team are, for `split_by` and for reports.
pub(crate) struct Roster {
    pub(crate) machine: Arc<Machine>,
    /// By rank; `None` for a rank that is not bound.
    pub(crate) pus: Vec<Option<usize>>,
    /// What levels cost; none on a machine without.
    pub(crate) model: Option<Arc<LevelModel>>,
    /// For tests: what [`apart`](Roster::apart) answers wherever the ranks are.
    pub(crate) always_apart: bool,
}

impl Roster {
    /// Whether these ranks are bound to cores of several NUMA nodes, so that it
    /// matters whose memory their mailboxes are in. Not where ranks outnumber
    /// processing units: the memory would buy nothing then.
    pub(crate) fn apart(&self, ranks: &[usize]) -> bool {
        let node = |&rank: &usize| {
            let pu = self.pus.get(rank).copied().flatten()?;
            self.machine.group_of(pu, Level::Numa)
        };
        let mut nodes = ranks.iter().filter_map(node);
        let first = nodes.next();
        let crowded = self.pus.len() > self.machine.allowed_pus().len();
        self.always_apart || (!crowded && nodes.any(|node| Some(node) != first))
    }
}

/// Calls `body` on rank `rank`, which `thread`, the calling one, is, and records how it went. Returns whether the
/// communicator is as good as new.
pub(crate) fn take_part(
    thread: &Thread,
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
    let result = thread.within(world, run, true, || catch_unwind(body));
    if let Err(payload) = result {
        // The cause first: `poison` keeps the first one that is given.
        let cause = thrown(world, run, rank, payload);
        discard(world.poison(run, rank, cause));
    }
    // The closure may have put another communicator in this one's place, or
    // have lost it in a panic that it caught.
    let intact = comm.fabric_id() == fabric && comm.rank() == rank && !comm.is_dead();
    world.leave(rank, run);
    intact
}
