//! Whatever a rank does (panics, returns early, misuses a communicator): does the
//! run end with the cause, without a hang, without reading freed memory, and
//! does the team work afterwards?

mod common;

use common::{Canary, POISON, add_alive, bomb, check_usable, failure, right, team, watched};
use phalanx::{Comm, Error, Team, op};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

fn is_bomb_of(error: &Error, who: usize) {
    match error {
        Error::Panicked { rank, message, .. } if *rank == who && message == "bomb" => {}
        other => panic!("not the bomb of rank {who}: {other}"),
    }
}

// ---- Panics ----

#[test]
fn a_panic_before_between_and_after_collectives() {
    watched(|| {
        for p in 1..=4 {
            let team = team(p);
            for who in 0..p {
                for at in 0..4 {
                    let error = failure(team.run(|comm| {
                        let mut x = Canary(vec![1; 1000]);
                        for k in 0..4 {
                            if comm.rank() == who && k == at {
                                bomb();
                            }
                            match k {
                                0 => comm.barrier(),
                                1 => comm.all_reduce(&mut x.0, op::commutative(add_alive)),
                                2 => comm.broadcast(&mut x.0, 0),
                                _ => (),
                            }
                        }
                    }));
                    is_bomb_of(&error, who);
                    check_usable(&team, at as u64);
                }
            }
        }
    });
}

/// Calls `go` with an operator that panics in its `k`-th call on rank `who`,
/// for every `k` until that rank's operator is called less than `k` times.
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

#[test]
fn a_panic_in_every_call_of_an_operator() {
    watched(|| {
        for p in 2..=4 {
            let team = team(p);
            for n in [1, 8] {
                bomb_in_operator(&team, |comm, add| {
                    let mut x = Canary(vec![1; n]);
                    comm.all_reduce(&mut x.0, op::ordered(add));
                });
                bomb_in_operator(&team, |comm, add| {
                    let mut x = Canary(vec![1; n]);
                    comm.ring().all_reduce(&mut x.0, op::commutative(add));
                });
                bomb_in_operator(&team, |comm, add| {
                    let mut x = Canary(vec![1; n]);
                    comm.reduce(&mut x.0, op::commutative(add), 1);
                });
                bomb_in_operator(&team, |comm, add| {
                    let mut x = Canary(vec![1; n]);
                    comm.scan(&mut x.0, op::ordered(add));
                });
                bomb_in_operator(&team, |comm, add| {
                    let mut x = Canary(vec![1; n]);
                    comm.exclusive_scan(&mut x.0, op::ordered(add));
                });
                bomb_in_operator(&team, |comm, add| {
                    let (all, mut x) = (Canary(vec![1; n * comm.size()]), Canary(vec![0; n]));
                    comm.reduce_scatter_into(&all.0, &mut x.0, op::commutative(add));
                });
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
                            assert!((0..20).all(|_| x.iter().all(|&x| x == 7)));
                        });
                    }));
                    is_bomb_of(&error, who);
                    check_usable(&team, n as u64);
                }
            }
        }
    });
}

#[test]
fn an_early_return() {
    watched(|| {
        for p in 2..=4 {
            let team = team(p);
            for who in 0..p {
                for before in 0..3 {
                    let error = failure(team.run(|comm| {
                        for k in 0..3 {
                            if comm.rank() == who && k == before {
                                return;
                            }
                            comm.all_reduce(&mut Canary(vec![1; 1000]).0, op::Sum);
                        }
                    }));
                    assert!(matches!(error, Error::Left { peer, .. } if peer == who), "{error}");
                    assert!(error.to_string().contains(file!()), "{error}");
                    check_usable(&team, 3);
                }
            }
        }
    });
}

/// A payload that panics when it is dropped.
struct Spiteful;

impl Drop for Spiteful {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("spite"));
    }
}

#[test]
fn payloads_that_panic_when_dropped() {
    watched(|| {
        for p in 1..=3 {
            let team = team(p);
            let error = failure(team.run(|_| std::panic::resume_unwind(Box::new(Spiteful))));
            let payload = error.into_panic().expect("it was a panic");
            assert!(payload.is::<Spiteful>());
            std::mem::forget(payload);
            check_usable(&team, 1);
            // A failed run whose error nobody looks at: the spite is ours.
            let result = team.run(|_| std::panic::resume_unwind(Box::new(Spiteful)));
            assert!(catch_unwind(AssertUnwindSafe(|| drop(result))).is_err());
            check_usable(&team, 1);
        }
        // A result that panics when dropped, in a run that fails.
        let team = team(2);
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            team.run(|comm| {
                if comm.rank() == 1 {
                    bomb();
                }
                Spiteful
            })
        }));
        assert!(dropped.is_err());
        check_usable(&team, 1);
    });
}

