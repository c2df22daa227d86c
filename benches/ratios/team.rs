//! Calls other than an exchange of two ranks: the start of a run, one rank alone, and more ranks
//! than cores.

use crate::raw::{Flags, Raw, Row, batch};
use phalanx::{Builder, Comm, Error, Team, dist::dynamic, op};
use phalanx_model::median;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// `run` of an empty closure on workers that spin, beside a raw ping-pong of the same two threads.
pub(crate) fn dispatch(team: &Team, time: Duration) -> Result<Vec<Row>, Error> {
    const RUNS: u64 = 200;
    let mut rows = [
        Row::new("run of nothing / ping-pong"),
        Row::new("run of one barrier / ping-pong"),
        Row::new("run that returns a number / ping-pong"),
        Row::new("run_chunks of one slice / ping-pong"),
        Row::new("run_chunks of two slices / ping-pong"),
        Row::new("run_chunks of four dynamic blocks / ping-pong"),
        Row::new("join of two tasks / ping-pong"),
        Row::new("reduce_chunks of two slices / ping-pong"),
    ];
    let (mut x, y) = ([1.0; 64], [2.0; 64]);
    let start = Instant::now();
    loop {
        for (i, row) in rows.iter_mut().enumerate() {
            let raw = || {
                let flags = Flags::default();
                let ns = team.run(|comm| {
                    let mut raw = Raw::new(&flags, comm.rank());
                    raw.exchanged(50);
                    [raw.exchanged(400), raw.pinged(400)]
                })?;
                Ok::<_, Error>(ns[0])
            };
            let [before, ping] = raw()?;
            let mut failed = Ok(());
            let ours = batch(RUNS, || {
                let done = match i {
                    0 => team.run(|_| ()).map(drop),
                    1 => team.run(|comm| comm.barrier()).map(drop),
                    2 => team.run(|comm| comm.rank()).map(|ranks| _ = black_box(ranks)),
                    3 => team.run_chunks(&mut x, |_, x, at| x[0] += at as f64).map(drop),
                    4 => team
                        .run_chunks((&mut x, &y), |_, (x, y), at| x[0] += y[0] * at as f64)
                        .map(drop),
                    5 => team
                        .run_chunks(dynamic(16).cut(&mut x), |_, x, at| x[0] += at as f64)
                        .map(drop),
                    6 => {
                        team.join(|| black_box(1), || black_box(2)).map(|both| _ = black_box(both))
                    }
                    _ => team
                        .reduce_chunks((&x, &y), |_, (x, y), _| x[0] * y[0], op::Sum)
                        .map(|sum| _ = black_box(sum)),
                };
                if let Err(error) = done {
                    failed = Err(error);
                }
            });
            failed?;
            let [after, _] = raw()?;
            row.keep(before, after, ours, Some(ping));
        }
        if start.elapsed() >= time {
            return Ok(rows.into());
        }
    }
}

/// `run` of an empty closure after the workers have gone to sleep, in us.
pub(crate) fn asleep(team: &Team, runs: usize) -> Result<f64, Error> {
    let mut times = Vec::new();
    for _ in 0..runs {
        std::thread::sleep(Duration::from_millis(3));
        let start = Instant::now();
        team.run(|_| ())?;
        times.push(start.elapsed().as_nanos() as f64 / 1e3);
    }
    Ok(median(&times))
}

