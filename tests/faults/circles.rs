//! Ranks that wait for each other in a circle through several teams.

use super::common::{bomb, check_usable, fails, failure, on_threads, team, watch};
use super::is_bomb_of;
use phalanx::{Comm, Error, Source, Team, Wait, call, op};
use std::sync::Mutex;
use std::time::Duration;

/// Both communicators of a pair, each used once by its thread (so that the thread is known).
fn of_thread(pair: &Mutex<Vec<Option<Comm>>>, rank: usize) -> Comm {
    let mut comm = pair.lock().unwrap()[rank].take().unwrap();
    comm.barrier();
    comm
}

fn pair() -> Mutex<Vec<Option<Comm>>> {
    Mutex::new(Team::external(2).unwrap().into_iter().map(Some).collect())
}

fn waiting(comm: &mut Comm) -> Result<(), Error> {
    comm.protect(|comm| comm.barrier())
}

#[test]
fn a_circle_through_two_pairs() {
    let _watch = watch();
    for _ in 0..50 {
        let (x, y) = (pair(), pair());
        let results = on_threads(0..2, |rank| {
            let (mut x, mut y) = (of_thread(&x, rank), of_thread(&y, rank));
            if rank == 0 {
                [waiting(&mut x), waiting(&mut y)]
            } else {
                [waiting(&mut y), waiting(&mut x)]
            }
        });
        let circles = results.iter().flatten().filter(|result| match result {
            Err(Error::Deadlock { circle }) => {
                assert_eq!(circle.len(), 2);
                let calls = circle.iter().map(|it| it.site.as_ref().unwrap().call.as_str());
                let elsewhere = calls.filter(|call| *call == "barrier, in another team");
                assert_eq!(elsewhere.count(), 1);
                true
            }
            _ => false,
        });
        assert!(circles.count() >= 1, "{results:?}");
    }
}

#[test]
fn a_circle_of_three_threads_and_three_pairs() {
    let _watch = watch();
    let pairs = [pair(), pair(), pair()];
    let results = on_threads(0..3, |me| {
        // In pair i are threads i and i + 1. First the even ones, so that all have been used.
        let (mine, other) = (me, (me + 2) % 3);
        let mut order = [(mine, 0), (other, 1)];
        order.sort_unstable();
        let mut comms = order.map(|(i, rank)| (i, of_thread(&pairs[i], rank)));
        comms.sort_by_key(|(i, _)| *i != mine);
        comms.map(|(_, mut comm)| waiting(&mut comm))
    });
    let of_three = |result: &Result<(), Error>| match result {
        Err(Error::Deadlock { circle }) => circle.len() == 3,
        _ => false,
    };
    assert!(results.iter().flatten().any(of_three), "{results:?}");
}

/// A team of three, with a pair of two of its ranks, too: rank 0 waits for rank 1 in the
/// team, rank 1 for rank 0 in the pair. `third` is rank 2's work.
fn crossed(team: &Team, third: impl Fn(&mut Comm) + Sync) -> Error {
    let pair = pair();
    fails(team, |comm| {
        if comm.rank() == 2 {
            comm.barrier();
            third(comm);
            return;
        }
        let mut own = of_thread(&pair, comm.rank());
        comm.barrier();
        if comm.rank() == 0 {
            comm.with_peers(&[1], |_| ());
            own.barrier();
        } else {
            own.barrier();
            comm.with_peers(&[1], |_| ());
        }
    })
}

#[test]
fn a_circle_through_a_team_and_a_pair() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        let team = Team::builder().ranks(3).wait(wait).build().unwrap();
        for _ in 0..10 {
            let error = crossed(&team, |comm| comm.with_peers(&[1], |_| ()));
            assert!(error.to_string().contains("in a circle"), "{error}");
        }
    }
}

/// Rank 0 has to wait until rank 1 is done with its memory, and rank 1 waits for it in the
/// pair.
#[test]
fn a_panic_ends_a_wait_in_another_team() {
    let _watch = watch();
    let team = team(3);
    for _ in 0..10 {
        let error = crossed(&team, |_| bomb());
        // The circle may be found before the panic is.
        let is_circle = error.to_string().contains("in a circle");
        if !is_circle {
            is_bomb_of(&error, 2);
        }
    }
}

/// Nothing that is a circle: rank 1 waits in a pair for a thread that is no rank, and that
/// does not come before the run is over.
#[test]
fn a_failed_run_ends_a_wait_in_another_team() {
    let _watch = watch();
    let deadline = Duration::from_millis(100);
    let teams =
        [(team(2), false), (Team::builder().ranks(2).deadline(deadline).build().unwrap(), true)];
    for (team, by_deadline) in &teams {
        let mut comms = Team::external(2).unwrap();
        let (mut other, own) = (comms.pop().unwrap(), Mutex::new(comms.pop()));
        let (over, is_over) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|s| {
            let thread = s.spawn(move || {
                let _ = is_over.recv();
                waiting(&mut other)
            });
            let error = failure(team.run(|comm| {
                comm.barrier();
                if comm.rank() == 1 {
                    let mut own = own.lock().unwrap().take().unwrap();
                    own.barrier();
                } else if !by_deadline {
                    std::thread::sleep(Duration::from_millis(20));
                    bomb();
                }
                comm.barrier();
            }));
            drop(over);
            match (by_deadline, &error) {
                (true, Error::Deadline { rank: 0, peer: 1, ranks, .. }) => {
                    assert_eq!(ranks[1].doing, phalanx::Activity::WaitsElsewhere);
                }
                (false, error) => is_bomb_of(error, 0),
                (true, error) => panic!("{error}"),
            }
            // Whoever was to meet it there is told.
            let error = thread.join().unwrap().unwrap_err();
            assert!(error.to_string().contains("another run"), "{error}");
        });
        check_usable(team, 1);
    }
}

