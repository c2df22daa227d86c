//! Checks that a wait beyond the deadline ends the run, names the waiting rank and its peer, and
//! frees no memory that a peer can still read; and that a deadline changes nothing else.

use crate::common::{Canary, again, bomb, failure, look_alive, on_threads, right, succeeds, watch};
use phalanx::{Activity, Comm, Error, RankReport, Team, Wait, call, op};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Short, and longer than the ranks of these tests are ever late unless they are meant to
/// be.
const SHORT: Duration = Duration::from_millis(200);
/// Late beyond doubt.
const LATE: Duration = Duration::from_millis(500);
/// Never reached in a test that ends.
const NEVER: Duration = Duration::from_secs(30);

fn team(ranks: usize, wait: Wait, deadline: Duration) -> Team {
    Team::builder().ranks(ranks).wait(wait).deadline(deadline).build().unwrap()
}

/// A deadline of `error`: the rank, its peer, and the standings.
#[track_caller]
fn passed(error: &Error) -> (usize, usize, &[RankReport]) {
    match error {
        Error::Deadline { rank, peer, ranks, .. } => (*rank, *peer, ranks),
        other => panic!("no deadline: {other}"),
    }
}

/// The team still works. On a busy machine a rank may be late beyond these short deadlines; that is
/// their purpose, so such a run is made again.
fn check_usable(team: &Team, salt: u64) {
    for _ in 0..20 {
        match team.run(|comm| right(comm, salt)) {
            Ok(_) => return,
            Err(Error::Deadline { .. }) => {}
            Err(e) => panic!("a correct run after a failed one: {e}"),
        }
    }
    panic!("each of 20 correct runs was too slow");
}

type Call = fn(&mut Comm);

#[test]
fn a_rank_that_computes_for_too_long() {
    let _watch = watch();
    // The short ways of small calls among them: a line, two, an eager buffer.
    let calls: [(&str, Call); 16] = [
        ("broadcast", |c| c.broadcast(&mut [1u64; 8], 1)),
        ("all_gather_into", |c| c.all_gather_into(&[1u64], &mut vec![0; c.size()])),
        ("all_gather_into", |c| c.all_gather_into(&[1u64; 8], &mut vec![0; 8 * c.size()])),
        ("scan", |c| c.scan(&mut [1u64; 12], op::Sum)),
        ("exclusive_scan", |c| c.exclusive_scan(&mut [1u64; 128], op::Sum)),
        ("all_reduce", |c| c.all_reduce(&mut [1u64; 8], op::Sum)),
        ("overlapped all_reduce", |c| {
            c.overlap(call::all_reduce(&mut [1u64; 2], op::Sum), || ());
        }),
        ("fixed_sum", |c| assert_eq!(c.fixed_sum(&[1u64], c.rank()), 3)),
        ("barrier", |c| c.barrier()),
        ("all_reduce", |c| c.all_reduce(&mut [1; 3], op::Sum)),
        ("all_reduce", |c| c.all_reduce(&mut Canary(vec![1; 5000]).0, op::Sum)),
        ("reduce_scatter_into", |c| {
            let mut x = Canary(vec![0; 100]);
            c.reduce_scatter_into(&Canary(vec![1; 100 * c.size()]).0, &mut x.0, op::Sum);
        }),
        ("all_gather_into", |c| {
            let mut all = Canary(vec![0; 100 * c.size()]);
            c.all_gather_into(&Canary(vec![1; 100]).0, &mut all.0);
        }),
        ("with_peers", |c| c.with_peers(&Canary(vec![1; 100]).0, |all| assert_eq!(all[0][0], 1))),
        ("split", |c| drop(c.split(0, 0))),
        ("shift", |c| c.shift(&mut Canary(vec![1; 100]).0, 1)),
    ];
    for wait in [Wait::Auto, Wait::Yield, Wait::Park] {
        let team = team(3, wait, SHORT);
        // All of them once, some in every way of waiting.
        let calls = &calls[if wait == Wait::Auto { 0 } else { 13 }..];
        for &(name, call) in calls {
            let error = failure(team.run(|comm| {
                if comm.rank() == 1 {
                    std::thread::sleep(LATE);
                }
                call(comm);
            }));
            let (rank, _, ranks) = passed(&error);
            assert_ne!(rank, 1, "{error}");
            assert_eq!(ranks.len(), 3);
            assert_eq!(ranks[1].doing, Activity::Computes, "{error}");
            assert!(matches!(ranks[rank].doing, Activity::WaitsFor(_)), "{error}");
            let text = error.to_string();
            // `split` begins with an all-gather.
            let said = text.contains(name) || name == "split" && text.contains("all_gather");
            assert!(said && text.contains(file!()), "{text}");
            assert_eq!(text.lines().count(), 4, "{text}");
            check_usable(&team, 1);
        }
    }
}

