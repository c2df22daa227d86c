//! Communicators that only their members make: the first that comes makes the shared part, and
//! leaves it for the others under a key that they all know.

use super::comm::Shared;
use super::mutex::lock;
use super::standings::{Condition, Standings};
use std::collections::HashMap;
use std::ffi::c_int;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

/// The key that the members of a new communicator know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Of MPI_Comm_create_group: a communicator, a tag, and the members.
    Group(u32, c_int, Vec<usize>),
    /// Of MPI_Comm_idup: a communicator, and the number of the next object that is made of it.
    Duplicate(u32, u64),
    /// Of a request that is started many times: the same.
    Persistent(u32, u64),
}

/// The groups of two leaders. Both know a communicator, each other (the smaller first), and a tag.
type Bridge = (u32, usize, usize, c_int);

#[derive(Debug)]
struct StartedComm {
    shared: Arc<Shared>,
    /// Members that have it.
    taken: usize,
}

/// One leader's group, and the communicator that the other makes of both.
#[derive(Debug)]
struct Half {
    members: Vec<usize>,
    made: Arc<MadeComm>,
}

/// Both groups, or none if they are not apart.
type MadeComm = OnceLock<Option<Arc<Shared>>>;

/// The communicators that are being made.
#[derive(Debug, Default)]
pub struct Branches {
    started: Mutex<HashMap<Key, StartedComm>>,
    halves: Mutex<HashMap<Bridge, Half>>,
}

/// A leader's wait for the other.
struct Leader(Arc<MadeComm>, usize);

impl Condition for Leader {
    fn holds(&self) -> bool {
        self.0.get().is_some()
    }

    fn describe(&self) -> String {
        format!("rank {}, the leader of the other group, to call it", self.1)
    }
}

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leader({})", self.1)
    }
}

impl Branches {
    /// The shared part of the new communicator, for one of so many members; `make` makes it.
    pub fn take(
        &self,
        key: Key,
        members: usize,
        make: impl FnOnce() -> Arc<Shared>,
    ) -> Arc<Shared> {
        let mut all = lock(&self.started);
        let entry = all.entry(key.clone());
        let entry = entry.or_insert_with(|| StartedComm { shared: make(), taken: 0 });
        entry.taken += 1;
        let shared = Arc::clone(&entry.shared);
        if entry.taken == members {
            all.remove(&key);
        }
        shared
    }

    /// Joins the groups of the leaders `me` and `other`: the shared part for both, the group of
    /// the leader that came first before the other; none if a rank is in both.
    pub fn join(
        &self,
        world: &Standings,
        site: super::error::Site,
        (context, tag): (u32, c_int),
        (me, other): (usize, usize),
        members: Vec<usize>,
    ) -> Option<Arc<Shared>> {
        let bridge = (context, me.min(other), me.max(other), tag);
        let mut halves = lock(&self.halves);
        if let Some(first) = halves.remove(&bridge) {
            drop(halves);
            let is_apart = members.iter().all(|it| !first.members.contains(it));
            let both = || Shared::new(world, [first.members.clone(), members].concat());
            let made = is_apart.then(both);
            let _ = first.made.set(made.clone());
            world.wake(me, other);
            return made;
        }
        let made = Arc::new(MadeComm::new());
        halves.insert(bridge, Half { members, made: Arc::clone(&made) });
        drop(halves);
        let condition = || Arc::new(Leader(Arc::clone(&made), other)) as _;
        world.wait(me, site, Some(other), || made.get().is_some(), condition);
        made.get().cloned().flatten()
    }
}
