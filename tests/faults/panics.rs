//! Panics in operators, in views, while peers read, while peers are parked.

use super::common::{
    Buffers, Canary, OneCall, add_alive, bomb, bomb_if, check_usable, fails, failure, look_alive,
    team, watch,
};
use super::is_bomb_of;
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Error, Team, Wait, op};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Calls `go` with an operator that panics in its `k`-th call on the given rank, for every `k`
/// until that rank's operator is called less than `k` times.
fn bomb_in_operator(team: &Team, go: impl Fn(&mut Comm, &dyn Fn(u64, u64) -> u64) + Sync) {
    for who in 0..team.size() {
        for k in 0.. {
            let result = team.run(|comm| {
                let calls = Cell::new(0);
                let rank = comm.rank();
                go(comm, &|a, b| {
                    bomb_if(rank == who && calls.replace(calls.get() + 1) == k);
                    add_alive(a, b)
                });
            });
            match result {
                Err(error) => is_bomb_of(&error, who),
                Ok(_) => break,
            }
            if k % 4 == who % 4 {
                check_usable(team, k as u64);
            }
        }
    }
}

/// In every algorithm of every call that combines.
#[test]
fn a_panic_in_every_call_of_an_operator() {
    let ways = |operation| {
        let all = Algorithm::for_operation(operation).map(Some);
        all.chain([None]).map(move |algorithm| (operation, algorithm))
    };
    let combining = Operation::ALL.into_iter().filter(|it| it.combines());
    let calls: Vec<_> = combining.flat_map(ways).collect();
    let watch = watch();
    for p in 2..=5 {
        let team = team(p);
        let request = |operation| Request::new(operation, p).root(1);
        for (n, &(operation, algorithm)) in
            [1, 8].into_iter().flat_map(|n| calls.iter().map(move |it| (n, it)))
        {
            let schedule = algorithm.map(|it| it.schedule(&request(operation)));
            let is_ordered = match schedule {
                Some(Err(_)) => continue,
                Some(Ok(schedule)) => schedule.is_ordered(),
                None => true,
            };
            watch.case(format!("p={p}, n={n}, {operation} by {algorithm:?}"));
            bomb_in_operator(&team, |comm, add| {
                let it = match algorithm {
                    Some(_) => OneCall::new(comm, operation, 1, n),
                    None => OneCall::varied(comm, operation, 1, &vec![n; p]),
                };
                let Buffers { input, output, .. } = it.buffers(op::Sum, &|_, _| 1_u64);
                let (input, mut output) = (Canary(input), Canary(output));
                let both = (&input.0[..], &mut output.0[..]);
                match algorithm {
                    Some(by) if is_ordered => it.make(&mut *comm.with(by), op::ordered(add), both),
                    Some(by) => it.make(&mut *comm.with(by), op::commutative(add), both),
                    None => it.make(comm, op::ordered(add), both),
                }
            });
        }
    }
}

/// The operator itself is dropped, and its identity asked for, in the call.
#[test]
fn an_operator_that_panics_elsewhere() {
    #[derive(Clone, Copy, PartialEq)]
    enum Where {
        Identity,
        Drop,
    }
    struct Bad(Option<Where>);
    impl op::Operator<u64> for Bad {
        const NAME: &'static str = "bad";
        const COMMUTATIVE: bool = true;
        fn combine(&self, a: u64, b: u64) -> u64 {
            add_alive(a, b)
        }
        fn identity(&self) -> Option<u64> {
            bomb_if(self.0 == Some(Where::Identity));
            Some(0)
        }
    }
    impl Drop for Bad {
        fn drop(&mut self) {
            bomb_if(self.0 == Some(Where::Drop) && !std::thread::panicking());
        }
    }
    let _watch = watch();
    for p in 1..=4 {
        let team = team(p);
        for who in 0..p {
            for place in [Where::Identity, Where::Drop] {
                for n in [1, 1000] {
                    let error = fails(&team, |comm| {
                        let bad = Bad((comm.rank() == who).then_some(place));
                        comm.exclusive_scan(&mut Canary(vec![1; n]).0, bad);
                        comm.barrier();
                    });
                    is_bomb_of(&error, who);
                }
            }
        }
    }
}

/// Of ranks 0 and 2 one panics in an operator, and before it may unwind it waits for rank 1, to
/// which it has given its memory. Rank 1, in its own code, panics later, and says so earlier: it is
/// not the cause.
#[test]
fn the_first_panic_is_the_cause() {
    struct Tells<'a>(&'a AtomicBool);
    impl Drop for Tells<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let _watch = watch();
    let team = team(3);
    for _ in 0..20 {
        // Set by the other one, which hears of the end of the run from nobody but the first.
        let is_over = AtomicBool::new(false);
        let error = fails(&team, |comm| {
            let _tells = (comm.rank() != 1).then(|| Tells(&is_over));
            while comm.rank() == 1 && !is_over.load(Relaxed) {
                std::thread::yield_now();
            }
            bomb_if(comm.rank() == 1);
            let (wide, mut mine) = (Canary(vec![1; 3 * 5000]), Canary(vec![0; 5000]));
            let add = op::commutative(|_: u64, _: u64| bomb());
            comm.ring().reduce_scatter_into(&wide.0, &mut mine.0, add);
        });
        assert!(matches!(error, Error::Panicked { rank: 0 | 2, .. }), "{error}");
    }
}