/// A collective of one rank, in ns.
type Single = (&'static str, fn(&mut Comm, &mut [f64]));

const SINGLES: &[Single] = &[
    ("barrier", |comm, _| comm.barrier()),
    ("all-reduce", |comm, x| comm.all_reduce(&mut x[..1], op::Sum)),
    ("all-reduce of 4 KiB", |comm, x| comm.all_reduce(x, op::Sum)),
    ("broadcast", |comm, x| comm.broadcast(&mut x[..1], 0)),
    ("reduce", |comm, x| comm.reduce(&mut x[..1], op::Sum, 0)),
    ("scan", |comm, x| comm.scan(&mut x[..1], op::Sum)),
    ("all-gather", |comm, x| {
        let (a, b) = x.split_at_mut(1);
        comm.all_gather_into(a, &mut b[..1]);
    }),
    ("all-to-all", |comm, x| {
        let (a, b) = x.split_at_mut(1);
        comm.all_to_all_into(a, &mut b[..1]);
    }),
    ("reduce-scatter", |comm, x| {
        let (a, b) = x.split_at_mut(1);
        comm.reduce_scatter_into(a, &mut b[..1], op::Sum);
    }),
    ("scatter", |comm, x| {
        let (a, b) = x.split_at_mut(1);
        comm.scatter_into(a, &mut b[..1], 0);
    }),
    ("gather", |comm, x| {
        let (a, b) = x.split_at_mut(1);
        comm.gather_into(a, &mut b[..1], 0);
    }),
    ("shift", |comm, x| comm.shift(&mut x[..1], 1)),
];

/// Every collective of a team of one rank, and a message.
pub(crate) fn alone(calls: u64) -> Result<Vec<(&'static str, f64)>, Error> {
    singles(&Team::builder(), calls)
}

/// The same while the calls are recorded.
pub(crate) fn recorded(calls: u64) -> Result<Vec<(&'static str, f64)>, Error> {
    let name = format!("phalanx-ratios-{}.phx", std::process::id());
    let file = std::env::temp_dir().join(name);
    let times = singles(&Team::builder().record(&file), calls);
    // A record that is left over in the temporary directory does no harm.
    let _: std::io::Result<()> = std::fs::remove_file(&file);
    times
}

fn singles(builder: &Builder, calls: u64) -> Result<Vec<(&'static str, f64)>, Error> {
    let team = builder.clone().ranks(1).build()?;
    let mut out = team.run(|comm| {
        let x = &mut [1.0; 512][..];
        let timed = |&(name, call): &Single| {
            let once = || {
                call(comm, x);
                black_box(&mut *x);
            };
            (name, typical(calls, once))
        };
        SINGLES.iter().map(timed).collect::<Vec<_>>()
    })?;
    let mut times = out.swap_remove(0);
    // Both ends by one thread, which so waits for nothing.
    let mut ends = builder.clone().ranks(2).external()?;
    if let [a, b] = &mut ends[..] {
        let mut y = [0.0];
        let once = || {
            a.send(black_box(&[1.0]), 1);
            b.recv(&mut y, 0);
        };
        times.push(("send and recv", typical(calls, once)));
    }
    Ok(times)
}

/// ns of a call: the median of batches.
fn typical(calls: u64, mut once: impl FnMut()) -> f64 {
    median(&(0..15).map(|_| batch(calls, &mut once)).collect::<Vec<f64>>())
}

/// More ranks than cores: our barrier and all-reduce, and the standard
/// library's barrier, in turns; ns.
pub(crate) fn crowded(ranks: usize, rounds: usize) -> Result<[f64; 3], Error> {
    const CALLS: u64 = 50;
    let team = Team::builder().ranks(ranks).pin_caller(true).build()?;
    let mut times: [Vec<f64>; 3] = Default::default();
    let std = std::sync::Barrier::new(ranks);
    for _ in 0..rounds {
        let ns = team.run(|comm| {
            comm.barrier();
            let barrier = batch(CALLS, || comm.barrier());
            let sum = batch(CALLS, || {
                let mut x = [black_box(1.0f64)];
                comm.all_reduce(&mut x, op::Sum);
                black_box(x);
            });
            let std = batch(CALLS, || {
                std.wait();
            });
            [barrier, sum, std]
        })?;
        times.iter_mut().zip(ns[0]).for_each(|(times, ns)| times.push(ns));
    }
    Ok(times.each_mut().map(|times| median(times)))
}
