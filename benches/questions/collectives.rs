//! The time of each collective, by the bytes of a rank's larger buffer.

use crate::common::team;
use criterion::{BenchmarkId, Criterion, Throughput};
use phalanx::{Comm, Team, op};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

type Call<'a> = &'a (dyn Fn(&mut Comm, &mut [f64], &mut [f64]) + Sync);

const SIZES: [usize; 4] = [8, 1 << 10, 1 << 16, 1 << 20];

/// Time on rank 0 of `iters` calls, each after the owners have rewritten their
/// buffers.
fn timed(team: &Team, iters: u64, len: usize, call: Call<'_>) -> Duration {
    let times = team.run(|comm| {
        let (mut x, mut y) = (vec![0.0; len], vec![0.0; len]);
        let mut total = Duration::ZERO;
        for i in 0..iters {
            x.iter_mut().enumerate().for_each(|(j, x)| *x = (i + j as u64) as f64);
            comm.barrier();
            let start = Instant::now();
            call(comm, &mut x, &mut y);
            total += start.elapsed();
            black_box((&mut x, &mut y));
        }
        total
    });
    times.expect("the ranks agree")[0]
}

pub(crate) fn bench(c: &mut Criterion) {
    let team = team();
    let p = team.size();
    let calls: [(&str, Call<'_>); 11] = [
        ("broadcast", &|comm, x, _| comm.broadcast(x, 0)),
        ("reduce", &|comm, x, _| comm.reduce(x, op::Sum, 0)),
        ("all-reduce", &|comm, x, _| comm.all_reduce(x, op::Sum)),
        ("scan", &|comm, x, _| comm.scan(x, op::Sum)),
        ("exclusive-scan", &|comm, x, _| comm.exclusive_scan(x, op::Sum)),
        ("shift", &|comm, x, _| comm.shift(x, 1)),
        ("all-gather", &|comm, x, y| comm.all_gather_into(&x[..x.len() / comm.size()], y)),
        ("reduce-scatter", &|comm, x, y| {
            let block = x.len() / comm.size();
            comm.reduce_scatter_into(x, &mut y[..block], op::Sum);
        }),
        ("scatter", &|comm, x, y| {
            let block = x.len() / comm.size();
            comm.scatter_into(x, &mut y[..block], 0);
        }),
        ("gather", &|comm, x, y| comm.gather_into(&x[..x.len() / comm.size()], y, 0)),
        ("all-to-all", &|comm, x, y| comm.all_to_all_into(x, y)),
    ];
    for (name, call) in calls {
        let mut group = c.benchmark_group(name);
        for bytes in SIZES {
            // Whole blocks.
            let len = (bytes / 8 / p).max(1) * p;
            group.throughput(Throughput::Bytes(8 * len as u64));
            group.bench_function(BenchmarkId::new(format!("p={p}"), 8 * len), |b| {
                b.iter_custom(|iters| timed(&team, iters, len, call));
            });
        }
    }
    drop(team);
    shared_sum(c, p);
}

/// The way of a program with rayon instead of an all-reduce: one sum of all vectors in shared
/// memory, by equal parts. The inputs are not rewritten.
fn shared_sum(c: &mut Criterion, p: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(p).build().expect("a small pool");
    let mut group = c.benchmark_group("sum of vectors into one, rayon");
    for bytes in SIZES {
        let len = (bytes / 8 / p).max(1) * p;
        let inputs: Vec<Vec<f64>> = (0..p).map(|r| vec![r as f64; len]).collect();
        let mut sum = vec![0.0; len];
        group.throughput(Throughput::Bytes(8 * len as u64));
        group.bench_function(BenchmarkId::new(format!("p={p}"), 8 * len), |b| {
            pool.install(|| {
                b.iter(|| {
                    let parts = sum.par_chunks_mut(len / p).enumerate();
                    parts.for_each(|(part, out)| {
                        let from = part * (len / p);
                        out.copy_from_slice(&inputs[0][from..from + out.len()]);
                        for input in &inputs[1..] {
                            let input = &input[from..from + out.len()];
                            out.iter_mut().zip(input).for_each(|(a, b)| *a += b);
                        }
                    });
                    black_box(&mut sum);
                });
            });
        });
    }
}
