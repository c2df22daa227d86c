//! The five-point Poisson problem by conjugate gradients. The solver knows neither how a rank gets
//! its neighbours' elements nor how dots are added up; it is run with four answers to that: a grid
//! of ranks with halos, a plan of ghosts, that plan and dots with the same bits on any number of
//! ranks, and calls that are set up once and started in each step.

use phalanx::dist::{Block, Halo};
use phalanx::{Comm, Error, call, op};
use std::ops::Range;

const N: usize = 40; // rows and columns of unknowns

/// The solution at unknown `k`.
fn exact(k: usize) -> f64 {
    let (x, y) = ((k / N + 1) as f64 / (N + 1) as f64, (k % N + 1) as f64 / (N + 1) as f64);
    7.0 * (3.0 * x).sin() * y * (1.0 - y) + x * y
}

/// The columns of row `k` of the matrix, the diagonal's first.
fn columns(k: usize) -> impl Iterator<Item = usize> {
    let [up, down] = [k.checked_sub(N), Some(k + N).filter(|&k| k < N * N)];
    let (is_first, is_last) = (k.is_multiple_of(N), (k + 1).is_multiple_of(N));
    let [left, right] = [(!is_first).then(|| k - 1), (!is_last).then_some(k + 1)];
    [Some(k), up, down, left, right].into_iter().flatten()
}

