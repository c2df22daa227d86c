//! Started calls: their results, in which order they may be waited for, and how they end badly.

// To forget a request is tested.
#![allow(clippy::forget_non_drop)]

mod attacks;
mod endings;
mod progress;

use crate::common::{OneCall, all_at_once, compose, map, on_threads, succeeds, team, value, watch};
use phalanx::{Team, Wait, call, op};

/// With blocking calls in between.
#[test]
fn every_started_call_gives_its_result() {
    let watch = watch();
    for p in 1..=9 {
        watch.case(format!("p = {p}"));
        let team = team(p);
        succeeds(&team, |comm| {
            for (seed, n) in (0..).zip([0, 1, 2, 4, 8, 9, 16, 17, 32, 33, 64, 65, 300, 3001]) {
                let mut calls = OneCall::all(comm, n, &[n % p], &[1]);
                all_at_once(comm, &calls, seed, op::Sum, &value(0));
                for it in &calls {
                    it.check(comm, op::Sum, &value(1));
                }
                calls.retain(|it| it.operation.combines());
                all_at_once(comm, &calls, seed + 101, op::ordered(compose), &map(2));
            }
        });
    }
}

#[test]
fn a_hundred_are_open_at_once() {
    let _watch = watch();
    for p in [1, 2, 5] {
        succeeds(&team(p), |comm| {
            let p = comm.size() as u64;
            let mut long = vec![vec![1u64; 50]; 100];
            comm.requests(|scope| {
                let few: Vec<_> = (0..100u64).map(|i| scope.start(call::sum([i]))).collect();
                let many: Vec<_> =
                    long.iter_mut().map(|x| scope.start(call::all_reduce(x, op::Sum))).collect();
                let few = scope.wait_all(few);
                assert!((0..).zip(few).all(|(i, [sum])| sum == i * p));
                for x in scope.wait_all(many.into_iter().rev()) {
                    assert_eq!(x, [p; 50]);
                }
            });
        });
    }
}

#[test]
fn test_and_wait_any_make_progress() {
    let _watch = watch();
    for p in [1, 2, 4] {
        succeeds(&team(p), |comm| {
            let (rank, p) = (comm.rank() as u64, comm.size() as u64);
            let (mut x, mut y) = ([rank; 1000], [1; 2000]);
            comm.requests(|scope| {
                let mut a = scope.start(call::all_reduce(&mut x[..], op::Max));
                let b = scope.start(call::all_reduce(&mut y[..], op::Sum));
                while !scope.test(&mut a) {}
                assert!(scope.test(&mut a), "complete for good");
                let mut open = vec![a, b];
                let first = scope.wait_any(&open);
                assert_eq!(first, 0);
                let b = open.remove(1);
                let i = scope.wait_any(std::slice::from_ref(&b));
                assert_eq!((i, scope.wait(b)[1999]), (0, p));
                assert_eq!(scope.wait(open.remove(0))[999], p - 1);
            });
        });
    }
}

/// Whatever becomes of the handles, the scope completes its calls.
#[test]
fn dropped_and_forgotten_requests_are_completed() {
    let _watch = watch();
    for p in [1, 2, 5] {
        let out = team(p)
            .run(|comm| {
                let (mut x, mut y, mut z) = ([1; 100], [1; 100], [1; 3]);
                comm.requests(|scope| {
                    std::mem::forget(scope.start(call::all_reduce(&mut x, op::Sum)));
                    drop(scope.start(call::all_reduce(&mut y, op::Sum)));
                    let _early = scope.start(call::all_reduce(&mut z, op::Sum));
                    if scope.comm().rank() % 2 == 1 {
                        return; // an early return
                    }
                    scope.comm().rank();
                });
                [x[99], y[99], z[2]]
            })
            .unwrap();
        assert_eq!(out, vec![[p as i32; 3]; p]);
    }
}

#[test]
fn blocking_calls_and_messages_go_on_beside() {
    let _watch = watch();
    for p in [2, 3, 6] {
        for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
            let team = Team::builder().ranks(p).wait(wait).build().unwrap();
            succeeds(&team, |comm| {
                let (rank, p) = (comm.rank(), comm.size());
                let mut x = vec![rank as u64; 5000];
                for round in 0..20 {
                    x.fill(rank as u64 + round);
                    comm.requests(|scope| {
                        let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                        // Rank 0 waits for messages only, and must do its part there.
                        if rank == 0 {
                            for peer in 1..p {
                                let mut got = [0u64];
                                scope.comm().recv(&mut got, peer);
                                assert_eq!(got[0], round);
                            }
                            scope.wait(sum);
                        } else {
                            scope.wait(sum);
                            scope.comm().send(&[round], 0);
                        }
                    });
                    let all = (p * (p - 1) / 2) as u64 + round * p as u64;
                    assert_eq!(x, vec![all; 5000]);
                }
            });
        }
    }
}

#[test]
fn scopes_nest_on_one_communicator_and_on_its_parts() {
    let _watch = watch();
    for p in [1, 2, 4, 5] {
        succeeds(&team(p), |comm| {
            let p = comm.size() as u64;
            let (mut x, mut y, mut z) = ([1u64; 300], [2u64; 300], [3u64; 300]);
            let half = comm.rank() % 2;
            comm.requests(|scope| {
                let outer = scope.start(call::all_reduce(&mut x, op::Sum));
                let mut part = scope.comm().split(half, 0);
                let size = part.size() as u64;
                part.requests(|inner| {
                    let sum = inner.start(call::all_reduce(&mut y, op::Sum));
                    assert_eq!(inner.wait(sum)[299], 2 * size);
                });
                scope.comm().requests(|again| {
                    let sum = again.start(call::all_reduce(&mut z, op::Sum));
                    std::mem::forget(again.start(call::barrier()));
                    assert_eq!(again.wait(sum)[0], 3 * p);
                });
                assert_eq!(scope.wait(outer)[150], p);
            });
        });
    }
}

#[test]
fn persistent_requests_start_again_and_again() {
    let _watch = watch();
    for p in [1, 2, 5] {
        succeeds(&team(p), |comm| {
            let (rank, p) = (comm.rank() as u64, comm.size() as u64);
            let (mut few, mut many, mut root) = ([0u64; 2], [0u64; 500], [0u64; 3]);
            comm.requests(|scope| {
                let mut few = scope.set_up(call::all_reduce(&mut few, op::Sum));
                let mut many = scope.set_up(call::all_reduce(&mut many, op::Max));
                let mut root = scope.set_up(call::broadcast(&mut root, p as usize - 1));
                for i in 0..200u64 {
                    few.buf_mut().fill(i);
                    many.buf_mut().fill(i + rank);
                    root.buf_mut()[2] = i * (rank + 1);
                    let (a, b) = (scope.start(few), scope.start(many));
                    let c = scope.start(root);
                    many = scope.wait(b);
                    few = scope.wait(a);
                    root = scope.wait(c);
                    assert_eq!(few.buf(), [i * p; 2]);
                    assert_eq!(many.buf(), [i + p - 1; 500]);
                    assert_eq!(root.buf()[2], i * p);
                }
            });
        });
    }
}

#[test]
fn threads_of_the_programs_own_start_calls() {
    let _watch = watch();
    let sums = on_threads(Team::external(3).unwrap(), |mut comm| {
        let mut x = [comm.rank() as u64; 100];
        comm.requests(|scope| {
            let sum = scope.start(call::all_reduce(&mut x, op::Sum));
            scope.comm().barrier();
            scope.wait(sum)[99]
        })
    });
    assert_eq!(sums, [3; 3]);
}
