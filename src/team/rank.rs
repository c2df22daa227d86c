//! One rank's part of a run: call the closure, catch what it throws, leave.

use crate::Comm;
use crate::error::Error;
use crate::fabric::{World, discard};
use crate::machine::{Level, Machine};
use crate::tuning::LevelModel;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a rank throws to leave the closure when the run has ended for another
/// reason than a panic of its own. Thrown without calling the panic hook. An
/// error that it carries is the run's.
pub(crate) struct Quit(pub(crate) Option<Error>);

/// What a rank has thrown, as an error; none if it left because of another.
pub(crate) fn thrown(rank: usize, payload: Box<dyn Any + Send>) -> Option<Error> {
    match payload.downcast::<Quit>() {
        Ok(quit) => quit.0,
        Err(payload) => Some(Error::panicked(rank, payload)),
    }
}

thread_local! {
    /// Whether this thread is in a rank's closure.
    static IN_A_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Whether somebody catches what this thread throws, and reports it.
pub(crate) fn is_in_a_run() -> bool {
    IN_A_RUN.get()
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
    let outer = IN_A_RUN.replace(true);
    let result = catch_unwind(AssertUnwindSafe(|| body(rank, comm)));
    IN_A_RUN.set(outer);
    if let Err(payload) = result {
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
