//! The seven-point Laplacian on a cube of n x n x n unknowns, zero around it, without a stored
//! matrix. Each rank has some planes, and behind them ghosts of its neighbours' nearest planes.

use super::cg::Rows;
use phalanx::dist::Block;
use phalanx::{Comm, Neighborhood};
use sprs::{CsMat, TriMat};
use std::ops::Range;

#[derive(Debug)]
pub(crate) struct Poisson {
    n: usize,
    planes: Range<usize>,
    /// Two planes of ghosts: that below, and that above. At the ends of the cube one stays zero.
    plan: Neighborhood,
    /// Beside the cube.
    zeros: Vec<f64>,
}

/// Which unknowns each rank has.
pub(crate) fn unknowns(n: usize, ranks: usize) -> Block {
    Block::aligned(n * n * n, ranks, n * n)
}

impl Poisson {
    /// The planes that this rank has; there must be one for each. Collective.
    pub(crate) fn new(comm: &mut Comm, n: usize) -> Self {
        let (rank, ranks, plane) = (comm.rank(), comm.size(), n * n);
        let planes = Block::new(n, ranks).range(rank);
        let owned = planes.len() * plane;
        let sides = [rank.checked_sub(1), Some(rank + 1).filter(|&above| above < ranks)];
        // For each neighbour a plane: of the own ones that next to it, and one of the ghosts.
        let list = |planes: [Range<usize>; 2]| -> Vec<(usize, Vec<usize>)> {
            let of = |(side, plane): (Option<usize>, Range<usize>)| Some((side?, plane.collect()));
            sides.into_iter().zip(planes).filter_map(of).collect()
        };
        let gives = list([0..plane, owned - plane..owned]);
        let wants = list([0..plane, plane..2 * plane]);
        let plan = comm.neighborhood(owned, &gives, 2 * plane, &wants);
        Poisson { n, planes, plan, zeros: vec![0.0; n] }
    }

    /// One plane of the product, from those below, at and above it.
    fn plane(&self, [below, own, above]: [&[f64]; 3], out: &mut [f64]) {
        let n = self.n;
        for (j, out) in out.chunks_exact_mut(n).enumerate() {
            let row = |j: usize| &own[j * n..][..n];
            let (below, own, above) = (&below[j * n..][..n], row(j), &above[j * n..][..n]);
            let front = if j > 0 { row(j - 1) } else { &self.zeros };
            let back = if j + 1 < n { row(j + 1) } else { &self.zeros };
            for k in 0..n {
                out[k] = 6.0 * own[k] - below[k] - above[k] - front[k] - back[k];
            }
            for k in 1..n {
                out[k] -= own[k - 1];
            }
            for k in 1..n {
                out[k - 1] -= own[k];
            }
        }
    }
}

impl Rows for Poisson {
    fn padded(&self) -> usize {
        self.plan.owned() + self.plan.ghosts()
    }

    fn own(&self) -> Range<usize> {
        0..self.plan.owned()
    }

    fn offset(&self) -> usize {
        self.planes.start * self.n * self.n
    }

    fn diagonal(&self) -> Vec<f64> {
        vec![6.0; self.own().len()]
    }

    fn apply(&self, comm: &mut Comm, v: &mut [f64], out: &mut [f64]) {
        let (plane, last) = (self.n * self.n, self.planes.len() - 1);
        let (own, ghosts) = v.split_at_mut(self.plan.owned());
        let at = |k: usize| &own[k * plane..][..plane];
        // The inner planes need no ghosts: they are done while these come.
        self.plan.gather_while(comm, own, ghosts, || {
            for (k, out) in out.chunks_exact_mut(plane).enumerate().take(last).skip(1) {
                self.plane([at(k - 1), at(k), at(k + 1)], out);
            }
        });
        let (below, above) = ghosts.split_at(plane);
        self.plane([below, at(0), if last > 0 { at(1) } else { above }], &mut out[..plane]);
        if last > 0 {
            self.plane([at(last - 1), at(last), above], &mut out[last * plane..]);
        }
    }
}

/// The same matrix, stored: for the direct solver.
pub(crate) fn stored(n: usize) -> CsMat<f64> {
    let size = n * n * n;
    let mut entries = TriMat::new((size, size));
    for i in 0..size {
        entries.add_triplet(i, i, 6.0);
        for (stride, at) in [(1, i % n), (n, i / n % n), (n * n, i / (n * n))] {
            if at + 1 < n {
                entries.add_triplet(i, i + stride, -1.0);
                entries.add_triplet(i + stride, i, -1.0);
            }
        }
    }
    entries.to_csr()
}
