//! Panics and early returns: before, between and after calls, in operators, in
//! views, while peers read, while peers are parked.

use super::common::{
    Canary, add_alive, bomb, check_usable, failure, look_alive, team, watched, watched_cases,
};
use super::is_bomb_of;
use phalanx::{Algorithm, Comm, Error, Team, Wait, op};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A programme of one call of each sort, on canaries of `n` elements; before call
/// `k` (or after the last) `at(k)` is asked whether to go on.
fn programme(comm: &mut Comm, n: usize, mut at: impl FnMut(usize) -> bool) {
    let (r, p) = (comm.rank(), comm.size());
    let mut child = comm.split(r % 2, r);
    let mut one = Canary(vec![1; n]);
    let mut all = Canary(vec![1; n * p]);
    let mine = Canary(vec![1; n]);
    let wide = Canary(vec![1; n * p]);
    let counts = vec![n; p];
    let add = || op::ordered(add_alive);
    for k in 0..=CALLS {
        if !at(k) {
            return;
        }
        match k {
            0 => comm.barrier(),
            1 => comm.broadcast(&mut one.0, p - 1),
            2 => comm.reduce(&mut one.0, add(), 0),
            3 => comm.all_reduce(&mut one.0, add()),
            4 => comm.scan(&mut one.0, add()),
            5 => comm.exclusive_scan(&mut one.0, add()),
            6 => comm.all_gather_into(&mine.0, &mut all.0),
            7 => comm.gather_varied_into(&mine.0, &mut all.0, &counts, p - 1),
            8 => comm.scatter_into(&wide.0, &mut one.0, 0),
            9 => comm.reduce_scatter_into(&wide.0, &mut one.0, add()),
            10 => comm.all_to_all_into(&wide.0, &mut all.0),
            11 => comm.shift(&mut one.0, -1),
            12 => comm.with_peers(&mine.0, |all| assert!(all.iter().all(|x| *x == mine.0))),
            13 => comm.with_root(&mine.0, 0, |x| assert!(x.iter().all(|&x| x == 1))),
            14 => child.all_reduce(&mut one.0, add()),
            15 => drop(comm.split(0, 0)),
            16 => comm.exchange(&mine.0, (r + 1) % p, &mut one.0, (r + p - 1) % p),
            17 => comm.ring().all_gather_into(&mine.0, &mut all.0),
            18 => comm.with(Algorithm::AR_RING).all_reduce(&mut one.0, add()),
            _ => (),
        }
    }
}

/// Calls of the programme; point `CALLS` is after the last.
const CALLS: usize = 19;

