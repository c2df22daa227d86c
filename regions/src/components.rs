//! Connected components of a graph: each vertex takes the smallest label around it, a region a
//! round, until a pass of many rounds.

use crate::rows::Rows;
use crate::{Pool, Random, part};

/// A graph without directions: the neighbours of vertex v are `ends[starts[v]..starts[v + 1]]`.
#[derive(Clone, Debug)]
pub struct Graph {
    starts: Vec<usize>,
    ends: Vec<u32>,
}

/// Regions of a pass: so far is it from one end of a [`Graph::chains`] to the other.
pub const ROUNDS: usize = 84;

impl Graph {
    /// Chains of 84 vertices, numbered by chance, with some edges inside of each.
    pub fn chains(chains: usize) -> Self {
        let count = chains * ROUNDS;
        let mut names: Vec<u32> = (0..count as u32).collect();
        let mut random = Random::new(7);
        (1..count).rev().for_each(|i| names.swap(i, random.below(i + 1)));
        let mut around = vec![Vec::new(); count];
        let mut join = |a: usize, b: usize| {
            around[names[a] as usize].push(names[b]);
            around[names[b] as usize].push(names[a]);
        };
        for chain in 0..chains {
            for i in 1..ROUNDS {
                let vertex = chain * ROUNDS + i;
                join(vertex - 1, vertex);
                if i > 1 && i % 4 == 0 {
                    join(vertex - 2, vertex - 1);
                }
            }
        }
        let mut starts = vec![0];
        let ends: Vec<u32> = around
            .into_iter()
            .flat_map(|ends| {
                starts.push(starts[starts.len() - 1] + ends.len());
                ends
            })
            .collect();
        Graph { starts, ends }
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One pass: the smallest vertex of each vertex's component, in 84 regions.
    pub fn components(&self, pool: &mut impl Pool) -> Vec<u32> {
        let tasks = pool.tasks();
        let mut labels: Vec<u32> = (0..self.len() as u32).collect();
        let mut next = labels.clone();
        for _ in 0..ROUNDS {
            let (old, new) = (&labels, Rows::new(&mut next));
            pool.region(&|task| {
                let mine = part(self.len(), task, tasks);
                // SAFETY: tasks have parts that are apart.
                self.round(old, mine.start, unsafe { new.part(mine) });
            });
            std::mem::swap(&mut labels, &mut next);
        }
        labels
    }

    #[inline(never)]
    fn round(&self, old: &[u32], first: usize, new: &mut [u32]) {
        for (vertex, new) in (first..).zip(new) {
            let around = &self.ends[self.starts[vertex]..self.starts[vertex + 1]];
            *new = around.iter().fold(old[vertex], |least, &end| least.min(old[end as usize]));
        }
    }
}
