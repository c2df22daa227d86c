//! Communicators used after their run, and communicators swapped with others.

use super::common::{bomb, check_usable, fails, failure, team, watch};
use phalanx::dist::Halo;
use phalanx::{Comm, Error, Team, op};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

fn text(payload: &(dyn Any + Send)) -> &str {
    payload.downcast_ref::<String>().expect("a panic with a text")
}

fn is_stale(error: &Error) {
    assert!(matches!(error, Error::Stale { .. }), "{error:?}: {error}");
}

#[test]
fn a_child_used_after_its_run() {
    let _watch = watch();
    let team = team(2);
    for fails in [false, true] {
        let stash = Mutex::new(None);
        let result = team.run(|comm| {
            let child = comm.split(0, 0);
            if comm.rank() == 0 {
                *stash.lock().unwrap() = Some(child);
            }
            if fails {
                comm.barrier();
                bomb();
            }
        });
        assert_eq!(result.is_err(), fails);
        let mut child: Comm = stash.into_inner().unwrap().unwrap();
        // On a thread of nobody's a panic with a text, also if the run has failed; the
        // standard error has it.
        let payload = catch_unwind(AssertUnwindSafe(|| child.barrier())).unwrap_err();
        assert!(text(&*payload).contains("the run that it belongs to is over"));
        is_stale(&child.protect(|child| child.barrier()).unwrap_err());
        // In a run of another team it ends that.
        let other = super::common::team(1);
        let child = Mutex::new(child);
        is_stale(&failure(other.run(|_| child.lock().unwrap().barrier())));
        check_usable(&team, 1);
    }
}

/// The panic that a rank throws when its run is over has no cause in it, and is one in another run.
#[test]
fn what_one_run_threw_is_thrown_in_the_next() {
    let _watch = watch();
    let team = team(2);
    let stash: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
    failure(team.run(|comm| {
        if comm.rank() == 0 {
            let thrown = catch_unwind(AssertUnwindSafe(|| comm.barrier()));
            *stash.lock().unwrap() = thrown.err();
        }
    }));
    let error = fails(&team, |comm| {
        if comm.rank() == 1 {
            resume_unwind(stash.lock().unwrap().take().unwrap());
        }
        comm.barrier();
    });
    match &error {
        Error::Panicked { rank: 1, message, .. } => {
            assert!(message.contains("rank 1 returned while rank 0"), "{message}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_grid_whose_communicator_is_swapped() {
    let _watch = watch();
    let team = team(4);
    for what in 0..5 {
        let error = fails(&team, |comm| {
            let mut child = comm.split(comm.rank() % 2, 0);
            let mut grid = comm.cart(&[4], &[true]);
            std::mem::swap(&mut *grid, &mut child);
            match what {
                0 => drop(grid.coordinates()),
                1 => drop(grid.neighbours()),
                2 => drop(grid.sub(&[true])),
                3 => drop(grid.shift(0, 1)),
                _ => {
                    let halo = Halo::new(&[100], 60);
                    grid.exchange_halo(&mut vec![1u64; halo.len()], &halo);
                }
            }
        });
        is_stale(&error);
    }
}

#[test]
fn a_view_whose_communicator_is_swapped() {
    let _watch = watch();
    let team = team(4);
    let error = fails(&team, |comm| {
        let mut child = comm.split(comm.rank() % 2, 0);
        let mut view = comm.ring();
        std::mem::swap(&mut *view, &mut child);
    });
    is_stale(&error);
    // Put back in time, it is nobody's business.
    let sums = team.run(|comm| {
        let mut child = comm.split(comm.rank() % 2, 0);
        let mut view = comm.ring();
        std::mem::swap(&mut *view, &mut child);
        std::mem::swap(&mut *view, &mut child);
        let mut x = [1; 100];
        view.all_reduce(&mut x, op::Sum);
        x[99]
    });
    assert_eq!(sums.unwrap(), [4; 4]);
}

/// The team of the communicator that `protect` was called on is the one that has failed.
#[test]
fn a_communicator_swapped_in_protect() {
    let _watch = watch();
    let (mut x, mut y) = (Team::external(2).unwrap(), Team::external(2).unwrap());
    let ((mut x1, mut x0), (mut y1, mut y0)) =
        ((x.pop().unwrap(), x.pop().unwrap()), (y.pop().unwrap(), y.pop().unwrap()));
    std::thread::scope(|s| {
        let other = s.spawn(move || [x1.protect(|c| c.barrier()), y1.protect(|c| c.barrier())]);
        let error = x0.protect(|c| -> () {
            std::mem::swap(c, &mut y0);
            bomb();
        });
        assert!(matches!(error, Err(Error::Panicked { rank: 0, .. })), "{error:?}");
        // They are swapped: this is the first team's.
        assert!(y0.protect(|c| c.barrier()).is_err());
        assert!(x0.protect(|c| c.barrier()).is_ok());
        let results = other.join().unwrap();
        assert!(matches!(results, [Err(Error::Dead), Ok(())]), "{results:?}");
    });
}
