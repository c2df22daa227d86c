//! Batched values, and work during an all-reduce or a barrier: right results, real overlap (no rank
//! waits for another's work). (`faults` has panics in the work.)

use crate::common::{OneCall, compose, failure, map, sizes, succeeds, team, value, watch};
use phalanx::schedule::Operation;
use phalanx::{Error, call, op};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn the_right_result_with_any_work() {
    for p in sizes((1..=9).chain([16, 65])) {
        let team = team(p);
        let lens: &[usize] = if p < 10 { &[0, 1, 2, 5, 6, 100, 3000] } else { &[1, 5, 6, 300] };
        for &n in lens {
            let _watch = watch();
            succeeds(&team, |comm| {
                let r = comm.rank();
                let it = OneCall::new(comm, Operation::AllReduce, 0, n);
                let mut b = it.buffers(op::Sum, &value(n));
                let call = call::all_reduce(&mut b.output, op::Sum);
                assert_eq!(comm.overlap(call, || vec![r; 3]).1, [r; 3]);
                assert_eq!(b.output, b.wanted, "{it:?}");
                let mut b = it.buffers(op::ordered(compose), &map(n));
                comm.overlap(call::all_reduce(&mut b.output, op::ordered(compose)), || ());
                assert_eq!(b.output, b.wanted, "{it:?}");
            });
        }
    }
}

#[test]
fn batches_of_values() {
    for p in sizes(1..=9) {
        succeeds(&team(p), |comm| {
            let r = comm.rank() as i64;
            let n = comm.size() as i64;
            assert_eq!(comm.sum([r, 1, -r]), [n * (n - 1) / 2, n, -n * (n - 1) / 2]);
            assert_eq!(comm.sum([0.5; 20]), [0.5 * n as f64; 20]);
            assert_eq!(comm.all_reduce_values([r, 7], op::Max), [n - 1, 7]);
            assert_eq!(comm.all_reduce_values([0u8; 0], op::Max), []);
        });
    }
}

/// Rank 0's work ends only when all others have left the call: they have not
/// waited for it.
#[test]
fn nobody_waits_for_the_work() {
    for p in sizes([2, 3, 4, 7, 9]) {
        for reduce in [false, true] {
            let gone = AtomicUsize::new(0);
            let _watch = watch();
            succeeds(&team(p), |comm| {
                for k in 1..=3 {
                    let is_first = comm.rank() == 0;
                    let work = || {
                        while is_first && gone.load(SeqCst) < k * (p - 1) {
                            std::thread::yield_now();
                        }
                    };
                    if reduce {
                        let mut x = [1; 5];
                        comm.overlap(call::all_reduce(&mut x, op::Sum), work);
                        assert_eq!(x, [p; 5]);
                    } else {
                        comm.overlap(call::barrier(), work);
                    }
                    if !is_first {
                        gone.fetch_add(1, SeqCst);
                    }
                    comm.barrier();
                }
            });
        }
    }
}

#[test]
fn a_barrier_in_two_phases_is_one() {
    for p in sizes((1..=9).chain([66])) {
        let arrived = AtomicUsize::new(0);
        let _watch = watch();
        succeeds(&team(p), |comm| {
            for k in 1..=20 {
                arrived.fetch_add(1, SeqCst);
                assert_eq!(comm.overlap(call::barrier(), || k).1, k);
                assert!(arrived.load(SeqCst) >= k * p);
                comm.ring().overlap(call::barrier(), || ());
            }
        });
    }
}

/// Through views: the forced algorithm, after the work.
#[test]
fn forced_algorithms() {
    for p in [1, 3, 4] {
        succeeds(&team(p), |comm| {
            for n in [1, 100] {
                let mut x = vec![comm.rank(); n];
                comm.ring().overlap(call::all_reduce(&mut x, op::Sum), || ());
                assert_eq!(x, vec![p * (p - 1) / 2; n]);
            }
        });
    }
}

#[test]
fn disagreements_are_named() {
    let team = team(3);
    let error = failure(team.run(|comm| match comm.rank() {
        1 => comm.barrier(),
        _ => comm.overlap(call::barrier(), || ()).1,
    }));
    assert!(error.to_string().contains("overlapped barrier"), "{error}");
    let error = failure(team.run(|comm| {
        let mut x = vec![0; 3 + comm.rank() / 2];
        comm.overlap(call::all_reduce(&mut x, op::Sum), || ());
    }));
    assert!(
        matches!(error, Error::Mismatch { .. }) && error.to_string().contains("length"),
        "{error}"
    );
}
