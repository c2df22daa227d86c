//! The round-trip time of one word through the mailbox.

use crate::common::{Flags, back_to_back, pair, until};
use criterion::Criterion;
use std::sync::Mutex;

/// Messages that a queue holds.
const CAPACITY: usize = 1024;

pub(crate) fn bench(c: &mut Criterion) {
    let pair = pair();
    let mut group = c.benchmark_group("mailbox, 8 bytes there and back");
    group.bench_function("floor, two flags", |b| {
        b.iter_custom(|n| {
            let flags = Flags::default();
            back_to_back(&pair, n, |comm, i| flags.ping_pong(comm.rank(), i + 1))
        });
    });
    group.bench_function("phalanx, send and recv", |b| {
        b.iter_custom(|n| {
            back_to_back(&pair, n, |comm, i| {
                let (rank, mut x) = (comm.rank(), [i]);
                if rank == 0 {
                    comm.send(&x, 1);
                }
                comm.recv(&mut x, 1 - rank);
                if rank == 1 {
                    comm.send(&x, 0);
                }
                assert_eq!(x[0], i);
            })
        });
    });
    group.bench_function("rtrb", |b| {
        // By rank: the end that sends, and the one that receives.
        let (tx0, rx1) = rtrb::RingBuffer::<u64>::new(CAPACITY);
        let (tx1, rx0) = rtrb::RingBuffer::<u64>::new(CAPACITY);
        let ends = [Mutex::new((tx0, rx0)), Mutex::new((tx1, rx1))];
        b.iter_custom(|n| {
            let times = pair.run(|comm| {
                let rank = comm.rank();
                let (tx, rx) = &mut *ends[rank].lock().expect("nobody panics");
                let mut pop = || {
                    let mut got = None;
                    until(|| {
                        got = rx.pop().ok();
                        got.is_some()
                    });
                    got
                };
                comm.barrier();
                let start = std::time::Instant::now();
                for i in 0..n {
                    if rank == 0 {
                        tx.push(i).expect("the queue has room");
                        assert_eq!(pop(), Some(i));
                    } else if let Some(x) = pop() {
                        tx.push(x).expect("the queue has room");
                    }
                }
                start.elapsed()
            });
            times.expect("the ranks agree")[0]
        });
    });
    group.bench_function("crossbeam-channel, bounded, polled", |b| {
        let there = crossbeam_channel::bounded::<u64>(CAPACITY);
        let back = crossbeam_channel::bounded::<u64>(CAPACITY);
        let ends = [(&there.0, &back.1), (&back.0, &there.1)];
        b.iter_custom(|n| {
            back_to_back(&pair, n, |comm, i| {
                let (tx, rx) = ends[comm.rank()];
                let pop = || {
                    let mut got = None;
                    until(|| {
                        got = rx.try_recv().ok();
                        got.is_some()
                    });
                    got
                };
                if comm.rank() == 0 {
                    tx.try_send(i).expect("the queue has room");
                    assert_eq!(pop(), Some(i));
                } else if let Some(x) = pop() {
                    tx.try_send(x).expect("the queue has room");
                }
            })
        });
    });
}
