//! The edges of a grid or graph, by which a rank exchanges data with its neighbours.

use super::error::{Class, Outcome, error};
use super::topo::Topology;
use phalanx::engine::PARTS_AHEAD;
use std::collections::{BTreeSet, HashMap};
use std::ffi::c_int;
use std::ops::Range;

/// An edge: the other rank, and its number at the rank that takes.
pub type Edge = (usize, usize);

/// In one round a rank gives another one no more parts than there is room for before it takes: the
/// parts that it gives, and those that it takes.
pub type Round = (Range<usize>, Range<usize>);

/// A rank's edges in their order, none where a grid ends.
#[derive(Debug, Default)]
pub struct Edges {
    /// From where it takes.
    pub sources: Vec<Option<Edge>>,
    /// To where it gives.
    pub targets: Vec<Option<Edge>>,
    /// The order in which it takes: of each the other rank, and the place among the sources. Two
    /// ranks go along the edges between them in the same order, that of the edges' numbers.
    pub taken: Vec<(usize, usize)>,
    /// The same for the targets.
    pub given: Vec<(usize, usize)>,
    /// One, but where two ranks have very many edges between them.
    pub rounds: Vec<Round>,
    /// Whether there are some, in one round, none to the rank itself: the edges of most calls.
    pub are_plain: bool,
}

/// Existing edges in the order of their rounds and numbers, and where each round ends.
fn ordered(edges: &[Option<Edge>]) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut all: Vec<(usize, Edge)> =
        edges.iter().enumerate().filter_map(|(index, it)| Some((index, (*it)?))).collect();
    all.sort_by_key(|(_, (_, number))| *number);
    let mut before: HashMap<usize, usize> = HashMap::new();
    let mut round = |peer| {
        let count = before.entry(peer).or_default();
        *count += 1;
        (*count - 1) / PARTS_AHEAD
    };
    let mut all: Vec<(usize, (usize, usize))> =
        all.into_iter().map(|(index, (peer, _))| (round(peer), (peer, index))).collect();
    all.sort_by_key(|it| it.0);
    let rounds = all.last().map_or(0, |it| it.0 + 1);
    let ends = (0..rounds).map(|round| all.partition_point(|it| it.0 <= round)).collect();
    (all.into_iter().map(|it| it.1).collect(), ends)
}

/// The ranks at the other ends, each once.
pub fn peers(edges: &[Option<Edge>]) -> Box<[usize]> {
    edges.iter().flatten().map(|it| it.0).collect::<BTreeSet<usize>>().into_iter().collect()
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
        let ((given, gives), (taken, takes)) = (ordered(&made.targets), ordered(&made.sources));
        let part = |ends: &[usize], round: usize| {
            let end = |round| ends.get(round).or(ends.last()).copied().unwrap_or(0);
            round.checked_sub(1).map_or(0, end)..end(round)
        };
        let rounds = 0..gives.len().max(takes.len());
        made.rounds = rounds.map(|it| (part(&gives, it), part(&takes, it))).collect();
        made.are_plain = made.rounds.len() == 1 && given.iter().all(|(peer, _)| *peer != rank);
        (made.given, made.taken) = (given, taken);
        Ok(made)
    }

    fn made(topology: Option<&Topology>, rank: usize) -> Outcome<Edges> {
        match topology {
            Some(Topology::Cart(cart)) => {
                let mut edges = Edges::default();
                for axis in 0..cart.dims().len() {
                    let (before, behind) = cart.shift(rank, axis, 1);
                    for (number, other) in [(2 * axis, before), (2 * axis + 1, behind)] {
                        edges.sources.push(other.map(|it| (it, number)));
                        edges.targets.push(other.map(|it| (it, number ^ 1)));
                    }
                }
                Ok(edges)
            }
            Some(Topology::Graph(graph)) => {
                let all = || numbered(graph.neighbours(rank).iter().copied());
                Ok(Edges { sources: all(), targets: all(), ..Edges::default() })
            }
            Some(Topology::Adjacency(own)) => {
                let all = |list: &[(c_int, c_int)]| numbered(list.iter().map(|it| it.0));
                let (sources, targets) = (all(&own.sources), all(&own.targets));
                Ok(Edges { sources, targets, ..Edges::default() })
            }
            None => error(Class::Topology, "the communicator has no grid or graph"),
        }
    }
}
