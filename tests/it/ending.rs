//! Checks the ends of runs that are meant: a rank's own error (`try_run`), a cancel from inside and
//! from outside; and runs that wait for their team (`run_queued`).

use crate::common::{
    Canary, bomb, check_usable, failure, look_alive, on_threads, right, succeeds, team, until,
    watch,
};
use phalanx::{Canceller, Comm, Error, Team, TryError, Wait, op};
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

// ---- A rank's own error ----

#[derive(Debug, PartialEq)]
struct Own(usize);

#[track_caller]
fn own<T: Debug, E: Debug>(result: Result<Vec<T>, TryError<E>>) -> (usize, E) {
    match result {
        Err(TryError::Rank { rank, error }) => (rank, error),
        other => panic!("no error of a rank: {other:?}"),
    }
}

#[test]
fn the_first_error_ends_the_run_for_all() {
    let _watch = watch();
    for ranks in [1, 2, 4] {
        let team = team(ranks);
        for who in 0..ranks {
            let result = team.try_run(|comm| {
                right(comm, 1);
                let mut x = Canary(vec![comm.rank() as u64; 3000]);
                if comm.rank() == who {
                    return Err(Own(who));
                }
                comm.all_reduce(&mut x.0, op::Sum);
                look_alive(&x.0);
                Ok(())
            });
            assert_eq!(own(result), (who, Own(who)));
            check_usable(&team, 2);
        }
        let sums = team.try_run(|comm| Ok::<_, Own>(comm.sum([1])[0].to_string()));
        assert_eq!(sums.unwrap(), vec![ranks.to_string(); ranks]);
    }
}

#[test]
fn a_question_mark_takes_any_error() {
    let _watch = watch();
    type Any = Box<dyn std::error::Error + Send + Sync>;
    let (team, inner) = (team(2), team(2));
    let text = |kind: usize| -> Result<(), Any> {
        team.try_run(|comm| -> Result<usize, Any> {
            if comm.rank() == 1 {
                match kind {
                    0 => drop("x1".parse::<i32>()?),
                    1 => drop(inner.run(|inner| {
                        assert_eq!(inner.rank(), 0);
                        inner.barrier();
                    })?),
                    2 => drop(Team::builder().ranks(0).build()?),
                    _ => Err("a text")?,
                }
            }
            comm.barrier();
            Ok(1)
        })?;
        Ok(())
    };
    let text = |kind| text(kind).unwrap_err().to_string();
    assert_eq!(text(0), "rank 1: invalid digit found in string");
    assert!(text(1).starts_with("rank 1: rank 1 panicked: assertion"), "{}", text(1));
    assert_eq!(text(2), "rank 1: 0 ranks asked for; a team has 1 to 1024");
    assert_eq!(text(3), "rank 1: a text");
    let none = phalanx::try_run(0, |_| Ok::<_, Own>(()));
    assert!(matches!(none, Err(TryError::Run(Error::Ranks { .. }))));
}

/// A sub-communicator goes before the error is known: a rank that waits there is not the cause.
#[test]
fn an_error_that_is_missed_in_a_sub_communicator_first() {
    let _watch = watch();
    let team = team(3);
    for round in 0..200 {
        let result = team.try_run(|comm| {
            let mut child = comm.split(0, comm.rank());
            if comm.rank() == 1 {
                drop(child);
                if round % 2 == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
                return Err(Own(round));
            }
            if comm.rank() == 0 && round % 3 == 0 {
                child.send(&[1], 1);
            }
            child.barrier();
            Ok(())
        });
        assert_eq!(own(result), (1, Own(round)));
    }
    check_usable(&team, 1);
}

