//! Transpose: `B += A'`, then `A += 1`, the matrices cut in blocks of columns. Each rank reads the
//! elements that it needs from the columns of all others, where they are, in tiles; all have read
//! before A changes.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
use multiversion::multiversion;
use phalanx::Comm;
use phalanx::dist::Block;
use std::ops::Range;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Transpose {
    /// Order of the matrices
    #[arg(default_value_t = 2000)]
    pub(crate) n: usize,
    /// Side of the tiles
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(8..=4096))]
    pub(crate) tile: u64,
}

impl Kernel for Transpose {
    const NAME: &str = "transpose";
    const ITERATIONS: u32 = 20;
    const UNIT: Unit = Unit::Byte;

    fn fits(&self, _: usize) -> Result<(), String> {
        if self.n == 0 { Err("a matrix of order 0".into()) } else { Ok(()) }
    }

    fn work(&self, _: usize) -> f64 {
        16.0 * (self.n * self.n) as f64
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.n, self.tile as usize]
    }

    fn title(&self) -> String {
        format!("transpose {}, tile {}", self.n, self.tile)
    }

    fn run(&self, comm: &mut Comm, _: &mut [f64], iterations: u32) -> Outcome {
        let (n, tile) = (self.n, self.tile as usize);
        let columns = Block::new(n, comm.size());
        let own = columns.range(comm.rank());
        // Column by column; entry (i, j) is j n + i.
        let (mut a, mut b) = (memory(own.len() * n), memory(own.len() * n));
        let (a, b) = (from_a_line(&mut a), from_a_line(&mut b));
        a.iter_mut().zip(own.start * n..).for_each(|(a, at)| *a = at as f64);
        let seconds = timed(comm, iterations, |comm| {
            comm.with_peers(a, |all| {
                for (rank, theirs) in all.iter().enumerate() {
                    add_transposed(theirs, columns.range(rank), n, tile, own.clone(), b);
                }
            });
            // In a pass of its own: in the loops above it would write with strides.
            add_one(a);
        });

        let t = f64::from(iterations + 1);
        let added = t * (t - 1.0) / 2.0;
        let expected = |i: usize, j: usize| (i * n + j) as f64 * t + added;
        let error = |(at, &b): (usize, &f64)| (b - expected(at % n, own.start + at / n)).abs();
        let [sum] = comm.sum([b.iter().enumerate().map(error).sum::<f64>()]);
        Outcome { seconds, check: Check::absolute(sum, 0.0, 1e-8) }
    }
}

/// A cache line's elements.
const LINE: usize = 8;

/// Room for `len` elements from the begin of a cache line on: blocks of eight are then one line and
/// not two halves.
fn memory(len: usize) -> Vec<f64> {
    vec![0.0; len + LINE - 1]
}

fn from_a_line(memory: &mut [f64]) -> &mut [f64] {
    let before = memory.as_ptr().align_offset(LINE * size_of::<f64>());
    let len = memory.len() + 1 - LINE;
    &mut memory[before..before + len]
}

#[multiversion(targets("x86_64+avx2"))]
fn add_one(a: &mut [f64]) {
    for a in a {
        *a += 1.0;
    }
}

/// Adds rows `own` of `a`, which has columns `columns`, to rows `columns` of `b`, which has columns
/// `own`.
fn add_transposed(
    a: &[f64],
    columns: Range<usize>,
    n: usize,
    tile: usize,
    own: Range<usize>,
    b: &mut [f64],
) {
    for i0 in columns.clone().step_by(tile) {
        let rows = i0..(i0 + tile).min(columns.end);
        for j0 in own.clone().step_by(tile) {
            let own_tile = j0..(j0 + tile).min(own.end);
            for i in rows.clone().step_by(LINE) {
                for j in own_tile.clone().step_by(LINE) {
                    let (from, to) = ((i - columns.start) * n + j, (j - own.start) * n + i);
                    if i + LINE <= rows.end && j + LINE <= own_tile.end {
                        add_lines(&a[from..], &mut b[to..], n);
                        continue;
                    }
                    for c in 0..LINE.min(rows.end - i) {
                        for r in 0..LINE.min(own_tile.end - j) {
                            b[to + r * n + c] += a[from + c * n + r];
                        }
                    }
                }
            }
        }
    }
}

/// Eight by eight elements by way of registers: each line of memory is used whole while it is at
/// hand, even where all of them fall into one set of the cache.
#[inline(always)]
fn add_lines(a: &[f64], b: &mut [f64], n: usize) {
    let mut block = [[0.0; LINE]; LINE];
    for (c, line) in block.iter_mut().enumerate() {
        line.copy_from_slice(&a[c * n..c * n + LINE]);
    }
    for r in 0..LINE {
        let out = &mut b[r * n..r * n + LINE];
        for c in 0..LINE {
            out[c] += block[c][r];
        }
    }
}
