//! The machine as a tree: the machine is the root, cores are the leaves, and the inner vertices are
//! objects that at least two cores share.
//!
//! Sets that hold the same cores (a package with one NUMA node and one L3 cache) are one vertex
//! with several names; sets of a single core are no vertices, as nothing is shared between cores
//! there.

use crate::sorted::{Arrange, Listed};
use std::ops::Range;

use super::level::Level;
use super::mask::format_list;

/// A vertex of the [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vertex {
    /// The vertex above; `None` for the root.
    pub parent: Option<usize>,
    /// How far below the root: 0 for the root itself.
    pub depth: usize,
    /// The levels whose groups have exactly these cores, outermost first. Empty for the root of a
    /// machine with several packages, apart from [`Level::Machine`] which the root always has.
    pub levels: Vec<Level>,
    /// The cores below, in logical order: always a contiguous range.
    pub cores: Range<usize>,
    /// The vertices directly below, in logical order. Cores may hang here beside them.
    pub children: Vec<usize>,
}

/// The tree of shared resources above the cores. Vertex 0 is the whole machine; a parent comes
/// before its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    vertices: Vec<Vertex>,
    /// The innermost vertex above each core.
    above: Vec<usize>,
}

impl Tree {
    /// The vertices; the first is the root.
    #[must_use]
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// The innermost vertex above a core, given in logical order.
    ///
    /// # Panics
    ///
    /// If there is no such core.
    #[must_use]
    pub fn above(&self, core: usize) -> usize {
        self.above[core]
    }

    /// The vertices above a core, the root first.
    #[must_use]
    pub(crate) fn path(&self, core: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = Some(self.above[core]);
        while let Some(vertex) = at {
            path.push(vertex);
            at = self.vertices[vertex].parent;
        }
        path.reverse();
        path
    }

    /// The innermost vertex above both cores, given in logical order.
    ///
    /// # Panics
    ///
    /// If there is no such core.
    #[must_use]
    pub fn common(&self, a: usize, b: usize) -> usize {
        let mut vertex = self.above[a];
        while !self.vertices[vertex].cores.contains(&b) {
            match self.vertices[vertex].parent {
                Some(parent) => vertex = parent,
                None => break,
            }
        }
        vertex
    }

    /// Grows the tree from sets of cores, and gives the logical order: position to core as found.
    ///
    /// `cores` holds the sorted processing units of each core, `sets` the sorted cores of each set.
    pub(super) fn grow(
        cores: &[Vec<usize>],
        sets: &[(Level, Vec<usize>)],
        warnings: &mut Vec<String>,
    ) -> (Tree, Vec<usize>) {
        // Vertices as (parent, cores, levels), the root first.
        let mut found: Vec<(Option<usize>, Vec<usize>, Vec<Level>)> =
            vec![(None, (0..cores.len()).listed(), vec![Level::Machine])];
        let mut innermost = vec![0; cores.len()];
        let mut by_size: Vec<&(Level, Vec<usize>)> =
            sets.iter().filter(|(_, set)| set.len() > 1 || cores.len() == 1).listed();
        by_size.arrange_by(|a, b| (b.1.len(), a.0, &a.1).cmp(&(a.1.len(), b.0, &b.1)));
        for (level, set) in by_size {
            let vertex = innermost[set[0]];
            if set.iter().any(|&core| innermost[core] != vertex) {
                let pus: Vec<usize> = set.iter().map(|&core| cores[core][0]).listed();
                warnings.push(format!(
                    "the {level} of PU {} cuts across another group: left out of the tree",
                    format_list(&pus)
                ));
            } else if found[vertex].1 == *set {
                if !found[vertex].2.contains(level) {
                    found[vertex].2.push(*level);
                }
            } else {
                for &core in set {
                    innermost[core] = found.len();
                }
                found.push((Some(vertex), set.clone(), vec![*level]));
            }
        }

        // What hangs under each vertex: (smallest processing unit, vertex or core).
        let mut below: Vec<Vec<(usize, Result<usize, usize>)>> = vec![Vec::new(); found.len()];
        for (index, (parent, set, _)) in found.iter().enumerate() {
            if let Some(parent) = parent {
                let first = set.iter().map(|&core| cores[core][0]).min().unwrap_or(0);
                below[*parent].push((first, Ok(index)));
            }
        }
        for (core, &vertex) in innermost.iter().enumerate() {
            below[vertex].push((cores[core][0], Err(core)));
        }
        for list in &mut below {
            list.arrange();
        }

        // Depth first, without recursion: a damaged file can nest as deeply as it likes.
        let mut tree = Tree { vertices: Vec::new(), above: vec![0; cores.len()] };
        let mut order = Vec::with_capacity(cores.len());
        let mut stack = vec![(0_usize, None::<usize>, 0_usize)];
        let mut cursor = vec![0_usize; found.len()];
        while let Some((source, parent, index)) = stack.pop() {
            let index = if cursor[source] == 0 {
                let start = order.len();
                let depth = parent.map_or(0, |p: usize| tree.vertices[p].depth + 1);
                tree.vertices.push(Vertex {
                    parent,
                    depth,
                    levels: found[source].2.clone(),
                    cores: start..start,
                    children: Vec::new(),
                });
                let new = tree.vertices.len() - 1;
                if let Some(parent) = parent {
                    tree.vertices[parent].children.push(new);
                }
                new
            } else {
                index
            };
            let mut descended = false;
            while let Some(&(_, child)) = below[source].get(cursor[source]) {
                cursor[source] += 1;
                match child {
                    Err(core) => {
                        tree.above[order.len()] = index;
                        order.push(core);
                    }
                    Ok(vertex) => {
                        stack.push((source, parent, index));
                        stack.push((vertex, Some(index), 0));
                        descended = true;
                        break;
                    }
                }
            }
            if !descended {
                tree.vertices[index].cores.end = order.len();
            }
        }
        (tree, order)
    }
}
