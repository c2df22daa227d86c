//! Attempts to read freed memory or to hang that the other files do not make; `TRUST.md` has the
//! list of all.

use crate::common::{
    Canary, add_alive, bomb, bomb_if, check_usable, fails, failure, on_threads, right, succeeds,
    team, watch,
};
use phalanx::{Comm, Error, Team, op};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic drops the rank's sub-communicators before it is reported; a rank that waits in one must
/// still hear of the panic, not of a rank that has left.
#[test]
fn a_panic_drops_a_child_that_peers_wait_in() {
    let _watch = watch();
    let team = team(2);
    for round in 0..300 {
        let error = failure(team.run(|comm| {
            let mut child = comm.split(0, comm.rank());
            bomb_if(comm.rank() == 1);
            child.recv(&mut [round], 1);
        }));
        assert!(matches!(error, Error::Panicked { rank: 1, .. }), "round {round}: {error}");
    }
    for _ in 0..50 {
        let errors = on_threads(Team::external(2).unwrap(), |mut comm| {
            let result = comm.protect(|comm| {
                let mut child = comm.split(0, comm.rank());
                bomb_if(comm.rank() == 1);
                child.recv(&mut [1], 1);
            });
            result.unwrap_err()
        });
        assert!(
            errors.iter().all(|e| matches!(e, Error::Panicked { rank: 1, .. } | Error::Dead)),
            "{errors:?}"
        );
    }
}

/// The same where the rank catches its own panic, and goes on.
#[test]
fn a_caught_panic_drops_a_child() {
    let _watch = watch();
    let team = team(2);
    let lose = |comm: &mut Comm| {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _child = comm.split(0, comm.rank());
            bomb()
        }));
        assert!(caught.is_err());
    };
    // Everybody loses it: nobody misses it.
    succeeds(&team, |comm| {
        lose(comm);
        right(comm, 1);
    });
    // A peer waits in it, and this rank returns, or waits for that peer.
    for waits in [false, true] {
        let error = fails(&team, |comm| {
            if comm.rank() == 1 {
                lose(comm);
                if waits {
                    comm.barrier();
                }
            } else {
                comm.split(0, 0).barrier();
            }
        });
        let fits = match error {
            Error::Left { peer: 1, .. } => !waits,
            Error::Mismatch { .. } | Error::Deadlock { .. } => waits,
            _ => false,
        };
        assert!(fits, "{error}");
    }
}

/// Both communicators of one external team on one thread: it would wait for itself for ever, if
/// there were no deadline.
#[test]
fn one_thread_as_two_ranks() {
    let _watch = watch();
    let builder = Team::builder().ranks(2).deadline(std::time::Duration::from_millis(50));
    let mut comms = builder.external().unwrap();
    let error = comms[0].protect(|comm| comm.barrier()).unwrap_err();
    assert!(matches!(error, Error::Deadline { rank: 0, peer: 1, .. }), "{error}");
}

/// Lengths at the edges of those that fit a fingerprint's 12 bits, a mailbox's line, and nothing.
#[test]
fn lengths_at_the_edges() {
    let _watch = watch();
    let team = team(3);
    succeeds(&team, |comm| {
        for n in [0, 1, 5, 6, 4095, 4096, 4097, 1 << 16] {
            let mut x = Canary(vec![1; n]);
            comm.all_reduce(&mut x.0, op::commutative(add_alive));
            assert!(x.0.iter().all(|&x| x == 3));
            // Elements of no size: there is nothing to move, and much of it.
            let mut units = vec![(); n];
            comm.broadcast(&mut units, 1);
            let mut all = vec![(); 3 * n];
            comm.all_gather_into(&units, &mut all);
            comm.all_to_all_into(&all.clone(), &mut all);
            comm.shift(&mut units, 1);
            comm.exchange(&units, (comm.rank() + 1) % 3, &mut all[..n], (comm.rank() + 2) % 3);
        }
        // More of them than 32 bits count.
        let mut many = vec![(); 1 << 33];
        comm.broadcast(&mut many, 0);
        comm.shift(&mut many, 1);
    });
    // Lengths that agree in their low 12 bits only.
    for (n, m) in [(1, 4097), (5, 4096 + 5), (100, 4196), (0, 1 << 32)] {
        let error = fails(&team, |comm| {
            let n = if comm.rank() == 2 { m } else { n };
            comm.broadcast(&mut vec![(); n], 0);
            let mut x = vec![0u8; n.min(1 << 20)];
            comm.shift(&mut x, 1);
            comm.all_reduce(&mut x, op::Sum);
        });
        assert!(matches!(error, Error::Mismatch { .. }), "{n} and {m}: {error}");
    }
}

