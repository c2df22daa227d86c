//! Criterion: what a call costs. One group a question; team, placement and
//! place are in `phalanx bench`, ratios to the hardware in `benches/ratios.rs`.
//!
//! - `dispatch`: `run` of an empty closure on waiting workers.
//! - `barrier`: ours, and the standard library's on the same threads.
//! - `all-reduce`, `broadcast`, `scan`, `shift`: by bytes per rank, buffers
//!   rewritten by their owners before each call (untimed).
//!
//! Workers live as long as the bench; each sample is one run of many calls,
//! timed on rank 0.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use phalanx::{Comm, Team, op};
use std::hint::black_box;
use std::time::{Duration, Instant};

fn team() -> Team {
    let ranks = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, 16);
    Team::builder().ranks(ranks).build().expect("a small team can be built")
}

/// Time on rank 0 of `iters` calls, each after its untimed preparation.
fn timed(
    team: &Team,
    iters: u64,
    len: usize,
    call: impl Fn(&mut Comm, &mut [f64]) + Sync,
) -> Duration {
    let times = team.run(|comm| {
        let mut buf = vec![0.0; len];
        let mut total = Duration::ZERO;
        for i in 0..iters {
            buf.iter_mut().enumerate().for_each(|(j, x)| *x = (i + j as u64) as f64);
            comm.barrier();
            let start = Instant::now();
            call(comm, &mut buf);
            total += start.elapsed();
            black_box(&mut buf);
        }
        total
    });
    times.expect("the ranks agree")[0]
}

fn dispatch(c: &mut Criterion) {
    let team = team();
    let mut group = c.benchmark_group("dispatch");
    group.bench_function(BenchmarkId::new("empty run", team.size()), |b| {
        b.iter(|| team.run(|_| ()).map(drop));
    });
}

fn barrier(c: &mut Criterion) {
    let team = team();
    let std = std::sync::Barrier::new(team.size());
    let mut group = c.benchmark_group("barrier");
    let loops = |iters: u64, call: &(dyn Fn(&mut Comm) + Sync)| {
        let times = team.run(|comm| {
            comm.barrier();
            let start = Instant::now();
            (0..iters).for_each(|_| call(comm));
            start.elapsed()
        });
        times.expect("the ranks agree")[0]
    };
    group.bench_function(BenchmarkId::new("phalanx", team.size()), |b| {
        b.iter_custom(|iters| loops(iters, &|comm| comm.barrier()));
    });
    group.bench_function(BenchmarkId::new("std::sync::Barrier", team.size()), |b| {
        b.iter_custom(|iters| {
            loops(iters, &|_| {
                std.wait();
            })
        });
    });
}

fn by_bytes(c: &mut Criterion) {
    let team = team();
    let p = team.size();
    for bytes in [8, 1 << 10, 1 << 16, 1 << 20] {
        let len = bytes / 8;
        let mut one = |name: &str, call: &(dyn Fn(&mut Comm, &mut [f64]) + Sync)| {
            let mut group = c.benchmark_group(name);
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_function(BenchmarkId::new(format!("p={p}"), bytes), |b| {
                b.iter_custom(|iters| timed(&team, iters, len, call));
            });
        };
        one("all-reduce", &|comm, x| comm.all_reduce(x, op::Sum));
        one("broadcast", &|comm, x| comm.broadcast(x, 0));
        one("scan", &|comm, x| comm.scan(x, op::Sum));
        one("shift", &|comm, x| comm.shift(x, 1));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(300));
    targets = dispatch, barrier, by_bytes
}
criterion_main!(benches);
