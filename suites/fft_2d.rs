//! Matrix transposition by total exchange, and with it the two-dimensional Fourier transform: each
//! rank transforms its rows (rustfft), all transpose, and each transforms its rows again.

use phalanx::{Comm, Error};
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::TAU;

/// The matrix has N x N elements; each rank N / p rows, next to each other.
const N: usize = 24;

fn value(row: usize, column: usize) -> Complex64 {
    Complex64::new(((row * 7 + column * 3) % 11) as f64, ((row + column * 5) % 3) as f64)
}

/// Of the own rows, block j (the columns that rank j will have as rows) goes to rank j; the block
/// that comes is turned over.
fn transpose(comm: &mut Comm, rows: &mut [Complex64]) {
    let mine = N / comm.size();
    let cut = |j: usize| (0..mine * mine).map(move |k| k / mine * N + j * mine + k % mine);
    let blocks: Vec<Complex64> = (0..comm.size()).flat_map(cut).map(|at| rows[at]).collect();
    let mut got = blocks.clone();
    comm.all_to_all_into(&blocks, &mut got);
    for (j, block) in got.chunks_exact(mine * mine).enumerate() {
        for (k, &v) in block.iter().enumerate() {
            rows[k % mine * N + j * mine + k / mine] = v;
        }
    }
}

/// The result is transposed back, so that rows are rows.
fn transform(comm: &mut Comm, rows: &mut [Complex64], fft: &dyn Fft<f64>) {
    let mut scratch = vec![Complex64::default(); fft.get_inplace_scratch_len()];
    for _ in 0..2 {
        fft.process_with_scratch(rows, &mut scratch); // row by row
        transpose(comm, rows);
    }
}

/// By the definition, for a few frequencies.
fn defined(u: usize, v: usize) -> Complex64 {
    let turn = |k: usize| Complex64::cis(-TAU * (k % N) as f64 / N as f64);
    let term = |at: usize| value(at / N, at % N) * turn(u * (at / N)) * turn(v * (at % N));
    (0..N * N).map(term).sum()
}

fn main() -> Result<(), Error> {
    let mut planner = FftPlanner::new();
    let (forward, inverse) = (planner.plan_fft_forward(N), planner.plan_fft_inverse(N));
    for ranks in [1, 2, 3, 4, 8] {
        let parts = phalanx::run(ranks, |comm| {
            let first = comm.rank() * N / ranks * N;
            let given: Vec<Complex64> =
                (first..first + N * N / ranks).map(|at| value(at / N, at % N)).collect();
            let mut rows = given.clone();
            transpose(comm, &mut rows);
            let turned = rows.iter().enumerate().map(|(k, v)| ((first + k) / N, k % N, v));
            turned.for_each(|(r, c, &v)| assert_eq!(v, value(c, r), "({r}, {c}) on {ranks} ranks"));
            transpose(comm, &mut rows);
            assert_eq!(rows, given, "transposed twice");

            transform(comm, &mut rows, &*forward);
            let spectrum = rows.clone();
            transform(comm, &mut rows, &*inverse);
            let back = rows.iter().map(|v| v / (N * N) as f64).zip(&given);
            let off = back.map(|(v, given)| (v - given).norm()).fold(0.0, f64::max);
            assert!(off < 1e-12, "there and back: {off:e}");
            spectrum
        })?;
        let spectrum = parts.concat();
        for (u, v) in [(0, 0), (1, 0), (0, 1), (5, 7), (12, 12), (23, 1), (23, 23)] {
            let off = (spectrum[u * N + v] - defined(u, v)).norm();
            assert!(off < 1e-9, "frequency ({u}, {v}) on {ranks} ranks: {off:e}");
        }
        println!("{ranks} ranks: transposed, transformed and back, {N} x {N}");
    }
    Ok(())
}
