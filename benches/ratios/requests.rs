//! Calls that are started, tagged and owned messages, and windows: each beside the call that waits,
//! on the same data, in interleaved batches.

use crate::raw::{EXCHANGES, Flags, Row, batch, interleaved};
use phalanx::{Comm, Source, call, op};
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// `form(comm, data, calls)`: nanoseconds of one call.
type Form = fn(&mut Comm, &mut [f64], u64) -> f64;

/// Ours, and the form beside it; none for the raw exchange of the batch.
const CASES: [(&str, Form, Option<Form>); 13] = [
    ("started all-reduce of 8 B / waiting", started::<1>, Some(waiting::<1>)),
    ("started all-reduce of 4 KiB / waiting", started::<512>, Some(waiting::<512>)),
    ("started all-reduce of 256 KiB / waiting", started::<32_768>, Some(waiting::<32_768>)),
    ("persistent all-reduce of 8 B / started", persistent, Some(started::<1>)),
    ("8 all-reduces of 8 B at once / one after the other", eight, Some(eight_waiting)),
    ("tagged send and reply of 8 B / send and reply", tagged::<1>, Some(reply::<1>)),
    ("tagged send and reply of 1 KiB / send and reply", tagged::<128>, Some(reply::<128>)),
    ("tagged, any source, 8 B / tagged", any_source, Some(tagged::<1>)),
    ("tagged both ways at once, 8 B / exchange", both_ways::<1>, Some(exchange::<1>)),
    ("tagged both ways at once, 64 KiB / exchange", both_ways::<8192>, Some(exchange::<8192>)),
    ("owned Vec of 1 MiB and back / send and reply", owned, Some(reply::<131_072>)),
    ("fetch_add by both ranks on one element / exchange", fetch_add, None),
    ("window update / two barriers", update, Some(two_barriers)),
];

fn waiting<const N: usize>(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let x = &mut x[..N];
    batch(calls, || comm.all_reduce(black_box(&mut *x), op::Max))
}

fn started<const N: usize>(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let x = &mut x[..N];
    batch(calls, || {
        comm.requests(|scope| {
            let request = scope.start(call::all_reduce(black_box(&mut *x), op::Max));
            scope.wait(request);
        });
    })
}

fn persistent(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    comm.requests(|scope| {
        let mut sum = Some(scope.set_up(call::all_reduce(&mut x[..1], op::Max)));
        batch(calls, || {
            if let Some(mut it) = sum.take() {
                black_box(it.buf_mut());
                let request = scope.start(it);
                sum = Some(scope.wait(request));
            }
        })
    })
}

fn eight(comm: &mut Comm, _: &mut [f64], calls: u64) -> f64 {
    batch(calls / 8 + 1, || {
        comm.requests(|scope| {
            let all: [_; 8] = std::array::from_fn(|i| scope.start(call::sum([i as f64])));
            for request in all {
                black_box(scope.wait(request));
            }
        });
    })
}

fn eight_waiting(comm: &mut Comm, _: &mut [f64], calls: u64) -> f64 {
    batch(calls / 8 + 1, || {
        for i in 0..8 {
            let mut x = [f64::from(i)];
            comm.all_reduce(&mut x, op::Sum);
            black_box(x);
        }
    })
}

fn reply<const N: usize>(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let x = &mut x[..N];
    batch(fewer::<N>(calls), || {
        if comm.rank() == 0 {
            comm.send(black_box(&*x), 1);
            comm.recv(x, 1);
        } else {
            comm.recv(x, 0);
            comm.send(black_box(&*x), 0);
        }
    })
}

/// Calls in a batch of so many elements.
fn fewer<const N: usize>(calls: u64) -> u64 {
    (calls / (1 + N as u64 / 1024)).max(4)
}

fn tagged<const N: usize>(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let x = &mut x[..N];
    batch(fewer::<N>(calls), || {
        if comm.rank() == 0 {
            comm.send_tagged(black_box(&*x), 1, 7);
            black_box(comm.recv_tagged(x, 1, 7));
        } else {
            black_box(comm.recv_tagged(x, 0, 7));
            comm.send_tagged(black_box(&*x), 0, 7);
        }
    })
}

fn any_source(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let x = &mut x[..1];
    batch(calls, || {
        if comm.rank() == 0 {
            comm.send_tagged(black_box(&*x), 1, 7);
            black_box(comm.recv_tagged(x, Source::Any, 7));
        } else {
            black_box(comm.recv_tagged(x, Source::Any, 7));
            comm.send_tagged(black_box(&*x), 0, 7);
        }
    })
}

fn both_ways<const N: usize>(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let (from, to) = x[..2 * N].split_at_mut(N);
    let peer = 1 - comm.rank();
    batch(fewer::<N>(calls), || {
        comm.requests(|scope| {
            let got = scope.start(call::recv_tagged(black_box(&mut *to), peer, 7));
            let sent = scope.start(call::send_tagged(black_box(&*from), peer, 7));
            scope.wait(got);
            scope.wait(sent);
        });
    })
}

fn exchange<const N: usize>(comm: &mut Comm, x: &mut [f64], calls: u64) -> f64 {
    let (from, to) = x[..2 * N].split_at_mut(N);
    let peer = 1 - comm.rank();
    batch(fewer::<N>(calls), || comm.exchange(black_box(&*from), peer, black_box(&mut *to), peer))
}

fn owned(comm: &mut Comm, _: &mut [f64], calls: u64) -> f64 {
    let mut ball = (comm.rank() == 0).then(|| vec![1.0f64; 131_072]);
    let peer = 1 - comm.rank();
    batch(fewer::<131_072>(calls), || {
        if let Some(it) = ball.take() {
            comm.send_owned(it, peer, 7);
            ball = Some(comm.recv_owned(peer, 7).0);
        } else {
            let (it, _) = comm.recv_owned::<Vec<f64>>(peer, 7);
            comm.send_owned(it, peer, 7);
        }
    })
}

fn fetch_add(comm: &mut Comm, _: &mut [f64], calls: u64) -> f64 {
    let counters = comm.shared_atomic::<u64>(16);
    let counter = &counters.part(0)[0];
    comm.barrier();
    batch(calls, || {
        black_box(counter.fetch_add(1, Relaxed));
    })
}

fn update(comm: &mut Comm, _: &mut [f64], calls: u64) -> f64 {
    let mut window = comm.shared::<f64>(16);
    batch(calls, || window.update(comm, |mine| mine[0] += 1.0))
}

fn two_barriers(comm: &mut Comm, _: &mut [f64], calls: u64) -> f64 {
    batch(calls, || {
        comm.barrier();
        comm.barrier();
    })
}

/// One rank's part: rounds of interleaved batches until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, time: Duration) -> Vec<Row> {
    let mut rows: Vec<Row> = CASES.iter().map(|case| Row::new(case.0)).collect();
    let mut x = vec![1.0; 131_072];
    interleaved(comm, flags, time, &mut rows, |comm, _, number| {
        let (_, ours, beside) = CASES[number];
        let base = beside.map(|form| form(comm, &mut x, EXCHANGES));
        (ours(comm, &mut x, EXCHANGES), base)
    });
    rows
}