// ---- Destructors ----

/// Calls a collective when dropped, on a buffer that dies right after it.
struct Late<'a> {
    comm: &'a mut Comm,
    kind: usize,
}

impl Drop for Late<'_> {
    fn drop(&mut self) {
        let (comm, mut x) = (&mut *self.comm, Canary(vec![1; 500]));
        let (rank, p) = (comm.rank(), comm.size());
        let mut all = Canary(vec![1; 500 * p]);
        match self.kind {
            0 => comm.all_reduce(&mut x.0, op::commutative(add_alive)),
            1 => comm.scan(&mut x.0, op::ordered(add_alive)),
            2 => comm.all_gather_into(&x.0, &mut all.0),
            3 => comm.all_reduce(&mut x.0[..1], op::commutative(add_alive)),
            4 => comm.barrier(),
            5 => comm.shift(&mut x.0, 1),
            6 if p > 1 => {
                let y = Canary(vec![5; 500]);
                comm.exchange(&y.0, (rank + 1) % p, &mut x.0, (rank + p - 1) % p);
            }
            7 => comm.broadcast(&mut x.0, 9), // No such root.
            8 => drop(comm.mesh(7, 7)),
            _ => comm.reduce(&mut x.0, op::commutative(add_alive), 0),
        }
        if x.0.contains(&POISON) || all.0.contains(&POISON) {
            eprintln!("a collective gave what its owner has freed");
            std::process::abort();
        }
    }
}

#[test]
fn collectives_in_destructors() {
    watched(|| {
        for p in 1..=4 {
            let team = team(p);
            for kind in 0..10 {
                for round in 0..20 {
                    let who = round % p;
                    let error = failure(team.run(|comm| {
                        let rank = comm.rank();
                        let late = Late { comm, kind };
                        if rank == who {
                            bomb();
                        }
                        late.comm.barrier();
                    }));
                    // The bomb's own destructor takes part in a call that the
                    // others are not in: whichever is noticed first.
                    assert!(
                        !matches!(error, Error::Dead),
                        "p={p} kind={kind} round={round} {error}"
                    );
                    // All ranks fail at once.
                    let error = failure(team.run(|comm| {
                        let _late = Late { comm, kind };
                        bomb();
                    }));
                    assert!(
                        !matches!(error, Error::Dead),
                        "p={p} kind={kind} round={round} {error}"
                    );
                }
                check_usable(&team, kind as u64);
            }
        }
    });
}

#[test]
fn results_are_dropped_once() {
    struct Counted<'a>(&'a AtomicUsize, Box<u64>);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            assert_eq!(*self.1, 42);
            self.0.fetch_add(1, Relaxed);
        }
    }
    watched(|| {
        let team = team(3);
        let alive = AtomicUsize::new(0);
        let all = team.run(|_| Counted(&alive, Box::new(42))).unwrap();
        assert_eq!((all.len(), alive.load(Relaxed)), (3, 0));
        drop(all);
        assert_eq!(alive.swap(0, Relaxed), 3);
        // Two ranks have returned when the third panics.
        let error = failure(team.run(|comm| {
            if comm.rank() == 1 {
                bomb();
            }
            Counted(&alive, Box::new(42))
        }));
        is_bomb_of(&error, 1);
        assert_eq!(alive.load(Relaxed), 2);
    });
}

// ---- Runs in runs ----

#[test]
fn a_run_of_the_same_team_inside_a_rank() {
    watched(|| {
        let team = team(3);
        let inner = team.run(|comm| {
            let result = team.run(|_| ());
            comm.barrier();
            result
        });
        assert!(inner.unwrap().iter().all(|r| matches!(r, Err(Error::Busy))));
        check_usable(&team, 1);
    });
}

