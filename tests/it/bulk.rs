//! Large messages: the fused paths with vectors of many blocks, more ranks than one pass combines,
//! results that bypass the caches, and any tuning; and counts that disagree amid a call.

use crate::common::{
    Canary, OneCall, check_usable, compose, map, on_threads, runs, sizes, team, value,
};
use phalanx::schedule::Operation;
use phalanx::tuning::Tuning;
use phalanx::{Comm, Error, Team, op};

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
