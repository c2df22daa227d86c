//! Sparse: `x` grows, `y += A x`, where A couples the points of a periodic square grid by a star,
//! its columns numbered in bit-reversed order, so that every row needs elements from everywhere: x
//! is gathered on all ranks.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
use phalanx::Comm;
use phalanx::dist::{Block, Distribution};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Sparse {
    /// Binary logarithm of the grid's side
    #[arg(default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=15))]
    pub(crate) log_side: u64,
    /// Points of each of the star's four arms
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) radius: u64,
}

impl Sparse {
    fn side(&self) -> usize {
        1 << self.log_side
    }

    fn entries_of_a_row(&self) -> usize {
        4 * self.radius as usize + 1
    }

    fn entries(&self) -> f64 {
        (self.entries_of_a_row() * self.side() * self.side()) as f64
    }

    /// The columns of a row, in ascending order.
    fn columns(&self, row: usize) -> Vec<u32> {
        let (n, r) = (self.side(), self.radius as usize);
        let (i, j) = (row % n, row / n);
        let reversed = |i: usize, j: usize| {
            let point = (i % n + j % n * n) as u32;
            point.reverse_bits() >> (32 - 2 * self.log_side)
        };
        let arms = (1..=r).flat_map(|k| [(i + k, j), (i + n - k, j), (i, j + k), (i, j + n - k)]);
        let star = std::iter::once((i, j)).chain(arms);
        let mut columns: Vec<u32> = star.map(|(i, j)| reversed(i, j)).collect();
        columns.sort_unstable();
        columns
    }
}

impl Kernel for Sparse {
    const NAME: &str = "sparse";
    const ITERATIONS: u32 = 5;
    const UNIT: Unit = Unit::Flop;

    fn fits(&self, _: usize) -> Result<(), String> {
        let (width, side) = (2 * self.radius as usize + 1, self.side());
        if side < width {
            return Err(format!("a grid of side {side} is smaller than the stencil, {width}"));
        }
        Ok(())
    }

    fn work(&self, _: usize) -> f64 {
        2.0 * self.entries()
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.log_side as usize, self.radius as usize]
    }

    fn title(&self) -> String {
        format!("sparse {}, radius {}", self.log_side, self.radius)
    }

    fn run(&self, comm: &mut Comm, _: &mut [f64], iterations: u32) -> Outcome {
        let rows = Block::new(self.side() * self.side(), comm.size());
        let (own, counts) = (rows.range(comm.rank()), rows.counts());
        let columns: Vec<u32> = own.clone().flat_map(|row| self.columns(row)).collect();
        let values: Vec<f64> = columns.iter().map(|&c| 1.0 / f64::from(c + 1)).collect();
        let mut mine = vec![0.0; own.len()];
        let mut x = vec![0.0; rows.len()];
        let mut y = vec![0.0; own.len()];
        let width = self.entries_of_a_row();
        let seconds = timed(comm, iterations, |comm| {
            mine.iter_mut().zip(own.clone()).for_each(|(x, row)| *x += (row + 1) as f64);
            comm.all_gather_varied_into(&mine, &mut x, &counts);
            let entries = columns.chunks_exact(width).zip(values.chunks_exact(width));
            for (y, (columns, values)) in y.iter_mut().zip(entries) {
                let row = columns.iter().zip(values);
                *y += row.map(|(&column, value)| value * x[column as usize]).sum::<f64>();
            }
        });
        let [sum] = comm.sum([y.iter().sum::<f64>()]);
        let t = f64::from(iterations + 1);
        let expected = self.entries() * t * (t + 1.0) / 2.0;
        Outcome { seconds, check: Check::relative(sum, expected, 1e-8) }
    }
}