#[test]
fn spinning_ranks_look_at_the_clock() {
    let _watch = watch();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return eprintln!("SKIPPED: spinning for ever needs two cores");
    }
    let team = team(2, Wait::Spin, SHORT);
    let error = failure(team.run(|comm| {
        if comm.rank() == 1 {
            std::thread::sleep(LATE);
        }
        comm.barrier();
    }));
    assert_eq!((passed(&error).0, passed(&error).1), (0, 1));
    check_usable(&team, 1);
}

/// The deadline says which call each rank has made last, equal calls once.
#[test]
fn the_report_names_the_latest_calls() {
    let _watch = watch();
    let team = team(3, Wait::Auto, SHORT);
    let error = failure(team.run(|comm| {
        for _ in 0..5 {
            comm.all_reduce(&mut [1.0f64; 8], op::Sum);
        }
        match comm.rank() {
            0 => comm.recv(&mut [1u8], 1),
            1 => std::thread::sleep(LATE),
            _ => (),
        }
    }));
    let (rank, peer, ranks) = passed(&error);
    assert_eq!((rank, ranks[2].doing), (0, Activity::Returned));
    assert_eq!(ranks[0].doing, Activity::WaitsFor(peer));
    assert_eq!((ranks[0].calls.len(), ranks[1].calls.len()), (6, 5));
    let text = error.to_string();
    assert!(text.contains(concat!("all_reduce of 8 f64 with sum at ", file!(), ":")), "{text}");
    assert!(text.contains("(x5)") && text.contains("rank 2 has returned"), "{text}");
    // No more than the ring keeps.
    let error = failure(team.run(|comm| {
        (0..50).for_each(|_| comm.barrier());
        if comm.rank() == 1 {
            std::thread::sleep(LATE);
        }
        comm.all_reduce(&mut [1], op::Max);
    }));
    assert!(passed(&error).2.iter().all(|standing| standing.calls.len() == 16), "{error}");
}

