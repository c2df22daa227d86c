//! A solver's calls beside their replacements: exchange of halos and ghosts, batched sums, fixed
//! sums, work between calls.

use crate::raw::{Flags, Row, batch, interleaved};
use phalanx::dist::{Block, Halo};
use phalanx::{Comm, Neighborhood, Order, Team, call, op};
use phalanx_model::median;
use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The dot product that a careful author writes by hand: 16 partial sums.
fn hand_dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    let (xs, ys) = (x.chunks_exact(16), y.chunks_exact(16));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for k in 0..16 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

const CALLS: u64 = 300;

/// The buffers of one rank.
struct Data {
    x: Vec<f64>,
    fields: Vec<(Halo, Vec<f64>)>,
    /// Of the other rank's elements.
    plan: Neighborhood,
    ghosts: Vec<f64>,
}

/// Ghosts on each of two ranks: two sides of a plane of 129 x 129.
const GHOSTS: usize = 258;

type Batch = fn(&mut Comm, &mut Data) -> f64;

/// One of the pairs: its name, and a batch of ours and of the program beside it; none: the raw
/// exchange of two flags.
type Pair = (&'static str, Batch, Option<Batch>);

fn dot_fixed(comm: &mut Comm, data: &mut Data, n: usize, calls: u64) -> f64 {
    let x = &data.x[..n];
    let offset = comm.rank() * n;
    batch(calls, || {
        black_box(comm.fixed_dot(black_box(x), x, offset));
    })
}

fn dot_plain(comm: &mut Comm, data: &mut Data, n: usize, calls: u64) -> f64 {
    let x = &data.x[..n];
    batch(calls, || {
        black_box(comm.sum([hand_dot(black_box(x), x)]));
    })
}

/// All-reduce of `n` elements, which are rewritten before each call (not timed).
fn reduce(comm: &mut Comm, data: &mut Data, n: usize, order: Order) -> f64 {
    let x = &mut data.x[..n];
    let times: Vec<f64> = (0..9)
        .map(|k| {
            x.iter_mut().for_each(|x| *x = f64::from(k));
            black_box(&mut *x);
            comm.barrier();
            let start = Instant::now();
            comm.with_order(order).all_reduce(x, op::Sum);
            start.elapsed().as_nanos() as f64
        })
        .collect();
    x.fill(0.5);
    median(&times)
}

fn small(comm: &mut Comm, order: Order) -> f64 {
    batch(CALLS, || {
        let mut x = [black_box(1.0)];
        comm.with_order(order).all_reduce(&mut x, op::Sum);
        black_box(x);
    })
}

fn halo(comm: &mut Comm, data: &mut Data, which: usize) -> f64 {
    let (halo, field) = &mut data.fields[which];
    let dims = vec![0; halo.dimensions() - 1];
    let dims: Vec<usize> = [comm.size()].into_iter().chain(dims).collect();
    let mut cart = comm.cart(&dims, &vec![true; dims.len()]);
    batch(CALLS / 4, || cart.exchange_halo(black_box(field), halo))
}

/// One cell to each side, with the grid made in each call, as programs write it.
fn halo_and_cart(comm: &mut Comm, data: &mut Data) -> f64 {
    let (halo, field) = &mut data.fields[0];
    batch(CALLS / 4, || {
        comm.cart(black_box(&[0]), &[true]).exchange_halo(black_box(field), halo);
    })
}

/// The same by hand: two exchanges of a cell.
fn two_exchanges(comm: &mut Comm, data: &mut Data) -> f64 {
    let (_, field) = &mut data.fields[0];
    let (rank, p) = (comm.rank(), comm.size());
    let (before, after) = ((rank + p - 1) % p, (rank + 1) % p);
    let n = field.len();
    batch(CALLS / 4, || {
        let field = black_box(&mut field[..]);
        let (cells, ghost) = field.split_at_mut(n - 1);
        comm.exchange(&cells[1..2], before, ghost, after);
        let (ghost, cells) = field.split_at_mut(1);
        comm.exchange(&cells[n - 3..n - 2], after, ghost, before);
    })
}

/// A thousand samples into 512 bins that two ranks share.
fn histogram_shared(comm: &mut Comm, _: &mut Data) -> f64 {
    let bins = comm.shared_atomic::<u64>(256);
    let add = |i: usize| bins.part(i >> 8 & 1)[i & 255].fetch_add(1, Ordering::Relaxed);
    batch(CALLS / 10, || {
        (0..1000).for_each(|i: usize| _ = black_box(add(i.wrapping_mul(40503) >> 3)));
        comm.barrier();
    })
}

/// The same by a private histogram for each rank, and an all-reduce.
fn histogram_private(comm: &mut Comm, _: &mut Data) -> f64 {
    let mut bins = vec![0u64; 512];
    batch(CALLS / 10, || {
        (0..1000).for_each(|i: usize| bins[black_box(i.wrapping_mul(40503) >> 3) & 511] += 1);
        comm.all_reduce(&mut bins, op::Sum);
    })
}

/// One cell to each side, read where it is, by two windows in turns.
fn halo_by_windows(comm: &mut Comm, _: &mut Data) -> f64 {
    let (rank, p) = (comm.rank(), comm.size());
    let (mut now, mut next) = (comm.shared::<f64>(1000), comm.shared::<f64>(1000));
    batch(CALLS / 4, || {
        next.update(comm, |mine| {
            mine[0] = now.part((rank + p - 1) % p)[999];
            mine[999] = now.part((rank + 1) % p)[0];
        });
        std::mem::swap(&mut now, &mut next);
    })
}

/// The same by a view for each step.
fn halo_by_views(comm: &mut Comm, data: &mut Data) -> f64 {
    let (rank, p) = (comm.rank(), comm.size());
    let now = &mut data.x[..1000];
    let (before, after) = ((rank + p - 1) % p * 1000 + 999, (rank + 1) % p * 1000);
    batch(CALLS / 4, || {
        let ends = comm.with_global(now, |all| (all[before], all[after]));
        (now[0], now[999]) = black_box(ends);
    })
}

/// The same faces along dimension 0, by `exchange` of packed copies.
fn packed(comm: &mut Comm, data: &mut Data, which: usize) -> f64 {
    let (halo, field) = &mut data.fields[which];
    let (rank, p) = (comm.rank(), comm.size());
    let (up, down) = ((rank + p - 1) % p, (rank + 1) % p);
    let rows: Vec<_> = halo.rows().collect();
    let face = rows.len() / halo.extents()[0];
    let stride = halo.stride(0);
    let pack = |field: &[f64], rows: &[std::ops::Range<usize>], out: &mut Vec<f64>| {
        out.clear();
        rows.iter().for_each(|r| out.extend_from_slice(&field[r.clone()]));
    };
    let (mut send, mut recv) = (Vec::new(), Vec::new());
    batch(CALLS / 4, || {
        for (rows, to, from, after) in
            [(&rows[..face], up, down, true), (&rows[rows.len() - face..], down, up, false)]
        {
            pack(field, rows, &mut send);
            recv.resize(send.len(), 0.0);
            comm.exchange(&send, to, &mut recv, from);
            let n = halo.extents()[0];
            let shift = |at: usize| if after { at + n * stride } else { at - n * stride };
            for (row, got) in rows.iter().zip(recv.chunks(rows[0].len())) {
                field[shift(row.start)..shift(row.end)].copy_from_slice(got);
            }
        }
        black_box(&mut *field);
    })
}

fn ghosts(comm: &mut Comm, data: &mut Data) -> f64 {
    let Data { x, plan, ghosts, .. } = data;
    batch(CALLS / 4, || plan.gather(comm, black_box(&x[..GHOSTS]), black_box(ghosts)))
}

/// The same by a view of everybody's elements.
fn ghosts_by_hand(comm: &mut Comm, data: &mut Data) -> f64 {
    let (Data { x, ghosts, .. }, other) = (data, 1 - comm.rank());
    batch(CALLS / 4, || {
        comm.with_peers(black_box(&x[..GHOSTS]), |all| ghosts.copy_from_slice(&all[other]));
        black_box(&mut *ghosts);
    })
}

fn pairs() -> Vec<Pair> {
    vec![
        ("258 ghosts / with_peers by hand", ghosts, Some(ghosts_by_hand)),
        ("258 ghosts / barrier", ghosts, Some(|c, _| batch(CALLS, || c.barrier()))),
        ("sum of 1 / flags", |c, _| small(c, Order::Ranked), None),
        (
            "sum of 3 values / of 1",
            |c, _| {
                batch(CALLS, || {
                    black_box(c.sum(black_box([1.0; 3])));
                })
            },
            Some(|c, _| small(c, Order::Ranked)),
        ),
        ("Fixed 8 B / Ranked", |c, _| small(c, Order::Fixed), Some(|c, _| small(c, Order::Ranked))),
        (
            "Fixed 16 KiB / Ranked",
            |c, d| reduce(c, d, 2048, Order::Fixed),
            Some(|c, d| reduce(c, d, 2048, Order::Ranked)),
        ),
        (
            "Fixed 1 MiB / Ranked",
            |c, d| reduce(c, d, 1 << 17, Order::Fixed),
            Some(|c, d| reduce(c, d, 1 << 17, Order::Ranked)),
        ),
        ("fixed_dot 0 elements / flags", |c, d| dot_fixed(c, d, 0, CALLS), None),
        (
            "fixed_dot 1024 a rank / hand + sum",
            |c, d| dot_fixed(c, d, 1024, CALLS),
            Some(|c, d| dot_plain(c, d, 1024, CALLS)),
        ),
        (
            "fixed_dot 10000 a rank / hand + sum",
            |c, d| dot_fixed(c, d, 10_000, 100),
            Some(|c, d| dot_plain(c, d, 10_000, 100)),
        ),
        (
            "fixed_dot 131072 a rank / hand + sum",
            |c, d| dot_fixed(c, d, 131_072, 10),
            Some(|c, d| dot_plain(c, d, 131_072, 10)),
        ),
        (
            "overlapped barrier, no work / barrier",
            |c, _| batch(CALLS, || c.overlap(call::barrier(), || ()).1),
            Some(|c, _| batch(CALLS, || c.barrier())),
        ),
        (
            "work meanwhile / work, then all_reduce",
            |c, _| {
                let (rank, mut turn) = (c.rank(), 0);
                batch(CALLS / 3, || {
                    let mut x = [black_box(1.0)];
                    c.overlap(call::all_reduce(&mut x, op::Sum), || {
                        black_box(uneven(rank, &mut turn))
                    });
                })
            },
            Some(|c, _| {
                let (rank, mut turn) = (c.rank(), 0);
                batch(CALLS / 3, || {
                    let mut x = [black_box(1.0)];
                    black_box(uneven(rank, &mut turn));
                    c.all_reduce(&mut x, op::Sum);
                })
            }),
        ),
        ("halo 1 cell / flags", |c, d| halo(c, d, 0), None),
        ("halo 1 cell / two exchanges", |c, d| halo(c, d, 0), Some(two_exchanges)),
        ("halo 1 cell, with cart / two exchanges", halo_and_cart, Some(two_exchanges)),
        ("halo 1 cell by windows / with_global", halo_by_windows, Some(halo_by_views)),
        ("histogram in a window / private, all-reduce", histogram_shared, Some(histogram_private)),
        (
            "halo 64 x 64 faces / packed exchange",
            |c, d| halo(c, d, 1),
            Some(|c, d| packed(c, d, 1)),
        ),
        (
            "halo 256 x 256 faces / packed exchange",
            |c, d| halo(c, d, 2),
            Some(|c, d| packed(c, d, 2)),
        ),
    ]
}

/// Some 2 us of arithmetic, on one rank, then on the other.
fn uneven(rank: usize, turn: &mut u64) -> f64 {
    *turn += 1;
    let rounds = if (rank as u64 + *turn).is_multiple_of(2) { 600 } else { 0 };
    (0..rounds).fold(black_box(1.0), |x, _| x * 1.000_001 + 1e-9)
}

/// One rank's part: rounds of interleaved batches until the time is over.
pub(crate) fn two_ranks(comm: &mut Comm, flags: &Flags, time: Duration) -> Vec<Row> {
    let pairs = pairs();
    let mut rows: Vec<Row> = pairs.iter().map(|pair| Row::new(pair.0)).collect();
    // Faces across dimension 0 only, as the program that they are compared with.
    let field = |extents: &[usize]| {
        let widths: Vec<usize> = (0..extents.len()).map(|d| usize::from(d == 0)).collect();
        let halo = Halo::with_widths(extents, &widths);
        (halo, vec![1.0; halo.len()])
    };
    let fields = vec![field(&[1000]), field(&[16, 64, 64]), field(&[4, 256, 256])];
    let other = (1 - comm.rank()) * GHOSTS;
    let wanted: Vec<usize> = (other..other + GHOSTS).collect();
    let plan = comm.ghosts(&Block::new(2 * GHOSTS, 2), &wanted);
    let mut data = Data { x: vec![0.5; 1 << 17], fields, plan, ghosts: vec![0.0; GHOSTS] };
    interleaved(comm, flags, time, &mut rows, |comm, _, number| {
        let (_, ours, beside) = pairs[number];
        let first = ours(comm, &mut data);
        let base = beside.map(|beside| beside(comm, &mut data));
        ((first + ours(comm, &mut data)) / 2.0, base)
    });
    rows
}

/// Of eight ranks on the cores that there are: what is measured, and what it is beside.
pub(crate) fn crowded(rounds: usize) -> Result<[String; 2], phalanx::Error> {
    let line = |what: &str, times: fn(&mut Comm) -> (f64, f64)| {
        let team = Team::builder().ranks(8).pin_caller(true).build()?;
        let times = (0..rounds).map(|_| Ok::<_, phalanx::Error>(team.run(times)?[0]));
        let (ours, beside): (Vec<f64>, Vec<f64>) = times.collect::<Result<_, _>>()?;
        let (ours, beside) = (median(&ours), median(&beside));
        Ok(format!("8 ranks: {what}: {:.2} ({ours:.0} / {beside:.0} ns)", ours / beside))
    };
    Ok([
        line("halo / through all boards", crowded_halo)?,
        line("20 ghosts / barrier", crowded_ghosts)?,
    ])
}

/// Each rank copies its two neighbours' faces, once by telling only them, once through the boards
/// of all.
fn crowded_halo(comm: &mut Comm) -> (f64, f64) {
    let halo = Halo::new(&[1000], 10);
    let mut field = vec![1.0; halo.len()];
    let (rank, p) = (comm.rank(), comm.size());
    let a = {
        let mut cart = comm.cart(&[0], &[true]);
        cart.barrier();
        batch(20, || cart.exchange_halo(&mut field, &halo))
    };
    comm.barrier();
    let mut own = field.clone();
    let b = batch(20, || {
        let own = &mut own;
        comm.with_peers(&field, |all| {
            own[..10].copy_from_slice(&all[(rank + p - 1) % p][1000..1010]);
            own[1010..].copy_from_slice(&all[(rank + 1) % p][10..20]);
        });
    });
    (a, b)
}

/// 5 ghosts from each of 4 neighbours, and a barrier.
fn crowded_ghosts(comm: &mut Comm) -> (f64, f64) {
    let (rank, n) = (comm.rank(), 100);
    let sources = [1, 7, 2, 6].map(|d| (rank + d) % 8 * n);
    let wanted: Vec<usize> = sources.into_iter().flat_map(|at| at..at + 5).collect();
    let plan = comm.ghosts(&Block::new(8 * n, 8), &wanted);
    let (own, mut ghosts) = (vec![1.0; n], vec![0.0; wanted.len()]);
    comm.barrier();
    let a = batch(20, || plan.gather(comm, &own, black_box(&mut ghosts)));
    comm.barrier();
    (a, batch(20, || comm.barrier()))
}
