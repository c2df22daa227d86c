//! Checks that teams start, share out, split, wait and pin as promised, with every odd number of
//! items, ranks and colors.

use crate::common::{
    again, bomb, bomb_if, check_usable, fails, failure, right, succeeds, team, watch,
};
use phalanx::machine::{Level, affinity};
use phalanx::placement::Placement;
use phalanx::{Comm, Error, MAX_RANKS, Team, Wait, op};
use std::sync::Mutex;

// ---- Starting, and sharing out ----

#[test]
fn numbers_of_ranks_that_cannot_be() {
    let _watch = watch();
    for ranks in [0, MAX_RANKS + 1, usize::MAX] {
        let is_right = |e: &Error| match e {
            Error::Ranks { asked, limit } => (*asked, *limit) == (ranks, MAX_RANKS),
            _ => false,
        };
        assert!(is_right(&phalanx::run(ranks, |_| ()).unwrap_err()));
        assert!(is_right(&Team::builder().ranks(ranks).build().unwrap_err()));
        assert!(is_right(&Team::external(ranks).unwrap_err()));
    }
}

/// A thread-local's destructor may run when the library's own thread-locals are gone.
#[test]
fn a_team_in_the_destructor_of_a_thread_local() {
    static SUMS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static CAUSES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    fn sums() -> Vec<usize> {
        phalanx::run(2, |comm| comm.sum([comm.rank() + 1])[0]).unwrap()
    }
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            // A panic here would end the process.
            let sums = std::panic::catch_unwind(sums).unwrap_or_default();
            SUMS.lock().unwrap().extend(sums);
            // The run is still known to be one: a rank that leaves a communicator in a panic is no
            // cause.
            let failed = phalanx::run(2, |comm| {
                // Dropped after the communicator: its peer has time to take that for the cause.
                let _slow = Slow;
                let mut half = comm.split(0, 0);
                if comm.rank() == 0 {
                    panic!("bomb");
                }
                half.barrier();
            });
            CAUSES.lock().unwrap().push(failed.unwrap_err().to_string());
        }
    }
    thread_local! { static LAST: Last = const { Last } }
    let _watch = watch();
    std::thread::spawn(|| {
        // Destructors run in the reverse order of first uses.
        LAST.with(|_| ());
        assert_eq!(sums(), [3, 3]);
    })
    .join()
    .unwrap();
    assert_eq!(*SUMS.lock().unwrap(), [3, 3]);
    let causes = CAUSES.lock().unwrap();
    assert!(causes.len() == 1 && causes[0].contains("bomb"), "{causes:?}");
}

#[test]
fn many_ranks() {
    let _watch = watch();
    let ranks = 100;
    let sums = phalanx::run(ranks, |comm| {
        let mut x = [comm.rank()];
        comm.all_reduce(&mut x, op::Sum);
        comm.barrier();
        x[0]
    });
    assert_eq!(sums.unwrap(), vec![ranks * (ranks - 1) / 2; ranks]);
}

#[test]
fn a_team_by_default_uses_the_allowed_cores() {
    let _watch = watch();
    let team = Team::builder().build().unwrap();
    assert!((1..=affinity::allowed_pus().unwrap().len()).contains(&team.size()));
    check_usable(&team, 1);
}

#[test]
fn one_item_for_each_rank() {
    let _watch = watch();
    for p in 1..=4 {
        let team = team(p);
        let mut items: Vec<Vec<usize>> = vec![vec![]; p];
        for _ in 0..2 {
            let ranks = team.run_with(&mut items, |comm, mine| {
                mine.push(comm.rank());
                comm.barrier();
                mine.len()
            });
            assert!(ranks.unwrap().len() == p);
        }
        assert!(items.iter().enumerate().all(|(r, item)| *item == [r, r]));
        for wrong in [0, p - 1, p + 1, 3 * p] {
            if wrong != p {
                let error = team.run_with(&mut vec![0; wrong], |_, _| ()).unwrap_err();
                assert!(matches!(error, Error::Parts { .. }), "{error}");
                let words = [format!("{wrong} items"), format!("{p} ranks")];
                assert!(words.iter().all(|w| error.to_string().contains(w)), "{error}");
            }
        }
        check_usable(&team, 1);
    }
}