/// The sender's slice stays until its receiver, which comes long after the deadline, has seen that
/// the run is over.
#[test]
fn nothing_is_freed_early() {
    let _watch = watch();
    for wait in [Wait::Auto, Wait::Park] {
        let team = team(2, wait, SHORT);
        let freed = AtomicBool::new(false);
        let error = failure(team.run(|comm| {
            struct Told<'a>(Canary, &'a AtomicBool);
            impl Drop for Told<'_> {
                fn drop(&mut self) {
                    self.1.store(true, Relaxed);
                }
            }
            if comm.rank() == 0 {
                let x = Told(Canary(vec![7; 1000]), &freed);
                comm.send(&x.0.0, 1);
            } else {
                std::thread::sleep(LATE);
                if freed.load(Relaxed) {
                    eprintln!("freed while its receiver could read it");
                    std::process::abort();
                }
                comm.recv(&mut [0u64; 1000], 0);
            }
        }));
        // Rank 1 took the message, which had been there all the time, or was told.
        assert_eq!((passed(&error).0, passed(&error).1), (0, 1));
        assert!(freed.swap(false, Relaxed));
        check_usable(&team, 1);
        // A view that is being looked at.
        let error = failure(team.run(|comm| {
            let x = Canary(vec![comm.rank() as u64; 1000]);
            let rank = comm.rank();
            comm.with_peers(&x.0, |all| {
                let until = Instant::now() + if rank == 1 { LATE } else { Duration::ZERO };
                while Instant::now() < until {
                    look_alive(&all[0]);
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }));
        assert_eq!((passed(&error).0, passed(&error).1), (0, 1));
        check_usable(&team, 1);
    }
}

/// A lock that is held across a barrier by one rank and wanted by another: the deadline unwinds the
/// holder, so the other goes on.
#[test]
fn a_lock_held_across_a_barrier() {
    let _watch = watch();
    for p in [2, 3, 5] {
        let team = team(p, Wait::Auto, SHORT);
        let lock = Mutex::new(());
        let error = failure(team.run(|comm| {
            let taken = lock.lock().unwrap_or_else(|e| e.into_inner());
            comm.barrier();
            drop(taken);
        }));
        let (rank, _, ranks) = passed(&error);
        assert!(ranks.iter().all(|s| s.rank == rank || s.doing == Activity::Computes), "{error}");
        check_usable(&team, 1);
    }
}

/// Each wait has a clock of its own, and other causes come first.
/// A run before does not count.
#[test]
fn a_report_counts_calls_and_where_they_are_recorded_waits() {
    let _watch = watch();
    let file = std::env::temp_dir().join(format!("deadline-{}.phx", std::process::id()));
    for recorded in [false, true] {
        let builder = Team::builder().ranks(2).deadline(SHORT);
        let builder = if recorded { builder.record(&file) } else { builder };
        let team = builder.build().unwrap();
        check_usable(&team, 5);
        let error = team.run(|comm| {
            comm.barrier();
            comm.barrier();
            if comm.rank() == 1 {
                std::thread::sleep(SHORT / 4);
            }
            comm.barrier();
            if comm.rank() == 1 {
                std::thread::sleep(LATE);
            }
            comm.barrier();
        });
        let error = error.unwrap_err();
        let (rank, _, ranks) = passed(&error);
        assert_eq!((rank, ranks[0].made, ranks[1].made), (0, 4, 3), "{error}");
        let text = error.to_string();
        assert!(text.contains("; 4 calls in this run") && text.contains("; 3 calls in"), "{text}");
        match ranks[0].waits {
            None => assert!(!recorded && !text.contains(" wait of "), "{text}"),
            Some((waits, time)) => {
                assert!(recorded && waits >= 1 && time >= SHORT / 8, "{text}");
                assert!(time < SHORT, "the wait that goes on does not count: {text}");
                assert!(text.contains(" in all") || text.contains(" wait of "), "{text}");
            }
        }
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn no_deadline_without_a_reason() {
    let _watch = watch();
    let team = team(3, Wait::Auto, LATE);
    // Longer than the deadline in all, but no wait is.
    let begun = Instant::now();
    succeeds(&team, |comm| {
        for round in 0..9 {
            if comm.rank() == round % 3 {
                std::thread::sleep(SHORT);
            }
            right(comm, round as u64);
        }
    });
    assert!(begun.elapsed() > LATE);
    drop(team);

    let team = self::team(4, Wait::Auto, NEVER);
    let error = failure(team.run(|comm| comm.recv(&mut [0], (comm.rank() + 1) % 4)));
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    let error = failure(team.run(|comm| if comm.rank() == 3 { bomb() } else { comm.barrier() }));
    assert!(matches!(error, Error::Panicked { rank: 3, .. }), "{error}");
    let error = failure(team.run(|comm| {
        if comm.rank() > 0 {
            comm.barrier()
        }
    }));
    assert!(matches!(error, Error::Left { peer: 0, .. }), "{error}");
    check_usable(&team, 1);
    // None at all: no wait is too long. One of no length: only waits of some length are.
    drop(team);
    let team = self::team(1, Wait::Auto, Duration::ZERO);
    check_usable(&team, 1);
    let team = self::team(2, Wait::Auto, Duration::MAX);
    check_usable(&team, 1);
}

#[test]
fn external_threads_have_deadlines() {
    let _watch = watch();
    let comms = || {
        let builder = Team::builder().ranks(3).wait(Wait::Park).deadline(SHORT);
        builder.external().unwrap()
    };
    // In a communicator that came from a split, too. On a busy machine the split itself may
    // take longer than the deadline: then that run says nothing.
    let errors = (0..20).find_map(|_| {
        let (arrived, given_up) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let errors = on_threads(comms(), |mut comm| {
            let result = comm.protect(|comm| {
                let mut child = comm.split(0, 2 - comm.rank());
                arrived.fetch_add(1, Relaxed);
                while comm.rank() == 1 && given_up.load(Relaxed) < 2 {
                    std::thread::yield_now();
                }
                child.barrier();
            });
            given_up.fetch_add(1, Relaxed);
            result
        });
        (arrived.into_inner() == 3).then_some(errors)
    });
    let errors = errors.expect("each of 20 splits was too slow");
    // The late rank hears at its barrier that the others have given up, though all have
    // arrived.
    assert!(matches!(errors[1], Err(Error::Dead)), "{errors:?}");
    let deadlines = |errors: &[Result<(), Error>]| {
        let others = errors.iter().filter(|e| matches!(e, Err(Error::Dead))).count();
        (errors.iter().filter(|e| matches!(e, Err(Error::Deadline { .. }))).count(), others)
    };
    assert_eq!(deadlines(&errors), (1, 2), "{errors:?}");
    // A communicator that is forgotten says nothing to its peers: only a deadline helps.
    let errors = on_threads(comms(), |mut comm| {
        if comm.rank() == 2 {
            std::mem::forget(comm);
            return Ok(());
        }
        comm.protect(|comm| comm.barrier())
    });
    assert_eq!(deadlines(&errors), (1, 1), "{errors:?}");
}

/// The text is on the standard error before `run` returns: here it never does.
#[test]
fn the_report_does_not_wait_for_a_stuck_rank() {
    const CHILD: &str = "PHALANX_TEST_STUCK_RANK";
    if std::env::var_os(CHILD).is_some() {
        let _ = team(2, Wait::Auto, SHORT).run(|comm| {
            if comm.rank() == 1 {
                loop {
                    std::thread::sleep(SHORT);
                }
            }
            let x = vec![1; 1000];
            comm.send(&x, 1);
        });
        unreachable!("rank 1 never returns");
    }
    let _watch = watch();
    use std::io::BufRead;
    let mut child = again(module_path!(), "the_report_does_not_wait_for_a_stuck_rank")
        .env(CHILD, "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let said: Vec<String> = stderr.lines().map(Result::unwrap).take(4).collect();
    assert!(child.try_wait().unwrap().is_none(), "it is stuck: {said:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said[0].starts_with("phalanx: rank 0 has waited 200ms for rank 1"), "{said:?}");
    assert!(said[1].contains(concat!("send of 1000 i32, to rank 1 at ", file!())), "{said:?}");
    assert!(said[2].contains("rank 1 is in its own code"), "{said:?}");
    let end = "  `run` returns once rank 1 has made a call or returned: no deadline ends what";
    assert!(said[3].starts_with(end), "{said:?}");
}

// ---- Waits without a deadline ----

/// So long the ranks of the test below wait before they say so.
const TOLD: Duration = Duration::from_millis(100);

/// Ranks 1 and 2 of four wait for rank 3 in each case; the case is rank 3's work.
fn wait_for_rank_3(builder: phalanx::Builder, stuck: impl Fn() + Sync) {
    let team = builder.ranks(4).build().unwrap();
    drop(team.run(|comm| {
        comm.all_reduce(&mut [1.0f64; 8], op::Sum);
        if comm.rank() == 3 {
            stuck();
        }
        comm.barrier();
    }));
}

fn sleep_for_ever() {
    loop {
        std::thread::sleep(LATE);
    }
}

/// The programs that the tests below run in a process of its own, by a name in
/// `PHALANX_TEST_STALL`.
#[test]
#[ignore = "for the tests below"]
fn stalls() {
    let case = std::env::var("PHALANX_TEST_STALL").unwrap();
    let plain = Team::builder().ranks(2);
    let soon = plain.clone().stall_warning(TOLD);
    match case.as_str() {
        "sleep" => wait_for_rank_3(soon, sleep_for_ever),
        "loop" => wait_for_rank_3(soon, || {
            loop {
                std::hint::spin_loop();
            }
        }),
        "yield" => wait_for_rank_3(soon.wait(Wait::Yield), sleep_for_ever),
        "park" => wait_for_rank_3(soon.wait(Wait::Park), sleep_for_ever),
        "spin" => drop(soon.wait(Wait::Spin).build().unwrap().run(|comm| match comm.rank() {
            0 => comm.barrier(),
            _ => sleep_for_ever(),
        })),
        // The variable's time, where the builder has none.
        "variable" => wait_for_rank_3(plain, sleep_for_ever),
        "outside" => {
            let (_keep, never) = std::sync::mpsc::channel::<()>();
            let never = Mutex::new(never);
            wait_for_rank_3(soon, || assert!(never.lock().unwrap().recv().is_ok()));
        }
        "lock" => {
            let lock = Mutex::new(());
            drop(soon.build().unwrap().run(|comm| {
                let _held = lock.lock();
                comm.barrier();
            }));
        }
        "any" => drop(soon.ranks(3).build().unwrap().run(|comm| match comm.rank() {
            0 => drop(comm.recv_tagged(&mut [0], phalanx::Source::Any, phalanx::Tag::Any)),
            1 => sleep_for_ever(),
            _ => (),
        })),
        "started" => drop(soon.build().unwrap().run(|comm| match comm.rank() {
            0 => drop(comm.requests(|scope| {
                let request = scope.start(call::sum([1]));
                scope.wait(request)
            })),
            _ => sleep_for_ever(),
        })),
        "returned" => drop(soon.build().unwrap().run(|comm| match comm.rank() {
            0 => (),
            _ => sleep_for_ever(),
        })),
        "failed" => drop(soon.build().unwrap().run(|comm| match comm.rank() {
            0 => bomb(),
            _ => sleep_for_ever(),
        })),
        "owed" => drop(soon.build().unwrap().run(|comm| {
            let rank = comm.rank();
            comm.with_peers(&[1; 9], |_| if rank == 0 { bomb() } else { sleep_for_ever() });
        })),
        "external" => {
            let comms = soon.external().unwrap();
            std::thread::scope(|s| {
                for mut comm in comms {
                    s.spawn(move || {
                        comm.barrier();
                        if comm.rank() == 1 {
                            sleep_for_ever();
                        }
                        comm.barrier();
                    });
                }
            });
        }
        // From here on they end.
        "runs" => {
            let team = soon.build().unwrap();
            for _ in 0..2 {
                for _ in 0..2 {
                    let late = |comm: &mut Comm| {
                        for _ in 0..2 {
                            if comm.rank() == 1 {
                                std::thread::sleep(4 * TOLD);
                            }
                            comm.barrier();
                        }
                    };
                    team.run(late).unwrap();
                }
                // Workers without work say nothing.
                std::thread::sleep(4 * TOLD);
            }
        }
        "never" | "never by a variable" | "deadline" => {
            let builder = match case.as_str() {
                "never" => plain.stall_warning(Duration::ZERO),
                "deadline" => plain.deadline(NEVER),
                _ => plain,
            };
            let team = builder.build().unwrap();
            succeeds(&team, |comm| {
                if comm.rank() == 1 {
                    std::thread::sleep(4 * TOLD);
                }
                comm.barrier();
            });
        }
        "wrong" => {
            let build = plain.clone().build().unwrap_err().to_string();
            assert_eq!(build, plain.external().unwrap_err().to_string());
            eprintln!("{build}");
        }
        other => panic!("{other}"),
    }
}

/// The standard error of a case that ends.
fn said_at_the_end(case: &str, variable: &str) -> String {
    let out = stall(case, variable).stderr(std::process::Stdio::piped()).output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{case}: {said}");
    said
}

fn stall(case: &str, variable: &str) -> std::process::Command {
    let mut child = again(module_path!(), "stalls");
    child.arg("--ignored").env("PHALANX_TEST_STALL", case).env("PHALANX_STALL_WARNING", variable);
    child.stdout(std::process::Stdio::null());
    child
}

/// The end of the text.
const ONCE: &str = "  This is said once in a run, after the seconds of PHALANX_STALL_WARNING or \
                    Builder::stall_warning (C: phx_options.stall_warning; 0 is never). ";

/// The text of a case that never ends, which is then killed.
fn said(case: &str, variable: &str) -> String {
    use std::io::BufRead;
    let mut child = stall(case, variable).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    for line in stderr.lines().map(Result::unwrap) {
        said += &(line.clone() + "\n");
        if line.starts_with(ONCE) {
            break;
        }
    }
    let is_stuck = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_stuck && said.contains(ONCE), "{case}: {said}");
    said
}

#[test]
fn a_wait_without_a_deadline_is_told() {
    let _watch = watch();
    for case in ["sleep", "loop", "yield", "park", "variable", "outside"] {
        let variable = if case == "variable" { "0.1" } else { "60" };
        let text = said(case, variable);
        let told = (0..3).find(|it| {
            text.contains(&format!("phalanx: rank {it} has waited 100ms for rank 3, and waits"))
        });
        assert!(told.is_some(), "{case}: {text}");
        let rank = told.unwrap();
        assert!(text.contains(&format!("rank {rank} waits for rank 3; latest calls: barrier")));
        let stuck = "rank 3 is in its own code; latest calls: all_reduce of 8 f64 with sum at ";
        assert!(text.contains(stuck) && text.contains(file!()), "{case}: {text}");
        assert!(text.contains("Builder::deadline ends such a wait with an error."), "{text}");
        assert_eq!(text.matches("phalanx: ").count(), 1, "{case}: {text}");
    }
    let text = said("lock", "");
    assert!(text.contains(" waits for rank ") && text.contains("is in its own code"), "{text}");
    let text = said("any", "");
    assert!(text.contains("rank 0 has waited 100ms for any other rank, and"), "{text}");
    assert!(text.contains("rank 0 waits for a message from any rank; latest"), "{text}");
    for case in ["started", "external"] {
        let text = said(case, "");
        assert!(text.contains("rank 0 has waited 100ms for rank 1, and waits on:"), "{text}");
        assert!(text.contains("rank 1 is in its own code"), "{text}");
    }
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return eprintln!("SKIPPED: spinning for ever needs two cores");
    }
    assert!(said("spin", "").contains("rank 0 has waited 100ms for rank 1, and waits on:"));
}

/// The caller of `run`, and a rank with memory that others may read: also when the run has failed.
#[test]
fn a_run_that_does_not_end_is_told() {
    let _watch = watch();
    let nothing = "Nothing ends this wait but that rank: by a call, or its return.";
    for (case, head) in [
        ("returned", "the caller of `run` has waited 100ms for rank 1 to return, and waits on:"),
        (
            "failed",
            "the caller of `run` has waited 100ms for rank 1 to return; the run has failed: \
             rank 0 panicked: ",
        ),
        ("owed", "rank 0 has waited 100ms for rank 1 to leave the failed run, and waits on:"),
    ] {
        let text = said(case, "");
        assert!(text.contains(&format!("phalanx: {head}")), "{case}: {text}");
        assert!(text.contains("rank 1 is in its own code"), "{case}: {text}");
        assert!(text.contains(nothing), "{case}: {text}");
    }
}

#[test]
fn a_wait_is_told_once_in_a_run_and_not_where_it_is_turned_off() {
    let _watch = watch();
    let text = said_at_the_end("runs", "");
    assert_eq!(text.matches(ONCE).count(), 4, "{text}");
    for (case, variable) in [("never", "0.1"), ("never by a variable", "0"), ("deadline", "")] {
        let text = said_at_the_end(case, variable);
        assert!(!text.contains("phalanx: "), "{case}: {text}");
    }
    // A time that is named holds beside a deadline, too.
    assert_eq!(said_at_the_end("deadline", " 0.1").matches(ONCE).count(), 1);
    for wrong in ["x", "-1", "nan", "1e30", "0,5"] {
        let wanted = format!("PHALANX_STALL_WARNING: '{wrong}' is no number of seconds");
        assert!(said_at_the_end("wrong", wrong).contains(&wanted), "{wrong}");
    }
}

/// A program that is stopped for longer than its deadline, and goes on.
#[test]
#[ignore = "a program of its own"]
fn stopped() {
    let team = team(2, Wait::Auto, Duration::from_secs(3));
    let outcome = team.run(|comm| {
        if comm.rank() == 1 {
            println!("ready");
            // Longer than rank 0 takes to look at the clock after the stop.
            (0..10).for_each(|_| std::thread::sleep(Duration::from_millis(100)));
        }
        comm.barrier();
    });
    outcome.unwrap();
}

#[test]
#[cfg(unix)]
fn a_stop_of_the_process_does_not_count() {
    use std::io::BufRead;
    let _watch = watch();
    let mut child = again(module_path!(), "stopped");
    child.arg("--ignored").stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    // Open to the end: the child goes on to write.
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    let pid = child.id().to_string();
    let signal = |name: &str| {
        let done = std::process::Command::new("kill").args([name, pid.as_str()]).status();
        assert!(done.unwrap().success());
    };
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(4500));
    signal("-CONT");
    assert!(child.wait().unwrap().success());
}
