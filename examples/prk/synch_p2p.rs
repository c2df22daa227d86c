//! Synch_p2p: a wavefront. Each point needs its left, upper and diagonal neighbour; the columns are cut among the
//! ranks, which pass the last element of each row to the right, and at the end the corner back to the first.

use crate::kernel::{Check, Kernel, Outcome, Unit, timed};
use phalanx::Comm;
use phalanx::dist::Block;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SynchP2p {
    /// Columns, cut among the ranks
    #[arg(default_value_t = 1000)]
    pub(crate) m: usize,
    /// Rows
    #[arg(default_value_t = 100)]
    pub(crate) n: usize,
    /// Rows whose numbers travel together
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) group: u64,
}

impl Kernel for SynchP2p {
    const NAME: &str = "synch_p2p";
    const ITERATIONS: u32 = 1000;
    const UNIT: Unit = Unit::Flop;

    fn fits(&self, ranks: usize) -> Result<(), String> {
        // Two columns each: the corner, which changes, is then nobody's left neighbour.
        if self.n < 2 || self.m < 2 * ranks {
            let least = 2 * ranks;
            return Err(format!("{} x {}; accepted: from {least} x 2 on", self.m, self.n));
        }
        Ok(())
    }

    fn work(&self, _: usize) -> f64 {
        2.0 * ((self.m - 1) * (self.n - 1)) as f64
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.m, self.n, self.group as usize]
    }

    fn title(&self) -> String {
        match self.group {
            1 => format!("synch_p2p {} {}", self.m, self.n),
            group => format!("synch_p2p {} {}, {group} rows at once", self.m, self.n),
        }
    }

    fn run(&self, comm: &mut Comm, iterations: u32) -> Outcome {
        let (n, group) = (self.n, self.group as usize);
        let (rank, last) = (comm.rank(), comm.size() - 1);
        let own = Block::new(self.m, comm.size()).range(rank);
        let width = own.len();
        let mut a = vec![0.0; n * width];
        a[..width].iter_mut().zip(own.clone()).for_each(|(a, i)| *a = i as f64);
        if rank == 0 {
            a.iter_mut().step_by(width).enumerate().for_each(|(j, a)| *a = j as f64);
        }
        // The first column is given; it is the left neighbour of the second.
        let first = usize::from(rank == 0);
        // What the rank on the left has beside my first column.
        let mut left = vec![0.0; n];
        if rank > 0 {
            left[0] = (own.start - 1) as f64;
        }
        let mut ends = vec![0.0; group];
        let seconds = timed(comm, iterations, |comm| {
            for begin in (1..n).step_by(group) {
                let rows = begin..(begin + group).min(n);
                if rank > 0 {
                    comm.recv(&mut left[rows.clone()], rank - 1);
                }
                for j in rows.clone() {
                    let (above, row) = a.split_at_mut(j * width);
                    let (above, row) = (&above[(j - 1) * width..], &mut row[..width]);
                    let (west, corner) =
                        if rank == 0 { (row[0], above[0]) } else { (left[j], left[j - 1]) };
                    ends[j - begin] = sweep(&above[first..], &mut row[first..], west, corner);
                }
                if rank < last {
                    comm.send(&ends[..rows.len()], rank + 1);
                }
            }
            // The corner makes the next iteration depend on this one.
            let corner = [-a[n * width - 1]];
            match (rank, last) {
                (0, 0) => a[0] = corner[0],
                (0, _) => comm.recv(&mut a[..1], last),
                _ if rank == last => comm.send(&corner, 0),
                _ => (),
            }
        });
        let mut corner = [a[n * width - 1]];
        comm.broadcast(&mut corner, last);
        let expected = f64::from(iterations + 1) * (self.m + n - 2) as f64;
        Outcome { seconds, check: Check::relative(corner[0], expected, 1e-8) }
    }
}

/// `row[i] = row[i - 1] + (above[i] - above[i - 1])`, before the first one `west` and `corner`; returns the last one.
///
/// The value on the left stays in a register, and four elements at a time depend on it by one addition each: a row costs
/// a quarter of the additions' latency. (The numbers are whole: the order of the additions does not matter.)
#[inline]
fn sweep(above: &[f64], row: &mut [f64], west: f64, corner: f64) -> f64 {
    let (mut left, mut diagonal) = (west, corner);
    let (quads, rest) = row.as_chunks_mut::<4>();
    let (above, above_rest) = above.as_chunks::<4>();
    for (row, above) in quads.iter_mut().zip(above) {
        let d0 = above[0] - diagonal;
        let (d1, d2, d3) = (above[1] - above[0], above[2] - above[1], above[3] - above[2]);
        let (d01, d23) = (d0 + d1, d2 + d3);
        *row = [left + d0, left + d01, left + (d01 + d2), left + (d01 + d23)];
        (left, diagonal) = (row[3], above[3]);
    }
    for (row, &above) in rest.iter_mut().zip(above_rest) {
        *row = left + (above - diagonal);
        (left, diagonal) = (*row, above);
    }
    left
}
