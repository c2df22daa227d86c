//! Attacks on a scope of requests: destructors that wait, panics beside open requests, scopes of
//! several teams.

use crate::common::{Canary, Dice, POISON, add_alive, bomb, bomb_if, fails, succeeds, team, watch};
use phalanx::{Comm, Error, OpenRequest, Requests, call, op};
use std::time::Duration;

/// Waits for its request when it is dropped.
struct WaitsInDrop<'a, 's, 'e>(&'a mut Requests<'s, 'e>, Option<OpenRequest<'s, &'e mut [u64]>>);

impl Drop for WaitsInDrop<'_, '_, '_> {
    fn drop(&mut self) {
        if let Some(request) = self.1.take() {
            let got = self.0.wait(request);
            assert!(!got.contains(&POISON));
        }
    }
}

#[test]
fn a_request_may_be_waited_for_in_a_destructor() {
    let _watch = watch();
    for p in [1, 2, 4] {
        for n in [1, 5000] {
            let sums = team(p).run(|comm| {
                let mut x = vec![1u64; n];
                comm.requests(|scope| {
                    let request = scope.start(call::all_reduce(&mut x, op::Sum));
                    let _waits = WaitsInDrop(scope, Some(request));
                });
                x
            });
            assert_eq!(sums.unwrap(), vec![vec![p as u64; n]; p]);
        }
    }
}

/// The others do their part, so the destructor gets the message that it waits for while the panic
/// unwinds.
#[test]
fn a_destructor_may_wait_during_a_panic_while_the_run_goes_on() {
    let _watch = watch();
    for p in [2, 4] {
        let team = team(p);
        let error = fails(&team, |comm| {
            let (mut x, rank) = (Canary(vec![1; 5000]), comm.rank());
            comm.requests(|scope| {
                let request = scope.start(call::all_reduce(&mut x.0, op::ordered(add_alive)));
                let waits = WaitsInDrop(scope, Some(request));
                bomb_if(rank == 1);
                drop(waits);
            });
        });
        assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{error}");
    }
}

/// One of several: the others' buffers are borrowed by peers at that moment.
#[test]
fn an_operator_that_panics_beside_open_requests() {
    let _watch = watch();
    for p in [2, 3, 5] {
        let team = team(p);
        for odd in [0, p - 1] {
            for which in 0..3 {
                let error = fails(&team, |comm| {
                    let rank = comm.rank();
                    let fuse = |armed: bool| {
                        op::ordered(move |a: u64, b: u64| match armed && rank == odd {
                            true => bomb(),
                            false => add_alive(a, b),
                        })
                    };
                    let [mut x, mut y, mut z] = [0; 3].map(|_| Canary(vec![1; 4000 * p]));
                    comm.requests(|scope| {
                        let a = scope.start(call::all_reduce(&mut x.0, fuse(which == 0)));
                        let b = scope.start(call::scan(&mut y.0, fuse(which == 1)));
                        let c = scope.start(call::all_reduce(&mut z.0, fuse(which == 2)));
                        scope.wait(b);
                        scope.wait(c);
                        scope.wait(a);
                    });
                });
                // The first rank of a prefix combines nothing; its neighbours never get far.
                let is_right = matches!(error, Error::Panicked { rank, .. } if rank == odd);
                assert!(is_right, "{error}");
            }
        }
    }
}

#[test]
fn a_scope_may_be_left_early_with_large_buffers() {
    fn half(comm: &mut Comm, x: &mut [u64], y: &mut [u64]) -> Option<u64> {
        let early = comm.rank() % 2 == 1;
        comm.requests(|scope| {
            let sum = scope.start(call::all_reduce(x, op::Sum));
            let shift = scope.start(call::shift(y, 1));
            if early {
                return None;
            }
            let last = *scope.wait(shift).last()?;
            Some(last + scope.wait(sum)[0])
        })
    }
    let _watch = watch();
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
}

/// A run of another team, in which rank 1 comes late.
fn inner_sums(n: usize, late: Duration) -> Result<Vec<u64>, Error> {
    team(2).run(|comm| {
        let mut y = vec![2u64; n];
        comm.requests(|scope| {
            let sum = scope.start(call::all_reduce(&mut y, op::Sum));
            std::thread::sleep(late * scope.comm().rank() as u32);
            scope.comm().barrier();
            scope.wait(sum)[n - 1]
        })
    })
}

/// A run of another team within a scope: the thread goes on with its rank's calls there.
#[test]
fn scopes_of_two_teams_on_one_thread() {
    let _watch = watch();
    let outer = team(2);
    for n in [1, 3000] {
        let sums = outer.run(|comm| {
            let (mut x, rank) = (vec![1u64; n], comm.rank());
            comm.requests(|scope| {
                let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                assert_eq!(inner_sums(n, Duration::ZERO).unwrap(), [4; 2]);
                scope.wait(sum)[n - 1] + rank as u64
            })
        });
        assert_eq!(sums.unwrap(), [2, 3]);
        // The outer one's operator fails while the thread waits in the inner run.
        let error = fails(&outer, |comm| {
            let (mut x, rank) = (Canary(vec![1; 3000]), comm.rank());
            comm.requests(|scope| {
                let sum = scope.start(call::all_reduce(
                    &mut x.0,
                    op::ordered(move |a, b| match rank {
                        0 => bomb(),
                        _ => add_alive(a, b),
                    }),
                ));
                drop(inner_sums(n, Duration::from_millis(20)));
                scope.wait(sum);
            });
        });
        assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
    }
}

/// A failure in a part of the team ends the scopes around it, and its own buffers last as long.
#[test]
fn a_failure_in_a_nested_scope_of_a_part() {
    let _watch = watch();
    for p in [2, 4, 5] {
        let team = team(p);
        for by_operator in [false, true] {
            let error = fails(&team, |comm| {
                let rank = comm.rank();
                let mut part = comm.split(rank % 2, 0);
                let (mut x, mut y) = (Canary(vec![1; 5000]), Canary(vec![1; 5000]));
                comm.requests(|scope| {
                    let outer = scope.start(call::all_reduce(&mut x.0, op::ordered(add_alive)));
                    part.requests(|inner| {
                        let fuse = op::ordered(move |a, b| match by_operator && rank == 0 {
                            true => bomb(),
                            false => add_alive(a, b),
                        });
                        let sum = inner.start(call::all_reduce(&mut y.0, fuse));
                        if rank == 0 {
                            inner.comm().barrier();
                            bomb();
                        }
                        inner.comm().barrier();
                        inner.wait(sum);
                    });
                    scope.wait(outer);
                });
            });
            assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
        }
    }
}

#[test]
fn two_hundred_large_ones_open_on_two_communicators() {
    let _watch = watch();
    for p in [1, 2, 4] {
        succeeds(&team(p), |comm| {
            let (rank, p) = (comm.rank(), comm.size() as u64);
            let mut part = comm.split(rank % 2, 0);
            let size = part.size() as u64;
            let mut long = vec![vec![1u64; 500]; 200];
            let (a, b) = long.split_at_mut(100);
            comm.requests(|scope| {
                let mut open: Vec<_> =
                    a.iter_mut().map(|x| scope.start(call::all_reduce(x, op::Sum))).collect();
                let of_part = part.requests(|inner| {
                    let open: Vec<_> =
                        b.iter_mut().map(|x| inner.start(call::all_reduce(x, op::Sum))).collect();
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
    }
}
