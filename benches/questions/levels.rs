//! The time to choose an algorithm on a machine with levels: 128 ranks on two packages, once per
//! communicator, and once per operation and length class.

use criterion::Criterion;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::Operation;
use phalanx::tuning::{LevelModel, MachineCosts};
use std::hint::black_box;

pub(crate) fn bench(c: &mut Criterion) {
    let costs = MachineCosts::named("epyc-7742-2s-nps4").expect("in the table");
    let machine = costs.machine().expect("a machine");
    let ranks = assign(&Placement::Compact, &machine, 128).expect("128 cores");
    let new = || LevelModel::new(&machine, &ranks, costs).expect("known levels");
    let model = new().expect("it has levels");
    let mut group = c.benchmark_group("levels");
    group.bench_function("model of 128 ranks", |b| b.iter(|| black_box(new())));
    for operation in [
        Operation::Barrier,
        Operation::AllReduce,
        Operation::Broadcast,
        Operation::Reduce,
        Operation::AllGather,
        Operation::ReduceScatter,
        Operation::Scan,
    ] {
        group.bench_function(format!("choose a {operation}"), |b| {
            b.iter(|| black_box(model.choose(black_box(operation), 1 << 16, true)));
        });
    }
    group.finish();
}