#[test]
fn parts_of_a_slice() {
    let _watch = watch();
    for p in 1..=5 {
        let team = team(p);
        for n in [0, 1, 2, p - 1, p, p + 1, 7 * p + 3, 1000] {
            let mut data: Vec<usize> = (0..n).collect();
            let parts = team.run_chunks(&mut data, |_, mine, at| {
                assert!(mine.first().is_none_or(|&first| first == at));
                let part = (mine.first().copied(), mine.len());
                mine.iter_mut().for_each(|x| *x += 1);
                part
            });
            let mut next = 0;
            for (first, len) in parts.unwrap() {
                assert!((n / p..=n.div_ceil(p)).contains(&len), "{n} elements, {p} ranks");
                assert_eq!(first, (len > 0).then_some(next));
                next += len;
            }
            assert_eq!((next, data), (n, (1..=n).collect::<Vec<_>>()));
        }
    }
}

// ---- Threads of the caller's own ----

/// Runs `f` on a thread of its own for each communicator.
fn on_threads<R: Send>(ranks: usize, f: impl Fn(Comm) -> R + Sync) -> Vec<std::thread::Result<R>> {
    let comms = Team::external(ranks).unwrap();
    std::thread::scope(|s| {
        let threads: Vec<_> = comms.into_iter().map(|comm| s.spawn(|| f(comm))).collect();
        threads.into_iter().map(|t| t.join()).collect()
    })
}

#[test]
fn external_threads() {
    let _watch = watch();
    for p in 1..=4 {
        let results = on_threads(p, |mut comm| {
            for salt in 0..20 {
                right(&mut comm, salt);
                let mut child = comm.split(comm.rank() % 2, 0);
                right(&mut child, salt);
                right(&mut comm, salt);
            }
        });
        assert!(results.iter().all(Result::is_ok));
    }
}

#[test]
fn external_threads_that_fail() {
    let _watch = watch();
    for who in 0..3 {
        // Protected: one gets the cause, the others hear that it is over.
        let results = on_threads(3, |mut comm| {
            let first = comm.protect(|comm| {
                bomb_if(comm.rank() == who);
                right(comm, 1);
            });
            let again = comm.protect(|comm| comm.barrier());
            assert!(matches!(again, Err(Error::Dead)));
            first.unwrap_err()
        });
        let errors: Vec<Error> = results.into_iter().map(|r| r.unwrap()).collect();
        let causes: Vec<&Error> = errors.iter().filter(|e| !matches!(e, Error::Dead)).collect();
        assert!(matches!(causes[..], [Error::Panicked { rank, .. }] if *rank == who), "{errors:?}");
        // Not protected: everybody panics, and nobody hangs.
        let results = on_threads(3, |mut comm| {
            bomb_if(comm.rank() == who);
            comm.barrier();
        });
        assert!(results.iter().all(Result::is_err));
        // One leaves.
        let results = on_threads(3, |mut comm| {
            comm.protect(|comm| {
                if comm.rank() != who {
                    comm.barrier();
                }
            })
        });
        let ok = results.iter().filter(|r| matches!(r, Ok(Ok(())))).count();
        assert_eq!(ok, 1);
    }
}

#[test]
fn an_external_child_fails_while_its_peer_is_in_the_parent() {
    let _watch = watch();
    let results = on_threads(2, |mut comm| {
        let mut child = comm.split(0, comm.rank());
        let x = vec![1u64; 1000];
        let failed = if comm.rank() == 0 {
            comm.protect(|comm| comm.send(&x, 1)).is_err()
        } else {
            child.protect(|_| bomb()).is_err()
        };
        // Both keep their communicators for a while.
        std::thread::sleep(std::time::Duration::from_millis(20));
        drop((comm, child));
        failed
    });
    assert!(results.iter().all(|r| matches!(r, Ok(true))), "{results:?}");
}