/// The same in a run that was started inside a rank's closure.
#[test]
fn a_failed_run_ends_those_inside() {
    let _watch = watch();
    let (outer, inner) = (team(2), team(2));
    let error = fails(&outer, |comm| {
        if comm.rank() == 1 {
            std::thread::sleep(Duration::from_millis(20));
            bomb();
        }
        let error = failure(inner.run(|comm| {
            // Rank 1 never comes.
            while comm.rank() == 1 {
                comm.shift(&mut [0u8], 0);
            }
            comm.barrier();
        }));
        assert!(error.to_string().contains("has ended with an error"), "{error}");
        comm.barrier();
    });
    is_bomb_of(&error, 1);
    check_usable(&inner, 1);
}

/// A deadlock of `p` ranks: each calls `work` with a vector of so many elements.
#[track_caller]
fn deadlocks(p: usize, n: usize, work: impl Fn(&mut Comm, &mut [u64]) + Sync) -> Error {
    let error = fails(&team(p), |comm| work(comm, &mut vec![1; n]));
    let is_found = matches!(error, Error::Deadlock { .. } | Error::Mismatch { .. });
    assert!(is_found, "{p} ranks, {n} elements: {error}");
    error
}

/// A started call goes on only when the peers' words come: a rank that waits beside one can be part
/// of a deadlock. Short ones are copied, long ones lend memory.
#[test]
fn a_deadlock_beside_started_calls() {
    let _watch = watch();
    for (p, n) in [2, 3, 5].into_iter().flat_map(|p| [(p, 1), (p, 100_000)]) {
        // One rank is a call behind, in a call before or after.
        let error = deadlocks(p, n, |comm, x| {
            if comm.rank() == 1 {
                comm.barrier();
            }
            comm.requests(|scope| {
                let sum = scope.start(call::all_reduce(x, op::Sum));
                scope.comm().barrier();
                scope.wait(sum);
            });
        });
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        deadlocks(p, n, |comm, x| {
            let me = comm.rank();
            if me == 1 {
                return comm.recv(x, 0);
            }
            comm.requests(|scope| {
                let sum = scope.start(call::all_reduce(x, op::Sum));
                scope.comm().barrier();
                scope.wait(sum);
            });
        });
        // Of two requests, neither of which can end; and of more than there are columns.
        deadlocks(p, n, |comm, x| {
            let next = (comm.rank() + 1) % comm.size();
            let mut message = [0u64];
            comm.requests(|scope| {
                let all = [
                    scope.start(call::recv_tagged(&mut message, next, 9)),
                    scope.start(call::recv_tagged(x, Source::Any, 7)),
                ];
                scope.wait_any(&all);
            });
        });
        deadlocks(p, n, |comm, x| {
            if comm.rank() == 1 {
                return comm.recv(x, 0);
            }
            comm.requests(|scope| (0..200).for_each(|_| drop(scope.start(call::sum([1])))));
        });
    }
}

/// A started receive that is never complete keeps no deadlock of the others from being found,
/// though the rank that is to send does not wait.
#[test]
fn a_deadlock_beside_a_started_receive() {
    let _watch = watch();
    let error = deadlocks(3, 1, |comm, x| match comm.rank() {
        2 => loop {
            comm.check();
        },
        me => comm.requests(|scope| {
            let _open = scope.start(call::recv_tagged(x, 2, 9));
            scope.comm().recv(&mut [0], 1 - me);
        }),
    });
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
}

/// The rank that is awaited waits, too, and goes on: for the started call, that of a third rank.
#[test]
fn a_rank_that_goes_on_with_a_started_call_is_in_no_deadlock() {
    let _watch = watch();
    let team = team(3);
    for n in [1, 100_000] {
        let all = team.run(|comm| {
            let (me, mut x, mut y) = (comm.rank(), vec![1u64; n], [0]);
            if me == 2 {
                std::thread::sleep(Duration::from_millis(30));
            }
            comm.requests(|scope| {
                let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                // Rank 0 has its result only if rank 1 goes on meanwhile, and then answers.
                match me {
                    1 => scope.comm().recv(&mut y, 0),
                    _ => drop(scope.wait(sum)),
                }
                if me == 0 {
                    scope.comm().send(&[5], 1);
                }
            });
            (x[0], y[0])
        });
        assert_eq!(all.unwrap(), [(3, 0), (3, 5), (3, 0)]);
    }
}