#[test]
fn a_panic_at_every_point() {
    watched_cases(|watch| {
        for p in [1, 2, 3, 4, 8] {
            let team = team(p);
            for n in [1, 1000] {
                for who in 0..p {
                    for point in 0..=CALLS {
                        watch.case(format!("p={p}, n={n}: rank {who} panics at {point}"));
                        let error = failure(team.run(|comm| {
                            let rank = comm.rank();
                            programme(comm, n, |k| {
                                if rank == who && k == point {
                                    bomb();
                                }
                                true
                            });
                        }));
                        is_bomb_of(&error, who);
                        if point % 4 == who % 4 {
                            check_usable(&team, point as u64);
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn an_early_return_at_every_point() {
    watched_cases(|watch| {
        for p in [2, 3, 4, 8] {
            let team = team(p);
            for n in [1, 1000] {
                for who in 0..p {
                    for point in 0..CALLS {
                        watch.case(format!("p={p}, n={n}: rank {who} returns at {point}"));
                        let result = team.run(|comm| {
                            let rank = comm.rank();
                            programme(comm, n, |k| rank != who || k < point);
                        });
                        let error = failure(result);
                        let text = error.to_string();
                        let names_it = match error {
                            Error::Left { peer, site: Some(_), last: Some(_), .. } => peer == who,
                            // It made fewer calls, and nobody waited for it.
                            Error::Mismatch { rank, peer, .. } => [rank, peer].contains(&who),
                            Error::Unreceived { peer, .. } => peer == who,
                            _ => false,
                        };
                        assert!(names_it, "p={p} n={n} rank {who} at {point}: {text}");
                        assert!(text.contains(file!()), "{text}");
                        if point % 4 == who % 4 {
                            check_usable(&team, point as u64);
                        }
                    }
                }
            }
        }
    });
}

/// Calls `go` with an operator that panics in its `k`-th call on the given rank, for every `k`
/// until that rank's operator is called less than `k` times.
fn bomb_in_operator(team: &Team, go: impl Fn(&mut Comm, &dyn Fn(u64, u64) -> u64) + Sync) {
    for who in 0..team.size() {
        for k in 0.. {
            let result = team.run(|comm| {
                let calls = Cell::new(0);
                let rank = comm.rank();
                go(comm, &|a, b| {
                    if rank == who && calls.replace(calls.get() + 1) == k {
                        bomb();
                    }
                    add_alive(a, b)
                });
            });
            match result {
                Err(error) => is_bomb_of(&error, who),
                Ok(_) => break,
            }
            check_usable(team, k as u64);
        }
    }
}

/// A call that combines, on so many elements.
type Reduction = fn(&mut Comm, usize, &dyn Fn(u64, u64) -> u64);

#[test]
fn a_panic_in_every_call_of_an_operator() {
    const REDUCTIONS: [Reduction; 12] = [
        |c, n, add| c.all_reduce(&mut Canary(vec![1; n]).0, op::ordered(add)),
        |c, n, add| c.ring().all_reduce(&mut Canary(vec![1; n]).0, op::commutative(add)),
        |c, n, add| c.hypercube().all_reduce(&mut Canary(vec![1; n]).0, op::ordered(add)),
        |c, n, add| {
            c.with(Algorithm::AR_FUSED).all_reduce(&mut Canary(vec![1; n]).0, op::ordered(add))
        },
        |c, n, add| c.reduce(&mut Canary(vec![1; n]).0, op::commutative(add), 1),
        |c, n, add| c.tree().reduce(&mut Canary(vec![1; n]).0, op::ordered(add), 0),
        |c, n, add| {
            c.with(Algorithm::RED_FUSED).reduce(&mut Canary(vec![1; n]).0, op::ordered(add), 1)
        },
        |c, n, add| c.scan(&mut Canary(vec![1; n]).0, op::ordered(add)),
        |c, n, add| c.ring().exclusive_scan(&mut Canary(vec![1; n]).0, op::ordered(add)),
        |c, n, add| {
            let wide = Canary(vec![1; n * c.size()]);
            c.reduce_scatter_into(&wide.0, &mut Canary(vec![0; n]).0, op::commutative(add));
        },
        |c, n, add| {
            let wide = Canary(vec![1; n * c.size()]);
            c.ring().reduce_scatter_into(&wide.0, &mut Canary(vec![0; n]).0, op::commutative(add));
        },
        |c, n, add| {
            let (wide, counts) = (Canary(vec![1; n * c.size()]), vec![n; c.size()]);
            let mut mine = Canary(vec![0; n]);
            c.reduce_scatter_varied_into(&wide.0, &mut mine.0, &counts, op::ordered(add));
        },
    ];
    watched_cases(|watch| {
        for p in 2..=5 {
            let team = team(p);
            for (i, reduction) in REDUCTIONS.iter().enumerate() {
                for n in [1, 8] {
                    watch.case(format!("p={p}, n={n}, reduction {i}"));
                    bomb_in_operator(&team, |comm, add| reduction(comm, n, add));
                }
            }
        }
    });
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
            if self.0 == Some(Where::Identity) {
                bomb();
            }
            Some(0)
        }
    }
    impl Drop for Bad {
        fn drop(&mut self) {
            if self.0 == Some(Where::Drop) && !std::thread::panicking() {
                bomb();
            }
        }
    }
    watched(|| {
        for p in 1..=4 {
            let team = team(p);
            for who in 0..p {
                for place in [Where::Identity, Where::Drop] {
                    for n in [1, 1000] {
                        let error = failure(team.run(|comm| {
                            let bad = Bad((comm.rank() == who).then_some(place));
                            comm.exclusive_scan(&mut Canary(vec![1; n]).0, bad);
                            comm.barrier();
                        }));
                        is_bomb_of(&error, who);
                        check_usable(&team, 1);
                    }
                }
            }
        }
    });
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
    watched(|| {
        let team = team(3);
        for _ in 0..20 {
            // Set by the other one, which hears of the end of the run from nobody but the first.
            let is_over = AtomicBool::new(false);
            let error = failure(team.run(|comm| {
                let _tells = (comm.rank() != 1).then(|| Tells(&is_over));
                while comm.rank() == 1 && !is_over.load(Relaxed) {
                    std::thread::yield_now();
                }
                if comm.rank() == 1 {
                    bomb();
                }
                let (wide, mut mine) = (Canary(vec![1; 3 * 5000]), Canary(vec![0; 5000]));
                let add = op::commutative(|_: u64, _: u64| bomb());
                comm.ring().reduce_scatter_into(&wide.0, &mut mine.0, add);
            }));
            assert!(matches!(error, Error::Panicked { rank: 0 | 2, .. }), "{error}");
            check_usable(&team, 1);
        }
    });
}

/// All others are asleep when it happens, in every way of waiting.
#[test]
fn a_panic_while_the_others_are_parked() {
    watched(|| {
        for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
            for p in [2, 4] {
                let team = Team::builder().ranks(p).wait(wait).build().unwrap();
                for round in 0..4 {
                    let error = failure(team.run(|comm| {
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
                    }));
                    is_bomb_of(&error, p - 1);
                    check_usable(&team, 1);
                }
            }
        }
    });
}

#[test]
fn a_panic_in_a_view() {
    watched(|| {
        for p in 1..=4 {
            let team = team(p);
            for who in 0..p {
                for n in [0, 1, 1000] {
                    let error = failure(team.run(|comm| {
                        let x = Canary(vec![comm.rank() as u64; n]);
                        let who_am_i = comm.rank();
                        comm.with_peers(&x.0, |all| {
                            if who_am_i == who {
                                bomb();
                            }
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
                    let error = failure(team.run(|comm| {
                        let x = Canary(vec![7; n]);
                        let rank = comm.rank();
                        comm.with_root(&x.0, p - 1, |x| {
                            if rank == who {
                                bomb();
                            }
                            for _ in 0..20 {
                                look_alive(x);
                                std::thread::yield_now();
                            }
                            assert!(x.iter().all(|&x| x == 7));
                        });
                    }));
                    is_bomb_of(&error, who);
                    check_usable(&team, n as u64);
                }
            }
        }
    });
}

/// The memory that the closure borrows is there until it has ended on every rank, whoever has
/// failed before.
#[test]
fn the_closure_outlives_all_ranks() {
    watched(|| {
        for p in [2, 3] {
            let team = team(p);
            for who in 0..p {
                let lent = Canary(vec![5; 1000]);
                let error = failure(team.run(|comm| {
                    if comm.rank() == who {
                        bomb();
                    }
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    look_alive(&lent.0);
                    assert!(lent.0.iter().all(|&x| x == 5));
                }));
                drop(lent);
                is_bomb_of(&error, who);
                check_usable(&team, 1);
            }
        }
    });
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
    watched(|| {
        for p in [2, 3] {
            let team = team(p);
            for who in 0..p {
                for n in [1, 1000] {
                    let error = failure(team.run(|comm| {
                        let _slow = Slow; // Dropped after the child.
                        let mut child = comm.split(0, comm.rank());
                        if comm.rank() == who {
                            bomb();
                        }
                        let mut x = Canary(vec![1; n]);
                        child.all_reduce(&mut x.0, op::commutative(add_alive));
                    }));
                    is_bomb_of(&error, who);
                    check_usable(&team, 1);
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
    });
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
    watched(|| {
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
    });
}
