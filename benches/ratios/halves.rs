//! Sums of half precision beside as many bytes of f32.

use crate::raw::{Flags, Row, interleaved};
use phalanx::{Comm, Element, op};
use phalanx_model::median;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One rank's part: rounds of interleaved calls until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, time: Duration) -> Vec<Row> {
    let name = |call| format!("{call} of bf16 / of as many bytes of f32");
    let mut rows =
        Vec::from(["all-reduce 64 KiB", "reduce-scatter 1 MiB"].map(|call| Row::new(name(call))));
    interleaved(comm, flags, time, &mut rows, |comm, _, number| {
        let bytes = [64 << 10, 1 << 20][number];
        (sum(comm, bytes, half::bf16::ONE), Some(sum(comm, bytes, 1f32)))
    });
    rows
}

/// Nanoseconds of a sum of so many bytes: up to 64 KiB an all-reduce, else a reduce-scatter.
fn sum<T: Element>(comm: &mut Comm, bytes: usize, one: T) -> f64
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