/// Lengths on both sides of every limit between two ways of travelling: 40, 60, 64, 96, 104 and
/// 1024 bytes; as many bytes of other elements.
#[test]
fn lengths_around_the_lines() {
    type Call = fn(&mut Comm, usize);
    const CALLS: [Call; 7] = [
        |c, n| c.broadcast(&mut vec![7u8; n], 0),
        |c, n| c.all_gather_into(&vec![7u8; n], &mut vec![0; n * c.size()]),
        |c, n| c.scan(&mut vec![7u8; n], op::BitOr),
        |c, n| c.exclusive_scan(&mut vec![7u8; n], op::BitOr),
        |c, n| c.all_reduce(&mut vec![7u8; n], op::BitOr),
        |c, n| c.shift(&mut vec![7u8; n], 1),
        |c, n| match c.rank() {
            0 => (1..c.size()).for_each(|to| c.send(&vec![7u8; n], to)),
            _ => c.recv(&mut vec![0u8; n], 0),
        },
    ];
    const OTHERS: [Call; 4] = [
        |c, n| c.broadcast(&mut vec![[7u8; 8]; n / 8], 0),
        |c, n| c.all_gather_into(&vec![7u64; n / 8], &mut vec![0; n / 8 * c.size()]),
        |c, n| c.scan(&mut vec![7u32; n / 4], op::BitOr),
        |c, n| c.exclusive_scan(&mut vec![7u16; n / 2], op::BitOr),
    ];
    let _watch = watch();
    for p in [2, 3] {
        let team = team(p);
        for (i, call) in CALLS.iter().enumerate() {
            for n in [40, 60, 64, 96, 104, 1024] {
                for (usual, odd) in [(n, n + 1), (n + 1, n)] {
                    for who in [0, p - 1] {
                        let error = failure(team.run(|comm| {
                            call(comm, if comm.rank() == who { odd } else { usual });
                        }));
                        let fits = match error {
                            Error::Mismatch { .. } => true,
                            // Messages: it may wait for the other to answer, or be gone.
                            Error::Unreceived { .. } | Error::Left { .. } => i == 6,
                            _ => false,
                        };
                        assert!(fits, "p={p}, call {i}, {usual} and {odd}: {error}");
                    }
                }
                if let Some(other) = OTHERS.get(i) {
                    let error = failure(team.run(|comm| match comm.rank() {
                        0 => call(comm, n),
                        _ => other(comm, n),
                    }));
                    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
                }
            }
            check_usable(&team, 1);
        }
    }
}

/// More messages than a channel's slots, and numbers that go around them many times.
#[test]
fn counters_go_around() {
    let _watch = watch();
    let team = team(2);
    succeeds(&team, |comm| {
        let it = 1 - comm.rank();
        for k in 0..20_000u64 {
            let mut got = [0];
            comm.exchange(&[k], it, &mut got, it);
            assert_eq!(got, [k]);
        }
        // Past the 14 bits of a call's number in a fingerprint.
        for k in 0..20_000u64 {
            let mut x = [k];
            comm.all_reduce(&mut x, op::Max);
            assert_eq!(x, [k]);
        }
    });
}
