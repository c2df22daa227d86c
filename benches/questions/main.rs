//! Criterion benchmarks: the time of each call beside its alternatives. Each file is one group:
//!
//! | group | question | beside |
//! |---|---|---|
//! | `dispatch` | how much does it cost to get all ranks to work? | rayon, scoped threads |
//! | `barrier` | .. that all have come? | two raw flags, `std::sync::Barrier`, `spin::Barrier` |
//! | `mailbox` | .. a word there and back? | two raw flags, rtrb, crossbeam-channel |
//! | `levels` | .. to choose an algorithm on a machine with levels? | |
//!
//! All run on the same pinned threads: those of a team (rayon on a pool of its own). Workers live
//! as long as the bench; each sample is one run of many calls, timed on rank 0.
//!
//! Cores of a virtual machine move while these run, so that two groups do not compare; for that,
//! and for collectives by bytes, see `benches/ratios`, `phalanx bench` and `phalanx peers`, which
//! know where the cores are.

mod barrier;
mod common;
mod dispatch;
mod levels;
mod mailbox;

use criterion::{Criterion, criterion_group, criterion_main};
use std::time::Duration;

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(300));
    targets = dispatch::bench, barrier::bench, mailbox::bench, levels::bench
}
criterion_main!(benches);
