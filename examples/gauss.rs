//! Gaussian elimination and back substitution with pipelined broadcasts. Rows are dealt round a
//! ring. The owner of row k divides it by its pivot and sends it to the next rank; every rank first
//! forwards the row and then eliminates with it, so that row k + 1 is on its way while row k
//! still is. Nobody ever waits for all.

use phalanx::dist::{BlockCyclic, Distribution};
use phalanx::{Comm, Error};

const N: usize = 60;

/// The right side is column N, for the solution 1, 2, .., N; the matrix is diagonally dominant, so
/// no pivots are sought.
fn given(row: usize) -> Vec<f64> {
    let a = |c: usize| if c == row { 4.0 * N as f64 } else { ((row * 7 + c * 3) % 8) as f64 };
    let right = (0..N).map(|c| a(c) * (c + 1) as f64).sum();
    (0..N).map(a).chain([right]).collect()
}

fn divide(row: &mut [f64], k: usize) {
    let pivot = row[k];
    row[k..].iter_mut().for_each(|v| *v /= pivot);
}

fn eliminate(row: &mut [f64], with: &[f64], k: usize) {
    let factor = row[k];
    row[k..].iter_mut().zip(&with[k..]).for_each(|(v, with)| *v -= factor * with);
}

/// Sends `buf` from `owner` round the ring, forwards or backwards, up to the rank before the owner.
fn pass_on(comm: &mut Comm, buf: &mut [f64], owner: usize, forwards: bool) {
    let (rank, p) = (comm.rank(), comm.size());
    let (from, to) = ((rank + p - 1) % p, (rank + 1) % p);
    let (from, to) = if forwards { (from, to) } else { (to, from) };
    if rank != owner {
        comm.recv(buf, from);
    }
    if to != owner {
        comm.send(buf, to);
    }
}

fn solve(comm: &mut Comm) -> (Vec<Vec<f64>>, Vec<f64>) {
    let dealt = BlockCyclic::new(N, 1, comm.size());
    let me = comm.rank();
    let mut rows: Vec<Vec<f64>> = dealt.indices(me).map(given).collect();
    let after = |k: usize| dealt.indices(me).filter(move |&i| i > k).map(|i| dealt.local(i));
    let mut pivot_row = vec![0.0; N + 1];
    for k in 0..N {
        let owner = dealt.owner(k);
        if me == owner {
            divide(&mut rows[dealt.local(k)], k);
            pivot_row.copy_from_slice(&rows[dealt.local(k)]);
        }
        pass_on(comm, &mut pivot_row[k..], owner, true);
        after(k).for_each(|i| eliminate(&mut rows[i], &pivot_row, k));
    }

    // Now U x = y, with ones on the diagonal and y in column N. The next owner is the rank before.
    let mut x = vec![0.0; N];
    for k in (0..N).rev() {
        let owner = dealt.owner(k);
        if me == owner {
            x[k] = rows[dealt.local(k)][N];
        }
        pass_on(comm, &mut x[k..k + 1], owner, false);
        for i in dealt.indices(me).filter(|&i| i < k).map(|i| dealt.local(i)) {
            let known = rows[i][k] * x[k];
            rows[i][N] -= known;
        }
    }
    (rows, x)
}

fn main() -> Result<(), Error> {
    // The same by one thread, without ranks.
    let mut serial: Vec<Vec<f64>> = (0..N).map(given).collect();
    for k in 0..N {
        divide(&mut serial[k], k);
        let (done, rest) = serial.split_at_mut(k + 1);
        rest.iter_mut().for_each(|row| eliminate(row, &done[k], k));
    }
    for ranks in [1, 2, 3, 4, 8] {
        let results = phalanx::run(ranks, solve)?;
        for (rank, (rows, x)) in results.iter().enumerate() {
            for (row, i) in rows.iter().zip(BlockCyclic::new(N, 1, ranks).indices(rank)) {
                // The same operations in the same order: the same bits.
                assert_eq!(row[i..N], serial[i][i..N], "row {i} of U on {ranks} ranks");
            }
            let worst =
                x.iter().enumerate().map(|(i, x)| (x - (i + 1) as f64).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-10, "{ranks} ranks: off by {worst:e}");
        }
        println!("{ranks} ranks: {N} unknowns, U as the serial one, x = 1, 2, .., {N}");
    }
    Ok(())
}
