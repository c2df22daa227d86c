//! What neighbours exchange: each rank gives and takes along its edges.
//!
//! Two ranks may have several edges between them. Of a grid, what is given in one direction is
//! taken from the other one, also where both neighbours are the same rank; so an edge has a
//! direction's number. Of a graph, edges between the same ranks match in their order.
//!
//! Each edge is served by itself, at the desk of the rank that takes: so a rank waits for its
//! neighbours only. The library's plans (`phalanx::Neighborhood`) are not used: they are made once
//! for places of one vector, while each call here may name other buffers, counts and datatypes, and
//! may be one that is completed later.

use super::comm::{Comm, Shared};
use super::error::{Class, Error, Outcome, Site, end, error};
use super::log::Collective;
use super::ops::Mark;
use super::p2p::{Req, SENT};
use super::topo::Topology;
use super::types::{Place, copy};
use super::word::Word;
use super::world::{Condition, World, lock};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

/// So many bytes are copied by the rank that takes them, if it waits: it takes longer than to wake
/// it.
const LONG: usize = 16 << 10;

/// An edge: the other rank, and its number at the rank that takes.
pub type Edge = (usize, usize);

/// A rank's edges in their order, none where a grid ends.
#[derive(Debug, Default)]
pub struct Edges {
    /// From where it takes.
    pub sources: Vec<Option<Edge>>,
    /// To where it gives.
    pub targets: Vec<Option<Edge>>,
}

impl Edges {
    /// Of the calling rank.
    ///
    /// # Errors
    /// If the communicator has no grid or graph.
    pub fn of(comm: &Comm) -> Outcome<Edges> {
        let plain = |rank: c_int| Some((usize::try_from(rank).ok()?, 0));
        match &comm.topology {
            Some(Topology::Cart(cart)) => {
                let mut edges = Edges::default();
                for axis in 0..cart.dims.len() {
                    for (number, by) in [(2 * axis, -1), (2 * axis + 1, 1)] {
                        let other = cart.neighbour(comm.rank, axis, by);
                        edges.sources.push(other.map(|it| (it, number)));
                        edges.targets.push(other.map(|it| (it, number ^ 1)));
                    }
                }
                Ok(edges)
            }
            Some(Topology::Graph(graph)) => {
                let all = || graph.neighbours(comm.rank).iter().map(|it| plain(*it)).collect();
                Ok(Edges { sources: all(), targets: all() })
            }
            Some(Topology::Adjacency(own)) => {
                let all = |list: &[(c_int, c_int)]| list.iter().map(|it| plain(it.0)).collect();
                Ok(Edges { sources: all(&own.sources), targets: all(&own.targets) })
            }
            None => error(Class::Topology, "the communicator has no grid or graph"),
        }
    }
}

/// What a rank gives and takes, by its edges.
#[derive(Debug, Default)]
pub struct Exchanged {
    /// The rank to which it gives, the edge's number there, and the data.
    pub gives: Vec<(Edge, Place)>,
    /// The rank from which it takes, the edge's number, and where the data goes.
    pub takes: Vec<(Edge, Place)>,
}

/// A call's request, and how many of its edges have yet to be served.
#[derive(Debug)]
struct Deal {
    req: Arc<Req>,
    left: Mutex<usize>,
}

impl Deal {
    /// So many more are served; the last one completes the request. The calling rank is `by`.
    fn settle(&self, world: &World, by: usize, count: usize) {
        // The lock publishes what each of them has copied to whoever completes the request.
        let mut left = lock(&self.left);
        *left -= count;
        if *left == 0 {
            drop(left);
            self.req.complete(world, by, SENT);
        }
    }
}

/// One end of an edge in a call.
#[derive(Debug)]
struct End {
    /// The call's number, the rank that gives, and the edge's number at the other.
    key: (u64, usize, usize),
    call: Collective,
    place: Place,
    deal: Arc<Deal>,
    /// Whether the rank waits, and can copy what is long itself.
    is_awaited: bool,
}

/// Where a rank's incoming edges meet: it lays down what it takes, and its neighbours what they
/// give. The second of both copies, but of long data to a rank that waits: that copies for itself,
/// so that neighbours that exchange copy at the same time.
#[derive(Debug, Default)]
pub struct Desk {
    ends: Mutex<Ends>,
    /// How often something was laid down for the rank to copy: told under the lock.
    brought: Word,
}

#[derive(Debug, Default)]
struct Ends {
    gives: Vec<End>,
    takes: Vec<End>,
    /// What its rank copies: from, to.
    pairs: Vec<(End, End)>,
    brought: u64,
}

impl Desk {
    /// How often something was brought.
    pub fn brought(&self) -> u64 {
        self.brought.told()
    }
}

