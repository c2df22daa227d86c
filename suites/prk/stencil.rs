//! Stencil: a star of some radius on a square grid, cut in blocks among a grid of ranks. Each
//! iteration fetches the halo, adds the stencil's sum to `out`, and 1 to `in`.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
use multiversion::multiversion;
use phalanx::Comm;
use phalanx::dist::{Block, Halo};
use phalanx::topology::balanced;
use std::array::from_fn;
use std::ops::Range;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Stencil {
    /// Points of the grid's side
    #[arg(default_value_t = 1000)]
    pub(crate) n: usize,
    /// Points of each of the star's four arms
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=4))]
    pub(crate) radius: u64,
}

impl Stencil {
    fn radius(&self) -> usize {
        self.radius as usize
    }

    /// Points that have a whole star around them.
    fn active(&self) -> f64 {
        (self.n - 2 * self.radius()).pow(2) as f64
    }

    fn grid(&self, ranks: usize) -> Vec<usize> {
        balanced(ranks, &[0, 0]).expect("any number of ranks has factors")
    }
}

impl Kernel for Stencil {
    const NAME: &str = "stencil";
    const ITERATIONS: u32 = 400;
    const UNIT: Unit = Unit::Flop;

    fn fits(&self, ranks: usize) -> Result<(), String> {
        let (n, r) = (self.n, self.radius());
        if n < 2 * r + 1 {
            return Err(format!("a grid of {n} x {n} is smaller than the stencil, {}", 2 * r + 1));
        }
        let grid = self.grid(ranks);
        match grid.iter().find(|&&extent| n / extent < r) {
            Some(extent) => {
                let least = r * extent;
                Err(format!("a side of {n} is too short for {extent} ranks; {least} is enough"))
            }
            None => Ok(()),
        }
    }

    fn work(&self, _: usize) -> f64 {
        (2 * (4 * self.radius() + 1) + 1) as f64 * self.active()
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.n, self.radius()]
    }

    fn title(&self) -> String {
        format!("stencil {}, radius {}", self.n, self.radius)
    }

    /// `in` and `out`, each with its halo.
    fn room(&self, rank: usize, ranks: usize) -> usize {
        let grid = self.grid(ranks);
        let [rows, columns] = self.block(&grid, &[rank / grid[1], rank % grid[1]]);
        2 * Halo::new(&[rows.len(), columns.len()], self.radius()).len()
    }

    fn run(&self, comm: &mut Comm, room: &mut [f64], iterations: u32) -> Outcome {
        match self.radius {
            1 => self.star::<1>(comm, room, iterations),
            2 => self.star::<2>(comm, room, iterations),
            3 => self.star::<3>(comm, room, iterations),
            _ => self.star::<4>(comm, room, iterations),
        }
    }
}

impl Stencil {
    /// The rows and columns of the rank at `at` in the grid.
    fn block(&self, grid: &[usize], at: &[usize]) -> [Range<usize>; 2] {
        [0, 1].map(|d| Block::new(self.n, grid[d]).range(at[d]))
    }

    fn star<const R: usize>(&self, comm: &mut Comm, room: &mut [f64], iterations: u32) -> Outcome {
        let n = self.n;
        let grid = self.grid(comm.size());
        let mut cart = comm.cart(&grid, &[false; 2]);
        let [rows, columns] = self.block(&grid, &cart.coordinates());
        let halo = Halo::new(&[rows.len(), columns.len()], R);
        let stride = halo.stride(0);
        // The points of mine that have a whole star around them, counted with the halo.
        let active = |own: &Range<usize>| {
            let (first, end) = (own.start.max(R), own.end.min(n - R));
            first + R - own.start..end.max(first) + R - own.start
        };
        let (inner, across) = (active(&rows), active(&columns));

        let (field, out) = room.split_at_mut(halo.len());
        for (run, i) in halo.rows().zip(rows.clone()) {
            field[run].iter_mut().zip(columns.clone()).for_each(|(v, j)| *v = (i + j) as f64);
        }
        let weights: [f64; R] = from_fn(|i| 1.0 / (2 * (i + 1) * R) as f64);
        let seconds = timed(&mut cart, iterations, |comm| {
            comm.cart(&grid, &[false; 2]).exchange_halo(field, &halo);
            // The halo is a copy: cells that no row of mine needs any more can grow at once, while
            // it is in the cache.
            let mut lines =
                (R..R + rows.len()).map(|i| i * stride + R..i * stride + R + columns.len());
            for i in inner.clone() {
                let row = i * stride + across.start..i * stride + across.end;
                add_row(field, row.clone(), stride, &weights, &mut out[row]);
                if i >= 2 * R {
                    lines.next().into_iter().for_each(|line| add_one(&mut field[line]));
                }
            }
            lines.for_each(|line| add_one(&mut field[line]));
        });

        let sums = halo.rows().map(|run| out[run].iter().map(|v: &f64| v.abs()).sum::<f64>());
        let [sum] = cart.sum([sums.sum::<f64>()]);
        let expected = 2.0 * f64::from(iterations + 1);
        Outcome { seconds, check: Check::absolute(sum / self.active(), expected, 1e-8) }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add_one(row: &mut [f64]) {
    for v in row {
        *v += 1.0;
    }
}

/// Adds the stencil's sums around the points `row` of `v` to `out`.
#[multiversion(targets("x86_64+avx2"))]
fn add_row<const R: usize>(
    v: &[f64],
    row: Range<usize>,
    stride: usize,
    weights: &[f64; R],
    out: &mut [f64],
) {
    // Loops and no closures: those would not be compiled as the function is.
    let n = out.len();
    let mut arms: [[&[f64]; 4]; R] = [[&[]; 4]; R];
    for (i, [right, left, below, above]) in arms.iter_mut().enumerate() {
        *right = &v[row.start + i + 1..][..n];
        *left = &v[row.start - i - 1..][..n];
        *below = &v[row.start + (i + 1) * stride..][..n];
        *above = &v[row.start - (i + 1) * stride..][..n];
    }
    for j in 0..n {
        let mut sum = 0.0;
        for (weight, [right, left, below, above]) in weights.iter().zip(&arms) {
            sum += weight * (right[j] - left[j] + (below[j] - above[j]));
        }
        out[j] += sum;
    }
}
