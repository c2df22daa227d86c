//! Large messages: the fused paths with vectors of many blocks, more ranks than one pass combines,
//! results that bypass the caches, and any tuning; and operators that fail or counts that disagree
//! in the middle of a call.

use crate::common::{
    Canary, OneCall, add_alive, bomb_if, check_usable, compose, failure, map, on_threads, runs,
    sizes, team, value, watch,
};
use phalanx::schedule::Operation;
use phalanx::tuning::Tuning;
use phalanx::{Algorithm, Comm, Error, Team, op};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Every operation on vectors (or blocks) of `n` elements, and on blocks of 0 to `2 n`.
fn everything(comm: &mut Comm, n: usize) {
    let (p, root) = (comm.size(), n % comm.size());
    let counts: Vec<usize> = (0..p).map(|q| n * (q % 3)).collect();
    let mut all = OneCall::all(comm, n, &[root], &[n as isize % 5 - 2]);
    all.extend(OneCall::all_varied(comm, &counts, &[root]));
    for it in all {
        it.check(comm, op::Sum, &value(n));
        if it.operation.combines() {
            it.check(comm, op::with_identity(op::ordered(compose), (1, 0)), &map(n));
        }
        // Without an identity rank 0's buffer stays.
        if it.operation == Operation::ExclusiveScan {
            it.check(comm, op::commutative(u64::wrapping_add), &value(n));
        }
    }
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
                runs(&team, format!("p={p} n={n} {tuning:?}"), |comm| {
                    everything(comm, n);
                    let mut half = comm.split(comm.rank() % 2, 0);
                    everything(&mut half, n);
                });
            }
        }
    }
}

/// Threads of the caller's own use them, too.
#[test]
fn external_threads() {
    on_threads(Team::external(3).unwrap(), |mut comm| everything(&mut comm, 3000));
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
            let _watch = watch();
            let run = team.run(|comm| {
                let add = op::commutative(|a, b| {
                    bomb_if(calls.fetch_add(1, Relaxed) == fuse);
                    add_alive(a, b)
                });
                let n = 10_000;
                let mut x = Canary(vec![1; n]);
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
            let _watch = watch();
            let run = team.run(|comm| {
                if comm.rank() == round % p {
                    return;
                }
                let mut x = Canary(vec![1; 5000]);
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
        let others = [[100 + i, 100, 100 - i], [100 + i, 100 - i, 100]];
        for (gather, other) in [true, false].into_iter().flat_map(|g| others.map(|o| (g, o))) {
            let run = team.run(|comm| {
                let counts = if comm.rank() == 1 { [100; 3] } else { other };
                let mut mine = Canary(vec![1; counts[comm.rank()]]);
                let mut all = Canary(vec![2; if comm.rank() == 0 { 300 } else { 0 }]);
                if gather {
                    comm.gather_varied_into(&mine.0, &mut all.0, &counts, 0);
                } else {
                    comm.scatter_varied_into(&all.0, &mut mine.0, &counts, 0);
                }
            });
            match run {
                Err(e) => assert!(matches!(e, Error::Mismatch { .. }), "{i}: {e}"),
                // Rank 1's block has the same length in both: where the hashes agree, it goes by
                // the root's counts, and nothing is wrong.
                Ok(_) => assert_eq!(other[1], 100, "{i}"),
            }
        }
    }
    check_usable(&team, 3);
}