// ---- Sub-communicators ----

#[test]
fn splits() {
    let _watch = watch();
    for p in 1..=6 {
        let team = team(p);
        succeeds(&team, |comm| {
            let (r, p) = (comm.rank(), comm.size());
            let mut reversed = comm.split(7, p - r);
            assert_eq!((reversed.rank(), reversed.size()), (p - 1 - r, p));
            right(&mut reversed, 1);

            let mut half = comm.split(r % 2, 0);
            assert_eq!((half.rank(), half.size()), (r / 2, (p + 1 - r % 2) / 2));
            right(&mut half, 2);

            let mut alone = comm.split(r + 100, usize::MAX);
            assert_eq!((alone.rank(), alone.size()), (0, 1));
            right(&mut alone, 3);

            let mut quarter = half.split(half.rank() / 2, 9);
            assert_eq!(quarter.rank(), half.rank() % 2);
            right(&mut quarter, 4);
            drop(half);
            right(&mut quarter, 5);
            // The parent and its children take turns.
            for salt in 0..3 {
                right(comm, salt);
                right(&mut quarter, salt);
                right(&mut reversed, salt);
            }
        });
    }
}

#[test]
fn splits_by_hardware() {
    let _watch = watch();
    let team = team(4);
    let levels = [Level::Machine, Level::Package, Level::Numa, Level::Core];
    for level in levels {
        let groups = team.run(|comm| {
            let mut child = comm.split_by(level);
            right(&mut child, 1);
            (child.rank(), child.size())
        });
        let groups = groups.unwrap();
        assert_eq!(groups.iter().filter(|g| g.0 == 0).map(|g| g.1).sum::<usize>(), 4);
    }
}

// ---- Messages ----

type Call = fn(&mut Comm);

#[test]
fn messages_in_every_order_and_size() {
    let _watch = watch();
    let team = team(3);
    for n in [0, 1, 5, 6, 100, 10_000] {
        succeeds(&team, |comm| {
            let (r, p) = (comm.rank(), comm.size());
            let (next, last) = ((r + 1) % p, (r + p - 1) % p);
            let x = vec![r as u64; n];
            let mut y = vec![9; n];
            // Round the ring: rank 0 first, the others answer.
            if r == 0 {
                comm.send(&x, next);
                comm.recv(&mut y, last);
            } else {
                comm.recv(&mut y, last);
                comm.send(&x, next);
            }
            assert_eq!(y, vec![last as u64; n]);
            // An exchange meets sends and receives.
            if r == 0 {
                comm.exchange(&x, 1, &mut y, 2);
                assert_eq!(y, vec![2; n]);
            } else if r == 1 {
                comm.recv(&mut y, 0);
                assert_eq!(y, vec![0; n]);
            } else {
                comm.send(&x, 0);
            }
            // With itself, and with everybody.
            comm.exchange(&x, r, &mut y, r);
            assert_eq!(y, x);
            comm.exchange(&x, last, &mut y, next);
            assert_eq!(y, vec![next as u64; n]);
            // Many in a row keep their order.
            for k in 0..20u64 {
                if r == 1 {
                    comm.send(&vec![k; n], 2);
                } else if r == 2 {
                    comm.recv(&mut y, 1);
                    assert_eq!(y, vec![k; n]);
                }
            }
        });
    }
}

