//! The solution by a sparse Cholesky factorisation without ranks, the reference for the iteration.

use nalgebra_sparse::factorization::CscCholesky;
use nalgebra_sparse::na::DMatrix;
use nalgebra_sparse::{CooMatrix, CscMatrix};
use sprs::CsMat;
use sprs::linalg::ordering::reverse_cuthill_mckee;

/// Unknowns up to which it is quick.
pub(crate) const MOST: usize = 4000;

pub(crate) struct Direct<'a> {
    matrix: &'a CsMat<f64>,
    /// The place of each unknown in the order of elimination.
    place: Vec<usize>,
    factor: CscCholesky<f64>,
}

/// How far two solutions are apart, and how far they may be.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// `|x - y|`.
    pub(crate) distance: f64,
    /// `(2 tolerance |b| + |b - A y|) / smallest eigenvalue`: the error that the residual asked for
    /// allows.
    pub(crate) bound: f64,
    pub(crate) smallest: f64,
    pub(crate) norm: f64,
}

impl Verdict {
    /// The eigenvalue is an estimate from above, hence twice the bound.
    pub(crate) fn is_good(&self) -> bool {
        self.distance <= 2.0 * self.bound
    }
}

impl<'a> Direct<'a> {
    /// None if the matrix is not positive definite.
    pub(crate) fn new(matrix: &'a CsMat<f64>) -> Option<Self> {
        let n = matrix.rows();
        let order = reverse_cuthill_mckee(matrix.view()).perm.vec();
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        let mut permuted = CooMatrix::new(n, n);
        for (&value, (row, column)) in matrix {
            permuted.push(place[row], place[column], value);
        }
        let factor = CscCholesky::factor(&CscMatrix::from(&permuted)).ok()?;
        Some(Direct { matrix, place, factor })
    }

    pub(crate) fn entries(&self) -> usize {
        self.factor.l().nnz()
    }

    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut permuted = DMatrix::zeros(b.len(), 1);
        self.place.iter().zip(b).for_each(|(&new, &b)| permuted[new] = b);
        let y = self.factor.solve(&permuted);
        self.place.iter().map(|&new| y[new]).collect()
    }

    fn residual(&self, b: &[f64], x: &[f64]) -> f64 {
        let rows = self.matrix.outer_iterator();
        let product = rows.map(|row| row.iter().map(|(column, a)| a * x[column]).sum::<f64>());
        norm(product.zip(b).map(|(ax, b)| b - ax))
    }

    /// The smallest eigenvalue, by inverse iteration.
    fn smallest(&self) -> f64 {
        let mut v: Vec<f64> = (0..self.place.len()).map(|i| 1.0 + 0.5 * (i as f64).sin()).collect();
        let mut growth = 0.0;
        for _ in 0..30 {
            let scale = norm(v.iter().copied());
            v.iter_mut().for_each(|v| *v /= scale);
            v = self.solve(&v);
            growth = norm(v.iter().copied());
        }
        1.0 / growth
    }

    /// Whether `x` solves `A x = b` for `b = A 1` as the direct solution does, within the
    /// tolerance.
    pub(crate) fn judge(&self, x: &[f64], tolerance: f64) -> Verdict {
        let rows = self.matrix.outer_iterator();
        let b: Vec<f64> = rows.map(|row| row.iter().map(|(_, a)| a).sum()).collect();
        let y = self.solve(&b);
        let smallest = self.smallest();
        let allowed = 2.0 * tolerance * norm(b.iter().copied());
        Verdict {
            distance: norm(x.iter().zip(&y).map(|(x, y)| x - y)),
            bound: (allowed + self.residual(&b, &y)) / smallest,
            smallest,
            norm: norm(y.iter().copied()),
        }
    }
}

pub(crate) fn norm(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|v| v * v).sum::<f64>().sqrt()
}