#[test]
fn another_team_inside_a_rank() {
    watched(|| {
        let team = team(2);
        let sums = team.run(|comm| {
            let inner = phalanx::run(2, |inner| {
                right(inner, 3);
                inner.rank()
            });
            comm.barrier();
            // An inner failure is the inner team's alone.
            let failed = phalanx::run(2, |inner| {
                if inner.rank() == 1 {
                    bomb();
                }
                inner.barrier();
            });
            is_bomb_of(&failure(failed), 1);
            right(comm, 5);
            inner.unwrap()
        });
        assert_eq!(sums.unwrap(), [[0, 1], [0, 1]]);
        check_usable(&team, 1);
    });
}

#[test]
fn two_threads_run_at_once() {
    watched(|| {
        let team = team(2);
        let (inside, go) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|s| {
            s.spawn(|| {
                team.run(|comm| {
                    inside.fetch_add(1, Relaxed);
                    while go.load(Relaxed) == 0 {
                        std::thread::yield_now();
                    }
                    comm.barrier();
                })
                .unwrap();
            });
            while inside.load(Relaxed) < 2 {
                std::thread::yield_now();
            }
            assert!(matches!(team.run(|_| ()), Err(Error::Busy)));
            go.store(1, Relaxed);
        });
        check_usable(&team, 1);
    });
}

// ---- Communicators that are where they do not belong ----

fn is_stale(error: &Error) {
    assert!(error.to_string().contains("communicator refused"), "{error:?}: {error}");
}

#[test]
fn a_communicator_swapped_with_its_child() {
    watched(|| {
        let team = team(3);
        for who in [0, 1, 2, 99] {
            for uses in 0..2 {
                let result = team.run(|comm| {
                    let mut child = comm.split(0, 9 - comm.rank());
                    if [comm.rank(), 99].contains(&who) || who == 99 {
                        std::mem::swap(comm, &mut child);
                    }
                    if uses == 1 {
                        comm.barrier();
                        child.barrier();
                    }
                });
                // All swapped: they still agree. One: a barrier of two words.
                match result {
                    Ok(_) => assert!(who == 99 || uses == 0),
                    Err(e) => assert!(who != 99 && uses == 1, "{e}"),
                }
                check_usable(&team, 2);
            }
        }
    });
}

#[test]
fn ranks_that_trade_communicators() {
    watched(|| {
        let team = team(2);
        let table: Mutex<Vec<Comm>> = Mutex::new(Vec::new());
        for _ in 0..2 {
            let error = failure(team.run(|comm| {
                let mut spare = Team::external(1).unwrap().remove(0);
                std::mem::swap(comm, &mut spare);
                table.lock().unwrap().push(spare);
                let other = loop {
                    let mut table = table.lock().unwrap();
                    match table.iter().position(|c| c.rank() != comm_rank_of_thread()) {
                        Some(i) if table.len() == 2 || table[i].size() == 2 => {
                            break table.remove(i);
                        }
                        _ => drop(table),
                    }
                    std::thread::yield_now();
                };
                *comm = other;
                comm.barrier();
            }));
            is_stale(&error);
            table.lock().unwrap().clear();
            check_usable(&team, 2);
        }
    });
}

/// Rank by thread: workers have names.
fn comm_rank_of_thread() -> usize {
    usize::from(std::thread::current().name().is_some_and(|n| n == "phalanx-1"))
}

#[test]
fn a_child_that_is_forgotten() {
    watched(|| {
        let team = team(3);
        for who in 0..3 {
            // Nobody misses it..
            team.run(|comm| std::mem::forget(comm.split(0, 0))).unwrap();
            check_usable(&team, 2);
            // ..or the others wait in it.
            let error = failure(team.run(|comm| {
                let mut child = comm.split(0, comm.rank());
                if comm.rank() == who {
                    std::mem::forget(child);
                } else {
                    child.barrier();
                }
            }));
            assert!(matches!(error, Error::Left { peer, .. } if peer == who), "{error}");
            check_usable(&team, 2);
        }
    });
}

thread_local! {
    static STASH: RefCell<Option<Comm>> = const { RefCell::new(None) };
}

#[test]
fn a_child_stashed_in_the_thread() {
    watched(|| {
        let team = team(3);
        let stash = |comm: &mut Comm| {
            let child = comm.split(0, comm.rank());
            STASH.with_borrow_mut(|s| *s = Some(child));
        };
        let calls: [fn(&mut Comm); 5] = [
            |c| c.barrier(),
            |c| c.all_reduce(&mut Canary(vec![1; 1000]).0, op::commutative(add_alive)),
            |c| drop(c.split(0, 0)),
            |c| c.with_peers(&[1], |_| ()),
            |c| c.broadcast(&mut [1], 77),
        ];
        for call in calls {
            team.run(stash).unwrap();
            check_usable(&team, 1);
            let error = failure(team.run(|comm| {
                STASH.with_borrow_mut(|s| call(s.as_mut().expect("stashed")));
                comm.barrier();
            }));
            is_stale(&error);
            check_usable(&team, 1);
        }
    });
}

