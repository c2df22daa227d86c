//! The time of a barrier.

use crate::common::{Flags, back_to_back, pair, team};
use criterion::{BenchmarkId, Criterion};

pub(crate) fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("barrier");
    {
        let pair = pair();
        group.bench_function(BenchmarkId::new("floor, two flags", 2), |b| {
            b.iter_custom(|n| {
                let flags = Flags::default();
                back_to_back(&pair, n, |comm, i| flags.exchange(comm.rank(), i + 1))
            });
        });
    }
    let team = team();
    let p = team.size();
    group.bench_function(BenchmarkId::new("phalanx", p), |b| {
        b.iter_custom(|n| back_to_back(&team, n, |comm, _| comm.barrier()));
    });
    let spin = spin::Barrier::new(p);
    group.bench_function(BenchmarkId::new("spin::Barrier", p), |b| {
        b.iter_custom(|n| {
            back_to_back(&team, n, |_, _| {
                spin.wait();
            })
        });
    });
    let std = std::sync::Barrier::new(p);
    group.bench_function(BenchmarkId::new("std::sync::Barrier", p), |b| {
        b.iter_custom(|n| {
            back_to_back(&team, n, |_, _| {
                std.wait();
            })
        });
    });
}
