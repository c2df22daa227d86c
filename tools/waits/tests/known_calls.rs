//! As `known_waits.rs`, in calls of other kinds: plans of ghosts, requests, tagged messages,
//! windows, varied blocks. One rank sleeps before its part; the record must name it, its line, the
//! time and the state.

mod common;

use common::{in_one_of_eight, is_near, recorded, sleep, waited};
use phalanx::dist::Block;
use phalanx::{Comm, Source, Tag, call, op};
use phalanx_waits::record::EventKind;
use phalanx_waits::summary::By;
use phalanx_waits::wait_state::WaitState;
use std::time::{Duration, Instant};

/// The words of a rank: when it came to the call, where others may have waited for it, and the line
/// of the call for which it was late.
type Came = (Instant, u32);

/// Runs `f`, in which rank 2 of 3 sleeps; checks the record of those that wait for it.
fn check(name: &str, waiters: &[usize], state: WaitState, f: impl Fn(&mut Comm) -> Came + Sync) {
    in_one_of_eight(|| {
        let start = line!() + 2;
        let (run, summary, came) = recorded(name, 3, |comm| {
            comm.barrier();
            f(comm)
        });
        let is_at = |at: &str, line: u32| at.contains(&format!("known_calls.rs:{line}:"));
        // On a busy machine a thread comes late to the run, and the others wait for it there.
        let mut culprits = summary.culprits.iter().filter(|row| !is_at(&row.at, start));
        let first = culprits.next().unwrap();
        assert_eq!((first.rank, first.by), (2, By::Work), "{:#?}", summary.culprits);
        assert!(is_at(&first.at, came[2].1), "{first:?}, wanted line {}", came[2].1);
        for &rank in waiters {
            let (waited, wanted) = (waited(&summary, rank, 2, &first.at), came[2].0 - came[rank].0);
            assert!(is_near(waited, wanted), "rank {rank} waited {waited} ns for {wanted:?}");
            // It is in the call of its own line.
            let line = &summary.lines[rank];
            let at = |wait: usize| run.text(line.calls[line.waits[wait].call.unwrap()].at);
            let late = summary.late[rank].iter().filter(|it| is_at(at(it.wait), came[rank].1));
            let longest = late.max_by_key(|it| it.end - it.begin).unwrap();
            assert_eq!((longest.state, longest.culprit), (state, 2), "rank {rank}");
        }
    });
}

/// Rank 2 sleeps; all say when they go on.
fn come(comm: &Comm) -> Instant {
    if comm.rank() == 2 {
        sleep(60);
    }
    Instant::now()
}

#[test]
fn a_plan_of_ghosts_waits_for_the_late_neighbour() {
    for len in [1, 1000] {
        check("ghosts", &[0, 1], WaitState::LateSender, |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let next = (rank + 1) % size;
            let before = (rank + size - 1) % size;
            let block = Block::new(len * size, size);
            let ghosts: Vec<usize> =
                [before, next].into_iter().flat_map(|it| block.range(it)).collect();
            let plan = comm.ghosts(&block, &ghosts);
            let mut got = vec![0.0; ghosts.len()];
            comm.barrier();
            let came = come(comm);
            plan.gather(comm, &vec![1.0; len], &mut got);
            (came, line!() - 1)
        });
    }
}

#[test]
fn a_request_is_waited_for_where_the_program_waits() {
    for len in [1, 1000] {
        check("request", &[0, 1], WaitState::NxN, |comm| {
            let mut x = vec![1.0; len];
            let came = come(comm);
            comm.requests(|scope| {
                let late = line!() + 1;
                let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                scope.wait(sum);
                let rank = scope.comm().rank();
                (came, if rank == 2 { late } else { line!() - 2 })
            })
        });
    }
}

/// Rank 2 has started its call, and computes: nobody gets on before it waits for something.
#[test]
fn a_rank_that_computes_while_a_long_call_is_under_way_is_late_until_it_waits() {
    check("progress", &[0, 1], WaitState::NxN, |comm| {
        let mut x = vec![1.0; 100_000];
        comm.requests(|scope| {
            let sum = scope.start(call::all_reduce(&mut x, op::Sum));
            let came = come(scope.comm());
            scope.wait(sum);
            (came, line!() - 1)
        })
    });
}

#[test]
fn a_tagged_message_of_any_source_names_the_rank_that_has_sent_it() {
    check("tagged", &[0], WaitState::LateSender, |comm| {
        let came = come(comm);
        match comm.rank() {
            0 => {
                comm.recv_tagged(&mut [0_u8; 8], Source::Any, Tag::Any);
                (came, line!() - 1)
            }
            2 => {
                comm.send_tagged(&[1_u8; 8], 0, 7);
                (came, line!() - 1)
            }
            _ => (came, 0),
        }
    });
    check("started-tagged", &[0], WaitState::LateSender, |comm| {
        let came = come(comm);
        let mut x = [0_u8; 8];
        match comm.rank() {
            0 => comm.requests(|scope| {
                let got = scope.start(call::recv_tagged(&mut x, Source::Any, 7));
                scope.wait(got);
                (came, line!() - 1)
            }),
            2 => {
                comm.send_tagged(&[1_u8; 8], 0, 7);
                (came, line!() - 1)
            }
            _ => (came, 0),
        }
    });
    check("lent", &[0], WaitState::LateReceiver, |comm| {
        let (came, mut long) = (come(comm), vec![0_u8; 100_000]);
        match comm.rank() {
            0 => {
                comm.send_tagged(&long, 2, 7);
                (came, line!() - 1)
            }
            2 => {
                comm.recv_tagged(&mut long, 0, 7);
                (came, line!() - 1)
            }
            _ => (came, 0),
        }
    });
}

