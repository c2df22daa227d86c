//! A run: the world of its ranks, and the communicators that begin with it.

use super::branch::Branches;
use super::comm::Shared;
use super::world::World;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// The state that the ranks of a run share.
#[derive(Debug)]
pub struct Run {
    /// The ranks' messages and waits.
    pub world: Arc<World>,
    /// The communicator of all ranks.
    pub whole: Arc<Shared>,
    /// Communicators that their members are making.
    pub branches: Branches,
}

impl Deref for Run {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Run {
    /// Of so many ranks: see [`World::new`].
    pub fn new(ranks: usize, stall_warning: Option<Duration>) -> Arc<Run> {
        let world = World::new(ranks, stall_warning);
        // The first: its number is that of MPI_COMM_WORLD.
        let whole = Shared::new(&world, (0..ranks).collect());
        Arc::new(Run { world, whole, branches: Branches::default() })
    }
}
