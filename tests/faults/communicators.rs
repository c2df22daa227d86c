//! Communicators used in the wrong run, team or rank.

use super::common::{
    self, Canary, add_alive, bomb, bomb_if, check_usable, fails, failure, team, watch,
};
use super::is_bomb_of;
use phalanx::{Comm, Error, Team, op};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

fn is_stale(error: &Error) {
    assert!(error.to_string().contains("communicator refused"), "{error:?}: {error}");
}

#[test]
fn a_communicator_swapped_with_its_child() {
    let _watch = watch();
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
}

#[test]
fn ranks_that_trade_communicators() {
    let _watch = watch();
    let team = team(2);
    let table: Mutex<Vec<Comm>> = Mutex::new(Vec::new());
    for _ in 0..2 {
        let error = fails(&team, |comm| {
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
        });
        is_stale(&error);
        table.lock().unwrap().clear();
    }
}

/// Rank by thread: workers have names.
fn comm_rank_of_thread() -> usize {
    usize::from(std::thread::current().name().is_some_and(|n| n == "phalanx-1"))
}

#[test]
fn a_child_that_is_forgotten() {
    let _watch = watch();
    let team = team(3);
    for who in 0..3 {
        // Nobody misses it..
        team.run(|comm| std::mem::forget(comm.split(0, 0))).unwrap();
        check_usable(&team, 2);
        // ..or the others wait in it.
        let error = fails(&team, |comm| {
            let mut child = comm.split(0, comm.rank());
            if comm.rank() == who {
                std::mem::forget(child);
            } else {
                child.barrier();
            }
        });
        assert!(matches!(error, Error::Left { peer, .. } if peer == who), "{error}");
    }
}

thread_local! {
    static STASH: RefCell<Option<Comm>> = const { RefCell::new(None) };
}

#[test]
fn a_child_stashed_in_the_thread() {
    let _watch = watch();
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
        let error = fails(&team, |comm| {
            STASH.with_borrow_mut(|s| call(s.as_mut().expect("stashed")));
            comm.barrier();
        });
        is_stale(&error);
    }
}

#[test]
fn a_child_used_by_another_thread() {
    let _watch = watch();
    let team = team(2);
    // By a thread that is no rank, in the same run.
    let error = fails(&team, |comm| {
        let mut child = comm.split(0, comm.rank());
        let thrown = std::thread::scope(|s| s.spawn(move || child.barrier()).join());
        let message = thrown.expect_err("refused");
        let message = message.downcast_ref::<String>().expect("a message for people");
        assert!(message.contains("refused"), "{message}");
        comm.barrier();
    });
    is_stale(&error);
    // By another rank's thread.
    let table = Mutex::new(None);
    let error = fails(&team, |comm| {
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
    });
    is_stale(&error);
    // By a thread that is no rank, when the run is over: an error of its
    // own, and none of the next run.
    let mut old = team.run(|comm| comm.split(0, comm.rank())).unwrap();
    assert!(std::thread::scope(|s| s.spawn(|| old[0].barrier()).join()).is_err());
    check_usable(&team, 1);
    let error = failure(team.run(|comm| {
        bomb_if(comm.rank() == 1);
    }));
    is_bomb_of(&error, 1);
    // And by a rank of another team: its run must say why it failed.
    let other = common::team(2);
    let old = Mutex::new(old);
    let error = fails(&other, |comm| {
        if comm.rank() == 0 {
            old.lock().unwrap_or_else(|e| e.into_inner())[1].barrier();
        }
    });
    is_stale(&error);
    check_usable(&team, 1);
    let error = failure(team.run(|comm| {
        bomb_if(comm.rank() == 1);
    }));
    is_bomb_of(&error, 1);
}

#[test]
fn protect_inside_a_team() {
    let _watch = watch();
    let team = team(2);
    let error = fails(&team, |comm| {
        let rank = comm.rank();
        let result = comm.protect(|comm| {
            bomb_if(rank == 1);
            comm.barrier();
        });
        assert!(result.is_err());
    });
    is_bomb_of(&error, 1);
    // A stale communicator's failure is not the present run's.
    let mut old = team.run(|comm| comm.split(0, comm.rank())).unwrap();
    assert!(old[0].protect(|_| bomb()).is_err());
    check_usable(&team, 1);
    let error = failure(team.run(|comm| {
        if comm.rank() == 1 {
            return;
        }
        comm.barrier();
    }));
    assert!(matches!(error, Error::Left { .. }), "{error}");
}

#[test]
fn a_call_after_a_caught_failure() {
    let _watch = watch();
    let team = team(3);
    let error = fails(&team, |comm| {
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
    });
    // The bomb was caught: its text is not known, but where it was.
    let Error::Panicked { rank: 1, message, .. } = error else { panic!("{error}") };
    assert!(message.contains("caught"), "{message}");
}