#[test]
fn messages_that_cannot_be() {
    let _watch = watch();
    let team = team(2);
    let calls: [(&str, Call); 6] = [
        ("itself", |c| c.send(&[1], 0)),
        ("itself", |c| c.recv(&mut [1], 0)),
        ("no rank", |c| c.send(&[1], 2)),
        ("no rank", |c| c.recv(&mut [1], usize::MAX)),
        ("itself", |c| c.exchange(&[1], 1, &mut [1], 0)),
        ("must have 1", |c| c.exchange(&[1], 0, &mut [1, 2], 0)),
    ];
    for (words, call) in calls {
        let error = fails(&team, |comm| match comm.rank() {
            0 => call(comm),
            _ => comm.barrier(),
        });
        assert!(matches!(error, Error::Argument { rank: 0, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(words) && text.contains(file!()), "{text}");
    }
    // Both send, both wait.
    let error = failure(team.run(|comm| comm.send(&[1; 1000], 1 - comm.rank())));
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    let error = fails(&team, |comm| comm.recv(&mut [1; 1000], 1 - comm.rank()));
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
}

#[test]
fn messages_that_nobody_receives() {
    let _watch = watch();
    let team = team(3);
    for n in 1..=2 {
        let error = fails(&team, |comm| {
            comm.barrier();
            if comm.rank() == 2 {
                (0..n).for_each(|_| comm.send(&[1], 0));
            }
        });
        assert!(
            matches!(error, Error::Unreceived { rank: 2, peer: 0, messages, .. }
                if messages == n),
            "{error}"
        );
    }
}

#[test]
fn arguments_that_cannot_be() {
    let _watch = watch();
    let team = team(4);
    let calls: [(&str, Call); 16] = [
        ("root 4", |c| c.broadcast(&mut [1], 4)),
        ("root 9", |c| c.reduce(&mut [1], op::Sum, 9)),
        ("root 4", |c| c.with_root(&[1], 4, |_| ())),
        ("3x2", |c| c.mesh(3, 2).barrier()),
        ("0x4", |c| c.mesh(0, 4).barrier()),
        ("has 3 elements", |c| c.all_gather_into(&[1], &mut [1; 3])),
        ("has 5 elements", |c| c.reduce_scatter_into(&[1; 5], &mut [1], op::Sum)),
        ("no multiple", |c| c.all_to_all_into(&[1; 5], &mut [1; 5])),
        ("no multiple", |c| c.all_to_all_in_place(&mut [1; 6])),
        ("no multiple", |c| c.all_gather_in_place(&mut [1; 6])),
        ("no multiple", |c| c.gather_in_place(&mut [1; 6][..5 + c.rank() % 2], 1)),
        ("root 4", |c| c.gather_in_place(&mut [1], 4)),
        ("has 3 elements", |c| c.all_to_all_into(&[1; 4], &mut [1; 3])),
        ("2 counts", |c| c.all_gather_varied_into(&[1], &mut [1; 2], &[1, 1])),
        ("more than memory", |c| {
            let counts = [usize::MAX; 4];
            c.gather_varied_into(&[(); usize::MAX], &mut [], &counts, 0);
        }),
        ("not for", |c| c.with(phalanx::Algorithm::BC_RING).all_reduce(&mut [1; 9], op::Sum)),
    ];
    for (words, call) in calls {
        let error = fails(&team, call);
        assert!(matches!(error, Error::Argument { .. }), "{words}: {error}");
        let text = error.to_string();
        assert!(text.contains(file!()), "{text}");
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
}

// ---- Where ranks run ----

#[test]
fn bindings_are_within_the_mask_and_given_back() {
    let _watch = watch();
    let before = affinity::current_mask().unwrap();
    let team = team(3);
    let masks = team.run(|_| affinity::current_mask().unwrap()).unwrap();
    for (rank, binding) in team.bindings().into_iter().enumerate() {
        assert_eq!((binding.rank, &binding.problem), (rank, &None));
        let pu = binding.pu.expect("bound by default");
        assert!(before.contains(&pu));
        assert_eq!(masks[rank], [pu]);
    }
    drop(team);
    assert_eq!(affinity::current_mask().unwrap(), before);

    let team = Team::builder().ranks(2).pin_caller(false).build().unwrap();
    assert_eq!(team.run(|_| affinity::current_mask().unwrap()).unwrap()[0], before);
    drop(team);
    let team = Team::builder().ranks(3).placement(Placement::Unpinned).build().unwrap();
    let masks = team.run(|_| affinity::current_mask().unwrap()).unwrap();
    assert!(masks.iter().all(|m| *m == before));
    assert!(team.bindings().iter().all(|b| b.pu.is_none()));
}

#[test]
fn an_inner_team_gives_the_outer_rank_its_core_back() {
    let _watch = watch();
    let before = affinity::current_mask().unwrap();
    let team = team(2);
    for _ in 0..2 {
        succeeds(&team, |comm| {
            let mine = affinity::current_mask().unwrap();
            phalanx::run(2, |inner| inner.barrier()).unwrap();
            assert_eq!(affinity::current_mask().unwrap(), mine, "rank {}", comm.rank());
        });
    }
    drop(team);
    assert_eq!(affinity::current_mask().unwrap(), before);
}

#[test]
fn two_teams_take_turns_on_a_thread() {
    let _watch = watch();
    let before = affinity::current_mask().unwrap();
    let (a, b) = (team(2), team(2));
    for _ in 0..3 {
        check_usable(&a, 1);
        check_usable(&b, 1);
    }
    drop(a);
    check_usable(&b, 1);
    drop(b);
    assert_eq!(affinity::current_mask().unwrap(), before);
}

#[test]
fn runs_from_several_threads_take_turns() {
    let _watch = watch();
    let team = Mutex::new(team(2));
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for salt in 0..50 {
                    check_usable(&team.lock().unwrap(), salt);
                }
            });
        }
    });
}