#[test]
fn causes_of_the_library_stay() {
    let _watch = watch();
    let team = team(2);
    // A panic that came first.
    let panicked = AtomicBool::new(false);
    let result = team.try_run(|comm| {
        if comm.rank() == 0 {
            let _told = Told(&panicked);
            bomb();
        }
        until(|| panicked.load(Relaxed));
        std::thread::sleep(Duration::from_millis(50));
        Err::<(), _>(Own(1))
    });
    assert!(matches!(result, Err(TryError::Run(Error::Panicked { rank: 0, .. }))), "{result:?}");
    // A rank that returns well while another waits.
    let result = team.try_run(|comm| {
        if comm.rank() == 0 {
            comm.barrier();
        }
        Ok::<_, Own>(())
    });
    assert!(matches!(result, Err(TryError::Run(Error::Left { peer: 1, .. }))), "{result:?}");
    // The panic that `protect` has caught is the run's cause, not the error that it gives.
    let result = team.try_run(|comm| comm.protect(|_| bomb()));
    assert!(matches!(result, Err(TryError::Run(Error::Panicked { .. }))), "{result:?}");
    check_usable(&team, 1);
}

struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn items_and_parts_of_those_that_try() {
    let _watch = watch();
    let team = team(2);
    let mut items = [String::from("5"), String::from("6")];
    let numbers = team.try_run_with(&mut items, |_, item| item.parse::<u8>());
    assert_eq!(numbers.unwrap(), [5, 6]);
    let few = team.try_run_with(&mut items[..1], |_, item| item.parse::<u8>());
    assert!(matches!(few, Err(TryError::Run(Error::Parts { .. }))));
    let mut x = [1, 2, 3, 4, 5];
    let result = team.try_run_chunks(&mut x, |comm, mine, _| {
        mine[0] = 0;
        comm.barrier();
        if mine.len() == 3 { Err(Own(mine.len())) } else { Ok(()) }
    });
    assert_eq!(own(result), (1, Own(3)));
    assert_eq!(x, [0, 2, 0, 4, 5]);
}

// ---- Cancelling ----

#[track_caller]
fn cancelled<R>(result: Result<Vec<R>, Error>) -> Option<usize> {
    match failure(result) {
        Error::Cancelled { rank } => rank,
        other => panic!("not cancelled: {other}"),
    }
}

type Call = fn(&mut Comm);

/// Calls that a rank can repeat for ever, waiting or not.
const ENDLESS: [Call; 6] = [
    |c| c.barrier(),
    |c| c.all_reduce(&mut Canary(vec![1; 3000]).0, op::commutative(crate::common::add_alive)),
    |c| c.shift(&mut [1; 5], 0),
    |c| drop(c.split(c.rank(), 0)),
    |c| {
        let (p, r) = (c.size(), c.rank());
        c.exchange(&[1u8; 100], (r + 1) % p, &mut [0; 100], (r + p - 1) % p);
    },
    |c| c.with_peers(&Canary(vec![1; 100]).0, |all| all.iter().for_each(look_alive)),
];

#[test]
fn a_rank_cancels() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        for ranks in [1, 2, 4] {
            let team = Team::builder().ranks(ranks).wait(wait).build().unwrap();
            for call in ENDLESS {
                if ranks == 1 && std::ptr::fn_addr_eq(call, ENDLESS[4]) {
                    continue; // A rank sends nothing to itself.
                }
                let who = ranks - 1;
                let after = AtomicUsize::new(0);
                let result = team.run(|comm| {
                    for step in 0.. {
                        if comm.rank() == who && step == 3 {
                            comm.cancel();
                            after.fetch_add(1, Relaxed);
                        }
                        call(comm);
                    }
                });
                assert_eq!(cancelled(result), Some(who));
                assert_eq!(after.load(Relaxed), 1, "it returns, and the next call does not");
            }
            check_usable(&team, 1);
        }
    }
}