/// Takes the first with this key out.
fn take_out(ends: &mut Vec<End>, key: (u64, usize, usize)) -> Option<End> {
    let index = ends.iter().position(|it| it.key == key)?;
    Some(ends.remove(index))
}

/// Copies between two ends of one edge, and tells the owner of the other one; what does not fit is
/// an error of the rank that takes it.
///
/// # Safety
/// Both are places as their types say, whose requests are not complete: nobody uses the target or
/// writes the source.
unsafe fn carry(comm: &Comm, give: &End, take: &End) {
    if !give.call.agrees(&take.call) {
        let line = |it: &End| format!("\n  rank {}: {}", it.deal.req.ask.owner, it.call.describe());
        let text = format!("phalanx: calls of one collective differ:{}{}", line(give), line(take));
        end(1, &text);
    }
    let (given, room) = (give.place.bytes(), take.place.bytes());
    if given > room {
        let peer = comm.world_rank(give.key.1);
        let text = format!("rank {peer} gives {given} bytes, and {room} are expected");
        take.deal.req.fail(Error::new(Class::Truncate, text));
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { copy(&give.place, &take.place) };
}

/// Starts an exchange with the neighbours on `comm` for the calling rank; `req` is complete when
/// all of its edges are served. `is_awaited`: the rank calls `serve` until then.
///
/// # Safety
/// The places are memory of the program as their types say, which stays valid and is left alone
/// until `req` is complete.
pub unsafe fn start(
    world: &World,
    comm: &Comm,
    site: Site,
    all: Exchanged,
    is_awaited: bool,
    req: &Arc<Req>,
) {
    let number = comm.next_started();
    let (context, me) = (comm.shared.context, comm.rank);
    let by = comm.world_rank(me);
    let call = Collective { context, number, site, root: None, op: Mark::None, bytes: None };
    let desks = comm.shared.desks();
    let left = Mutex::new(all.gives.len() + all.takes.len() + 1);
    let deal = Arc::new(Deal { req: Arc::clone(req), left });
    let one = |giver: usize, edge: usize, place: Place| End {
        key: (number, giver, edge),
        call,
        place,
        deal: Arc::clone(&deal),
        is_awaited,
    };
    // One more than the edges, so that nobody else completes it while it starts.
    let mut served = 1;
    for ((peer, edge), place) in all.gives {
        let give = one(me, edge, place);
        let mut ends = lock(&desks[peer].ends);
        let Some(take) = take_out(&mut ends.takes, give.key) else {
            ends.gives.push(give);
            continue;
        };
        if take.is_awaited && give.place.bytes() >= LONG {
            ends.pairs.push((give, take));
            ends.brought += 1;
            desks[peer].brought.tell(ends.brought);
            drop(ends);
            world.wake(by, comm.world_rank(peer));
            continue;
        }
        drop(ends);
        // SAFETY: the caller's promise, and that of the call of the other end.
        unsafe { carry(comm, &give, &take) };
        take.deal.settle(world, by, 1);
        served += 1;
    }
    let mut found = Vec::new();
    let mut ends = lock(&desks[me].ends);
    for ((peer, edge), place) in all.takes {
        let take = one(peer, edge, place);
        match take_out(&mut ends.gives, take.key) {
            Some(give) => found.push((give, take)),
            None => ends.takes.push(take),
        }
    }
    drop(ends);
    for (give, take) in found {
        // SAFETY: as above.
        unsafe { carry(comm, &give, &take) };
        give.deal.settle(world, by, 1);
        served += 1;
    }
    deal.settle(world, by, served);
}

/// Copies what was brought for the calling rank, which waits.
pub fn serve(world: &World, comm: &Comm) {
    let pairs = std::mem::take(&mut lock(&comm.shared.desks()[comm.rank].ends).pairs);
    let by = comm.world_rank(comm.rank);
    for (give, take) in pairs {
        // SAFETY: the promise of both calls of `start`.
        unsafe { carry(comm, &give, &take) };
        give.deal.settle(world, by, 1);
        take.deal.settle(world, by, 1);
    }
}

/// A rank that waits for its neighbours.
#[derive(Debug)]
pub struct Exchanging {
    /// The communicator.
    pub shared: Arc<Shared>,
    /// The rank in it.
    pub rank: usize,
    /// How often something had been brought when it looked last.
    pub seen: u64,
    /// Its request.
    pub req: Arc<Req>,
}

impl Condition for Exchanging {
    fn holds(&self) -> bool {
        self.req.is_done() || self.shared.desks()[self.rank].brought() > self.seen
    }

    fn describe(&self) -> String {
        self.req.describe()
    }
}
