//! Runs that fail, and the runs after them.

mod own_threads;

use crate::harness::Fault::{Both, Publish, Twin};
use crate::harness::model;
use crate::{many, protected, team, waiting};
use checker::Memory;
use checker::panic::catch_unwind;
use checker::threads::{spawn, yield_now};
use checker::{Mutex, reached};
use phalanx::{Comm, Error, Team, Wait, op};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// One rank's panic, and of the others none has another cause.
fn one_panic<R: std::fmt::Debug>(said: &[Result<R, Error>], rank: usize) {
    let causes: Vec<_> =
        said.iter().filter_map(|r| r.as_ref().err()).filter(|e| !is_dead(e)).collect();
    match causes[..] {
        [Error::Panicked { rank: by, .. }] if *by == rank => {}
        _ => panic!("not rank {rank}'s panic once: {said:?}"),
    }
}

fn is_dead(error: &Error) -> bool {
    matches!(error, Error::Dead)
}

fn panic_if(is_mine: bool) {
    if is_mine {
        panic!("on purpose");
    }
}

fn panicked<R: std::fmt::Debug>(said: Result<R, Error>, rank: usize) {
    match said {
        Err(Error::Panicked { rank: by, .. }) if by == rank => {}
        other => panic!("not rank {rank}'s panic: {other:?}"),
    }
}

/// A view, in which rank 1 panics, if it `fails`, while others read the shown memory.
fn read_in_a_view(wait: Wait, fails: bool) {
    let comms = Team::builder().ranks(3).wait(wait).external().unwrap();
    let said = protected(comms, move |comm| {
        let me = comm.rank();
        let mine = Memory::new(vec![me as u64; 4]);
        comm.with_peers(&mine, |all| {
            panic_if(fails && me == 1);
            yield_now();
            // The shown memory is there until the view ends.
            assert_eq!((all[2][0], all[0][1]), (2, 0));
            reached("read");
        });
    });
    match fails {
        true => one_panic(&said, 1),
        false => assert!(said.iter().all(Result::is_ok), "nobody failed: {said:?}"),
    }
}

#[test]
fn quiesce() {
    model("quiesce: a panic in a view, three ranks read", 3, 1000)
        .reaches(&["read"])
        .catches(&[Twin("quiesce: does not wait for who reads"), Both("Entered")])
        .check(|| {
            read_in_a_view(Wait::Auto, false);
            read_in_a_view(Wait::Auto, true);
        });
}

#[test]
fn parked_quiesce() {
    model("quiesce, parked: the same, ranks sleep", 3, 1000)
        .reaches(&["read"])
        .catches(&[Twin("quiesce: does not wait for who reads")])
        .check(|| read_in_a_view(Wait::Park, true));
}

#[test]
fn accounts() {
    model("drop: the accounts of a child's ranks", 3, 600)
        .catches(&[Twin("drop: accounts are not compared")])
        .team(|team| {
            let said = team.run(|comm| {
                let mut child = comm.split(comm.rank() / 2, 0);
                child.shift(&mut [0], 0);
                if comm.rank() == 1 {
                    child.shift(&mut [0], 0);
                }
            });
            assert!(matches!(said, Err(Error::Mismatch { .. })), "{said:?}");
            team.run(Comm::barrier).unwrap();
        });
}

/// Good and bad runs in turn; the memory that the caller lends them is the caller's again.
#[test]
fn renew() {
    model("team: start, and new words after a failure", 3, 500)
        .catches(&[
            Twin("team: the old words stay after a failure"),
            Twin("team: no second look before a sleep"),
            Both("Epoch"),
        ])
        .check(|| {
            let memory = Arc::new(many(Memory::new(vec![0])));
            team(3, |team| {
                for run in 0..4 {
                    memory.write(|m| m[0] = run);
                    let said = team.run(|comm| {
                        memory.read(|m| assert_eq!(m[0], run));
                        panic_if(run % 2 == 1 && comm.rank() == 2);
                        let mut x = [1u64];
                        comm.all_reduce(&mut x, op::Sum);
                        assert_eq!(x, [3]);
                    });
                    memory.write(|m| m[0] = 9);
                    if run % 2 == 1 {
                        panicked(said, 2);
                    } else {
                        said.unwrap();
                    }
                }
            });
        });
}

