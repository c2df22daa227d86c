//! Started calls: what they give, in which order they may be waited for, and how they end badly.

// To forget a request is what is tested.
#![allow(clippy::forget_non_drop)]

#[path = "requests/progress.rs"]
mod progress;

use crate::common::{Dice, bomb, check_usable, compose, failure, team, watched, watched_cases};
use phalanx::{Comm, Error, OpenRequest, Requests, Team, Wait, op};
use std::time::Duration;

const CALLS: usize = 11;

fn data(rank: usize, len: usize, salt: usize) -> Vec<u64> {
    (0..len).map(|i| (rank * 1009 + i * 31 + salt * 7) as u64 % 997).collect()
}

/// Inputs and outputs of every call, with blocks of `n`.
fn buffers(rank: usize, p: usize, n: usize) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    let input = |k| match k {
        5 | 7 | 9 => data(rank, n * p, k),
        _ => data(rank, n, k),
    };
    let output = |k| match k {
        6..=8 => vec![0; n * p],
        5 | 9 => vec![0; n],
        _ => data(rank, n, k),
    };
    ((0..CALLS).map(input).collect(), (0..CALLS).map(output).collect())
}

/// Call `k`, at once.
fn blocking(comm: &mut Comm, k: usize, x: &[u64], y: &mut [u64], root: usize) {
    match k {
        0 => comm.broadcast(y, root),
        1 => comm.reduce(y, op::Sum, root),
        2 => comm.all_reduce(y, op::Sum),
        3 => comm.scan(y, op::Sum),
        4 => comm.exclusive_scan(y, op::Sum),
        5 => comm.reduce_scatter_into(x, y, op::Sum),
        6 => comm.all_gather_into(x, y),
        7 => comm.all_to_all_into(x, y),
        8 => comm.gather_into(x, y, root),
        9 => comm.scatter_into(x, y, root),
        _ => comm.shift(y, 1),
    }
}

/// Call `k`, started.
fn started<'s, 'e>(
    scope: &mut Requests<'s, 'e>,
    k: usize,
    x: &'e [u64],
    y: &'e mut [u64],
    root: usize,
) -> OpenRequest<'s, &'e mut [u64]> {
    match k {
        0 => scope.broadcast(y, root),
        1 => scope.reduce(y, op::Sum, root),
        2 => scope.all_reduce(y, op::Sum),
        3 => scope.scan(y, op::Sum),
        4 => scope.exclusive_scan(y, op::Sum),
        5 => scope.reduce_scatter_into(x, y, op::Sum),
        6 => scope.all_gather_into(x, y),
        7 => scope.all_to_all_into(x, y),
        8 => scope.gather_into(x, y, root),
        9 => scope.scatter_into(x, y, root),
        _ => scope.shift(y, 1),
    }
}

/// All calls at once, with blocks of `n`, waited for in an order of each rank's own.
fn all_at_once(comm: &mut Comm, n: usize, seed: u64) {
    let (rank, p) = (comm.rank(), comm.size());
    let root = n % p;
    let (x, mut y) = buffers(rank, p, n);
    let (_, mut wanted) = buffers(rank, p, n);
    for k in 0..CALLS {
        blocking(comm, k, &x[k], &mut wanted[k], root);
    }
    let mut dice = Dice(seed + rank as u64);
    comm.requests(|scope| {
        let calls = x.iter().zip(&mut y).enumerate();
        let mut open: Vec<_> =
            calls.map(|(k, (x, y))| (k, started(scope, k, x, y, root))).collect();
        let barrier = scope.barrier();
        if seed % 2 == 1 {
            scope.comm().barrier();
        }
        while !open.is_empty() {
            let (k, request) = open.swap_remove(dice.below(open.len()));
            assert_eq!(scope.wait(request), &wanted[k][..], "call {k}, p = {p}, n = {n}");
        }
        scope.wait(barrier);
    });
    assert_eq!(y, wanted);
}

#[test]
fn every_started_call_gives_what_the_blocking_one_gives() {
    watched_cases(|watch| {
        for p in 1..=9 {
            watch.case(format!("p = {p}"));
            let team = team(p);
            team.run(|comm| {
                for (seed, n) in (0..).zip([0, 1, 2, 8, 9, 32, 33, 64, 65, 3001]) {
                    all_at_once(comm, n, seed);
                    all_at_once(comm, n, seed + 100);
                }
            })
            .unwrap();
        }
    });
}

