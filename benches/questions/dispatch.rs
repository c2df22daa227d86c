//! The time to start a run on all ranks.

use crate::common::team;
use criterion::{BenchmarkId, Criterion};

pub(crate) fn bench(c: &mut Criterion) {
    let team = team();
    let p = team.size();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(p).build().expect("a small pool");
    let mut group = c.benchmark_group("dispatch");
    group.bench_function(BenchmarkId::new("phalanx, empty run", p), |b| {
        b.iter(|| team.run(|_| ()).map(drop));
    });
    group.bench_function(BenchmarkId::new("rayon, broadcast", p), |b| {
        b.iter(|| drop(pool.broadcast(|_| ())));
    });
    group.bench_function(BenchmarkId::new("rayon, join inside the pool", 2), |b| {
        pool.install(|| b.iter(|| rayon::join(|| (), || ())));
    });
    group.bench_function(BenchmarkId::new("std, scoped threads", p), |b| {
        b.iter(|| {
            std::thread::scope(|s| {
                (1..p).for_each(|_| drop(s.spawn(|| ())));
            });
        });
    });
}
