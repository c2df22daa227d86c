//! CG with a parallel iterator for each vector operation, over one piece a thread.

use super::super::cg::{Cg, Product, STEPS, advance, dot};
use super::super::outcome::Outcome;
use rayon::prelude::*;
use std::time::Instant;

struct State {
    piece: usize,
    p: Vec<f64>,
    q: Vec<f64>,
    z: Vec<f64>,
    r: Vec<f64>,
}

pub(crate) fn iterate(cg: &Cg, a: &impl Product) -> Outcome {
    let n = a.len();
    let zero = || vec![0.0; n];
    let piece = n.div_ceil(rayon::current_num_threads());
    let mut state = State { piece, p: zero(), q: zero(), z: zero(), r: zero() };
    let mut x = vec![1.0; n];
    state.outer_step(a, &mut x);
    x.fill(1.0);
    let clock = Instant::now();
    let mut zeta = 0.0;
    for _ in 0..cg.iterations {
        zeta = cg.zeta(state.outer_step(a, &mut x));
    }
    cg.judge(clock.elapsed().as_secs_f64(), zeta)
}

impl State {
    fn outer_step(&mut self, a: &impl Product, x: &mut [f64]) -> f64 {
        self.solve(a, x);
        let State { piece, q, z, .. } = self;
        times(a, *piece, z, q, x);
        let distance: f64 = x
            .par_chunks(*piece)
            .zip(q.par_chunks(*piece))
            .map(|(x, q)| x.iter().zip(q).map(|(x, q)| (x - q) * (x - q)).sum::<f64>())
            .sum();
        std::hint::black_box(distance.sqrt());
        let (xz, zz) = x
            .par_chunks(*piece)
            .zip(z.par_chunks(*piece))
            .map(|(x, z)| (dot(x, z), dot(z, z)))
            .reduce(|| (0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let scale = 1.0 / zz.sqrt();
        x.par_chunks_mut(*piece).zip(z.par_chunks(*piece)).for_each(|(x, z)| {
            for (x, z) in x.iter_mut().zip(z) {
                *x = scale * z;
            }
        });
        xz
    }

    fn solve(&mut self, a: &impl Product, x: &[f64]) {
        let State { piece, p, q, z, r } = self;
        z.fill(0.0);
        r.copy_from_slice(x);
        p.copy_from_slice(x);
        let mut rho = dot(r, r);
        for _ in 0..STEPS {
            let pq = times(a, *piece, p, q, p);
            let alpha = rho / pq;
            let before = rho;
            rho = (z.par_chunks_mut(*piece), r.par_chunks_mut(*piece))
                .into_par_iter()
                .zip(p.par_chunks(*piece).zip(q.par_chunks(*piece)))
                .map(|((z, r), (p, q))| advance(alpha, p, q, z, r))
                .sum();
            let beta = rho / before;
            p.par_chunks_mut(*piece).zip(r.par_chunks(*piece)).for_each(|(p, r)| {
                for (p, r) in p.iter_mut().zip(r) {
                    *p = r + beta * *p;
                }
            });
        }
    }
}

/// y = A x; returns w.y.
fn times(a: &impl Product, piece: usize, x: &[f64], y: &mut [f64], w: &[f64]) -> f64 {
    y.par_chunks_mut(piece)
        .zip(w.par_chunks(piece))
        .enumerate()
        .map(|(i, (y, w))| a.times_rows(i * piece, x, y, w))
        .sum()
}
