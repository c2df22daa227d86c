//! The edges of a grid or graph, by which a rank exchanges data with its neighbours.

use super::error::{Class, Outcome, error};
use super::topo::Topology;
use std::collections::HashMap;
use std::ffi::c_int;

/// An edge: the other rank, and its number at the rank that takes.
pub type Edge = (usize, usize);

/// The numbers of edges that a tag has room for.
pub(super) const EDGES: usize = 0xfff;

/// A rank's edges in their order, none where a grid ends.
#[derive(Debug, Default)]
pub struct Edges {
    /// From where it takes.
    pub sources: Vec<Option<Edge>>,
    /// To where it gives.
    pub targets: Vec<Option<Edge>>,
    /// Whether there are more numbers than a tag has room for.
    pub are_many: bool,
}

/// Edges to or from these ranks, none where there is no such rank.
fn numbered(ranks: impl Iterator<Item = c_int>) -> Vec<Option<Edge>> {
    let mut before: HashMap<usize, usize> = HashMap::new();
    let one = |rank| {
        let rank = usize::try_from(rank).ok()?;
        let number = before.entry(rank).or_default();
        *number += 1;
        Some((rank, *number - 1))
    };
    ranks.map(one).collect()
}

impl Edges {
    /// Of a rank of this grid or graph.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(topology: Option<&Topology>, rank: usize) -> Outcome<Edges> {
        let mut made = Edges::made(topology, rank)?;
        made.are_many = made.targets.iter().flatten().any(|(_, edge)| *edge > EDGES);
        Ok(made)
    }

    fn made(topology: Option<&Topology>, rank: usize) -> Outcome<Edges> {
        match topology {
            Some(Topology::Cart(cart)) => {
                let mut edges = Edges::default();
                for axis in 0..cart.dims.len() {
                    for (number, by) in [(2 * axis, -1), (2 * axis + 1, 1)] {
                        let other = cart.neighbour(rank, axis, by);
                        edges.sources.push(other.map(|it| (it, number)));
                        edges.targets.push(other.map(|it| (it, number ^ 1)));
                    }
                }
                Ok(edges)
            }
            Some(Topology::Graph(graph)) => {
                let all = || numbered(graph.neighbours(rank).iter().copied());
                Ok(Edges { sources: all(), targets: all(), are_many: false })
            }
            Some(Topology::Adjacency(own)) => {
                let all = |list: &[(c_int, c_int)]| numbered(list.iter().map(|it| it.0));
                let (sources, targets) = (all(&own.sources), all(&own.targets));
                Ok(Edges { sources, targets, are_many: false })
            }
            None => error(Class::Topology, "the communicator has no grid or graph"),
        }
    }
}