#[test]
fn parked_workers() {
    model("team: workers that sleep between runs", 4, 400)
        .catches(&[Twin("team: no second look before a sleep"), Both("Epoch"), Both("Done")])
        .check(|| {
            let memory = Arc::new(many(Memory::new(vec![0])));
            waiting(Wait::Park, 4, |team| {
                for run in 0..3 {
                    memory.write(|m| m[0] = run);
                    team.run(|_| memory.read(|m| assert_eq!(m[0], run))).unwrap();
                }
            });
        });
}

/// A communicator on a thread that it does not belong to.
#[test]
fn strangers() {
    model("admit: a child used by another rank, in its run", 3, 600)
        .catches(&[Twin("admit: on any thread")])
        .check(|| {
            let stash: Arc<Mutex<Option<Comm>>> = Arc::new(Mutex::new(None));
            team(3, |team| {
                let said = team.run(|comm| {
                    let child = comm.split(comm.rank(), 0);
                    if comm.rank() == 1 {
                        *stash.lock().unwrap() = Some(child);
                    }
                    comm.barrier();
                    if comm.rank() == 2 {
                        let mut child = stash.lock().unwrap().take().unwrap();
                        child.barrier();
                    }
                });
                assert!(matches!(said, Err(Error::Stale { .. })), "{said:?}");
                team.run(Comm::barrier).unwrap();
            });
        });
}

/// A communicator of an earlier run, used while the next one fails for another reason.
#[test]
fn stale() {
    model("refuse: a child of the run before, while this one fails", 3, 800)
        .reaches(&["panic", "stale"])
        .catches(&[Twin("world: an old run's poison is taken")])
        .check(|| {
            let stash: Arc<Mutex<Option<Comm>>> = Arc::new(Mutex::new(None));
            team(3, |team| {
                team.run(|comm| {
                    let child = comm.split(comm.rank(), 0);
                    if comm.rank() == 1 {
                        *stash.lock().unwrap() = Some(child);
                    }
                })
                .unwrap();
                let said = team.run(|comm| match comm.rank() {
                    0 => panic!("on purpose"),
                    1 => stash.lock().unwrap().take().unwrap().barrier(),
                    _ => comm.barrier(),
                });
                match said {
                    Err(Error::Panicked { rank: 0, .. }) => reached("panic"),
                    Err(Error::Stale { .. }) => reached("stale"),
                    other => panic!("neither of the two causes: {other:?}"),
                }
                team.run(Comm::barrier).unwrap();
            });
        });
}

/// A call after a failure that was caught gives no memory away.
#[test]
fn caught() {
    model("admit: a call after a caught failure", 3, 800).team(|team| {
        let said = team.run(|comm| {
            let memory = Memory::new(vec![comm.rank() as u64; 200]);
            let mut other = Memory::new(vec![9; 200]);
            match comm.rank() {
                0 => {
                    let end = catch_unwind(AssertUnwindSafe(|| comm.recv(&mut other, 1)));
                    end.expect_err("rank 1 sends nothing");
                    comm.with_root(&memory, 0, |_| ());
                    unreachable!("a dead communicator");
                }
                1 => panic!("on purpose"),
                _ => comm.with_root(&other, 0, |x| {
                    yield_now();
                    checker::seen(x);
                }),
            }
        });
        panicked(said, 1);
    });
}

