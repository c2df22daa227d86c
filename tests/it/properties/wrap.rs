//! Counters that wrap: of messages (32 bits), of calls in a fingerprint (14 bits),
//! of waits (32 bits). They begin near their end, and the whole of the collectives
//! goes across it.

use crate::common::{bomb_if, check_usable, every_operation, fails, failure, right, runs, watch};
use phalanx::engine::TestSettings as _;
use phalanx::{Error, Team, op};

fn team_from(p: usize, start: u32) -> Team {
    Team::builder().ranks(p).counting_from(start).build().unwrap()
}

/// By so much before the wrap, that it falls into every part of the battery.
const BEFORE: [u32; 9] = [0, 1, 2, 3, 5, 17, 64, 150, 301];

#[test]
fn every_operation_across_the_end() {
    let watch = watch();
    for p in [1, 2, 3, 5, 8] {
        for before in BEFORE {
            let team = team_from(p, u32::MAX - before);
            for n in [1, 50] {
                watch.case(format!("p={p}, {before} before, n={n}"));
                runs(&team, format!("p={p}, {before} before, n={n}"), |comm| {
                    every_operation(comm, n, 1);
                    every_operation(&mut comm.ring(), n, 2);
                    // A child begins near the end again.
                    let mut child = comm.split(0, p - comm.rank());
                    every_operation(&mut child, n, 3);
                    for _ in 0..before.min(40) {
                        child.barrier();
                    }
                    right(&mut child, 4);
                });
            }
            check_usable(&team, 1);
        }
    }
}

/// One channel, one way and both, message by message across the end.
#[test]
fn messages_across_the_end() {
    let watch = watch();
    for before in 0..12 {
        let team = team_from(2, u32::MAX - before);
        for n in [1, 100] {
            watch.case(format!("{before} before, n={n}"));
            runs(&team, format!("{before} before, n={n}"), |comm| {
                let mut child = comm.split(0, comm.rank());
                for k in 0..30u64 {
                    if child.rank() == 0 {
                        child.send(&vec![k; n], 1);
                    } else {
                        let mut x = vec![0; n];
                        child.recv(&mut x, 0);
                        assert_eq!(x, vec![k; n]);
                    }
                }
                for k in 0..30u64 {
                    let mut x = vec![0; n];
                    let peer = 1 - child.rank();
                    child.exchange(&vec![k; n], peer, &mut x, peer);
                    assert_eq!(x, vec![k; n]);
                }
            });
        }
    }
}

/// The 14 bits of a call's number: 2^14 calls and more, none confused with
/// another; and a rank that is a call behind is told so on both sides of the wrap.
#[test]
fn calls_across_the_end() {
    let watch = watch();
    for start in [0, (1 << 14) - 20, u32::MAX - 20] {
        for skip in [5, 18, 19, 20, 21, 22, 35] {
            watch.case(format!("from {start}, call {skip} left out"));
            let team = team_from(3, start);
            let error = fails(&team, |comm| {
                for k in 0..40 {
                    if !(comm.rank() == 2 && k == skip) {
                        comm.all_reduce(&mut [k], op::Max);
                        comm.barrier();
                    }
                    if comm.rank() == 2 && k == skip {
                        comm.barrier();
                    }
                }
            });
            let text = error.to_string();
            let Error::Mismatch { rank, peer, .. } = error else { panic!("{text}") };
            assert_eq!((rank, peer), (0, 2), "{text}");
            assert!(text.contains("operation: expected all_reduce, got barrier"), "{text}");
        }
    }
    watch.case("2^15 barriers");
    let team = team_from(2, 0);
    team.run(|comm| (0..33_000).for_each(|_| comm.barrier())).unwrap();
    check_usable(&team, 1);
}

/// Waits are numbered, too: circles and poison are found across the end.
#[test]
fn failures_across_the_end() {
    let watch = watch();
    for before in [0, 1, 2, 7] {
        let team = team_from(3, u32::MAX - before);
        for round in 0..4 {
            watch.case(format!("{before} before, round {round}"));
            let error = failure(team.run(|comm| {
                comm.barrier();
                comm.recv(&mut [0; 100], (comm.rank() + 1) % 3);
            }));
            assert!(matches!(error, Error::Deadlock { .. }), "{error}");
            let error = failure(team.run(|comm| {
                right(comm, 1);
                bomb_if(comm.rank() == round % 3);
                right(comm, 2);
            }));
            assert!(matches!(error, Error::Panicked { .. }), "{error}");
            let error = fails(&team, |comm| {
                comm.barrier();
                if comm.rank() == 1 {
                    comm.send(&[1], 2);
                }
            });
            assert!(matches!(error, Error::Unreceived { messages: 1, .. }), "{error}");
        }
    }
}
