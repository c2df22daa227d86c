//! Graphs of a communicator's ranks.

use super::error::{Class, Outcome, error};
use std::ffi::c_int;

/// A graph that every rank knows whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each rank's neighbours end in `edges`.
    pub index: Vec<c_int>,
    /// The neighbours of all ranks.
    pub edges: Vec<c_int>,
}

impl Graph {
    /// Of these numbers.
    ///
    /// # Errors
    /// If they are no graph.
    pub fn new(index: &[c_int], edges: &[c_int]) -> Outcome<Graph> {
        let is_rising = index.windows(2).all(|it| it[0] <= it[1]);
        if !is_rising || index.first().is_some_and(|it| *it < 0) {
            return error(Class::Arg, "the places where neighbours end do not rise");
        }
        let ranks = 0..index.len() as c_int;
        if let Some(wrong) = edges.iter().find(|it| !ranks.contains(it)) {
            return error(Class::Arg, format!("the neighbour {wrong} is none of {}", index.len()));
        }
        Ok(Graph { index: index.to_vec(), edges: edges.to_vec() })
    }

    /// The neighbours of a rank.
    pub fn neighbours(&self, rank: usize) -> &[c_int] {
        let start = rank.checked_sub(1).map_or(0, |it| self.index[it]);
        &self.edges[start as usize..self.index[rank] as usize]
    }
}

/// One rank's edges of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// The ranks from which edges come, and their weights.
    pub sources: Vec<(c_int, c_int)>,
    /// The ranks to which edges go, and their weights.
    pub targets: Vec<(c_int, c_int)>,
    /// Whether the weights mean something.
    pub is_weighted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_graph() {
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).expect("the standard's example");
        assert_eq!(graph.neighbours(0), [1, 3]);
        assert_eq!(graph.neighbours(3), [0, 2]);
        assert!(Graph::new(&[2, 1], &[0, 1]).is_err());
        assert!(Graph::new(&[1, 2], &[0, 2]).is_err());
    }
}