/// A rank that fails in one communicator, inside a view of another, is not gone.
#[test]
fn nested() {
    model("nested: a failure in a communicator, inside a view of another", 3, 600)
        .reaches(&["read after the failure"])
        .catches(&[
            Twin("quiesce: the rank is gone before its calls are"),
            Twin("quiesce: does not wait for who reads"),
        ])
        .team(|team| {
            let said = team.run(|comm| {
                let me = comm.rank();
                let mut child = comm.split(0, me);
                let mine = Memory::new(vec![me as u64; 4]);
                comm.with_peers(&mine, |all| {
                    panic_if(me == 1);
                    let end = catch_unwind(AssertUnwindSafe(|| child.barrier()));
                    yield_now();
                    assert_eq!((all[2][0], all[0][1]), (2, 0));
                    reached("read after the failure");
                    checker::panic::resume_unwind(end.expect_err("one lacks"));
                });
            });
            panicked(said, 1);
            team.run(Comm::barrier).unwrap();
        });
}

/// Runs inside a run.
#[test]
fn nested_runs() {
    model("nested: a rank runs a team of its own, which fails", 5, 100)
        .catches(&[Publish("Epoch"), Twin("team: no second look before a sleep")])
        .check(|| {
            team(2, |outer| {
                let said = outer.run(|comm| {
                    if comm.rank() == 1 {
                        team(3, |inner| {
                            panicked(inner.run(|c| assert_ne!(c.rank(), 1)), 1);
                            inner.run(Comm::barrier).unwrap();
                        });
                    }
                    comm.barrier();
                });
                said.unwrap();
            });
        });
}

#[test]
fn circles_of_three() {
    model("circle: three ranks, each takes from the next", 3, 1000)
        .reaches(&["circle"])
        .catches(&[Twin("circle: nobody looks")])
        .check(|| {
            let said = protected(Team::external(3).unwrap(), |comm| {
                comm.recv(&mut [0u64], (comm.rank() + 1) % 3);
            });
            let circles = said.iter().filter(|r| match r {
                Err(Error::Deadlock { circle }) => circle.len() == 3,
                _ => false,
            });
            assert_eq!(circles.count(), 1, "{said:?}");
            assert_eq!(said.iter().filter(|r| r.is_ok()).count(), 0);
            reached("circle");
        });
}

#[test]
fn no_false_circles() {
    model("circle: a sound ring of three is none", 3, 1500)
        .catches(&[Twin("wait: a peer's wait is confirmed early")])
        .threads(|comm| {
            let (to, from) = ((comm.rank() + 1) % 3, (comm.rank() + 2) % 3);
            for k in 0..2u64 {
                let mut x = [9];
                comm.send(&[k], to);
                comm.recv(&mut x, from);
                assert_eq!(x, [k]);
            }
        });
}

/// The last message of a rank that leaves.
#[test]
fn the_last_message() {
    model("wait: a last message, then its sender leaves", 3, 1000)
        .catches(&[Twin("wait: who has left is looked at late")])
        .threads(|comm| {
            let (to, from) = ((comm.rank() + 1) % 3, (comm.rank() + 2) % 3);
            comm.send(&[comm.rank()], to);
            let mut x = [9];
            comm.recv(&mut x, from);
            assert_eq!(x, [from]);
        });
}

