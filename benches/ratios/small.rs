//! Small messages: two ranks beside two flags.

use crate::raw::{EXCHANGES, Flags, Row, batch, interleaved};
use phalanx::{Comm, op};
use phalanx_model::median;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Calls that are timed one by one.
const ALONE: usize = 60;

/// The call, and the program that it is compared with.
type Case = (&'static str, Base, fn(&mut Comm, &mut [f64]));

#[derive(Clone, Copy, PartialEq)]
enum Base {
    Exchange,
    PingPong,
}

fn sum<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    x[0] = 1.0;
    comm.all_reduce(&mut x[..N], op::Sum);
    black_box(x);
}

fn reply<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    let x = &mut x[..N];
    if comm.rank() == 0 {
        comm.send(x, 1);
        comm.recv(x, 1);
    } else {
        comm.recv(x, 0);
        comm.send(x, 0);
    }
    black_box(x);
}

fn stream<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    let x = &mut x[..N];
    if comm.rank() == 0 {
        comm.send(x, 1);
    } else {
        comm.recv(x, 0);
    }
    black_box(x);
}

fn broadcast<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    comm.broadcast(&mut x[..N], 0);
    black_box(x);
}

fn gather<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    let (mine, all) = x.split_at_mut(N);
    comm.all_gather_into(mine, &mut all[..2 * N]);
    black_box(x);
}

fn scan<const N: usize>(comm: &mut Comm, x: &mut [f64]) {
    x[0] = 1.0;
    comm.scan(&mut x[..N], op::Sum);
    black_box(x);
}

const CASES: &[Case] = &[
    ("barrier / exchange", Base::Exchange, |comm, _| comm.barrier()),
    ("all-reduce 8 B / exchange", Base::Exchange, sum::<1>),
    ("all-reduce 32 B / exchange", Base::Exchange, sum::<4>),
    ("all-reduce 64 B / exchange", Base::Exchange, sum::<8>),
    ("all-reduce 128 B / exchange", Base::Exchange, sum::<16>),
    ("all-reduce 256 B / exchange", Base::Exchange, sum::<32>),
    ("all-reduce 512 B / exchange", Base::Exchange, sum::<64>),
    ("all-reduce 1 KiB / exchange", Base::Exchange, sum::<128>),
    ("all-reduce 2 KiB / exchange", Base::Exchange, sum::<256>),
    ("all-reduce 4 KiB / exchange", Base::Exchange, sum::<512>),
    ("all-gather 8 B / exchange", Base::Exchange, gather::<1>),
    ("all-gather 64 B / exchange", Base::Exchange, gather::<8>),
    ("scan 8 B / exchange", Base::Exchange, scan::<1>),
    ("send+reply 8 B / ping-pong", Base::PingPong, reply::<1>),
    ("send+reply 64 B / ping-pong", Base::PingPong, reply::<8>),
    ("send+reply 1 KiB / ping-pong", Base::PingPong, reply::<128>),
    ("sends one way 8 B / exchange", Base::Exchange, stream::<1>),
    ("sends one way 64 B / exchange", Base::Exchange, stream::<8>),
    ("sends one way 1 KiB / exchange", Base::Exchange, stream::<128>),
    ("broadcasts one way 8 B / exchange", Base::Exchange, broadcast::<1>),
    ("broadcasts one way 1 KiB / exchange", Base::Exchange, broadcast::<128>),
];

/// One rank's part: rounds of interleaved batches until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, time: Duration) -> Vec<Row> {
    let names = CASES.iter().map(|case| case.0);
    let more = ["raw ping-pong / exchange", "barrier, alone / exchange, alone"];
    let mut rows: Vec<Row> = names.chain(more).map(Row::new).collect();
    let x = &mut [0.0; 512][..];
    interleaved(comm, flags, time, &mut rows, |comm, raw, number| match CASES.get(number) {
        Some((_, base, call)) => {
            let base = (*base == Base::PingPong).then(|| raw.pinged(EXCHANGES));
            (batch(EXCHANGES, || call(comm, x)), base)
        }
        None if number == CASES.len() => (raw.pinged(EXCHANGES), None),
        None => {
            let theirs = alone(|| raw.exchange());
            (alone(|| comm.barrier()), Some(theirs))
        }
    });
    rows
}

/// Nanoseconds of a call that comes half a microsecond after another.
fn alone(mut call: impl FnMut()) -> f64 {
    let times = (0..ALONE).map(|_| {
        call();
        let start = Instant::now();
        while start.elapsed() < Duration::from_nanos(500) {}
        batch(1, &mut call)
    });
    median(&times.collect::<Vec<_>>())
}
