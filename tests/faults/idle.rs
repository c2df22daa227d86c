//! Ranks that never wait in their calls: they, too, learn that the run is over.

use super::common::{bomb, bomb_if, check_usable, fails, failure, on_threads, team, until, watch};
use super::is_bomb_of;
use phalanx::dist::Halo;
use phalanx::{Comm, Error, Order, Team, op};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// A call on a communicator, and on one of this rank alone, that waits for nobody.
type Idle = fn(&mut Comm, &mut Comm);

const IDLE: &[(&str, Idle)] = &[
    ("shift by 0", |comm, _| comm.shift(&mut [1u8], 0)),
    ("a long shift by 0", |comm, _| comm.shift(&mut [1u64; 5000], 0)),
    ("shift by 0 in a view", |comm, _| comm.ring().shift(&mut [1u8], 0)),
    ("exchange with itself", |comm, _| {
        let me = comm.rank();
        comm.exchange(&[1u8], me, &mut [0], me);
    }),
    ("barrier", |_, solo| solo.barrier()),
    ("broadcast", |_, solo| solo.broadcast(&mut [1u64; 9000], 0)),
    ("all_reduce", |_, solo| solo.all_reduce(&mut [1u8], op::Sum)),
    ("all_reduce in a view", |_, solo| solo.hypercube().all_reduce(&mut [1u8], op::Sum)),
    ("all_reduce in order", |_, solo| {
        solo.with_order(Order::Fixed).all_reduce(&mut [1.5; 3], op::Sum);
    }),
    ("scan", |_, solo| solo.scan(&mut [1u8], op::Sum)),
    ("all_gather", |_, solo| solo.all_gather_into(&[1u8], &mut [0])),
    ("all_to_all", |_, solo| solo.all_to_all_into(&[1u8], &mut [0])),
    ("with_peers", |_, solo| solo.with_peers(&[1u8], |_| ())),
    ("split", |_, solo| drop(solo.split(0, 0))),
    ("halo", |_, solo| {
        let halo = Halo::new(&[4], 1);
        solo.cart(&[1], &[true]).exchange_halo(&mut vec![1u8; halo.len()], &halo);
    }),
    ("sub of a grid", |_, solo| drop(solo.cart(&[1], &[true]).sub(&[true]))),
];

#[test]
fn a_rank_that_waits_for_nobody_hears_of_a_panic() {
    let watch = watch();
    for wait in [phalanx::Wait::Auto, phalanx::Wait::Park] {
        let team = Team::builder().ranks(2).wait(wait).build().unwrap();
        for (name, idle) in IDLE {
            watch.case(*name);
            let made = AtomicUsize::new(0);
            let error = fails(&team, |comm| {
                let mut solo = comm.split(comm.rank(), 0);
                if comm.rank() == 1 {
                    until(|| made.load(Relaxed) >= 3);
                    bomb();
                }
                loop {
                    idle(comm, &mut solo);
                    made.fetch_add(1, Relaxed);
                }
            });
            is_bomb_of(&error, 1);
        }
    }
}

/// The run may have failed before the other rank has come.
#[test]
fn a_rank_that_comes_late_hears_of_a_panic() {
    let _watch = watch();
    let team = team(2);
    for round in 0..300 {
        let error = failure(team.run(|comm| {
            bomb_if(comm.rank() == round % 2);
            loop {
                comm.shift(&mut [1u8], 0);
            }
        }));
        is_bomb_of(&error, round % 2);
    }
    check_usable(&team, 1);
}

/// Neither waits for as long as it takes to look at the events.
#[test]
fn two_healthy_ranks_hear_of_the_third() {
    let _watch = watch();
    let team = team(3);
    let made = AtomicUsize::new(0);
    let error = fails(&team, |comm| {
        let (me, mut x) = (comm.rank(), [0u8]);
        if me == 2 {
            until(|| made.load(Relaxed) >= 1000);
            bomb();
        }
        loop {
            comm.exchange(&[me as u8], 1 - me, &mut x, 1 - me);
            made.fetch_add(1, Relaxed);
        }
    });
    is_bomb_of(&error, 2);
}

#[test]
fn a_rank_that_waits_for_nobody_hears_of_a_deadline() {
    let _watch = watch();
    let deadline = Duration::from_millis(100);
    let team = Team::builder().ranks(2).deadline(deadline).build().unwrap();
    let error = failure(team.run(|comm| {
        if comm.rank() == 0 {
            comm.barrier();
        }
        loop {
            comm.shift(&mut [1u8], 0);
        }
    }));
    assert!(matches!(error, Error::Deadline { rank: 0, peer: 1, .. }), "{error}");
}

#[test]
fn own_threads_that_wait_for_nobody_hear_of_a_panic() {
    let _watch = watch();
    let errors = on_threads(Team::external(2).unwrap(), |mut comm| {
        let forever = |comm: &mut Comm| {
            comm.barrier();
            bomb_if(comm.rank() == 1);
            loop {
                comm.shift(&mut [1u8], 0);
            }
        };
        comm.protect::<()>(forever).unwrap_err()
    });
    assert!(errors.iter().any(|e| matches!(e, Error::Panicked { rank: 1, .. })), "{errors:?}");
}

/// The rank is busy as another team's: with a communicator of its own thread's, or in
/// a run inside its closure.
#[test]
fn a_rank_busy_elsewhere_hears_of_a_panic() {
    let watch = watch();
    let (team, inner) = (team(2), super::common::team(2));
    let own = std::sync::Mutex::new(Team::external(1).unwrap().remove(0));
    for (case, name) in
        ["own thread's", "lent", "inner run", "inner run's worker"].iter().enumerate()
    {
        watch.case(*name);
        let made = AtomicUsize::new(0);
        let error = fails(&team, |comm| {
            if comm.rank() == 0 {
                until(|| made.load(Relaxed) >= 3);
                bomb();
            }
            let idle = |comm: &mut Comm| {
                comm.shift(&mut [1u8], 0);
                made.fetch_add(1, Relaxed);
            };
            match case {
                0 => {
                    let mut own = Team::external(1).unwrap().remove(0);
                    loop {
                        idle(&mut own);
                    }
                }
                1 => {
                    let mut own = own.lock().unwrap();
                    loop {
                        idle(&mut own);
                    }
                }
                2 => drop(inner.run(|comm| {
                    loop {
                        idle(comm);
                    }
                })),
                _ => drop(inner.run(|comm| {
                    while comm.rank() == 1 {
                        idle(comm);
                    }
                })),
            }
            comm.barrier();
        });
        is_bomb_of(&error, 0);
        check_usable(&inner, 1);
    }
}

/// A failure of one team is none of another's that has its thread as a rank.
#[test]
fn a_communicator_outlives_a_failed_run_of_its_thread() {
    let _watch = watch();
    let team = team(1);
    let mut own = Team::external(1).unwrap().remove(0);
    own.barrier();
    failure(team.run(|_| bomb()));
    let mut x = [3];
    own.all_reduce(&mut x, op::Sum);
    own.barrier();
    assert_eq!(x, [3]);
}
