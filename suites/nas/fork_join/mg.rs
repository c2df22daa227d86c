//! MG with a parallel iterator over planes for each step on each grid.

use super::super::memory::{Lines, zeros};
use super::super::mg::Mg;
use super::super::mg_planes::{
    add_interpolated, interpolate, norm_squared, residual, restrict, scratch, smooth, subtract,
};
use super::super::outcome::Outcome;
use rayon::prelude::*;
use std::time::Instant;

struct Grid {
    n: usize,
    u: Lines<f64>,
    r: Lines<f64>,
}

impl Grid {
    fn new(n: usize) -> Self {
        let len = n * n * (n + 2);
        Grid { n, u: zeros(len), r: zeros(len) }
    }

    fn plane(&self) -> usize {
        self.n * (self.n + 2)
    }
}

fn around(x: &[f64], n: usize, z: usize) -> [&[f64]; 3] {
    let plane = n * (n + 2);
    [z + n - 1, z, z + 1].map(|z| &x[z % n * plane..][..plane])
}

pub(crate) fn iterate(mg: &Mg) -> Outcome {
    let sizes = (1..).map(|k| 1 << k).take_while(|&n| n <= mg.n);
    let mut grids: Vec<Grid> = sizes.map(Grid::new).collect();
    let plane = mg.n * (mg.n + 2);
    let mut v = zeros(mg.n * plane);
    for (z, plane) in v.chunks_exact_mut(plane).enumerate() {
        mg.put_charges(z, plane);
    }
    let top = grids.len() - 1;
    top_residual(&mut grids[top], &v);
    cycle(mg, &mut grids, &v);
    grids[top].u.fill(0.0);
    let clock = Instant::now();
    top_residual(&mut grids[top], &v);
    norm(&grids[top]);
    for _ in 0..mg.iterations {
        cycle(mg, &mut grids, &v);
    }
    let squares = norm(&grids[top]);
    mg.judge(clock.elapsed().as_secs_f64(), squares)
}

/// Memory for the rows of a stencil, for each piece of work that Rayon makes.
fn rows(n: usize) -> impl Fn() -> Vec<f64> + Sync + Send {
    move || scratch(n)
}

fn top_residual(Grid { n, u, r }: &mut Grid, v: &[f64]) {
    let (n, u, plane) = (*n, &*u, *n * (*n + 2));
    r.par_chunks_mut(plane)
        .zip(v.par_chunks(plane))
        .enumerate()
        .for_each_init(rows(n), |rows, (z, (r, v))| residual(n, v, around(u, n, z), r, rows));
}

fn norm(grid: &Grid) -> f64 {
    grid.r.par_chunks(grid.plane()).map(|plane| norm_squared(grid.n, plane)).sum()
}

fn cycle(mg: &Mg, grids: &mut [Grid], v: &[f64]) {
    let top = grids.len() - 1;
    for k in (0..top).rev() {
        let [coarse, fine] = &mut grids[k..k + 2] else { unreachable!("two grids") };
        let (n, fine, plane) = (fine.n, &fine.r, coarse.plane());
        coarse.r.par_chunks_mut(plane).enumerate().for_each_init(rows(n), |rows, (z, coarse)| {
            restrict(n, around(fine, n, 2 * z + 1), coarse, rows);
        });
    }
    grids[0].u.fill(0.0);
    smooth_all(mg, &mut grids[0]);
    for k in 1..=top {
        let [coarse, fine] = &mut grids[k - 1..k + 1] else { unreachable!("two grids") };
        let (n, plane) = (fine.n, fine.plane());
        let (half, below) = (coarse.n, coarse.plane());
        let of = |z: isize| &coarse.u[z.rem_euclid(half as isize) as usize * below..][..below];
        fine.u.par_chunks_mut(plane).enumerate().for_each_init(rows(n), |rows, (z, u)| {
            if k == top {
                add_interpolated(n, z as isize, of, u, rows);
            } else {
                interpolate(n, z as isize, of, u, rows);
            }
        });
        if k == top {
            top_residual(fine, v);
        } else {
            let Grid { u, r, .. } = &mut *fine;
            r.par_chunks_mut(plane)
                .enumerate()
                .for_each_init(rows(n), |rows, (z, r)| subtract(n, around(u, n, z), r, rows));
        }
        smooth_all(mg, fine);
    }
    top_residual(&mut grids[top], v);
}

fn smooth_all(mg: &Mg, grid: &mut Grid) {
    let (n, plane) = (grid.n, grid.plane());
    let Grid { u, r, .. } = grid;
    u.par_chunks_mut(plane).enumerate().for_each_init(rows(n), |rows, (z, u)| {
        smooth(n, mg.smoother, around(r, n, z), u, rows);
    });
}