#[test]
fn a_cancel_without_another_call_ends_the_run_all_the_same() {
    let _watch = watch();
    let team = team(2);
    // Either rank may be the first.
    let who = cancelled(team.run(|comm| comm.split(0, 0).cancel()));
    assert!(who.is_some_and(|rank| rank < 2), "{who:?}");
    // Of a run that is over.
    let mut kept = [None, None];
    team.run_with(&mut kept, |comm, kept| *kept = Some(comm.split(comm.rank(), 0))).unwrap();
    team.run_with(&mut kept, |comm, kept| {
        kept.as_ref().unwrap().cancel();
        right(comm, 1);
    })
    .unwrap();
    // Nor does it reach the runs that its thread is in now: runs of other teams, one in the
    // other.
    team.run_with(&mut kept, |comm, kept| *kept = Some(comm.split(comm.rank(), 0))).unwrap();
    let old = Mutex::new(kept);
    phalanx::run(1, |_| {
        phalanx::run(2, |inner| {
            old.lock().unwrap()[0].as_ref().unwrap().cancel();
            right(inner, 1);
        })
    })
    .unwrap()
    .remove(0)
    .unwrap();
    check_usable(&team, 1);
}

#[test]
fn cancelled_from_outside() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        for ranks in [1, 2, 4] {
            let team = Team::builder().ranks(ranks).wait(wait).build().unwrap();
            for (call, pause) in ENDLESS.into_iter().zip([0, 1, 3, 0, 2, 5]) {
                if ranks == 1 && std::ptr::fn_addr_eq(call, ENDLESS[4]) {
                    continue;
                }
                let inside = AtomicUsize::new(0);
                let stop = team.canceller();
                std::thread::scope(|s| {
                    s.spawn(|| {
                        until(|| inside.load(Relaxed) >= ranks);
                        std::thread::sleep(Duration::from_millis(pause));
                        stop.cancel();
                    });
                    let result: Result<Vec<()>, _> = team.run(|comm| {
                        inside.fetch_add(1, Relaxed);
                        loop {
                            call(comm);
                        }
                    });
                    assert_eq!(cancelled(result), None);
                });
                // Until it is taken back.
                assert!(stop.is_cancelled());
                assert_eq!(cancelled(team.run(|_| ())), None);
                team.clear_cancel();
                assert!(!stop.is_cancelled());
                check_usable(&team, 1);
            }
        }
    }
}

/// A rank that sleeps for a peer that is in its own code.
#[test]
fn who_waits_hears_of_a_cancel() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        let team = Team::builder().ranks(2).wait(wait).build().unwrap();
        let left = AtomicBool::new(false);
        let result = team.run(|comm| {
            if comm.rank() == 1 {
                std::thread::sleep(Duration::from_millis(30));
                comm.canceller().cancel();
                // Rank 0 has left its wait before this one makes a call.
                until(|| left.load(Relaxed));
            } else {
                let _told = Told(&left);
                comm.recv(&mut [0], 1);
            }
        });
        assert_eq!(cancelled(result), None);
        check_usable(&team, 1);
    }
}

/// Cancels at any moment around short runs: none is lost, and none hits a run too many.
#[test]
fn cancels_between_runs() {
    let _watch = watch();
    let team = team(2);
    for round in 0..300 {
        let stop = team.canceller();
        std::thread::scope(|s| {
            s.spawn(move || {
                for _ in 0..round * 7 % 50 {
                    std::hint::spin_loop();
                }
                stop.cancel();
            });
            while team.run(|comm| comm.barrier()).is_ok() {}
        });
        assert_eq!(cancelled(team.run(|_| ())), None);
        team.clear_cancel();
        check_usable(&team, 1);
    }
}

#[test]
fn a_run_s_own_canceller_ends_no_other() {
    let _watch = watch();
    let team = team(2);
    let kept: Mutex<Option<Canceller>> = Mutex::new(None);
    succeeds(&team, |comm| {
        if comm.rank() == 1 {
            *kept.lock().unwrap() = Some(comm.canceller());
        }
    });
    let late = kept.into_inner().unwrap().unwrap();
    late.cancel();
    check_usable(&team, 1);
    succeeds(&team, |comm| {
        late.cancel();
        right(comm, 2);
    });
    drop(team);
    late.cancel(); // its words live on
}