#[test]
fn operators_that_do_not_commute_keep_the_order_of_ranks() {
    watched(|| {
        for p in 1..=5 {
            team(p)
                .run(|comm| {
                    for n in [1, 4, 5, 16, 17, 32, 33, 300] {
                        let own: Vec<(u64, u64)> =
                            (0..n).map(|i| (comm.rank() as u64 + 2, i)).collect();
                        let (mut sum, mut prefix) = (own.clone(), own.clone());
                        comm.all_reduce(&mut sum, op::ordered(compose));
                        comm.scan(&mut prefix, op::ordered(compose));
                        let (mut a, mut b) = (own.clone(), own);
                        comm.requests(|scope| {
                            let a = scope.all_reduce(&mut a, op::ordered(compose));
                            let b = scope.scan(&mut b, op::ordered(compose));
                            assert_eq!(scope.wait(b), prefix);
                            assert_eq!(scope.wait(a), sum);
                        });
                    }
                })
                .unwrap();
        }
    });
}

#[test]
fn a_hundred_are_open_at_once() {
    watched(|| {
        for p in [1, 2, 5] {
            team(p)
                .run(|comm| {
                    let p = comm.size() as u64;
                    let mut long = vec![vec![1u64; 50]; 100];
                    comm.requests(|scope| {
                        let few: Vec<_> = (0..100u64).map(|i| scope.sum([i])).collect();
                        let many: Vec<_> =
                            long.iter_mut().map(|x| scope.all_reduce(x, op::Sum)).collect();
                        let few = scope.wait_all(few);
                        assert!((0..).zip(few).all(|(i, [sum])| sum == i * p));
                        for x in scope.wait_all(many.into_iter().rev()) {
                            assert_eq!(x, [p; 50]);
                        }
                    });
                })
                .unwrap();
        }
    });
}