#[test]
fn a_child_used_by_another_thread() {
    watched(|| {
        let team = team(2);
        // By a thread that is no rank, in the same run.
        let error = failure(team.run(|comm| {
            let mut child = comm.split(0, comm.rank());
            let thrown = std::thread::scope(|s| s.spawn(move || child.barrier()).join());
            let message = thrown.expect_err("refused");
            let message = message.downcast_ref::<String>().expect("a message for people");
            assert!(message.contains("refused"), "{message}");
            comm.barrier();
        }));
        is_stale(&error);
        check_usable(&team, 1);
        // By another rank's thread.
        let table = Mutex::new(None);
        let error = failure(team.run(|comm| {
            let mut child = comm.split(0, comm.rank());
            if comm.rank() == 0 {
                *table.lock().unwrap() = Some(child);
                comm.barrier();
            } else {
                comm.barrier();
                std::mem::swap(&mut child, table.lock().unwrap().as_mut().unwrap());
                child.barrier();
            }
            comm.barrier();
        }));
        is_stale(&error);
        check_usable(&team, 1);
        // By a thread that is no rank, when the run is over: an error of its
        // own, and none of the next run.
        let table = Mutex::new(Vec::new());
        team.run(|comm| {
            let child = comm.split(0, comm.rank());
            table.lock().unwrap().push(child);
        })
        .unwrap();
        let mut old = table.into_inner().unwrap();
        assert!(std::thread::scope(|s| s.spawn(|| old[0].barrier()).join()).is_err());
        check_usable(&team, 1);
        let error = failure(team.run(|comm| {
            if comm.rank() == 1 {
                bomb();
            }
        }));
        is_bomb_of(&error, 1);
        // And by a rank of another team, whose run must say why it failed.
        let other = common::team(2);
        let old = Mutex::new(old);
        let error = failure(other.run(|comm| {
            if comm.rank() == 0 {
                old.lock().unwrap_or_else(|e| e.into_inner())[1].barrier();
            }
        }));
        is_stale(&error);
        check_usable(&other, 1);
        check_usable(&team, 1);
        let error = failure(team.run(|comm| {
            if comm.rank() == 1 {
                bomb();
            }
        }));
        is_bomb_of(&error, 1);
    });
}

#[test]
fn protect_inside_a_team() {
    watched(|| {
        let team = team(2);
        let error = failure(team.run(|comm| {
            let rank = comm.rank();
            let result = comm.protect(|comm| {
                if rank == 1 {
                    bomb();
                }
                comm.barrier();
            });
            assert!(result.is_err());
        }));
        is_bomb_of(&error, 1);
        check_usable(&team, 1);
        // A stale communicator's failure is not the present run's.
        let stash = Mutex::new(Vec::new());
        team.run(|comm| {
            let child = comm.split(0, comm.rank());
            stash.lock().unwrap().push(child);
        })
        .unwrap();
        let mut old = stash.into_inner().unwrap();
        assert!(old[0].protect(|_| bomb()).is_err());
        check_usable(&team, 1);
        let error = failure(team.run(|comm| {
            if comm.rank() == 1 {
                return;
            }
            comm.barrier();
        }));
        assert!(matches!(error, Error::Left { .. }), "{error}");
    });
}

#[test]
fn a_call_after_a_caught_failure() {
    watched(|| {
        let team = team(3);
        let error = failure(team.run(|comm| {
            let rank = comm.rank();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let mut x = Canary(vec![1; 1000]);
                comm.all_reduce(
                    &mut x.0,
                    op::commutative(|a, b| if rank == 1 { bomb() } else { add_alive(a, b) }),
                );
            }));
            assert!(caught.is_err());
            for _ in 0..3 {
                let mut x = Canary(vec![1; 1000]);
                let again = catch_unwind(AssertUnwindSafe(|| {
                    comm.all_reduce(&mut x.0, op::commutative(add_alive))
                }));
                assert!(again.is_err(), "a dead communicator went on");
            }
        }));
        // The bomb was caught, so it is no panic of the rank.
        assert!(matches!(error, Error::Dead), "{error}");
        check_usable(&team, 1);
    });
}

