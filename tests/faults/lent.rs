//! Communicators that go from thread to thread, or are lent to one: the end of a thread that is in
//! no call ends nothing; a panic in `protect`, and the end of the communicator, end the rank.

use super::common::{bomb, bomb_if, until, watch};
use phalanx::{Activity, Comm, Error, Team, Window, call, op};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Calls `step` on a thread of its own, which has ended when this returns.
fn on_new_thread<R: Send>(step: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|s| s.spawn(step).join().unwrap())
}

/// The objects that a rank has beside its first communicator.
#[derive(Default)]
struct Kept {
    child: Option<Comm>,
    window: Option<Window<u64>>,
}

type Step = fn(&mut Comm, &mut Kept);

/// Every kind of call.
const STEPS: [Step; 9] = [
    |comm, _| comm.barrier(),
    |comm, _| assert_eq!(comm.sum([1u64]), [2]),
    |comm, _| {
        let peer = 1 - comm.rank();
        comm.send_tagged(&[comm.rank()], peer, 3);
        let mut got = [9];
        comm.recv_tagged(&mut got, peer, 3);
        assert_eq!(got, [peer]);
    },
    |comm, _| {
        let peer = 1 - comm.rank();
        let (mut sum, mut got) = ([1.0f64; 40], [0u8; 5]);
        comm.requests(|scope| {
            let sum = scope.start(call::all_reduce(&mut sum, op::Sum));
            let sent = scope.start(call::send_tagged(&[7u8; 5], peer, 1));
            let got = scope.start(call::recv_tagged(&mut got, peer, 1));
            scope.wait(sum);
            scope.wait(got);
            scope.wait(sent);
        });
        assert_eq!((sum, got), ([2.0; 40], [7; 5]));
    },
    |comm, kept| kept.child = Some(comm.split(0, comm.rank())),
    |_, kept| kept.child.as_mut().unwrap().barrier(),
    |comm, kept| {
        let mut window = comm.shared::<u64>(3);
        window.update(comm, |own| own.fill(5));
        kept.window = Some(window);
    },
    |comm, kept| {
        let window = kept.window.as_mut().unwrap();
        assert_eq!(window.parts()[1 - comm.rank()], [5; 3]);
        window.update(comm, |own| own.fill(6));
    },
    |comm, kept| {
        let child = kept.child.take().unwrap();
        drop((child, kept.window.take()));
        comm.barrier();
    },
];

#[test]
fn each_call_may_come_from_another_thread() {
    let _watch = watch();
    for threads_end in [true, false] {
        let comms = Team::external(2).unwrap();
        std::thread::scope(|s| {
            for mut comm in comms {
                s.spawn(move || {
                    let mut kept = Kept::default();
                    for round in 0..3 {
                        for (i, step) in STEPS.iter().enumerate() {
                            let here = (i + round + comm.rank()) % 3 == 0;
                            // A thread that goes on has let go of nothing while there is a
                            // second communicator.
                            let must_end = kept.child.is_some() || i == 4;
                            if (threads_end || must_end) || !here {
                                on_new_thread(|| step(&mut comm, &mut kept));
                            } else {
                                step(&mut comm, &mut kept);
                            }
                        }
                    }
                    on_new_thread(move || drop(comm));
                });
            }
        });
    }
}

/// Joined by the end of the scope only: that comes before the threads' own.
#[test]
fn a_scope_of_threads_after_the_other() {
    let _watch = watch();
    let comms = Team::external(2).unwrap();
    std::thread::scope(|s| {
        for mut comm in comms {
            s.spawn(move || {
                let mut child = None;
                std::thread::scope(|s| drop(s.spawn(|| child = Some(comm.split(0, 0)))));
                let mut child = child.unwrap();
                for _ in 0..20 {
                    std::thread::scope(|s| drop(s.spawn(|| child.barrier())));
                    std::thread::scope(|s| drop(s.spawn(|| comm.barrier())));
                }
            });
        }
    });
}

/// Two threads that live would be two in calls of one rank.
#[test]
fn a_rank_with_two_communicators_stays_on_a_thread_that_lives() {
    let _watch = watch();
    let mut comm = Team::external(1).unwrap().remove(0);
    let mut child = comm.split(0, 0);
    let (used, wait) = channel::<()>();
    let (go, gone) = channel::<()>();
    std::thread::scope(|s| {
        let comm = &mut comm;
        s.spawn(move || {
            let error = child.protect(|child| child.barrier()).unwrap_err();
            let Error::Stale { what } = &error else { panic!("{error}") };
            assert!(what.contains("has not ended"), "{error}");
            drop(child);
            used.send(()).unwrap();
            gone.recv().unwrap();
        });
        wait.recv().unwrap();
        go.send(()).unwrap();
        // The other call was refused, and that has ended the run.
        assert!(comm.protect(|comm| comm.barrier()).is_err());
    });
}

