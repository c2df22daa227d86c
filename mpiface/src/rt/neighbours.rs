//! What neighbours exchange: each rank gives and takes along its edges.
//!
//! Two ranks may have several edges between them. Of a grid, what is given in one direction is
//! taken from the other one, also where both neighbours are the same rank; so an edge has a
//! direction's number. Of a graph, edges between the same ranks match in their order.
//!
//! The library's plans (`phalanx::Neighborhood`) are not used: they are made once for places of one
//! vector, while each call here may name other buffers, counts and datatypes, and may be one that
//! is completed later.

use super::comm::Comm;
use super::desk::Edge;
use super::error::{Class, Outcome, error};
use super::topo::Topology;
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