#[test]
fn a_window_and_varied_blocks_wait_for_the_last_rank() {
    check("window", &[0, 1], WaitState::NxN, |comm| {
        let mut window = comm.shared::<f64>(100);
        comm.barrier();
        let came = come(comm);
        window.update(comm, |mine| mine.fill(1.0));
        (came, line!() - 1)
    });
    for len in [1, 1000] {
        check("varied", &[0, 1], WaitState::NxN, |comm| {
            let mut all = vec![0.0; 3 * len];
            let came = come(comm);
            comm.all_gather_varied_into(&vec![1.0; len], &mut all, &[len; 3]);
            (came, line!() - 1)
        });
        check("vec", &[0, 1], WaitState::NxN, |comm| {
            let came = come(comm);
            comm.all_to_all_vec(&vec![1.0; 3 * len], &[len; 3]);
            (came, line!() - 1)
        });
    }
}

/// Of several requests the one that is late is named, though another one is waited for first.
#[test]
fn a_wait_for_any_request_names_the_rank_that_has_ended_it() {
    in_one_of_eight(|| {
        let (_, summary, _) = recorded("any", 3, |comm| {
            let mut x = [[0_u8; 8]; 2];
            let [a, b] = &mut x;
            comm.barrier();
            match comm.rank() {
                0 => comm.requests(|scope| {
                    let open = [
                        scope.start(call::recv_tagged(a, 1, 0)),
                        scope.start(call::recv_tagged(b, 2, 0)),
                    ];
                    assert_eq!(scope.wait_any(&open), 1);
                }),
                rank => {
                    sleep(if rank == 1 { 120 } else { 60 });
                    comm.send_tagged(&[0_u8; 8], 0, 0);
                }
            }
        });
        let late = &summary.late[0];
        let first = late.iter().find(|it| it.end - it.begin > 30_000_000).unwrap();
        assert_eq!((first.culprit, first.state), (2, WaitState::LateSender), "{late:#?}");
        assert!(late.iter().any(|it| it.culprit == 1), "{late:#?}");
        assert!(Duration::from_nanos(first.end - first.begin) < Duration::from_millis(100));
    });
}

#[test]
fn looks_in_turn_are_one_event_each() {
    let (run, summary, _) = recorded("looks", 1, |comm| {
        let mut other = comm.split(0, 0);
        for _ in 0..1000 {
            assert!(comm.try_probe(Source::Any, Tag::Any).is_none());
            assert!(other.try_probe(Source::Any, Tag::Any).is_none());
        }
        comm.barrier();
    });
    let calls = summary.lines[0].calls.iter();
    let looks = calls.filter(|call| run.text(call.name) == "try_probe");
    assert_eq!(looks.count(), 2);
    assert_eq!(summary.calls.iter().find(|row| row.call == "barrier").unwrap().calls, 1);
}

#[test]
fn a_call_of_another_language_has_its_line_there() {
    let (run, summary, _) = recorded("foreign", 2, |comm| {
        let call = phalanx::engine::ForeignCall::kept("phx_barrier", "heat.c", 45);
        let note = phalanx::engine::note(comm, call);
        comm.barrier();
        drop(note);
        comm.all_reduce(&mut [1], op::Sum);
    });
    for line in &summary.lines {
        let [first, second, _] = &line.calls[..] else { panic!("{:?}", line.calls) };
        assert_eq!((run.text(first.name), run.text(first.at)), ("barrier", "heat.c:45"));
        assert!(run.text(second.at).contains("known_calls.rs:"), "{second:?}");
    }
}

/// The facts of a call are in its event, whether it said so before it began or after.
#[test]
fn events_have_bytes_algorithm_number_and_partner() {
    let (run, summary, _) = recorded("facts", 2, |comm| {
        let (rank, mut x) = (comm.rank(), [1_u32; 100]);
        comm.broadcast(&mut x, 1);
        comm.all_reduce(&mut x[..3], op::Sum);
        match rank {
            0 => comm.send(&x[..7], 1),
            _ => comm.recv(&mut x[..7], 0),
        }
        comm.shift(&mut x[..1], 1);
        comm.all_gather_varied_into(&x[..rank + 1], &mut [0; 3], &[1, 2]);
    });
    for (rank, line) in summary.lines.iter().enumerate() {
        let calls: Vec<_> = line.calls.iter().map(|it| (run.text(it.name), it.bytes)).collect();
        let message = if rank == 0 { "send" } else { "recv" };
        let varied = ("all_gather_varied_into", 12);
        let wanted = [("broadcast", 400), ("all_reduce", 12), (message, 28), ("shift", 4), varied];
        assert_eq!(calls[..5], wanted);
    }
    for (rank, events) in run.ranks.iter().enumerate() {
        let calls: Vec<_> = events.events.iter().filter(|it| it.kind == EventKind::Call).collect();
        let peers: Vec<_> = calls.iter().map(|it| it.peer).collect();
        // The root, and the partner; a shift's distance is no rank.
        assert_eq!(peers, [Some(1), None, Some(1 - rank), None, None]);
        let numbers: Vec<_> = calls.iter().map(|it| it.call > 0).collect();
        assert_eq!(numbers, [true, true, false, true, true]);
        assert!(!run.text(calls[1].algorithm).is_empty(), "{:?}", calls[1]);
    }
}
