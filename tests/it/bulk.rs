//! Large messages: the fused paths with vectors of many blocks, more ranks than one pass combines,
//! results that bypass the caches, and any tuning; and operators that fail or counts that disagree
//! in the middle of a call.

use crate::common::{Canary, add_alive, bomb, check_usable, failure, sizes, team, watched};
use phalanx::tuning::Tuning;
use phalanx::{Algorithm, Comm, Error, Team, op};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn value(rank: usize, i: usize) -> u64 {
    ((rank as u64) << 40 | i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn data(rank: usize, n: usize) -> Vec<u64> {
    (0..n).map(|i| value(rank, i)).collect()
}

type Map = (u64, u64);

fn compose(f: Map, g: Map) -> Map {
    (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
}

fn maps(rank: usize, n: usize) -> Vec<Map> {
    (0..n).map(|i| (value(rank, i) | 1, value(rank, i + n))).collect()
}

/// The composition by ranks `ranks` of element `i`.
fn composed(ranks: std::ops::Range<usize>, n: usize, i: usize) -> Map {
    let map = |r: usize| (value(r, i) | 1, value(r, i + n));
    let first = map(ranks.start);
    ranks.skip(1).fold(first, |f, r| compose(f, map(r)))
}

/// Every operation with a fused path on vectors (or blocks) of `n` elements.
fn everything(comm: &mut Comm, n: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let ordered = || op::ordered(compose);
    let root = n % p;

    let mut x = if r == root { data(root, n) } else { vec![7; n] };
    comm.broadcast(&mut x, root);
    assert_eq!(x, data(root, n));

    let mut x = maps(r, n);
    comm.reduce(&mut x, ordered(), root);
    let wanted = |i| if r == root { composed(0..p, n, i) } else { maps(r, n)[i] };
    assert!((0..n).step_by(97).chain(n.checked_sub(1)).all(|i| x[i] == wanted(i)));

    let mut x = maps(r, n);
    comm.all_reduce(&mut x, ordered());
    assert!((0..n).all(|i| x[i] == composed(0..p, n, i)));

    let mut x = maps(r, n);
    comm.scan(&mut x, ordered());
    assert!((0..n).all(|i| x[i] == composed(0..r + 1, n, i)));

    let mut x = maps(r, n);
    comm.exclusive_scan(&mut x, op::with_identity(ordered(), (1, 0)));
    assert!((0..n).all(|i| x[i] == if r == 0 { (1, 0) } else { composed(0..r, n, i) }));

    let mut x = data(r, n);
    comm.exclusive_scan(&mut x, op::commutative(u64::wrapping_add));
    assert!(r > 0 || x == data(0, n), "without an identity rank 0's buffer stays");

    let mut x = data(r, n);
    comm.shift(&mut x, n as isize % 5 - 2);
    assert_eq!(x, data((r as isize - (n as isize % 5 - 2)).rem_euclid(p as isize) as usize, n));

    let mut out = vec![7; n * p];
    comm.all_gather_into(&data(r, n), &mut out);
    assert!((0..p).all(|q| out[q * n..(q + 1) * n] == data(q, n)));

    let wide = data(r, n * p);
    let mut mine = vec![7; n];
    comm.reduce_scatter_into(&wide, &mut mine, op::Sum);
    let sum = |i: usize| (0..p).fold(0u64, |s, q| s.wrapping_add(value(q, i)));
    assert!((0..n).all(|i| mine[i] == sum(r * n + i)));

    comm.all_to_all_into(&wide, &mut out);
    assert!((0..n * p).all(|i| out[i] == value(i / n, r * n + i % n)));
    let mut x = wide.clone();
    comm.all_to_all_in_place(&mut x);
    assert_eq!(x, out);

    let mut mine = vec![7; n];
    comm.scatter_into(if r == root { &wide } else { &[] }, &mut mine, root);
    assert!((0..n).all(|i| mine[i] == value(root, r * n + i)));

    let mut out = vec![7; if r == root { n * p } else { 0 }];
    comm.gather_into(&data(r, n), &mut out, root);
    assert!(r != root || (0..p).all(|q| out[q * n..(q + 1) * n] == data(q, n)));
    let mut mine = data(r, n);
    if r == root {
        out.fill(7);
        out[r * n..][..n].copy_from_slice(&mine);
        comm.gather_in_place(&mut out, root);
    } else {
        comm.gather_in_place(&mut mine, root);
    }
    assert!(r != root || (0..p).all(|q| out[q * n..(q + 1) * n] == data(q, n)));
    let mut all = vec![7; n * p];
    all[r * n..][..n].copy_from_slice(&mine);
    comm.all_gather_in_place(&mut all);
    assert!((0..p).all(|q| all[q * n..(q + 1) * n] == data(q, n)));
    varied(comm, n, root);
}

/// The forms with blocks of different lengths: none, and up to `2 n`.
fn varied(comm: &mut Comm, n: usize, root: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let counts: Vec<usize> = (0..p).map(|q| n * (q % 3)).collect();
    let start = |q: usize| counts[..q].iter().sum::<usize>();
    let total = start(p - 1) + counts[p - 1];
    let mine = data(r, counts[r]);
    let all: Vec<u64> = (0..p).flat_map(|q| data(q, counts[q])).collect();

    let mut out = vec![7; total];
    comm.all_gather_varied_into(&mine, &mut out, &counts);
    assert_eq!(out, all);

    let mut out = vec![7; if r == root { total } else { 0 }];
    comm.gather_varied_into(&mine, &mut out, &counts, root);
    assert!(r != root || out == all);

    let mut out = vec![7; counts[r]];
    comm.scatter_varied_into(if r == root { &all } else { &[] }, &mut out, &counts, root);
    assert_eq!(out, mine);

    let mut out = vec![7; counts[r]];
    comm.reduce_scatter_varied_into(&all, &mut out, &counts, op::Sum);
    assert!(out.iter().zip(&mine).all(|(x, m)| *x == m.wrapping_mul(p as u64)));

    // Rank r sends n (r + q) % 3 elements to q.
    let between = |a: usize, b: usize| n * ((a + b) % 3);
    let send: Vec<usize> = (0..p).map(|q| between(r, q)).collect();
    let blocks: Vec<u64> = (0..p).flat_map(|q| data(r * p + q, between(r, q))).collect();
    let mut out = vec![7; send.iter().sum()];
    comm.all_to_all_varied_into(&blocks, &send, &mut out, &send);
    let wanted: Vec<u64> = (0..p).flat_map(|q| data(q * p + r, between(q, r))).collect();
    assert_eq!(out, wanted);
}

#[test]
fn many_blocks() {
    for p in sizes((1..=9).chain([11, 17])) {
        let team = team(p);
        for n in [1021, 5000] {
            team.run(|comm| everything(comm, n)).unwrap_or_else(|e| panic!("p={p} n={n}: {e}"));
        }
    }
    team(2).run(|comm| everything(comm, 70_001)).unwrap();
    team(3).run(|comm| everything(comm, 30_001)).unwrap();
}

#[test]
fn any_tuning() {
    let mut always = Tuning::default();
    for from in [
        &mut always.broadcast_fused,
        &mut always.reduce_fused,
        &mut always.all_gather_fused,
        &mut always.reduce_scatter_fused,
        &mut always.all_reduce_fused,
        &mut always.scan_fused,
        &mut always.scatter_fused,
        &mut always.gather_fused,
        &mut always.all_to_all_fused,
        &mut always.shift_fused,
        &mut always.stream_from,
    ] {
        *from = 0;
    }
    let mut never = Tuning::default();
    (never.many_ranks, never.many_ranks_fused) = (1, usize::MAX);
    for tuning in [always, never] {
        for p in sizes([1, 2, 3, 8, 10]) {
            let team = Team::builder().ranks(p).tuning(tuning).build().unwrap();
            for n in [0, 1, 2, 5, 40, 3001] {
                let run = team.run(|comm| {
                    everything(comm, n);
                    let mut half = comm.split(comm.rank() % 2, 0);
                    everything(&mut half, n);
                });
                run.unwrap_or_else(|e| panic!("p={p} n={n} {tuning:?}: {e}"));
            }
        }
    }
}

/// Threads of the caller's own use them, too.
#[test]
fn external_threads() {
    let comms = Team::external(3).unwrap();
    std::thread::scope(|s| {
        for mut comm in comms {
            s.spawn(move || everything(&mut comm, 3000));
        }
    });
}

/// An operator that fails in one rank's part, while peers write into its buffer:
/// nobody's memory is touched after its owner has freed it.
#[test]
fn operators_that_fail() {
    for p in [2, 3, 5, 9] {
        let team = team(p);
        for round in 0..40usize {
            let calls = AtomicUsize::new(0);
            let fuse = [1, 7, 900, 4000, 9000][round % 5];
            let run = watched(|| {
                team.run(|comm| {
                    let add = op::commutative(|a, b| {
                        if calls.fetch_add(1, Relaxed) == fuse {
                            bomb();
                        }
                        add_alive(a, b)
                    });
                    let n = 10_000;
                    let mut x = Canary(data(comm.rank(), n));
                    let mut mine = Canary(vec![0; n / p]);
                    match round % 4 {
                        0 => comm.all_reduce(&mut x.0, add),
                        1 => comm.scan(&mut x.0, add),
                        2 => comm.with(Algorithm::SCAN_FUSED).exclusive_scan(&mut x.0, add),
                        _ => {
                            let all = &x.0[..n / p * p];
                            comm.reduce_scatter_into(all, &mut mine.0, add);
                        }
                    }
                    comm.barrier();
                })
            });
            // Between two ranks an exclusive scan combines nothing.
            if (p, round % 4) != (2, 2) {
                let e = failure(run);
                assert!(matches!(e, Error::Panicked { .. }), "{e}");
            }
        }
        check_usable(&team, p as u64);
    }
}

/// A rank that leaves instead of taking part, while its peers wait for it with
/// their buffers shown.
#[test]
fn ranks_that_leave() {
    for p in [2, 4] {
        let team = team(p);
        for round in 0..7 {
            let run = watched(|| {
                team.run(|comm| {
                    if comm.rank() == round % p {
                        return;
                    }
                    let mut x = Canary(data(comm.rank(), 5000));
                    let mut y = Canary(vec![0; 5000 * p]);
                    let root = (round + 1) % p;
                    match round {
                        0 => comm.with(Algorithm::BC_FUSED).broadcast(&mut x.0, root),
                        1 => comm.with(Algorithm::CS_FUSED).shift(&mut x.0, 1),
                        2 => comm.with(Algorithm::AG_FUSED).all_gather_into(&x.0, &mut y.0),
                        3 => comm.with(Algorithm::GA_FUSED).gather_into(&x.0, &mut y.0, root),
                        4 => {
                            let all = if comm.rank() == root { &y.0[..] } else { &[] };
                            comm.with(Algorithm::SC_FUSED).scatter_into(all, &mut x.0, root);
                        }
                        5 => comm.with(Algorithm::TX_FUSED).all_to_all_into(&y.0.clone(), &mut y.0),
                        _ => comm.with(Algorithm::SCAN_FUSED).scan(&mut x.0, op::Sum),
                    }
                })
            });
            // A rank that only writes to the root, or reads there, does not
            // wait for the others; the root does.
            let e = failure(run);
            assert!(matches!(e, Error::Left { .. }), "{round}: {e}");
        }
        check_usable(&team, p as u64);
    }
}

/// Counts that differ from rank to rank, with the same sum: the word that is compared at
/// once is a hash of six bits, so some of these are found out only by the counts that the
/// root shows. None may write where another rank does.
#[test]
fn counts_that_disagree() {
    let team = team(3);
    for i in 1..70 {
        for gather in [true, false] {
            let run = team.run(|comm| {
                let shifted = [[100 + i, 100, 100 - i], [100, 100, 100]];
                let counts = shifted[usize::from(comm.rank() == 1)];
                let mut mine = Canary(vec![1; counts[comm.rank()]]);
                let mut all = Canary(vec![2; if comm.rank() == 0 { 300 } else { 0 }]);
                if gather {
                    comm.gather_varied_into(&mine.0, &mut all.0, &counts, 0);
                } else {
                    comm.scatter_varied_into(&all.0, &mut mine.0, &counts, 0);
                }
            });
            // Rank 1's block has the same length in both: where the hashes
            // agree, it goes by the root's counts, and nothing is wrong.
            if let Err(e) = run {
                assert!(matches!(e, Error::Mismatch { .. }), "{i}: {e}");
            }
            let run = team.run(|comm| {
                let counts =
                    [[100 + i, 100 - i, 100], [100, 100, 100]][usize::from(comm.rank() == 1)];
                let mut mine = Canary(vec![1; counts[comm.rank()]]);
                let mut all = Canary(vec![2; if comm.rank() == 0 { 300 } else { 0 }]);
                if gather {
                    comm.gather_varied_into(&mine.0, &mut all.0, &counts, 0);
                } else {
                    comm.scatter_varied_into(&all.0, &mut mine.0, &counts, 0);
                }
            });
            let e = failure(run);
            assert!(matches!(e, Error::Mismatch { .. }), "{i}: {e}");
        }
    }
    check_usable(&team, 3);
}