/// Runs the test `name` of this program in a process that may use core 0's
/// mask only, by `taskset`.
#[test]
fn a_restricted_mask_is_respected() {
    const CHILD: &str = "PHALANX_TEST_ONE_CORE";
    let _watch = watch();
    let allowed = affinity::allowed_pus().unwrap();
    if let Ok(pu) = std::env::var(CHILD) {
        let pu: usize = pu.parse().unwrap();
        assert_eq!(allowed, [pu]);
        assert_eq!(Team::builder().build().unwrap().size(), 1);
        let team = team(4);
        let masks = team.run(|comm| {
            right(comm, 1);
            affinity::current_mask().unwrap()
        });
        assert!(masks.unwrap().iter().all(|m| *m == [pu]));
        return;
    }
    let last = allowed.last().unwrap().to_string();
    let child = std::process::Command::new("taskset")
        .args(["-c", &last])
        .arg(std::env::current_exe().unwrap())
        .args(again(module_path!(), "a_restricted_mask_is_respected").get_args())
        .env(CHILD, &last)
        .output();
    match child {
        Ok(out) => {
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
        }
        Err(e) => eprintln!("SKIPPED: no restricted mask without `taskset`: {e}"),
    }
}

// ---- Waiting ----

#[test]
fn every_way_of_waiting() {
    let _watch = watch();
    let cores = affinity::allowed_pus().unwrap().len();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park, Wait::Spin] {
        for p in [1, 2, 4] {
            if wait == Wait::Spin && p > cores {
                continue;
            }
            let team = Team::builder().ranks(p).wait(wait).build().unwrap();
            for salt in 0..10 {
                check_usable(&team, salt);
            }
            if p > 1 {
                let error = failure(team.run(|comm| {
                    bomb_if(comm.rank() == 1);
                    comm.barrier();
                }));
                assert!(matches!(error, Error::Panicked { rank: 1, .. }), "{wait:?}: {error}");
                let error = failure(team.run(|comm| comm.recv(&mut [0], (comm.rank() + 1) % p)));
                assert!(matches!(error, Error::Deadlock { .. }), "{wait:?}: {error}");
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            check_usable(&team, 1);
        }
    }
}

/// Rank 0's naps for the others grow; their length once did without end, and overflowed.
#[test]
fn workers_that_go_on_for_a_second() {
    let _watch = watch();
    let team = team(2);
    let done = std::sync::atomic::AtomicBool::new(false);
    let result = team.run(|comm| {
        if comm.rank() == 1 {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(result.is_ok() && done.into_inner());
    check_usable(&team, 1);
}

#[test]
fn late_ranks_are_waited_for() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        let team = Team::builder().ranks(2).wait(wait).build().unwrap();
        for late in 0..2 {
            succeeds(&team, |comm| {
                if comm.rank() == late {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                }
                right(comm, 1);
            });
        }
    }
}
