//! Synch_p2p: a wavefront. Each point needs its left, upper and diagonal neighbour; the columns are
//! cut among the ranks, which pass the last element of each row to the right, and at the end the
//! corner back to the first.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
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
    /// Rows of which the numbers travel together
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
            return Err(format!("too small for {ranks} ranks; accepted: from {least} x 2 on"));
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

    fn run(&self, comm: &mut Comm, _: &mut [f64], iterations: u32) -> Outcome {
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
        // The numbers that the rank on the left has beside my first column.
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

/// `row[i] = row[i - 1] + (above[i] - above[i - 1])`, before the first one `west` and `corner`;
/// returns the last one.
///
/// Sixteen elements at a time depend on the one on their left by one addition, which stays in a
/// register; among themselves they are prefix sums of fours. (The numbers are whole: the order of
/// the additions does not matter.)
#[inline]
fn sweep(above: &[f64], row: &mut [f64], west: f64, corner: f64) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { sweep_avx2(above, row, west, corner) };
    }
    sweep_by(above, row, west, corner, |row, above, diagonal, left| {
        let mut last = left;
        for ((row, above), diagonal) in row.iter_mut().zip(above).zip(diagonal) {
            last += above - diagonal;
            *row = last;
        }
        last
    })
}

/// The sweep with `sixteen(row, above, diagonal, left)` for as long as there are sixteen.
#[inline(always)]
fn sweep_by(
    above: &[f64],
    row: &mut [f64],
    west: f64,
    corner: f64,
    sixteen: impl Fn(&mut [f64; 16], &[f64; 16], &[f64; 16], f64) -> f64,
) -> f64 {
    let n = row.len();
    row[0] = west + (above[0] - corner);
    let mut left = row[0];
    let (row, above, diagonal) = (&mut row[1..], &above[1..n], &above[..n - 1]);
    let (sixteens, rest) = row.as_chunks_mut::<16>();
    let (above, above_rest) = above.as_chunks::<16>();
    let (diagonal, diagonal_rest) = diagonal.as_chunks::<16>();
    for ((row, above), diagonal) in sixteens.iter_mut().zip(above).zip(diagonal) {
        left = sixteen(row, above, diagonal, left);
    }
    for ((row, above), diagonal) in rest.iter_mut().zip(above_rest).zip(diagonal_rest) {
        left += above - diagonal;
        *row = left;
    }
    left
}

/// By hand: the compiler takes the prefix sums apart into single numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sweep_avx2(above: &[f64], row: &mut [f64], west: f64, corner: f64) -> f64 {
    use std::arch::x86_64::*;
    sweep_by(above, row, west, corner, |row, above, diagonal, left| {
        let zero = _mm256_setzero_pd();
        let (mut sums, mut totals) = ([zero; 4], [zero; 4]);
        for (q, (sums, total)) in sums.iter_mut().zip(&mut totals).enumerate() {
            // SAFETY: sixteen numbers on either side, of which four from 4 q on.
            let (above, diagonal) = unsafe {
                (
                    _mm256_loadu_pd(above.as_ptr().add(4 * q)),
                    _mm256_loadu_pd(diagonal.as_ptr().add(4 * q)),
                )
            };
            let d = _mm256_sub_pd(above, diagonal);
            // [d0, d0 + d1, d2, d2 + d3]
            let pairs = _mm256_add_pd(d, _mm256_unpacklo_pd(zero, d));
            let ends = _mm256_permute_pd::<0b1111>(pairs);
            // The sum before a pair, and the sum of both in all lanes.
            let before = _mm256_insertf128_pd::<1>(zero, _mm256_castpd256_pd128(ends));
            *sums = _mm256_add_pd(pairs, before);
            *total = _mm256_add_pd(ends, _mm256_permute2f128_pd::<0x01>(ends, ends));
        }
        let two = _mm256_add_pd(totals[0], totals[1]);
        let left = _mm256_set1_pd(left);
        let starts = [
            left,
            _mm256_add_pd(left, totals[0]),
            _mm256_add_pd(left, two),
            _mm256_add_pd(left, _mm256_add_pd(two, totals[2])),
        ];
        for (q, (start, sums)) in starts.into_iter().zip(sums).enumerate() {
            let out = _mm256_add_pd(start, sums);
            // SAFETY: there are sixteen.
            unsafe { _mm256_storeu_pd(row.as_mut_ptr().add(4 * q), out) };
        }
        let all = _mm256_add_pd(two, _mm256_add_pd(totals[2], totals[3]));
        _mm256_cvtsd_f64(_mm256_add_pd(left, all))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_of_any_length_are_the_recurrence() {
        for n in [1, 2, 15, 16, 17, 33, 100] {
            let above: Vec<f64> = (0..n).map(|i| (i * i % 23) as f64).collect();
            let mut row = vec![0.0; n];
            let last = sweep(&above, &mut row, 5.0, 3.0);
            let mut left = 5.0;
            for i in 0..n {
                left += above[i] - if i == 0 { 3.0 } else { above[i - 1] };
                assert_eq!(row[i], left, "{i} of {n}");
            }
            assert_eq!(last, left);
        }
    }
}
