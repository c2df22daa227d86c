//! What neighbours exchange: each rank gives and takes along its edges.
//!
//! Two ranks may have several edges between them. Of a grid, what is given in one direction is
//! taken from the other one, also where both neighbours are the same rank; so an edge has a
//! direction's number. Of a graph, edges between the same ranks match in their order.
//!
//! Calls that block go by messages of the communicator's own; those that are completed later meet
//! at desks (`desk.rs`).
//!
//! The library's plans (`phalanx::Neighborhood`) are not used: they are made once for places of one
//! vector, while each call here may name other buffers, counts and datatypes, and may be one that
//! is completed later.

use super::coll::Call;
use super::comm::{Comm, Terms};
use super::desk::Edge;
use super::error::{Class, Outcome, error};
use super::p2p::{self, Ask, Envelope, Kind, Mode, PARTS, Req, Send};
use super::parts::{self, Owed};
use super::topo::Topology;
use super::types::Place;
use std::ffi::c_int;

/// A rank's edges in their order, none where a grid ends.
#[derive(Debug, Default)]
pub struct Edges {
    /// From where it takes.
    pub sources: Vec<Option<Edge>>,
    /// To where it gives.
    pub targets: Vec<Option<Edge>>,
}

impl Edges {
    /// Of the calling rank: made once for a communicator.
    ///
    /// # Errors
    /// If the communicator has no grid or graph.
    pub fn of(comm: &Comm) -> Outcome<&Edges> {
        match comm.edges.get() {
            Some(edges) => Ok(edges),
            None => {
                let made = Edges::made(comm)?;
                Ok(comm.edges.get_or_init(|| made))
            }
        }
    }

    fn made(comm: &Comm) -> Outcome<Edges> {
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

/// The numbers of edges that a tag has room for.
const EDGES: usize = 0xfff;

impl Call<'_> {
    /// Gives these places along the edges to targets, and takes what comes along those from
    /// sources, which may be shorter. A message tells the edge's number at the rank that takes, and
    /// the number and function of the call, so that calls that differ find none.
    ///
    /// # Safety
    /// The places are memory as their types say; nobody writes what is given, or uses where it
    /// goes.
    pub unsafe fn exchange_edges(
        &self,
        edges: &Edges,
        gives: impl Fn(usize) -> Place,
        takes: impl Fn(usize) -> Place,
    ) -> Outcome {
        let Call { world, comm, site } = *self;
        let me = comm.world_rank(comm.rank);
        let number = comm.begin(world, site, Terms::default());
        let call = ((number & 0xff) << 23) as i32 | ((site.function() & 0x7ff) << 12) as i32;
        let context = comm.shared.context | PARTS;
        let envelope = |source: usize, edge: usize| Envelope {
            context,
            source: source as i32,
            tag: call | (edge & EDGES) as i32,
        };
        // Two with one tag have to go one way, on which they keep their order.
        let are_many = edges.targets.iter().flatten().any(|(_, edge)| *edge > EDGES);
        let mut owed: Vec<Owed> = Vec::new();
        for (index, edge) in edges.targets.iter().enumerate() {
            let Some((peer, edge)) = *edge else { continue };
            let place = gives(index);
            let to = comm.world_rank(peer);
            let (peer, by, envelope) = (peer as i32, Some(to), envelope(comm.rank, edge));
            let (kind, tag) = (Kind::Send, envelope.tag);
            let ask = Ask { owner: me, site, kind, peer, by, tag, open: None };
            let part = Send { me, to, envelope, place, mode: Mode::Bounded, site };
            let make = || Req::new(ask);
            // SAFETY: the caller's promise; it is awaited before this returns.
            owed.extend(unsafe {
                match are_many {
                    true => p2p::send_by_queue(world, part, make).map(Owed::Request),
                    false => parts::give(world, part, make),
                }
            });
        }
        let mut outcome = Ok(());
        for (index, edge) in edges.sources.iter().enumerate() {
            let Some((peer, edge)) = *edge else { continue };
            let place = takes(index);
            // SAFETY: the caller's promise.
            let taken = unsafe { self.take_some(number, envelope(peer, edge), &place) };
            outcome = outcome.and(taken.map(|_| ()).map_err(|it| *it));
        }
        owed.into_iter().for_each(|it| self.await_part(number, it));
        world.slots[me].log.end();
        outcome
    }
}