/// A barrier on another thread, on a communicator of a rank that has a scope of requests open here.
fn refused_for_a_scope(comm: &mut Comm) {
    let error = on_new_thread(|| comm.protect(|comm| comm.barrier())).unwrap_err();
    let Error::Stale { what } = &error else { panic!("{error}") };
    assert!(what.contains("scope of requests"), "{error}");
}

/// The thread that has the scope goes on with its calls in any other call: of another team, say.
#[test]
fn a_rank_with_an_open_scope_goes_to_no_other_thread() {
    type Case = fn(&mut Comm);
    const CASES: [Case; 6] = [
        |comm| comm.requests(|scope| refused_for_a_scope(scope.comm())),
        |comm| {
            let mut got = [0u8; 5000];
            let error = comm.protect(|comm| {
                comm.requests(|scope| {
                    let request = scope.start(call::recv_tagged(&mut got, 0, 1));
                    refused_for_a_scope(scope.comm());
                    scope.wait(request);
                });
            });
            assert!(error.is_err());
        },
        // One scope in another; and after it.
        |comm| {
            comm.requests(|scope| {
                scope.comm().requests(|_| ());
                refused_for_a_scope(scope.comm());
            });
        },
        |comm| {
            comm.requests(|scope| {
                drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    scope.comm().requests(|_| std::panic::resume_unwind(Box::new(())))
                })));
                refused_for_a_scope(scope.comm());
            });
        },
        // On a communicator that takes the place of the scope's, and is the rank's only one then.
        |comm| {
            let child = comm.split(0, 0);
            comm.requests(|scope| {
                drop(std::mem::replace(scope.comm(), child));
                refused_for_a_scope(scope.comm());
            });
        },
        // Of a thread that has been lent the communicator.
        |comm| {
            on_new_thread(|| comm.requests(|scope| refused_for_a_scope(scope.comm())));
        },
    ];
    let _watch = watch();
    let team = Team::builder().ranks(1).build().unwrap();
    for case in CASES {
        let mut comm = Team::external(1).unwrap().remove(0);
        on_new_thread(|| comm.barrier());
        comm.requests(|scope| scope.comm().barrier());
        on_new_thread(|| comm.requests(|scope| scope.comm().barrier()));
        case(&mut comm);

        assert!(team.run(case).is_err());
        // The scope is over: the rank goes to others again.
        let ended = team.run(|comm| {
            comm.requests(|scope| scope.comm().barrier());
            on_new_thread(|| comm.requests(|scope| scope.comm().barrier()));
            on_new_thread(|| comm.barrier());
            comm.requests(|scope| scope.comm().barrier());
        });
        ended.unwrap();
    }
}