/// Two teams of the same three threads, and each team fails in another.
#[test]
fn two_external_teams() {
    model("external: two teams of three threads poison each other", 3, 800)
        .reaches(&["outer", "inner"])
        .catches(&[Twin("protect: passes no panic on")])
        .check(|| {
            let (x, y) = (Team::external(3).unwrap(), Team::external(3).unwrap());
            let run = |(mut x, mut y): (Comm, Comm)| {
                spawn(move || {
                    let me = x.rank();
                    let mut inner = None;
                    let outer = x.protect(|x| {
                        if me == 0 {
                            panic!("outer, on purpose");
                        }
                        let result = y.protect(|y| {
                            if me == 1 {
                                panic!("inner, on purpose");
                            }
                            y.barrier();
                        });
                        let failed = result.is_err();
                        inner = Some(result);
                        assert!(failed, "two of three lack");
                        x.barrier();
                    });
                    (outer, inner)
                })
            };
            let threads: Vec<_> = x.into_iter().zip(y).map(run).collect();
            let (outer, inner): (Vec<_>, Vec<_>) =
                threads.into_iter().map(|t| t.join().expect("protected")).unzip();
            one_panic(&outer, 0);
            reached("outer");
            // Rank 0 has left the other team in good order: that may be the first cause.
            let inner: Vec<_> = inner.into_iter().flatten().collect();
            // A rank that fails after that has been reported keeps its own cause.
            let told: Vec<_> = inner.iter().filter_map(|r| r.as_ref().err()).collect();
            let of = |is: fn(&Error) -> bool| told.iter().filter(|e| is(e)).count();
            let (panics, others) =
                (of(|e| matches!(e, Error::Panicked { rank: 1, .. })), of(is_dead));
            let left = of(|e| matches!(e, Error::Left { peer: 0, .. }));
            assert_eq!((inner.len(), panics + left + others), (2, 2), "{inner:?}");
            assert!(panics <= 1 && left <= 1 && others <= 1, "{inner:?}");
            reached("inner");
        });
}

/// Several causes at once: each is told once.
#[test]
fn causes() {
    model("external: two of three fail, the cause is taken once", 3, 1000).check(|| {
        let said = protected(Team::external(3).unwrap(), |comm| {
            panic_if(comm.rank() == 1);
            comm.barrier();
        });
        one_panic(&said, 1);
    });
}

#[test]
fn deadlines() {
    model("deadline: two ranks wait for a third, memory given away", 3, 500)
        .reaches(&["too late", "in time"])
        .catches(&[
            Twin("wait: a deadline is not told"),
            Twin("quiesce: does not wait for who reads"),
        ])
        .check(|| {
            let team = Team::builder().ranks(3).deadline(Duration::from_millis(4));
            let said = protected(team.external().unwrap(), |comm| {
                let me = comm.rank();
                if me == 2 {
                    (0..16).for_each(|_| yield_now());
                }
                let mine = Memory::new(vec![me as u64; 4]);
                comm.with_peers(&mine, |all| {
                    // Several times: a rank that gives up meanwhile frees memory that is read here.
                    for _ in 0..12 {
                        yield_now();
                        assert_eq!((all[2][0], all[0][1]), (2, 0));
                    }
                });
            });
            let told = said.iter().filter(|r| matches!(r, Err(Error::Deadline { .. }))).count();
            let well = said.iter().all(Result::is_ok);
            reached(if well { "in time" } else { "too late" });
            assert!(told == 1 || well, "{said:?}");
        });
}

#[test]
fn a_split_that_fails() {
    model("split: a rank fails before, another takes its seat", 4, 600)
        .reaches(&["a split came to its end", "none did"])
        .catches(&[Both("Entered")])
        .team(|team| {
            let splits = Arc::new(Mutex::new(0));
            let said = team.run(|comm| {
                let me = comm.rank();
                let mut child = comm.split(me % 2, me);
                *splits.lock().unwrap() += 1;
                panic_if(me == 1);
                child.barrier();
                let _again = comm.split(0, me);
            });
            panicked(said, 1);
            let n = *splits.lock().unwrap();
            reached(if n > 3 { "a split came to its end" } else { "none did" });
            team.run(Comm::barrier).unwrap();
        });
}

#[test]
fn no_room_for_the_dead() {
    model("messages: no room, and who should make it fails", 3, 800)
        .catches(&[Twin("message: posted without room")])
        .check(|| {
            let said = protected(Team::external(3).unwrap(), |comm| match comm.rank() {
                0 => (0..7u64).for_each(|k| comm.send(&[k], 1)),
                1 => {
                    let mut x = [9u64];
                    comm.recv(&mut x, 0);
                    panic!("on purpose");
                }
                _ => comm.recv(&mut [0u64], 1),
            });
            one_panic(&said, 1);
        });
}