#[test]
fn threads_of_one_s_own_are_cancelled() {
    let _watch = watch();
    let comms = Team::external(3).unwrap();
    let stop = comms[0].canceller();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        stop.cancel();
    });
    let errors = on_threads(comms, |mut comm| {
        let forever = |comm: &mut Comm| loop {
            comm.barrier();
        };
        comm.protect::<()>(forever).unwrap_err()
    });
    let is_cancel = |e: &&Error| matches!(e, Error::Cancelled { rank: None });
    assert_eq!(errors.iter().filter(is_cancel).count(), 1, "{errors:?}");
    assert!(errors.iter().all(|e| matches!(e, Error::Cancelled { .. } | Error::Dead)));
}

// ---- Runs that wait for their team ----

#[test]
fn queued_runs_take_turns() {
    let _watch = watch();
    let team = team(2);
    let (done, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|s| {
        for salt in 0..4 {
            let (team, done, at_once) = (&team, &done, &at_once);
            s.spawn(move || {
                for _ in 0..50 {
                    team.run_queued(|comm| {
                        if comm.rank() == 0 {
                            assert_eq!(at_once.fetch_add(1, Relaxed), 0);
                        }
                        right(comm, salt);
                        if comm.rank() == 0 {
                            at_once.fetch_sub(1, Relaxed);
                            done.fetch_add(1, Relaxed);
                        }
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 200);
}

#[test]
fn a_rank_does_not_wait_for_itself() {
    let _watch = watch();
    let (team, other) = (team(2), team(2));
    let results = team.run(|comm| {
        let own = team.run_queued(|_| ());
        // Nor through a run of another team.
        let through = match comm.rank() {
            0 => other.run(|comm| match comm.rank() {
                0 => team.run_queued(|_| ()).is_err(),
                _ => true,
            }),
            _ => Ok(vec![true]),
        };
        comm.barrier();
        (own, through)
    });
    for (own, through) in results.unwrap() {
        assert!(matches!(own, Err(Error::Busy)), "{own:?}");
        assert!(through.unwrap().into_iter().all(|is_busy| is_busy));
    }
    check_usable(&team, 1);
    // A team that is idle may be run by a rank of another.
    let sizes = team.run(|comm| {
        let inner = (comm.rank() == 1).then(|| other.run_queued(|inner| inner.size()));
        comm.barrier();
        inner
    });
    assert_eq!(sizes.unwrap().remove(1).unwrap().unwrap(), [2, 2]);
}

// ---- Forks ----

#[cfg(target_os = "linux")]
mod forks {
    use super::*;
    use std::time::Instant;

    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn kill(pid: i32, signal: i32) -> i32;
        fn _exit(code: i32) -> !;
    }

    /// So long a child may take, on a machine that does other things.
    const LONGEST: Duration = Duration::from_secs(60);

    /// Runs `f` in a child; whether it has ended in time, and returned true.
    fn in_child(f: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls the library, as is tested here, and ends without destructors.
        let pid = unsafe { fork() };
        assert!(pid >= 0, "the system refuses a child");
        if pid == 0 {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            // SAFETY: ends the process.
            unsafe { _exit(i32::from(ended.ok() != Some(true))) };
        }
        let (start, mut status) = (Instant::now(), -1);
        loop {
            const NO_HANG: i32 = 1;
            // SAFETY: of the child made above, which is not reaped yet.
            if unsafe { waitpid(pid, &raw mut status, NO_HANG) } == pid {
                return status == 0;
            }
            if start.elapsed() > LONGEST {
                // SAFETY: as above.
                unsafe { (kill(pid, 9), waitpid(pid, &raw mut status, 0)) };
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn is_forked<T: Debug>(result: &Result<T, Error>) -> bool {
        matches!(result, Err(Error::Forked))
    }

    #[test]
    fn a_child_of_a_fork_gets_an_error_of_its_parents_teams() {
        let _watch = watch();
        let team = team(2);
        let mut comms = Team::external(2).unwrap();
        team.run(|comm| comm.barrier()).unwrap();
        on_threads(&mut comms, |comm| comm.protect(|comm| comm.barrier()).unwrap());
        // Used here before: the child has the same thread.
        comms[0].protect(|comm| comm.send(&[1u8], 1)).unwrap();
        let mut alone = Team::external(1).unwrap().remove(0);
        let mut child = alone.split(0, 0);
        assert!(in_child(move || {
            let runs = [team.run(|comm| comm.barrier()), team.run_queued(|_| ())];
            let calls = [
                comms[0].protect(|comm| comm.send(&[1u8], 1)),
                comms[0].protect(|comm| comm.barrier()),
                comms[1].protect(|comm| comm.recv(&mut [1u8], 0)),
                alone.protect(|comm| comm.barrier()),
                child.protect(|comm| drop(comm.split(0, 0))),
            ];
            let dead = comms[1].protect(|comm| comm.barrier());
            drop((team, comms, child, alone));
            let own = Team::builder().ranks(2).build().unwrap();
            let own = own.run(|comm| comm.sum([1])[0]).unwrap();
            runs.iter().all(is_forked)
                && calls.iter().all(is_forked)
                && is_forked(&dead)
                && own == [2, 2]
        }));
    }

    /// In a rank's closure, too: the other ranks are in the parent.
    #[test]
    fn a_closure_that_forks_ends_with_an_error_in_the_child() {
        let _watch = watch();
        let team = team(2 * std::thread::available_parallelism().map_or(1, usize::from));
        let forked = std::sync::atomic::AtomicI32::new(-1);
        let result = team.run(|comm| {
            if comm.rank() == 0 {
                // SAFETY: as in `in_child`.
                forked.store(unsafe { fork() }, Relaxed);
            }
            comm.barrier();
        });
        let pid = forked.load(Relaxed);
        if pid == 0 {
            // Its own ranks are not crowded by the parent's.
            let own = Team::builder().ranks(1).build().unwrap();
            let is_crowded = own.run(|comm| phalanx::engine::give_way(comm)).unwrap()[0];
            // SAFETY: ends the process.
            unsafe { _exit(i32::from(is_crowded || !is_forked(&result))) };
        }
        assert!(result.is_ok());
        let mut status = -1;
        // SAFETY: of the child made above.
        assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
    }

    /// Whatever other threads were doing at the moment of the fork: they build teams, run them,
    /// read the machine, fail, begin and end.
    #[test]
    fn children_of_a_busy_process_run_teams_of_their_own() {
        let _watch = watch();
        let stop = AtomicBool::new(false);
        let goes_on = || !stop.load(Relaxed);
        std::thread::scope(|s| {
            s.spawn(|| {
                while goes_on() {
                    let team = Team::builder().ranks(3).build().unwrap();
                    team.run(|comm| comm.barrier()).unwrap();
                }
            });
            s.spawn(|| {
                while goes_on() {
                    let mut comm = Team::external(1).unwrap().remove(0);
                    std::thread::scope(|s| drop(s.spawn(|| comm.barrier())));
                    drop(phalanx::machine::Machine::this());
                }
            });
            s.spawn(|| {
                let team = Team::builder().ranks(2).build().unwrap();
                while goes_on() {
                    let failed =
                        team.try_run(|comm| if comm.rank() == 1 { Err(()) } else { Ok(()) });
                    assert!(failed.is_err());
                }
            });
            let well = (0..40).map(|child| {
                in_child(|| {
                    let team = Team::builder().ranks(2).build().unwrap();
                    let sums = team.run(|comm| comm.sum([child])[0]).unwrap();
                    drop(team);
                    let mut own = Team::external(1).unwrap().remove(0);
                    own.protect(|own| own.barrier()).unwrap();
                    sums == [2 * child; 2]
                })
            });
            let well: Vec<bool> = well.collect();
            stop.store(true, Relaxed);
            assert_eq!(well, [true; 40]);
        });
    }
}