/// After the loan, and before the rank's next call.
#[test]
fn a_rank_that_has_lent_its_communicator_is_its_own_again() {
    let _watch = watch();
    let limit = Duration::from_millis(200);
    let team = Team::builder().ranks(2).deadline(limit).build().unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let error = team.run(|comm| {
        if comm.rank() == 0 {
            on_new_thread(|| comm.barrier());
            until(|| is_over.load(std::sync::atomic::Ordering::Relaxed));
        } else {
            comm.barrier();
            assert!(comm.protect(|comm| comm.barrier()).is_err());
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let error = error.unwrap_err();
    let Error::Deadline { ranks, .. } = &error else { panic!("{error}") };
    assert_eq!(ranks[0].doing, Activity::Computes, "{error}");
}

/// A run that the rank's own thread has started inside hears of a failure after a loan, too.
#[test]
fn a_run_inside_ends_with_that_of_a_rank_that_has_lent_its_communicator() {
    let _watch = watch();
    let [team, inner] = [2, 2].map(|ranks| Team::builder().ranks(ranks).build().unwrap());
    let lent = std::sync::Barrier::new(2);
    let error = team.run(|comm| {
        if comm.rank() == 0 {
            on_new_thread(|| comm.barrier());
            let inside = inner.run(|comm| {
                if comm.rank() == 0 {
                    lent.wait();
                }
                loop {
                    comm.check();
                    std::thread::yield_now();
                }
            });
            inside.map(|_: Vec<()>| ()).unwrap_err();
        } else {
            comm.barrier();
            lent.wait();
            bomb();
        }
    });
    assert!(matches!(error, Err(Error::Panicked { rank: 1, .. })), "{error:?}");
}

/// A panic that `protect` catches, on a thread that has been lent a run's communicator, or on the
/// rank's own after that, is the run's end.
#[test]
fn a_panic_in_protect_on_a_lent_communicator_ends_the_run() {
    let _watch = watch();
    let team = Team::builder().ranks(2).build().unwrap();
    for (on_lent, calls) in [(true, true), (true, false), (false, false)] {
        let result = team.run(|comm| {
            if comm.rank() == 0 {
                let mut protected = |calls: bool| {
                    let ended = comm.protect(|comm| {
                        if calls {
                            comm.barrier();
                        }
                        bomb();
                    });
                    assert!(matches!(ended, Err(Error::Dead)), "{ended:?}");
                };
                match on_lent {
                    true => on_new_thread(|| protected(calls)),
                    false => {
                        on_new_thread(|| comm.barrier());
                        comm.protect(|_| bomb()).unwrap_err();
                    }
                }
            } else {
                (0..3).for_each(|_| comm.barrier());
            }
        });
        let Err(Error::Panicked { rank: 0, message, .. }) = &result else {
            panic!("{on_lent}, {calls}: {result:?}")
        };
        // Not that of an assertion here.
        assert_eq!(message, "bomb", "{on_lent}, {calls}");
    }
}

/// The end of a thread says nothing; a deadline names it.
#[test]
fn a_thread_that_has_ended_is_named_by_a_deadline() {
    let _watch = watch();
    let limit = Duration::from_millis(200);
    let mut comms = Team::builder().ranks(2).deadline(limit).external().unwrap();
    let [a, b] = &mut comms[..] else { unreachable!() };
    std::thread::scope(|s| {
        s.spawn(|| a.barrier());
        let error = s.spawn(|| {
            b.barrier();
            b.protect(|b| b.barrier()).unwrap_err()
        });
        let error = error.join().unwrap();
        let Error::Deadline { ranks, .. } = &error else { panic!("{error}") };
        assert_eq!(ranks[0].doing, Activity::ThreadEnded, "{error}");
        assert!(error.to_string().contains("its last has ended"), "{error}");
    });
}

/// The ends of a rank of own threads: a panic that `protect` sees, and the communicator's end.
#[test]
fn a_lent_communicator_ends_by_a_panic_in_protect_or_with_itself() {
    let _watch = watch();
    for panics in [true, false] {
        let mut comms = Team::external(2).unwrap();
        let (mut b, mut a) = (comms.pop().unwrap(), comms.pop().unwrap());
        std::thread::scope(|s| {
            let second = s.spawn(move || b.protect(|b| (0..2).for_each(|_| b.barrier())));
            let ended = on_new_thread(|| {
                a.protect(|a| {
                    a.barrier();
                    bomb_if(panics);
                })
            });
            assert_eq!(ended.is_err(), panics);
            if !panics {
                on_new_thread(move || drop(a));
            }
            let error = second.join().unwrap().unwrap_err();
            match error {
                Error::Left { rank: 1, peer: 0, .. } if !panics => {}
                Error::Dead | Error::Panicked { rank: 0, .. } if panics => {}
                error => panic!("{error}"),
            }
        });
    }
}

/// In a run the closure's communicator may be lent, and comes back.
#[test]
fn a_run_lends_its_communicator_to_another_thread() {
    let _watch = watch();
    let team = Team::builder().ranks(2).build().unwrap();
    for round in 0..3 {
        let result = team.run(|comm| {
            for step in &STEPS[..4] {
                on_new_thread(|| step(comm, &mut Kept::default()));
                step(comm, &mut Kept::default());
            }
            std::thread::scope(|s| drop(s.spawn(|| comm.barrier())));
            // The communicator that was split off there is the rank's own.
            let mut child = on_new_thread(|| comm.split(0, 0));
            child.barrier();
            comm.barrier();
            drop(child);
            on_new_thread(|| comm.barrier());
            if round == 1 && comm.rank() == 1 {
                on_new_thread(|| comm.protect(|comm| comm.broadcast(&mut [0u8], 9)))
                    .expect_err("there is no rank 9");
            }
            comm.rank()
        });
        assert_eq!(result.is_err(), round == 1, "{result:?}");
    }
}

/// A failure is said with the first cause, by every thread that is not protected.
#[test]
fn threads_that_are_not_protected_die_of_the_cause() {
    let _watch = watch();
    let texts = |f: fn(&mut phalanx::Comm)| -> Vec<String> {
        let threads: Vec<_> = Team::external(3)
            .unwrap()
            .into_iter()
            .map(|mut comm| std::thread::spawn(move || f(&mut comm)))
            .collect();
        let text = |payload: Box<dyn std::any::Any + Send>| {
            let text = payload.downcast_ref::<String>().cloned();
            text.unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap().to_string())
        };
        threads.into_iter().map(|t| text(t.join().unwrap_err())).collect()
    };
    let said = texts(|comm| {
        comm.barrier();
        bomb_if(comm.rank() == 0);
        comm.barrier();
        comm.barrier();
    });
    assert_eq!(said[0], "bomb");
    said[1..].iter().for_each(|text| {
        assert!(text.contains("rank 0 panicked: its thread has panicked"), "{text}");
    });
    let said = texts(|comm| {
        comm.all_reduce(&mut [0u8; 4][comm.rank() / 2..], phalanx::op::Sum);
    });
    said.iter().for_each(|text| assert!(text.contains("disagree"), "{text}"));
}