// ---- Two communicators at once ----

#[test]
fn crossing_sends_in_two_communicators() {
    watched(|| {
        let team = team(2);
        for n in [1, 1000] {
            let result = team.run(|comm| {
                let mut child = comm.split(0, comm.rank());
                let (x, mut y) = (Canary(vec![1; n]), Canary(vec![0; n]));
                if comm.rank() == 0 {
                    comm.send(&x.0, 1);
                    child.recv(&mut y.0, 1);
                } else {
                    child.send(&x.0, 0);
                    comm.recv(&mut y.0, 0);
                }
            });
            // Small ones are gone at once; large ones wait for each other.
            assert_eq!(result.is_err(), n == 1000);
            check_usable(&team, 1);
        }
    });
}

#[test]
fn a_view_ends_while_its_viewer_is_in_another_communicator() {
    watched(|| {
        let team = team(2);
        for who in 0..2 {
            for n in [1, 1000] {
                let error = failure(team.run(|comm| {
                    let mut child = comm.split(0, comm.rank());
                    let (rank, x) = (comm.rank(), Canary(vec![3; n]));
                    comm.with_peers(&x.0, |all| {
                        if rank == who {
                            bomb();
                        }
                        let y = Canary(vec![4; n]);
                        child.send(&y.0, who);
                        child.recv(&mut [0; 1000], who);
                        assert_eq!(all[who][0], 3);
                    });
                }));
                is_bomb_of(&error, who);
                check_usable(&team, 1);
            }
        }
    });
}

#[test]
fn an_operator_waits_in_another_communicator() {
    watched(|| {
        let team = team(3);
        for who in 0..3 {
            let error = failure(team.run(|comm| {
                let child = RefCell::new(comm.split(0, comm.rank()));
                let rank = comm.rank();
                let mut x = Canary(vec![1; 1000]);
                comm.all_reduce(
                    &mut x.0,
                    op::commutative(|a, b| {
                        if rank == who {
                            bomb();
                        }
                        let mut y = Canary(vec![1; 1000]);
                        child.borrow_mut().all_reduce(&mut y.0, op::commutative(add_alive));
                        add_alive(a, b)
                    }),
                );
            }));
            is_bomb_of(&error, who);
            check_usable(&team, 1);
        }
    });
}

// ---- Teams at rest, and large ones ----

#[test]
fn teams_dropped_at_rest() {
    watched(|| {
        drop(team(4));
        let parked = team(4);
        std::thread::sleep(Duration::from_millis(30));
        drop(parked);
        let used = team(4);
        check_usable(&used, 1);
        std::thread::sleep(Duration::from_millis(30));
        check_usable(&used, 2);
        std::thread::sleep(Duration::from_millis(30));
        drop(used);
        let failed = team(4);
        failure(failed.run(|comm| if comm.rank() == 3 { bomb() } else { comm.barrier() }));
        drop(failed);
    });
}

#[test]
fn sixteen_ranks_on_few_cores() {
    watched(|| {
        let team = team(16);
        for salt in 0..5 {
            check_usable(&team, salt);
        }
        for who in [0, 7, 15] {
            let error = failure(team.run(|comm| {
                right(comm, 1);
                if comm.rank() == who {
                    bomb();
                }
                right(comm, 2);
            }));
            is_bomb_of(&error, who);
        }
        check_usable(&team, 9);
    });
}

// ---- At random ----

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) as usize % sides
    }
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Panic,
    Return,
    OtherLength,
    OtherCall,
    InUserCode(usize),
}

