//! What neighbours exchange: each rank gives and takes along its edges.
//!
//! Two ranks may have several edges between them. Of a grid, what is given in one direction is
//! taken from the other one, also where both neighbours are the same rank; so an edge has a
//! direction's number. Of a graph, edges between the same ranks match in their order.

use super::comm::Comm;
use super::error::{Class, Error, Outcome, error};
use super::p2p::Req;
use super::topo::Topology;
use super::types::{Place, copy};
use std::ffi::c_int;

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

/// Moves all data; what does not fit is an error of the request of the rank that takes it.
///
/// # Safety
/// All places are memory as their types say, of which nobody uses the targets or writes the
/// sources; all ranks of the communicator are there, in their order.
pub unsafe fn deliver(all: &[(&Exchanged, &Req)]) {
    for (rank, (own, req)) in all.iter().enumerate() {
        for (index, (edge, to)) in own.takes.iter().enumerate() {
            let (peer, number) = *edge;
            let before = own.takes[..index].iter().filter(|it| it.0 == *edge).count();
            let mut given = all[peer].0.gives.iter().filter(|it| it.0 == (rank, number));
            let fail = |text: String| req.fail(Error::new(Class::Truncate, text));
            match given.nth(before) {
                Some((_, from)) if from.bytes() <= to.bytes() => {
                    // SAFETY: the caller's promise.
                    unsafe { copy(from, to) };
                }
                Some((_, from)) => {
                    let (given, room) = (from.bytes(), to.bytes());
                    fail(format!("rank {peer} gives {given} bytes, and {room} are expected"));
                }
                None => fail(format!("rank {peer} has no edge to this one")),
            }
        }
    }
}
