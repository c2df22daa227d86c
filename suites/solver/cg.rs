//! Conjugate gradients (Hestenes, Stiefel 1952), plain or with Jacobi's preconditioner: the same
//! program on every rank, each with its rows of the matrix and its elements of all vectors.

use phalanx::{Comm, DistributedArray};
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

/// A symmetric matrix as one rank has it: some rows, one after the other.
pub(crate) trait Rows {
    /// Elements of a vector that the matrix is applied to: own ones, and copies of other ranks'.
    fn padded(&self) -> usize;

    /// Where the own elements are in it.
    fn own(&self) -> Range<usize>;

    /// The global index of the first row.
    fn offset(&self) -> usize;

    /// The diagonal of the own rows.
    fn diagonal(&self) -> Vec<f64>;

    /// `out = A v`. Only the own elements of `v` are given; the others are fetched. Collective.
    fn apply(&self, comm: &mut Comm, v: &mut [f64], out: &mut [f64]);
}

/// How sums over all ranks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sums {
    /// In one order whatever the number of ranks: the same bits on any p
    Fixed,
    /// Each rank its part, then all parts: less work
    Fast,
}

/// The stand-in for the inverse of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Preconditioner {
    None,
    /// The inverse of the diagonal
    Jacobi,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) preconditioner: Preconditioner,
    pub(crate) sums: Sums,
    /// Of the residual's norm, relative to the right side's.
    pub(crate) tolerance: f64,
    pub(crate) most_steps: usize,
}

/// The solution, of which each rank has found its part, and how.
#[derive(Debug)]
pub(crate) struct Solution {
    pub(crate) x: DistributedArray<f64>,
    pub(crate) found: Convergence,
}

/// How it was found: on all ranks the same, but for the time.
#[derive(Debug)]
pub(crate) struct Convergence {
    /// Relative residuals by the recurrence, one before each step and one at the end.
    pub(crate) history: Vec<f64>,
    /// `|b - A x| / |b|`, computed.
    pub(crate) residual: f64,
    /// `|b|`.
    pub(crate) right_side: f64,
    pub(crate) time: Duration,
}

impl Convergence {
    pub(crate) fn steps(&self) -> usize {
        self.history.len() - 1
    }

    pub(crate) fn converged(&self, settings: &Settings) -> bool {
        self.history.last().is_some_and(|&last| last <= settings.tolerance)
    }
}

/// Why there is no solution: all ranks find the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Breakdown {
    /// In this step `p' A p` was not positive.
    Indefinite { step: usize, curvature: f64 },
    /// An entry of the diagonal is not positive.
    Diagonal { row: usize, value: f64 },
}

impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breakdown::Indefinite { step, curvature } => {
                write!(f, "not positive definite: p'Ap = {curvature:e} in step {step}")
            }
            Breakdown::Diagonal { row, value } => {
                let row = row + 1;
                write!(f, "not positive definite: the diagonal's entry in row {row} is {value:e}")
            }
        }
    }
}

/// Solves `A x = b` for `b = A 1`, so that the solution is known; `x` is the own part of it.
/// Collective.
pub(crate) fn solve(
    comm: &mut Comm,
    a: &impl Rows,
    x: &mut [f64],
    settings: &Settings,
) -> Result<Convergence, Breakdown> {
    let (own, offset) = (a.own(), a.offset());
    let n = own.len();
    let mut p = vec![0.0; a.padded()];
    let mut q = vec![0.0; n];
    p[own.clone()].fill(1.0);
    a.apply(comm, &mut p, &mut q);
    let b = q.clone();

    let diagonal = a.diagonal();
    let bad = diagonal.iter().position(|&d| !(d > 0.0 && d.is_finite()));
    let first = bad.map_or(usize::MAX, |i| offset + i);
    let [first] = comm.all_reduce_values([first], phalanx::op::Min);
    if first != usize::MAX {
        // Its value is known to one rank.
        let mine = bad.filter(|i| offset + i == first).map_or(f64::NEG_INFINITY, |i| diagonal[i]);
        let [value] = comm.all_reduce_values([mine], phalanx::op::Max);
        return Err(Breakdown::Diagonal { row: first, value });
    }
    let jacobi = settings.preconditioner == Preconditioner::Jacobi;
    let inverse: Vec<f64> =
        if jacobi { diagonal.iter().map(|d| 1.0 / d).collect() } else { vec![] };
    drop(diagonal);

    comm.barrier();
    let begin = Instant::now();
    x.fill(0.0);
    let mut r = b.clone();
    let mut z = if jacobi { product(&inverse, &r) } else { vec![] };
    p[own.clone()].copy_from_slice(if jacobi { &z } else { &r });
    let (mut rz, mut rr) = norms(comm, settings.sums, &r, jacobi.then_some(&z), offset);
    let right_side = rr.sqrt();
    let mut history = vec![if right_side > 0.0 { 1.0 } else { 0.0 }];
    while history[history.len() - 1] > settings.tolerance && history.len() <= settings.most_steps {
        a.apply(comm, &mut p, &mut q);
        let d = &mut p[own.clone()];
        let [curvature] = dots(comm, settings.sums, [(d, &q)], offset);
        if curvature.is_nan() || curvature <= 0.0 {
            return Err(Breakdown::Indefinite { step: history.len(), curvature });
        }
        let alpha = rz / curvature;
        for (((x, r), d), q) in x.iter_mut().zip(&mut r).zip(&*d).zip(&q) {
            *x += alpha * d;
            *r -= alpha * q;
        }
        for ((z, r), inverse) in z.iter_mut().zip(&r).zip(&inverse) {
            *z = inverse * r;
        }
        let before = rz;
        (rz, rr) = norms(comm, settings.sums, &r, jacobi.then_some(&z), offset);
        let beta = rz / before;
        for (d, z) in d.iter_mut().zip(if jacobi { &z } else { &r }) {
            *d = z + beta * *d;
        }
        history.push(rr.sqrt() / right_side);
    }
    let time = begin.elapsed();

    // The recurrence may have drifted away from the truth.
    p[own.clone()].copy_from_slice(x);
    a.apply(comm, &mut p, &mut q);
    q.iter_mut().zip(&b).for_each(|(q, b)| *q = b - *q);
    let [rest] = dots(comm, settings.sums, [(&q, &q)], offset);
    let residual = if right_side > 0.0 { rest.sqrt() / right_side } else { 0.0 };
    Ok(Convergence { history, residual, right_side, time })
}

/// `r'z` and `r'r`; without a preconditioner z is r.
fn norms(
    comm: &mut Comm,
    sums: Sums,
    r: &[f64],
    z: Option<&Vec<f64>>,
    offset: usize,
) -> (f64, f64) {
    match z {
        Some(z) => {
            let [rz, rr] = dots(comm, sums, [(r, z), (r, r)], offset);
            (rz, rr)
        }
        None => {
            let [rr] = dots(comm, sums, [(r, r)], offset);
            (rr, rr)
        }
    }
}

fn dots<const N: usize>(
    comm: &mut Comm,
    sums: Sums,
    pairs: [(&[f64], &[f64]); N],
    offset: usize,
) -> [f64; N] {
    match sums {
        Sums::Fixed => comm.fixed_dots(pairs, offset),
        Sums::Fast => comm.sum(pairs.map(|(x, y)| dot(x, y))),
    }
}

/// In eight lanes, so that it vectorises.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (x, x_rest) = x.as_chunks::<8>();
    let (y, y_rest) = y.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (x, y) in x.iter().zip(y) {
        for i in 0..8 {
            lanes[i] += x[i] * y[i];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f64>() + rest
}

fn product(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x * y).collect()
}
