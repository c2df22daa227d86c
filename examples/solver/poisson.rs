//! The seven-point Laplacian on a cube of n x n x n unknowns, zero around it, without a stored
//! matrix. Each rank has some planes, and a copy of its neighbours' nearest planes.

use crate::cg::Rows;
use phalanx::Comm;
use phalanx::dist::{Block, Halo};
use sprs::{CsMat, TriMat};
use std::ops::Range;

#[derive(Debug)]
pub(crate) struct Poisson {
    n: usize,
    planes: Range<usize>,
    halo: Halo,
    /// Beside the cube.
    zeros: Vec<f64>,
}

impl Poisson {
    /// The planes that `rank` of `ranks` has; there must be one for each.
    pub(crate) fn new(n: usize, rank: usize, ranks: usize) -> Self {
        let planes = Block::new(n, ranks).range(rank);
        let halo = Halo::with_widths(&[planes.len(), n, n], &[1, 0, 0]);
        Poisson { n, planes, halo, zeros: vec![0.0; n] }
    }

    /// One plane of the product; planes are counted with the halo's.
    fn plane(&self, v: &[f64], plane: usize, out: &mut [f64]) {
        let n = self.n;
        for (j, out) in out.chunks_exact_mut(n).enumerate() {
            let at = (plane * n + j) * n;
            let row = |at: usize| &v[at..at + n];
            let (below, own, above) = (row(at - n * n), row(at), row(at + n * n));
            let front = if j > 0 { row(at - n) } else { &self.zeros };
            let back = if j + 1 < n { row(at + n) } else { &self.zeros };
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
        self.halo.len()
    }

    fn own(&self) -> Range<usize> {
        let plane = self.n * self.n;
        plane..plane + self.planes.len() * plane
    }

    fn offset(&self) -> usize {
        self.planes.start * self.n * self.n
    }

    fn diagonal(&self) -> Vec<f64> {
        vec![6.0; self.own().len()]
    }

    fn apply(&self, comm: &mut Comm, v: &mut [f64], out: &mut [f64]) {
        let (plane, last) = (self.n * self.n, self.planes.len() - 1);
        // The inner planes need no halo: they are done while it comes.
        comm.cart(&[0, 1, 1], &[false; 3]).exchange_halo_while(v, &self.halo, |v| {
            for (k, out) in out.chunks_exact_mut(plane).enumerate().take(last).skip(1) {
                self.plane(v, k + 1, out);
            }
        });
        self.plane(v, 1, &mut out[..plane]);
        if last > 0 {
            self.plane(v, last + 1, &mut out[last * plane..]);
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