#[test]
fn test_and_wait_any_make_progress() {
    watched(|| {
        for p in [1, 2, 4] {
            team(p)
                .run(|comm| {
                    let (rank, p) = (comm.rank() as u64, comm.size() as u64);
                    let (mut x, mut y) = ([rank; 1000], [1; 2000]);
                    comm.requests(|scope| {
                        let mut a = scope.all_reduce(&mut x[..], op::Max);
                        let b = scope.all_reduce(&mut y[..], op::Sum);
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
                })
                .unwrap();
        }
    });
}

/// Whatever becomes of the handles, the scope completes its calls.
#[test]
fn dropped_and_forgotten_requests_are_completed() {
    watched(|| {
        for p in [1, 2, 5] {
            let out = team(p)
                .run(|comm| {
                    let (mut x, mut y, mut z) = ([1; 100], [1; 100], [1; 3]);
                    comm.requests(|scope| {
                        std::mem::forget(scope.all_reduce(&mut x, op::Sum));
                        drop(scope.all_reduce(&mut y, op::Sum));
                        let _early = scope.all_reduce(&mut z, op::Sum);
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
    });
}

#[test]
fn blocking_calls_and_messages_go_on_beside() {
    watched(|| {
        for p in [2, 3, 6] {
            for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
                let team = Team::builder().ranks(p).wait(wait).build().unwrap();
                team.run(|comm| {
                    let (rank, p) = (comm.rank(), comm.size());
                    let mut x = vec![rank as u64; 5000];
                    for round in 0..20 {
                        x.fill(rank as u64 + round);
                        comm.requests(|scope| {
                            let sum = scope.all_reduce(&mut x, op::Sum);
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
                })
                .unwrap();
            }
        }
    });
}

#[test]
fn scopes_nest_on_one_communicator_and_on_its_parts() {
    watched(|| {
        for p in [1, 2, 4, 5] {
            team(p)
                .run(|comm| {
                    let p = comm.size() as u64;
                    let (mut x, mut y, mut z) = ([1u64; 300], [2u64; 300], [3u64; 300]);
                    let half = comm.rank() % 2;
                    comm.requests(|scope| {
                        let outer = scope.all_reduce(&mut x, op::Sum);
                        let mut part = scope.comm().split(half, 0);
                        let size = part.size() as u64;
                        part.requests(|inner| {
                            let sum = inner.all_reduce(&mut y, op::Sum);
                            assert_eq!(inner.wait(sum)[299], 2 * size);
                        });
                        scope.comm().requests(|again| {
                            let sum = again.all_reduce(&mut z, op::Sum);
                            std::mem::forget(again.barrier());
                            assert_eq!(again.wait(sum)[0], 3 * p);
                        });
                        assert_eq!(scope.wait(outer)[150], p);
                    });
                })
                .unwrap();
        }
    });
}

#[test]
fn persistent_requests_start_again_and_again() {
    watched(|| {
        for p in [1, 2, 5] {
            team(p)
                .run(|comm| {
                    let (rank, p) = (comm.rank() as u64, comm.size() as u64);
                    let (mut few, mut many, mut root) = ([0u64; 2], [0u64; 500], [0u64; 3]);
                    comm.requests(|scope| {
                        let mut few = scope.persistent_all_reduce(&mut few, op::Sum);
                        let mut many = scope.persistent_all_reduce(&mut many, op::Max);
                        let mut root = scope.persistent_broadcast(&mut root, p as usize - 1);
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
                })
                .unwrap();
        }
    });
}

#[test]
fn threads_of_the_programs_own_start_calls() {
    watched(|| {
        let comms = Team::external(3).unwrap();
        let sums: Vec<u64> = std::thread::scope(|s| {
            let threads: Vec<_> = comms
                .into_iter()
                .map(|mut comm| {
                    s.spawn(move || {
                        let mut x = [comm.rank() as u64; 100];
                        comm.requests(|scope| {
                            let sum = scope.all_reduce(&mut x, op::Sum);
                            scope.comm().barrier();
                            scope.wait(sum)[99]
                        })
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(sums, [3; 3]);
    });
}

// ---- How it ends badly ----

/// Runs `f`, which must fail with a mismatch that has all of `words` and both lines; then sees
/// whether the team still works.
fn told(team: &Team, words: &[&str], f: impl Fn(&mut Comm) + Sync) {
    let error = failure(team.run(f));
    let text = error.to_string();
    assert!(matches!(error, Error::Mismatch { there: Some(_), .. }), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert_eq!(text.matches("requests.rs:").count(), 2, "both lines: {text}");
    check_usable(team, 1);
}

#[test]
fn started_calls_that_differ_are_named_with_both_lines() {
    watched_cases(|watch| {
        for p in [2, 3] {
            let team = team(p);
            let case = |name: &str| watch.case(name);
            case("length");
            told(&team, &["length: expected"], |comm| {
                let mut x = vec![1; if comm.rank() == 1 { 20 } else { 30 }];
                comm.requests(|scope| drop(scope.all_reduce(&mut x, op::Sum)));
            });
            case("length, brief and not");
            told(&team, &["length: expected"], |comm| {
                let mut x = vec![1u64; if comm.rank() == 1 { 8 } else { 9 }];
                comm.requests(|scope| drop(scope.all_reduce(&mut x, op::Sum)));
            });
            case("type");
            told(&team, &["element type"], |comm| match comm.rank() {
                1 => comm.requests(|scope| drop(scope.sum([1u8]))),
                _ => comm.requests(|scope| drop(scope.sum([1i32]))),
            });
            case("operator");
            told(&team, &["operator"], |comm| match comm.rank() {
                1 => comm.requests(|scope| drop(scope.all_reduce_values([1], op::Max))),
                _ => comm.requests(|scope| drop(scope.all_reduce_values([1], op::Min))),
            });
            case("root");
            told(&team, &["root"], |comm| {
                let (mut x, root) = ([1; 5], usize::from(comm.rank() == 1));
                comm.requests(|scope| drop(scope.broadcast(&mut x, root)));
            });
            case("operation");
            told(&team, &["operation: expected"], |comm| {
                let (mut x, odd) = ([1; 100], comm.rank() == 1);
                comm.requests(|scope| match odd {
                    true => drop(scope.scan(&mut x, op::Sum)),
                    false => drop(scope.all_reduce(&mut x, op::Sum)),
                });
            });
            case("order");
            told(&team, &["started sum", "started barrier"], |comm| {
                let odd = comm.rank() == 1;
                comm.requests(|scope| {
                    if odd {
                        drop(scope.barrier());
                        drop(scope.sum([1]));
                    } else {
                        drop(scope.sum([1]));
                        drop(scope.barrier());
                    }
                });
            });
            case("started and blocking");
            for n in [1, 1000] {
                told(&team, &["started all_reduce", "barrier"], |comm| {
                    let mut x = vec![1; n];
                    match comm.rank() {
                        1 => comm.barrier(),
                        _ => comm.requests(|scope| drop(scope.all_reduce(&mut x, op::Sum))),
                    }
                });
            }
            case("started and blocking, in a loop of tests");
            for n in [1, 1000] {
                told(&team, &["started all_reduce", "barrier"], |comm| {
                    let mut x = vec![1; n];
                    match comm.rank() {
                        1 => comm.barrier(),
                        _ => comm.requests(|scope| {
                            let mut sum = scope.all_reduce(&mut x, op::Sum);
                            while !scope.test(&mut sum) {
                                std::hint::spin_loop();
                            }
                        }),
                    }
                });
            }
            case("found by a call beside");
            told(&team, &["length: expected"], |comm| {
                let mut x = vec![1; if comm.rank() == 1 { 20 } else { 30 }];
                comm.requests(|scope| {
                    let _open = scope.all_reduce(&mut x, op::Sum);
                    scope.comm().barrier();
                    let (rank, p) = (scope.comm().rank(), scope.comm().size());
                    scope.comm().recv(&mut [0], (rank + 1) % p);
                });
            });
        }
    });
}

/// Two against one, though the second of the two comes when the run is over: its call is on record.
#[test]
fn the_odd_rank_is_told_by_one_that_comes_late() {
    watched(|| {
        let team = team(3);
        for odd in [0, 1] {
            let error = failure(team.run(|comm| {
                let rank = comm.rank();
                let mut x = vec![1; if rank == odd { 20 } else { 30 }];
                if rank == 2 {
                    std::thread::sleep(Duration::from_millis(50));
                }
                comm.requests(|scope| drop(scope.broadcast(&mut x, 0)));
            }));
            assert!(matches!(error, Error::Mismatch { peer, .. } if peer == odd), "{error}");
            check_usable(&team, 1);
        }
    });
}

#[test]
fn a_rank_that_leaves_ends_the_others_waits() {
    watched(|| {
        for p in [2, 4] {
            let team = team(p);
            for n in [1, 1000] {
                for by_test in [false, true] {
                    let error = failure(team.run(|comm| {
                        let mut x = vec![1; n];
                        if comm.rank() > 0 {
                            comm.requests(|scope| {
                                let mut request = scope.all_reduce(&mut x, op::Sum);
                                while by_test && !scope.test(&mut request) {}
                                scope.wait(request);
                            });
                        }
                    }));
                    let text = error.to_string();
                    assert!(matches!(error, Error::Left { peer: 0, .. }), "{text}");
                    assert!(text.contains("started all_reduce"), "{text}");
                    check_usable(&team, 1);
                }
            }
        }
    });
}

#[test]
fn panics_end_the_run_and_nobody_reaches_the_buffers() {
    watched(|| {
        for p in [2, 4] {
            let team = team(p);
            for n in [1, 5000] {
                // In the closure.
                let error = failure(team.run(|comm| {
                    let (mut x, rank) = (crate::common::Canary(vec![1; n]), comm.rank());
                    comm.requests(|scope| {
                        let request =
                            scope.all_reduce(&mut x.0, op::ordered(crate::common::add_alive));
                        if rank == 1 {
                            bomb();
                        }
                        scope.wait(request);
                    });
                }));
                assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
                check_usable(&team, 1);
                // In an operator: in `wait`, and while the rank waits in another call.
                for beside in [false, true] {
                    let error = failure(team.run(|comm| {
                        let (mut x, rank) = (crate::common::Canary(vec![1; n]), comm.rank());
                        let fuse = op::ordered(move |a: u64, b: u64| match rank {
                            0 => bomb(),
                            _ => crate::common::add_alive(a, b),
                        });
                        comm.requests(|scope| {
                            let request = scope.all_reduce(&mut x.0, fuse);
                            if beside {
                                // Longer than the first looks, so that the request goes on here.
                                if rank == 1 {
                                    std::thread::sleep(Duration::from_millis(5));
                                }
                                scope.comm().barrier();
                            }
                            scope.wait(request);
                        });
                    }));
                    assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
                    check_usable(&team, 1);
                }
            }
        }
    });
}

/// Whoever catches the panic finds a run that is over, also through the scope.
#[test]
fn a_caught_failure_does_not_go_on() {
    watched(|| {
        let team = team(2);
        let error = failure(team.run(|comm| {
            let (mut x, rank) = (crate::common::Canary(vec![1; 1000]), comm.rank());
            comm.requests(|scope| {
                let mut request = scope.all_reduce(&mut x.0, op::ordered(crate::common::add_alive));
                let caught =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match rank {
                        0 => scope.comm().barrier(),
                        _ => scope.comm().broadcast(&mut [1], 7),
                    }));
                assert!(caught.is_err());
                scope.test(&mut request);
                scope.wait(request);
            });
        }));
        assert!(matches!(error, Error::Argument { rank: 1, .. }), "{error}");
        check_usable(&team, 1);
    });
}

#[test]
fn a_communicator_in_the_place_of_the_scopes_is_refused() {
    watched(|| {
        let team = team(2);
        let error = failure(team.run(|comm| {
            let mut other = comm.split(0, 0);
            let mut x = [1; 1000];
            comm.requests(|scope| {
                let request = scope.all_reduce(&mut x, op::Sum);
                std::mem::swap(scope.comm(), &mut other);
                drop(scope.barrier());
                scope.wait(request);
            });
        }));
        assert!(error.to_string().contains("put in the place of another"), "{error}");
        // What was started before is completed, whatever stands there.
        team.run(|comm| {
            let mut other = comm.split(0, 0);
            let mut x = [1; 1000];
            comm.requests(|scope| {
                let request = scope.all_reduce(&mut x, op::Sum);
                std::mem::swap(scope.comm(), &mut other);
                scope.comm().barrier();
                assert_eq!(scope.wait(request)[7], 2);
                std::mem::swap(scope.comm(), &mut other);
            });
        })
        .unwrap();
    });
}

#[test]
fn deadlines_and_cancels_end_the_waits() {
    watched(|| {
        for n in [1, 1000] {
            let limit = Duration::from_millis(100);
            let team = Team::builder().ranks(3).deadline(limit).build().unwrap();
            let error = failure(team.run(|comm| {
                let mut x = vec![1; n];
                if comm.rank() == 2 {
                    std::thread::sleep(8 * limit);
                }
                comm.requests(|scope| drop(scope.all_reduce(&mut x, op::Sum)));
            }));
            let text = error.to_string();
            assert!(matches!(error, Error::Deadline { peer: 2, .. }), "{text}");
            assert!(text.contains("started all_reduce"), "{text}");
            check_usable(&team, 1);
            // Two that wait for each other, each with a long call under way that the other
            // waits for: no proof, so the deadline says it.
            let error = failure(team.run(|comm| {
                let (mut x, rank) = (vec![1; n], comm.rank());
                comm.requests(|scope| {
                    let request = scope.all_reduce(&mut x, op::Sum);
                    scope.comm().recv(&mut [0], (rank + 1) % 3);
                    scope.wait(request);
                });
            }));
            let text = error.to_string();
            let is_it = matches!(error, Error::Deadline { .. } | Error::Deadlock { .. });
            assert!(is_it, "{text}");
            check_usable(&team, 1);

            let team = crate::common::team(2);
            let canceller = team.canceller();
            let error = failure(team.run(|comm| {
                let mut x = vec![1; n];
                if comm.rank() == 1 {
                    std::thread::sleep(limit);
                    return canceller.cancel();
                }
                comm.requests(|scope| drop(scope.all_reduce(&mut x, op::Sum)));
            }));
            let is_it = matches!(error, Error::Cancelled { .. } | Error::Left { .. });
            assert!(is_it, "{error}");
        }
    });
}

#[test]
fn wrong_arguments_are_told() {
    watched(|| {
        let team = team(2);
        let error = failure(team.run(|comm| {
            comm.requests(|scope| drop(scope.broadcast(&mut [], 2) as OpenRequest<'_, &mut [u8]>));
        }));
        assert!(matches!(error, Error::Argument { .. }), "{error}");
        let error = failure(Team::builder().ranks(1).build().unwrap().run(|comm| {
            let (mine, mut all) = ([1; 3], [0; 5]);
            comm.requests(|scope| drop(scope.all_gather_into(&mine, &mut all)));
        }));
        assert!(error.to_string().contains("5 elements, must have 3"), "{error}");
    });
}

// ---- Attacks ----

/// Waits for its request when it is dropped.
struct WaitsInDrop<'a, 's, 'e>(&'a mut Requests<'s, 'e>, Option<OpenRequest<'s, &'e mut [u64]>>);

impl Drop for WaitsInDrop<'_, '_, '_> {
    fn drop(&mut self) {
        if let Some(request) = self.1.take() {
            let got = self.0.wait(request);
            assert!(!got.contains(&crate::common::POISON));
        }
    }
}

#[test]
fn a_request_may_be_waited_for_in_a_destructor() {
    watched(|| {
        for p in [1, 2, 4] {
            for n in [1, 5000] {
                let sums = team(p).run(|comm| {
                    let mut x = vec![1u64; n];
                    comm.requests(|scope| {
                        let request = scope.all_reduce(&mut x, op::Sum);
                        let _waits = WaitsInDrop(scope, Some(request));
                    });
                    x
                });
                assert_eq!(sums.unwrap(), vec![vec![p as u64; n]; p]);
            }
        }
    });
}

/// The others do their part, so the destructor gets what it waits for while the panic unwinds.
#[test]
fn a_destructor_may_wait_during_a_panic_while_the_run_goes_on() {
    watched(|| {
        for p in [2, 4] {
            let team = team(p);
            let error = failure(team.run(|comm| {
                let (mut x, rank) = (crate::common::Canary(vec![1; 5000]), comm.rank());
                comm.requests(|scope| {
                    let request = scope.all_reduce(&mut x.0, op::ordered(crate::common::add_alive));
                    let waits = WaitsInDrop(scope, Some(request));
                    if rank == 1 {
                        bomb();
                    }
                    drop(waits);
                });
            }));
            assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
            check_usable(&team, 1);
        }
    });
}

/// One of several: the others' buffers are borrowed by peers at that moment.
#[test]
fn an_operator_that_panics_beside_open_requests() {
    watched(|| {
        for p in [2, 3, 5] {
            let team = team(p);
            for odd in [0, p - 1] {
                for which in 0..3 {
                    let error = failure(team.run(|comm| {
                        let rank = comm.rank();
                        let fuse = |armed: bool| {
                            op::ordered(move |a: u64, b: u64| match armed && rank == odd {
                                true => bomb(),
                                false => crate::common::add_alive(a, b),
                            })
                        };
                        let [mut x, mut y, mut z] =
                            [0; 3].map(|_| crate::common::Canary(vec![1; 4000 * p]));
                        comm.requests(|scope| {
                            let a = scope.all_reduce(&mut x.0, fuse(which == 0));
                            let b = scope.scan(&mut y.0, fuse(which == 1));
                            let c = scope.all_reduce(&mut z.0, fuse(which == 2));
                            scope.wait(b);
                            scope.wait(c);
                            scope.wait(a);
                        });
                    }));
                    // The first rank of a prefix combines nothing; its neighbours never get far.
                    let is_right = matches!(error, Error::Panicked { rank, .. } if rank == odd);
                    assert!(is_right, "{error}");
                    check_usable(&team, 1);
                }
            }
        }
    });
}

#[test]
fn a_scope_may_be_left_early_with_large_buffers() {
    fn half(comm: &mut Comm, x: &mut [u64], y: &mut [u64]) -> Option<u64> {
        let early = comm.rank() % 2 == 1;
        comm.requests(|scope| {
            let sum = scope.all_reduce(x, op::Sum);
            let shift = scope.shift(y, 1);
            if early {
                return None;
            }
            let last = *scope.wait(shift).last()?;
            Some(last + scope.wait(sum)[0])
        })
    }
    watched(|| {
        for p in [1, 2, 5] {
            let sums = team(p).run(|comm| {
                let n = 300_000;
                let (mut x, mut y) = (vec![1; n], vec![comm.rank() as u64; n]);
                let got = half(comm, &mut x, &mut y);
                let from = (comm.rank() + p - 1) % p;
                assert_eq!(got, (comm.rank() % 2 == 0).then_some((from + p) as u64));
                assert_eq!(y, vec![from as u64; n]);
                x
            });
            assert!(sums.unwrap().iter().all(|x| x.iter().all(|&x| x == p as u64)));
        }
    });
}

/// A run of another team within a scope: the thread goes on with its rank's calls there.
#[test]
fn scopes_of_two_teams_on_one_thread() {
    watched(|| {
        let outer = team(2);
        for n in [1, 3000] {
            let sums = outer.run(|comm| {
                let (mut x, rank) = (vec![1u64; n], comm.rank());
                comm.requests(|scope| {
                    let sum = scope.all_reduce(&mut x, op::Sum);
                    let inner = team(2).run(|comm| {
                        let mut y = vec![2u64; n];
                        comm.requests(|scope| {
                            let sum = scope.all_reduce(&mut y, op::Sum);
                            scope.comm().barrier();
                            scope.wait(sum)[n - 1]
                        })
                    });
                    assert_eq!(inner.unwrap(), [4; 2]);
                    scope.wait(sum)[n - 1] + rank as u64
                })
            });
            assert_eq!(sums.unwrap(), [2, 3]);
            // The outer one's operator fails while the thread waits in the inner run.
            let error = failure(outer.run(|comm| {
                let (mut x, rank) = (crate::common::Canary(vec![1; 3000]), comm.rank());
                comm.requests(|scope| {
                    let sum = scope.all_reduce(
                        &mut x.0,
                        op::ordered(move |a, b| match rank {
                            0 => bomb(),
                            _ => crate::common::add_alive(a, b),
                        }),
                    );
                    let inner = team(2).run(|comm| {
                        let mut y = vec![2u64; n];
                        comm.requests(|scope| {
                            let sum = scope.all_reduce(&mut y, op::Sum);
                            if scope.comm().rank() == 1 {
                                std::thread::sleep(Duration::from_millis(20));
                            }
                            scope.comm().barrier();
                            scope.wait(sum);
                        });
                    });
                    drop(inner);
                    scope.wait(sum);
                });
            }));
            assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
            check_usable(&outer, 1);
        }
    });
}

/// A failure in a part of the team ends the scopes around it, and its own buffers last as long.
#[test]
fn a_failure_in_a_nested_scope_of_a_part() {
    watched(|| {
        for p in [2, 4, 5] {
            let team = team(p);
            for by_operator in [false, true] {
                let error = failure(team.run(|comm| {
                    let rank = comm.rank();
                    let mut part = comm.split(rank % 2, 0);
                    let (mut x, mut y) = (
                        crate::common::Canary(vec![1; 5000]),
                        crate::common::Canary(vec![1; 5000]),
                    );
                    comm.requests(|scope| {
                        let outer =
                            scope.all_reduce(&mut x.0, op::ordered(crate::common::add_alive));
                        part.requests(|inner| {
                            let fuse = op::ordered(move |a, b| match by_operator && rank == 0 {
                                true => bomb(),
                                false => crate::common::add_alive(a, b),
                            });
                            let sum = inner.all_reduce(&mut y.0, fuse);
                            if rank == 0 {
                                inner.comm().barrier();
                                bomb();
                            }
                            inner.comm().barrier();
                            inner.wait(sum);
                        });
                        scope.wait(outer);
                    });
                }));
                assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
                check_usable(&team, 1);
            }
        }
    });
}

#[test]
fn two_hundred_large_ones_open_on_two_communicators() {
    watched(|| {
        for p in [1, 2, 4] {
            let run = team(p).run(|comm| {
                let (rank, p) = (comm.rank(), comm.size() as u64);
                let mut part = comm.split(rank % 2, 0);
                let size = part.size() as u64;
                let mut long = vec![vec![1u64; 500]; 200];
                let (a, b) = long.split_at_mut(100);
                comm.requests(|scope| {
                    let mut open: Vec<_> =
                        a.iter_mut().map(|x| scope.all_reduce(x, op::Sum)).collect();
                    let of_part = part.requests(|inner| {
                        let open: Vec<_> =
                            b.iter_mut().map(|x| inner.all_reduce(x, op::Sum)).collect();
                        inner.wait_all(open.into_iter().rev()).len()
                    });
                    let mut dice = Dice(rank as u64);
                    while !open.is_empty() {
                        let request = open.swap_remove(dice.below(open.len()));
                        scope.wait(request);
                    }
                    assert_eq!(of_part, 100);
                });
                assert!(a.iter().flatten().all(|&x| x == p));
                assert!(b.iter().flatten().all(|&x| x == size));
            });
            run.unwrap();
        }
    });
}
