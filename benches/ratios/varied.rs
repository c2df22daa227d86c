//! Blocks of different lengths: each `_varied` call as a multiple of the even one on the same data,
//! in interleaved batches.

use crate::raw::{Flags, Row, batch, interleaved};
use phalanx::{Comm, op};
use std::hint::black_box;
use std::time::Duration;

/// Elements of a block.
const LENGTHS: [usize; 6] = [1, 8, 64, 512, 8 << 10, 128 << 10];

/// `call(comm, one, all, counts)`, where `one` has a block, and `all` has one of each rank.
type Form = fn(&mut Comm, &mut [f64], &mut [f64], &[usize]);

/// The even form, and the other.
const CASES: [(&str, Form, Form); 5] = [
    (
        "all-gather",
        |comm, one, all, _| comm.all_gather_into(one, all),
        |comm, one, all, counts| comm.all_gather_varied_into(one, all, counts),
    ),
    (
        "gather",
        |comm, one, all, _| comm.gather_into(one, all, 0),
        |comm, one, all, counts| comm.gather_varied_into(one, all, counts, 0),
    ),
    (
        "scatter",
        |comm, one, all, _| comm.scatter_into(all, one, 0),
        |comm, one, all, counts| comm.scatter_varied_into(all, one, counts, 0),
    ),
    (
        "reduce-scatter",
        |comm, one, all, _| comm.reduce_scatter_into(all, one, op::Sum),
        |comm, one, all, counts| comm.reduce_scatter_varied_into(all, one, counts, op::Sum),
    ),
    ("all-to-all", even_exchange, |comm, _, all, counts| {
        let (from, to) = all.split_at_mut(all.len() / 2);
        let halves: [usize; 2] = [counts[0] / 2, counts[1] / 2];
        comm.all_to_all_varied_into(from, &halves, to, &halves);
    }),
];

fn even_exchange(comm: &mut Comm, _: &mut [f64], all: &mut [f64], _: &[usize]) {
    let (from, to) = all.split_at_mut(all.len() / 2);
    comm.all_to_all_into(from, to);
}

/// One rank's part: rounds of interleaved batches until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, time: Duration) -> Vec<Row> {
    let cases = CASES.iter().flat_map(|case| LENGTHS.map(|n| (case, n)));
    let cases: Vec<_> = cases.collect();
    let name = |((name, ..), n): &(&(&str, _, _), usize)| format!("{name} of {} B", 8 * n);
    let mut rows: Vec<Row> =
        cases.iter().map(|case| Row::new(name(case) + ": varied / even")).collect();
    let most = LENGTHS[LENGTHS.len() - 1];
    let (mut one, mut all) = (vec![1.0; most], vec![1.0; 4 * most]);
    interleaved(comm, flags, time, &mut rows, |comm, _, number| {
        let (&(name, even, varied), n) = cases[number];
        // An exchange has two buffers in `all`, of a block for each rank.
        let blocks = if name == "all-to-all" { 2 } else { 1 };
        let counts = black_box([n * blocks; 2]);
        let (one, all) = (&mut one[..n], &mut all[..2 * n * blocks]);
        let calls = (1 << 18) / (n as u64 + 700);
        let mut timed = |form: Form| {
            // Long blocks are timed once or twice: both forms find them in the caches.
            form(comm, one, all, &counts);
            comm.barrier();
            batch(calls, || {
                form(comm, one, all, &counts);
                black_box(&mut *all);
            })
        };
        let base = timed(even);
        (timed(varied), Some(base))
    });
    rows
}
