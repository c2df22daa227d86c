//! Runs within runs and calls within calls: one communicator or team is used while another is in
//! the middle of a call.

use super::common::{
    Canary, add_alive, bomb_if, check_usable, fails, failure, right, succeeds, team, until, watch,
};
use super::is_bomb_of;
use phalanx::{Error, op};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn a_run_of_the_same_team_inside_a_rank() {
    let _watch = watch();
    let team = team(3);
    let inner = team.run(|comm| {
        let result = team.run(|_| ());
        comm.barrier();
        result
    });
    assert!(inner.unwrap().iter().all(|r| matches!(r, Err(Error::Busy))));
    check_usable(&team, 1);
}

#[test]
fn another_team_inside_a_rank() {
    let _watch = watch();
    let team = team(2);
    let sums = team.run(|comm| {
        let inner = phalanx::run(2, |inner| {
            right(inner, 3);
            inner.rank()
        });
        comm.barrier();
        // An inner failure is the inner team's alone.
        let failed = phalanx::run(2, |inner| {
            bomb_if(inner.rank() == 1);
            inner.barrier();
        });
        is_bomb_of(&failure(failed), 1);
        right(comm, 5);
        inner.unwrap()
    });
    assert_eq!(sums.unwrap(), [[0, 1], [0, 1]]);
    check_usable(&team, 1);
}

#[test]
fn two_threads_run_at_once() {
    let _watch = watch();
    let team = team(2);
    let (inside, go) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|s| {
        s.spawn(|| {
            succeeds(&team, |comm| {
                inside.fetch_add(1, Relaxed);
                until(|| go.load(Relaxed) > 0);
                comm.barrier();
            });
        });
        until(|| inside.load(Relaxed) >= 2);
        assert!(matches!(team.run(|_| ()), Err(Error::Busy)));
        go.store(1, Relaxed);
    });
    check_usable(&team, 1);
}

#[test]
fn crossing_sends_in_two_communicators() {
    let _watch = watch();
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
}

#[test]
fn a_view_ends_while_its_viewer_is_in_another_communicator() {
    let _watch = watch();
    let team = team(2);
    for who in 0..2 {
        for n in [1, 1000] {
            let error = fails(&team, |comm| {
                let mut child = comm.split(0, comm.rank());
                let (rank, x) = (comm.rank(), Canary(vec![3; n]));
                comm.with_peers(&x.0, |all| {
                    bomb_if(rank == who);
                    let y = Canary(vec![4; n]);
                    child.send(&y.0, who);
                    child.recv(&mut [0; 1000], who);
                    assert_eq!(all[who][0], 3);
                });
            });
            is_bomb_of(&error, who);
        }
    }
}

#[test]
fn an_operator_waits_in_another_communicator() {
    let _watch = watch();
    let team = team(3);
    for (who, caught) in (0..3).flat_map(|who| [(who, false), (who, true)]) {
        let error = fails(&team, |comm| {
            let child = RefCell::new(comm.split(0, comm.rank()));
            let (rank, waited) = (comm.rank(), Cell::new(false));
            let mut x = Canary(vec![1; 1000]);
            comm.all_reduce(
                &mut x.0,
                op::commutative(|a, b| {
                    bomb_if(rank == who);
                    if waited.replace(true) {
                        return add_alive(a, b);
                    }
                    let wait = || {
                        let mut y = Canary(vec![1; 1000]);
                        let add = op::commutative(add_alive);
                        child.borrow_mut().all_reduce(&mut y.0, add);
                    };
                    if !caught {
                        wait();
                    }
                    // It has failed there, and goes on here, late: with what its peers
                    // show, for as long as it needs that.
                    assert!(catch_unwind(AssertUnwindSafe(wait)).is_err());
                    std::thread::sleep(std::time::Duration::from_millis(3));
                    add_alive(a, b)
                }),
            );
        });
        is_bomb_of(&error, who);
    }
}
