//! How started calls end badly: calls that differ, ranks that leave or panic, deadlines, wrong
//! arguments.

use crate::common::{
    self, Canary, add_alive, bomb, bomb_if, fails, failure, succeeds, team, watch,
};
use phalanx::{Comm, Error, OpenRequest, Team, call, op};
use std::time::Duration;

/// Runs `f`, which must fail with a mismatch that has all of `words` and both lines.
fn told(team: &Team, words: &[&str], f: impl Fn(&mut Comm) + Sync) {
    let error = common::told(team, words, f);
    assert!(matches!(error, Error::Mismatch { there: Some(_), .. }), "{error}");
    assert_eq!(error.to_string().matches("endings.rs:").count(), 2, "both lines: {error}");
}

#[test]
fn started_calls_that_differ_are_named_with_both_lines() {
    let watch = watch();
    for p in [2, 3] {
        let team = team(p);
        let case = |name: &str| watch.case(name);
        case("length, also brief and not");
        for (odd, usual) in [(20, 30), (8, 9)] {
            told(&team, &["length: expected"], |comm| {
                let mut x = vec![1u64; if comm.rank() == 1 { odd } else { usual }];
                comm.requests(|scope| drop(scope.start(call::all_reduce(&mut x, op::Sum))));
            });
        }
        case("type");
        told(&team, &["element type"], |comm| match comm.rank() {
            1 => comm.requests(|scope| drop(scope.start(call::sum([1u8])))),
            _ => comm.requests(|scope| drop(scope.start(call::sum([1i32])))),
        });
        case("operator");
        told(&team, &["operator"], |comm| match comm.rank() {
            1 => comm.requests(|scope| drop(scope.start(call::all_reduce_values([1], op::Max)))),
            _ => comm.requests(|scope| drop(scope.start(call::all_reduce_values([1], op::Min)))),
        });
        case("order");
        told(&team, &["started sum", "started barrier"], |comm| {
            let odd = comm.rank() == 1;
            comm.requests(|scope| {
                if odd {
                    drop(scope.start(call::barrier()));
                    drop(scope.start(call::sum([1])));
                } else {
                    drop(scope.start(call::sum([1])));
                    drop(scope.start(call::barrier()));
                }
            });
        });
        case("each is the root, and needs nobody; the run ends, or goes on");
        for more in [0, 1, 40] {
            told(&team, &["root: expected"], |comm| {
                let (mut x, root) = ([1; 2], comm.rank());
                comm.requests(|scope| drop(scope.start(call::broadcast(&mut x, root))));
                for _ in 0..more {
                    comm.requests(|scope| drop(scope.start(call::broadcast(&mut x, 0))));
                }
            });
        }
        case("started and blocking, also in a loop of tests");
        for (n, is_tested) in [(1, false), (1000, false), (1, true), (1000, true)] {
            told(&team, &["started all_reduce", "barrier"], |comm| {
                let mut x = vec![1; n];
                match comm.rank() {
                    1 => comm.barrier(),
                    _ => comm.requests(|scope| {
                        let mut sum = scope.start(call::all_reduce(&mut x, op::Sum));
                        while is_tested && !scope.test(&mut sum) {
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
                let _open = scope.start(call::all_reduce(&mut x, op::Sum));
                scope.comm().barrier();
                let (rank, p) = (scope.comm().rank(), scope.comm().size());
                scope.comm().recv(&mut [0], (rank + 1) % p);
            });
        });
    }
}

/// Two against one, though the second of the two comes when the run is over: its call is on record.
#[test]
fn the_odd_rank_is_told_by_one_that_comes_late() {
    let _watch = watch();
    let team = team(3);
    for odd in [0, 1] {
        let error = fails(&team, |comm| {
            let rank = comm.rank();
            let mut x = vec![1; if rank == odd { 20 } else { 30 }];
            if rank == 2 {
                std::thread::sleep(Duration::from_millis(50));
            }
            comm.requests(|scope| drop(scope.start(call::broadcast(&mut x, 0))));
        });
        assert!(matches!(error, Error::Mismatch { peer, .. } if peer == odd), "{error}");
    }
}

#[test]
fn a_rank_that_leaves_ends_the_others_waits() {
    let _watch = watch();
    for p in [2, 4] {
        let team = team(p);
        for n in [1, 1000] {
            for by_test in [false, true] {
                let error = fails(&team, |comm| {
                    let mut x = vec![1; n];
                    if comm.rank() > 0 {
                        comm.requests(|scope| {
                            let mut request = scope.start(call::all_reduce(&mut x, op::Sum));
                            while by_test && !scope.test(&mut request) {}
                            scope.wait(request);
                        });
                    }
                });
                let text = error.to_string();
                assert!(matches!(error, Error::Left { peer: 0, .. }), "{text}");
                assert!(text.contains("started all_reduce"), "{text}");
            }
        }
    }
}

#[test]
fn panics_end_the_run_and_nobody_reaches_the_buffers() {
    let _watch = watch();
    for p in [2, 4] {
        let team = team(p);
        for n in [1, 5000] {
            // In the closure.
            let error = fails(&team, |comm| {
                let (mut x, rank) = (Canary(vec![1; n]), comm.rank());
                comm.requests(|scope| {
                    let request = scope.start(call::all_reduce(&mut x.0, op::ordered(add_alive)));
                    bomb_if(rank == 1);
                    scope.wait(request);
                });
            });
            assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
            // In an operator: in `wait`, and while the rank waits in another call.
            for beside in [false, true] {
                let error = fails(&team, |comm| {
                    let (mut x, rank) = (Canary(vec![1; n]), comm.rank());
                    let fuse = op::ordered(move |a: u64, b: u64| match rank {
                        0 => bomb(),
                        _ => add_alive(a, b),
                    });
                    comm.requests(|scope| {
                        let request = scope.start(call::all_reduce(&mut x.0, fuse));
                        if beside {
                            // Longer than the first looks, so that the request goes on here.
                            if rank == 1 {
                                std::thread::sleep(Duration::from_millis(5));
                            }
                            scope.comm().barrier();
                        }
                        scope.wait(request);
                    });
                });
                assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
            }
        }
    }
}

/// Whoever catches the panic finds a run that is over, also through the scope.
#[test]
fn a_caught_failure_does_not_go_on() {
    let _watch = watch();
    let team = team(2);
    let error = fails(&team, |comm| {
        let (mut x, rank) = (Canary(vec![1; 1000]), comm.rank());
        comm.requests(|scope| {
            let mut request = scope.start(call::all_reduce(&mut x.0, op::ordered(add_alive)));
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match rank {
                0 => scope.comm().barrier(),
                _ => scope.comm().broadcast(&mut [1], 7),
            }));
            assert!(caught.is_err());
            scope.test(&mut request);
            scope.wait(request);
        });
    });
    assert!(matches!(error, Error::Argument { rank: 1, .. }), "{error}");
}

#[test]
fn a_communicator_in_the_place_of_the_scopes_is_refused() {
    let _watch = watch();
    let team = team(2);
    let error = failure(team.run(|comm| {
        let mut other = comm.split(0, 0);
        let mut x = [1; 1000];
        comm.requests(|scope| {
            let request = scope.start(call::all_reduce(&mut x, op::Sum));
            std::mem::swap(scope.comm(), &mut other);
            drop(scope.start(call::barrier()));
            scope.wait(request);
        });
    }));
    assert!(error.to_string().contains("put in the place of another"), "{error}");
    // A call that was started before is completed, whatever stands there.
    succeeds(&team, |comm| {
        let mut other = comm.split(0, 0);
        let mut x = [1; 1000];
        comm.requests(|scope| {
            let request = scope.start(call::all_reduce(&mut x, op::Sum));
            std::mem::swap(scope.comm(), &mut other);
            scope.comm().barrier();
            assert_eq!(scope.wait(request)[7], 2);
            std::mem::swap(scope.comm(), &mut other);
        });
    });
}

#[test]
fn deadlines_and_cancels_end_the_waits() {
    let _watch = watch();
    for n in [1, 1000] {
        let limit = Duration::from_millis(100);
        let team = Team::builder().ranks(3).deadline(limit).build().unwrap();
        let error = fails(&team, |comm| {
            let mut x = vec![1; n];
            if comm.rank() == 2 {
                std::thread::sleep(8 * limit);
            }
            comm.requests(|scope| drop(scope.start(call::all_reduce(&mut x, op::Sum))));
        });
        let text = error.to_string();
        assert!(matches!(error, Error::Deadline { peer: 2, .. }), "{text}");
        assert!(text.contains("started all_reduce"), "{text}");
        // Two that wait for each other, each with a long call under way that the other
        // waits for: no proof, so the deadline says it.
        let error = fails(&team, |comm| {
            let (mut x, rank) = (vec![1; n], comm.rank());
            comm.requests(|scope| {
                let request = scope.start(call::all_reduce(&mut x, op::Sum));
                scope.comm().recv(&mut [0], (rank + 1) % 3);
                scope.wait(request);
            });
        });
        let text = error.to_string();
        let is_it = matches!(error, Error::Deadline { .. } | Error::Deadlock { .. });
        assert!(is_it, "{text}");

        let team = common::team(2);
        let canceller = team.canceller();
        let error = failure(team.run(|comm| {
            let mut x = vec![1; n];
            if comm.rank() == 1 {
                std::thread::sleep(limit);
                return canceller.cancel();
            }
            comm.requests(|scope| drop(scope.start(call::all_reduce(&mut x, op::Sum))));
        }));
        let is_it = matches!(error, Error::Cancelled { .. } | Error::Left { .. });
        assert!(is_it, "{error}");
    }
}

#[test]
fn wrong_arguments_are_told() {
    let _watch = watch();
    let team = team(2);
    let error = failure(team.run(|comm| {
        comm.requests(|scope| {
            drop(scope.start(call::broadcast(&mut [], 2)) as OpenRequest<'_, &mut [u8]>)
        });
    }));
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    let error = failure(Team::builder().ranks(1).build().unwrap().run(|comm| {
        let (mine, mut all) = ([1; 3], [0; 5]);
        comm.requests(|scope| drop(scope.start(call::all_gather_into(&mine, &mut all))));
    }));
    assert!(error.to_string().contains("5 elements, must have 3"), "{error}");
}