/// All others are asleep when it happens, in every way of waiting.
#[test]
fn a_panic_while_the_others_are_parked() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        for p in [2, 4] {
            let team = Team::builder().ranks(p).wait(wait).build().unwrap();
            for round in 0..4 {
                let error = fails(&team, |comm| {
                    if comm.rank() == p - 1 {
                        std::thread::sleep(std::time::Duration::from_millis(25));
                        bomb();
                    }
                    let (mut one, root) = (Canary(vec![1; 1000]), p - 1);
                    match round {
                        0 => comm.barrier(),
                        1 => comm.all_reduce(&mut one.0, op::ordered(add_alive)),
                        2 => comm.recv(&mut one.0, root),
                        _ => comm.with_peers(&one.0, |_| ()),
                    }
                });
                is_bomb_of(&error, p - 1);
            }
        }
    }
}

#[test]
fn a_panic_in_a_view() {
    let _watch = watch();
    for p in 1..=4 {
        let team = team(p);
        for who in 0..p {
            for n in [0, 1, 1000] {
                let error = failure(team.run(|comm| {
                    let x = Canary(vec![comm.rank() as u64; n]);
                    let who_am_i = comm.rank();
                    comm.with_peers(&x.0, |all| {
                        bomb_if(who_am_i == who);
                        // The others look for a while.
                        for _ in 0..20 {
                            for (q, x) in all.iter().enumerate() {
                                look_alive(x);
                                assert!(x.iter().all(|&x| x == q as u64));
                            }
                            std::thread::yield_now();
                        }
                    });
                }));
                is_bomb_of(&error, who);
                let error = fails(&team, |comm| {
                    let x = Canary(vec![7; n]);
                    let rank = comm.rank();
                    comm.with_root(&x.0, p - 1, |x| {
                        bomb_if(rank == who);
                        for _ in 0..20 {
                            look_alive(x);
                            std::thread::yield_now();
                        }
                        assert!(x.iter().all(|&x| x == 7));
                    });
                });
                is_bomb_of(&error, who);
            }
        }
    }
}

/// The memory that the closure borrows is there until it has ended on every rank, whoever has
/// failed before.
#[test]
fn the_closure_outlives_all_ranks() {
    let _watch = watch();
    for p in [2, 3] {
        let team = team(p);
        for who in 0..p {
            let lent = Canary(vec![5; 1000]);
            let error = fails(&team, |comm| {
                bomb_if(comm.rank() == who);
                std::thread::sleep(std::time::Duration::from_millis(20));
                look_alive(&lent.0);
                assert!(lent.0.iter().all(|&x| x == 5));
            });
            drop(lent);
            is_bomb_of(&error, who);
        }
    }
}

/// A rank's child is dropped by the unwinding long before the panic has come to
/// `run`: the rank that waits in it must not say that its peer has just returned.
#[test]
fn a_panic_that_takes_its_time() {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    let _watch = watch();
    for p in [2, 3] {
        let team = team(p);
        for who in 0..p {
            for n in [1, 1000] {
                let error = fails(&team, |comm| {
                    let _slow = Slow; // Dropped after the child.
                    let mut child = comm.split(0, comm.rank());
                    bomb_if(comm.rank() == who);
                    let mut x = Canary(vec![1; n]);
                    child.all_reduce(&mut x.0, op::commutative(add_alive));
                });
                is_bomb_of(&error, who);
            }
            // Caught: the rank goes on, and waits for the rank that waits for it.
            let error = failure(team.run(|comm| {
                let mut child = Some(comm.split(0, comm.rank()));
                if comm.rank() == who {
                    let lost = child.take();
                    let caught = catch_unwind(AssertUnwindSafe(move || {
                        let _lost = lost;
                        bomb();
                    }));
                    assert!(caught.is_err());
                    comm.barrier();
                } else {
                    child.unwrap().barrier();
                }
            }));
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. } | Error::Deadlock { .. }), "{text}");
            // Caught, and it returns.
            let error = failure(team.run(|comm| {
                let mut child = comm.split(0, comm.rank());
                if comm.rank() == who {
                    let caught = catch_unwind(AssertUnwindSafe(move || {
                        let _lost = child;
                        bomb();
                    }));
                    assert!(caught.is_err());
                } else {
                    child.barrier();
                }
            }));
            assert!(matches!(error, Error::Left { peer, .. } if peer == who), "{error}");
            // Caught, and nobody minds.
            team.run(|comm| {
                let child = comm.split(0, comm.rank());
                let caught = catch_unwind(AssertUnwindSafe(move || {
                    let _lost = child;
                    bomb();
                }));
                assert!(caught.is_err());
                comm.barrier();
            })
            .unwrap();
            check_usable(&team, 1);
        }
    }
}

/// A rank catches the panic of its own operator, keeps the cause, and goes on.
#[test]
fn a_caught_panic_of_a_call_is_said() {
    let keep = |comm: &mut Comm| {
        let (mut x, rank) = ([7], comm.rank());
        let operator = |a: u64, b: u64| if rank == 0 { bomb() } else { a + b };
        let reduce = || comm.all_reduce(&mut x, op::commutative(operator));
        let caught = catch_unwind(AssertUnwindSafe(reduce));
        assert!(rank != 0 || caught.is_err());
        comm.barrier();
    };
    let is_kept = |error: &Error| {
        assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
        assert!(error.to_string().contains("has caught what a call of its own threw"), "{error}");
    };
    let _watch = watch();
    is_kept(&failure(team(2).run(keep)));
    // On threads of one's own, and once only.
    let mut comms = Team::external(2).unwrap();
    let mut errors: Vec<Error> = std::thread::scope(|s| {
        let of = |comm| s.spawn(|| Comm::protect(comm, keep).unwrap_err());
        let threads: Vec<_> = comms.iter_mut().map(of).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    errors.retain(|error| !matches!(error, Error::Dead));
    assert_eq!(errors.len(), 1, "{errors:?}");
    is_kept(&errors[0]);
    let again = comms[0].protect(|comm| comm.barrier());
    assert!(again.is_err_and(|error| !matches!(error, Error::Panicked { .. })));
}
