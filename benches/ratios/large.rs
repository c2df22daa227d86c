//! Large vectors: two ranks beside the same loop written by hand.

use crate::raw::{Flags, Line, Raw, Rounds, Row};
use phalanx::{Comm, op};
use phalanx_model::median;
use std::hint::black_box;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

const CALLS: u64 = 400;

/// The hand-written all-reduce of two threads: each adds its half of both
/// buffers and stores it to both.
#[derive(Default)]
pub(crate) struct Fused {
    flags: Flags,
    at: [Line; 2],
}

impl Fused {
    fn all_reduce(&self, rank: usize, k: u64, buf: &mut [f64]) {
        let n = buf.len();
        self.at[rank].0.store(buf.as_mut_ptr().expose_provenance() as u64, Relaxed);
        self.flags.exchange(rank, 2 * k);
        let other =
            std::ptr::with_exposed_provenance_mut(self.at[1 - rank].0.load(Relaxed) as usize);
        let half = if rank == 0 { 0..n / 2 } else { n / 2..n };
        // SAFETY: both threads run this with live buffers of n elements; the
        // exchanges before and after bound the access, and the halves are
        // disjoint.
        unsafe {
            let x = std::slice::from_raw_parts_mut(buf.as_mut_ptr().add(half.start), half.len());
            let other: *mut f64 = other;
            let y = std::slice::from_raw_parts_mut(other.add(half.start), half.len());
            for (x, y) in x.iter_mut().zip(y) {
                let z = *x + *y;
                *x = z;
                *y = z;
            }
        }
        self.flags.exchange(rank, 2 * k + 1);
    }
}

/// One rank's part: rounds of interleaved calls until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, fused: &Fused, time: Duration) -> Vec<Row> {
    let rank = comm.rank();
    let names = ["16 KiB", "256 KiB", "4 MiB"];
    let mut rows = Vec::from(names.map(|name| Row::new(format!("all-reduce {name} / hand-fused"))));
    let raw = &mut Raw::new(flags, rank);
    let mut k = 0u64;
    let mut big: Vec<Vec<f64>> = [2048, 32768, 524288].map(|n| vec![0.0; n]).into();
    if cfg!(feature = "half") {
        let name = |call| format!("{call} of bf16 / of as many bytes of f32");
        rows.extend(["all-reduce 64 KiB", "reduce-scatter 1 MiB"].map(|call| Row::new(name(call))));
    }
    let mut rounds = Rounds::new(time);
    while rounds.next(comm) {
        let round = rounds.begun;
        for (i, buf) in big.iter_mut().enumerate() {
            let calls = [15, 7, 3][i];
            comm.barrier();
            raw.exchanged(50);
            let before = raw.exchanged(CALLS);
            let (mut hand, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..calls {
                rewrite(buf, round);
                comm.barrier();
                k += 1;
                let t = Instant::now();
                fused.all_reduce(rank, k, buf);
                hand.push(t.elapsed().as_nanos() as f64);
                rewrite(buf, round + 1);
                comm.barrier();
                let t = Instant::now();
                comm.all_reduce(buf, op::Sum);
                ours.push(t.elapsed().as_nanos() as f64);
            }
            let after = raw.exchanged(CALLS);
            rows[i].keep(before, after, median(&ours), Some(median(&hand)));
        }
        #[cfg(feature = "half")]
        for (row, bytes) in rows[3..].iter_mut().zip([64 << 10, 1 << 20]) {
            let before = raw.exchanged(CALLS);
            let (ours, base) = (sum(comm, bytes, half::bf16::ONE), sum(comm, bytes, 1f32));
            row.keep(before, raw.exchanged(CALLS), ours, Some(base));
        }
    }
    rows
}

/// Nanoseconds of a sum of so many bytes: up to 64 KiB an all-reduce, else a reduce-scatter.
#[cfg(feature = "half")]
fn sum<T: phalanx::Element>(comm: &mut Comm, bytes: usize, one: T) -> f64
where
    op::Sum: op::Operator<T>,
{
    let [mut x, mut part] = [bytes, bytes / 2].map(|n| vec![one; n / size_of::<T>()]);
    let calls = (0..7).map(|_| {
        black_box(&mut x).fill(one);
        comm.barrier();
        let t = Instant::now();
        match bytes > 64 << 10 {
            true => comm.reduce_scatter_into(&x, &mut part, op::Sum),
            false => comm.all_reduce(&mut x, op::Sum),
        }
        t.elapsed().as_nanos() as f64
    });
    median(&calls.collect::<Vec<_>>())
}

/// The owner writes its whole buffer before each call, so that the data really
/// have to move.
fn rewrite(buf: &mut [f64], round: u64) {
    for (j, x) in buf.iter_mut().enumerate() {
        *x = round as f64 + j as f64;
    }
    black_box(buf);
}