/// Row `k` of A times a vector, of which `at` has the elements.
fn row(k: usize, mut at: impl FnMut(usize) -> f64) -> f64 {
    columns(k).map(|c| if c == k { 4.0 * at(c) } else { -at(c) }).sum()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Solves A x = b for the unknowns `mine`; returns this rank's part of x, and the steps.
fn solve<C: ?Sized>(
    comm: &mut C,
    mine: impl Iterator<Item = usize>,
    mut apply: impl FnMut(&mut C, &[f64], &mut [f64]),
    mut dot: impl FnMut(&mut C, &[f64], &[f64]) -> f64,
) -> (Vec<f64>, usize) {
    let mut r: Vec<f64> = mine.map(|k| row(k, exact)).collect();
    let (mut p, mut x, mut ap) = (r.clone(), vec![0.0; r.len()], vec![0.0; r.len()]);
    let mut rr = dot(comm, &r, &r);
    let enough = 1e-18 * rr;
    for step in 1.. {
        apply(comm, &p, &mut ap);
        let alpha = rr / dot(comm, &p, &ap);
        for k in 0..x.len() {
            x[k] += alpha * p[k];
            r[k] -= alpha * ap[k];
        }
        let new = dot(comm, &r, &r);
        if new < enough {
            return (x, step);
        }
        (0..p.len()).for_each(|k| p[k] = r[k] + new / rr * p[k]);
        rr = new;
    }
    unreachable!()
}

/// A grid of ranks; the field is assembled on rank 0.
fn by_halos(comm: &mut Comm) -> (Vec<f64>, usize) {
    let mut grid = comm.cart(&[0, 0], &[false, false]);
    let (extents, at) = (grid.dims().to_vec(), grid.coordinates());
    let [is, js] = [0, 1].map(|axis| Block::new(N, extents[axis]).range(at[axis]));
    let halo = Halo::new(&[is.len(), js.len()], 1);
    let (width, next) = (js.len(), halo.stride(0));
    let mut field = vec![0.0; halo.len()];
    let fill = |field: &mut [f64], own: &[f64]| {
        halo.rows()
            .zip(own.chunks(width))
            .for_each(|(cells, own)| field[cells].copy_from_slice(own));
    };
    let apply = |grid: &mut phalanx::Cart, p: &[f64], ap: &mut [f64]| {
        fill(&mut field, p);
        grid.exchange_halo(&mut field, &halo);
        for (k, ap) in halo.rows().flatten().zip(ap) {
            let beside = field[k - next] + field[k + next] + field[k - 1] + field[k + 1];
            *ap = 4.0 * field[k] - beside;
        }
    };
    let mine = is.flat_map(|i| js.clone().map(move |j| i * N + j));
    let (own, steps) = solve(&mut grid, mine, apply, |grid, x, y| grid.sum([dot(x, y)])[0]);
    let mut x = vec![0.0; halo.len()];
    fill(&mut x, &own);
    (grid.gather_grid(&x, &halo, 0).unwrap_or_default(), steps)
}

/// A plan that brings the elements of other ranks; `is_fixed`: equal bits on any number of ranks.
fn by_plan(comm: &mut Comm, is_fixed: bool) -> (Vec<f64>, usize) {
    let cut = Block::new(N * N, comm.size());
    let mine = cut.range(comm.rank());
    let entries: Vec<usize> = mine.clone().flat_map(columns).collect();
    let (plan, places) = comm.ghosts_of_columns(&cut, &entries);
    let mut ghosts = vec![0.0; plan.ghosts()];
    let apply = |comm: &mut Comm, p: &[f64], ap: &mut [f64]| {
        plan.gather(comm, p, &mut ghosts);
        let mut places = places.iter();
        for (k, ap) in mine.clone().zip(ap) {
            *ap = row(k, |_| {
                let &place = places.next().unwrap();
                p.get(place).copied().unwrap_or_else(|| ghosts[place - p.len()])
            });
        }
    };
    solve(comm, mine.clone(), apply, |comm, x, y| match is_fixed {
        true => comm.fixed_dot(x, y, mine.start),
        false => comm.sum([dot(x, y)])[0],
    })
}

/// Rows beside the own ones by messages, dots by an all-reduce; both are set up once.
fn by_calls_set_up(comm: &mut Comm) -> (Vec<f64>, usize) {
    let (rank, p) = (comm.rank(), comm.size());
    let Range { start, end } = Block::new(N, p).range(rank);
    let (start, end) = (start * N, end * N);
    let beside: Vec<usize> = [rank.checked_sub(1), Some(rank + 1).filter(|&next| next < p)]
        .into_iter()
        .flatten()
        .collect();
    let mut rows = vec![[[0.0; N]; 2]; beside.len()];
    let mut total = [0.0];
    comm.requests(|scope| {
        let mut messages = Vec::new(); // to each neighbour, and from it
        for ([out, into], &peer) in rows.iter_mut().zip(&beside) {
            messages.push(scope.set_up(call::send_tagged(out, peer, 0)));
            messages.push(scope.set_up(call::recv_tagged(into, peer, 0)));
        }
        let mut sum = Some(scope.set_up(call::all_reduce(&mut total, op::Sum)));
        solve(
            scope,
            start..end,
            |scope, p, ap| {
                for (pair, &peer) in messages.chunks_mut(2).zip(&beside) {
                    let first = if peer < rank { 0 } else { p.len() - N };
                    pair[0].buf_mut().copy_from_slice(&p[first..first + N]);
                }
                let open: Vec<_> = messages.drain(..).map(|message| scope.start(message)).collect();
                messages.extend(scope.wait_all(open));
                for (k, ap) in (start..end).zip(ap) {
                    *ap = row(k, |c| match c {
                        _ if c < start => messages[1].buf()[c % N],
                        _ if c < end => p[c - start],
                        _ => messages[messages.len() - 1].buf()[c % N],
                    });
                }
            },
            |scope, x, y| {
                let mut call = sum.take().expect("given back");
                call.buf_mut()[0] = dot(x, y);
                let open = scope.start(call);
                sum.insert(scope.wait(open)).buf()[0]
            },
        )
    })
}

fn main() -> Result<(), Error> {
    let apply = |_: &mut (), p: &[f64], ap: &mut [f64]| {
        (0..).zip(ap).for_each(|(k, ap)| *ap = row(k, |c| p[c]));
    };
    let (serial, steps) = solve(&mut (), 0..N * N, apply, |_, x, y| dot(x, y));
    let mut fixed = Vec::new();
    for p in 1..=4 {
        let ways = phalanx::run(p, |comm| {
            let (plan, fixed) = (by_plan(comm, false), by_plan(comm, true));
            [by_halos(comm), plan, fixed, by_calls_set_up(comm)]
        })?;
        for way in 0..4 {
            let x = ways.iter().flat_map(|rank| &rank[way].0);
            let is_right =
                |(k, x): (usize, &f64)| (x - serial[k]).abs().max((x - exact(k)).abs()) < 1e-6;
            assert!(
                x.clone().count() == N * N && x.enumerate().all(is_right),
                "way {way}, {p} ranks"
            );
            assert!(ways[0][way].1.abs_diff(steps) <= 1);
        }
        fixed
            .push(ways.iter().flat_map(|rank| &rank[2].0).map(|x| x.to_bits()).collect::<Vec<_>>());
    }
    assert!(fixed.iter().all(|bits| *bits == fixed[0]), "the same bits on any number of ranks");
    println!("{steps} steps, four ways, on 1 to 4 ranks");
    Ok(())
}