/// One collective on canaries of `n` elements. `fuse` counts down in user code.
fn step(comm: &mut Comm, child: &mut Comm, call: usize, n: usize, fuse: &Cell<usize>) {
    let (r, p) = (comm.rank(), comm.size());
    let tick = || match fuse.get() {
        0 => (),
        1 => bomb(),
        more => fuse.set(more - 1),
    };
    let add = |a, b| {
        tick();
        add_alive(a, b)
    };
    let comm = if call % 5 == 4 { child } else { comm };
    let mut one = Canary(vec![r as u64; n]);
    let mut all = Canary(vec![r as u64; n * p]);
    let mine = Canary(vec![r as u64; n]);
    match call {
        0 => comm.barrier(),
        1 => comm.broadcast(&mut one.0, n % p),
        2 => comm.reduce(&mut one.0, op::commutative(add), n % p),
        3 | 4 => comm.all_reduce(&mut one.0, op::commutative(add)),
        5 => comm.scan(&mut one.0, op::ordered(add)),
        6 => comm.all_gather_into(&mine.0, &mut all.0),
        7 => comm.gather_into(&mine.0, &mut all.0, n % p),
        8 => comm.scatter_into(&all.0, &mut one.0, n % p),
        9 | 10 => comm.reduce_scatter_into(&all.0, &mut one.0, op::ordered(add)),
        11 => {
            let send = Canary(vec![r as u64; n * p]);
            comm.all_to_all_into(&send.0, &mut all.0);
        }
        12 | 14 => comm.shift(&mut one.0, 1),
        13 => comm.exchange(&mine.0, (r + 1) % p, &mut one.0, (r + p - 1) % p),
        15 => comm.hypercube().all_reduce(&mut one.0, op::commutative(add)),
        16 => comm.ring().all_gather_into(&mine.0, &mut all.0),
        17 => comm.with_root(&one.0, n % p, |x| {
            tick();
            assert!(!x.contains(&POISON));
        }),
        _ => comm.with_peers(&one.0, |all| {
            tick();
            assert!(all.iter().enumerate().all(|(q, x)| x.iter().all(|&x| x == q as u64)));
        }),
    }
    if one.0.contains(&POISON) || all.0.contains(&POISON) {
        eprintln!("call {call} gave what its owner has freed");
        std::process::abort();
    }
}

fn bombs(p: usize, seed: u64, runs: usize) {
    let team = team(p);
    let mut dice = Dice(seed);
    let mut failed = 0;
    for k in 0..runs {
        let calls: Vec<(usize, usize)> =
            (0..8).map(|_| (dice.roll(20), [0, 1, 5, 6, 64, 600][dice.roll(6)])).collect();
        let (who, at) = (dice.roll(p), dice.roll(8));
        let fault = match dice.roll(8) {
            0 => Fault::Panic,
            1 => Fault::Return,
            2 => Fault::OtherLength,
            3 => Fault::OtherCall,
            _ => Fault::InUserCode(1 + dice.roll(9)),
        };
        let result = team.run(|comm| {
            let mut child = comm.split(0, comm.rank());
            let fuse = Cell::new(0);
            for (i, &(mut call, mut n)) in calls.iter().enumerate() {
                if (comm.rank(), i) == (who, at) {
                    match fault {
                        Fault::Panic => bomb(),
                        Fault::Return => return,
                        Fault::OtherLength => n += 1,
                        Fault::OtherCall => call = (call + 1) % 20,
                        Fault::InUserCode(calls) => fuse.set(calls),
                    }
                }
                step(comm, &mut child, call, n, &fuse);
            }
        });
        failed += usize::from(result.is_err());
        if let Err(e) = result {
            let plausible = match fault {
                Fault::Panic => matches!(e, Error::Panicked { rank, .. } if rank == who),
                Fault::InUserCode(_) => matches!(e, Error::Panicked { rank, .. } if rank == who),
                // A rank may also lack what it was never sent.
                Fault::Return => matches!(
                    e,
                    Error::Left { .. } | Error::Unreceived { .. } | Error::Mismatch { .. }
                ),
                Fault::OtherLength | Fault::OtherCall => {
                    !matches!(e, Error::Dead | Error::Panicked { .. } | Error::Stale { .. })
                }
            };
            assert!(plausible, "seed {seed}, run {k}, {fault:?} of {who} at {at}: {e}\n{calls:?}");
        }
        if let Err(e) = team.run(|comm| right(comm, k as u64)) {
            panic!("seed {seed}, after run {k}, {fault:?} of {who} at {at}: {e}\n{calls:?}");
        }
    }
    println!("p={p}: {failed} of {runs} runs failed");
    assert!(failed > runs / 3);
}

#[test]
fn random_bombs_two_ranks() {
    watched(|| bombs(2, 1, 1500));
}

#[test]
fn random_bombs_three_ranks() {
    watched(|| bombs(3, 2, 1500));
}

#[test]
fn random_bombs_four_ranks() {
    watched(|| bombs(4, 3, 1000));
}
