//! The automatic choice on more than four cores with at most one rank each: messages in place of
//! gates. The process pretends to run on a large machine, so this is a program of its own.

use crate::common::{
    Canary, UNEVEN, add_alive, bomb_if, check_usable, every_operation, every_uneven, fails,
    failure, one_result_of_floats, runs, watch,
};
use phalanx::engine::TestSettings as _;
use phalanx::{Algorithm, Comm, Error, Team, Wait, op};
use std::cell::Cell;

fn team(ranks: usize) -> Team {
    // Yielding: the cores are not there.
    Team::builder().pretending_cores(1000).ranks(ranks).wait(Wait::Yield).build().unwrap()
}

/// Lengths in `u64`: 40, 64, 96 and 1024 bytes are limits.
const LENGTHS: [usize; 9] = [0, 1, 5, 6, 8, 12, 13, 128, 129];
#[test]
fn alone() {
    crate::in_a_process(module_path!(), "", None, 6);
}

#[test]
#[ignore = "run by `alone`"]
fn every_operation_by_messages() {
    let watch = watch();
    for p in [2, 3, 5, 6, 7, 8, 11] {
        let team = team(p);
        for n in LENGTHS {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                every_operation(comm, n, n + p);
                if p < 7 && [1, 12, 129].contains(&n) {
                    one_result_of_floats(comm, n);
                }
                let mut child = comm.split(0, p - comm.rank());
                every_operation(&mut child, n, n);
            });
        }
    }
}

#[test]
#[ignore = "run by `alone`"]
fn blocks_of_different_lengths() {
    let watch = watch();
    for p in 2..=7 {
        let team = team(p);
        for n in UNEVEN {
            watch.case(format!("p={p}, n={n}"));
            team.run(|comm| every_uneven(comm, n)).unwrap_or_else(|e| panic!("p={p}, n={n}: {e}"));
        }
    }
}

/// The way taken cannot be seen in the bits.
#[test]
#[ignore = "run by `alone`"]
fn the_bits_are_those_of_the_schedule() {
    let _watch = watch();
    for p in [5, 6, 7, 8, 9] {
        let out = team(p).run(|comm| {
            let rough = |i: usize| [1e16, 1.0, -1e16, 0.1][(comm.rank() + i) % 4] + i as f64;
            let mine: Vec<f64> = (0..12).map(rough).collect();
            let (mut a, mut b) = (mine.clone(), mine);
            comm.all_reduce(&mut a, op::Sum);
            comm.with(Algorithm::AR_ANY).all_reduce(&mut b, op::Sum);
            [a, b].map(|x| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
        });
        let out = out.unwrap();
        assert!(out.iter().flatten().all(|bits| *bits == out[0][0]), "p={p}");
    }
}

#[test]
#[ignore = "run by `alone`"]
fn an_operator_that_panics() {
    type Reduction = fn(&mut Comm, usize, &dyn Fn(u64, u64) -> u64);
    let reductions: [Reduction; 3] = [
        |c, n, add| c.all_reduce(&mut Canary(vec![1; n]).0, op::ordered(add)),
        |c, n, add| c.scan(&mut Canary(vec![1; n]).0, op::ordered(add)),
        |c, n, add| c.reduce(&mut Canary(vec![1; n]).0, op::ordered(add), 2),
    ];
    let watch = watch();
    for p in [5, 7] {
        let team = team(p);
        for (i, reduction) in reductions.iter().enumerate() {
            for n in [1, 8] {
                for who in 0..p {
                    for k in 0.. {
                        watch.case(format!("p={p}, reduction {i}, n={n}, rank {who}, {k}"));
                        let result = team.run(|comm| {
                            let (rank, calls) = (comm.rank(), Cell::new(0));
                            reduction(comm, n, &|a, b| {
                                bomb_if(rank == who && calls.replace(calls.get() + 1) == k);
                                add_alive(a, b)
                            });
                        });
                        match result {
                            Err(Error::Panicked { rank, .. }) => assert_eq!(rank, who),
                            Err(other) => panic!("{other}"),
                            Ok(_) => break,
                        }
                    }
                    check_usable(&team, 1);
                }
            }
        }
    }
}

/// One rank goes, or says something else.
#[test]
#[ignore = "run by `alone`"]
fn ranks_that_disagree() {
    let _watch = watch();
    for p in [5, 6, 8] {
        let team = team(p);
        for odd in 0..p {
            for n in [1, 8, 12] {
                let error = failure(team.run(|comm| {
                    if comm.rank() != odd {
                        comm.all_reduce(&mut Canary(vec![1; n]).0, op::Sum);
                        comm.barrier();
                    }
                }));
                assert!(matches!(error, Error::Left { peer, .. } if peer == odd), "{error}");
                let error = fails(&team, |comm| {
                    let n = n + usize::from(comm.rank() == odd);
                    comm.all_reduce(&mut Canary(vec![1; n]).0, op::Sum);
                    comm.barrier();
                });
                assert!(matches!(error, Error::Mismatch { peer, .. } if peer == odd), "{error}");
            }
        }
    }
}

/// A circle of waits through more ranks than the two that differ: rank 2 makes a barrier before its
/// message, 3 waits for the message, 5 for 3 in the barrier, and 2 for 5. Whichever of them finds
/// the circle, the error names the two.
#[test]
#[ignore = "run by `alone`"]
fn a_circle_names_the_ranks_that_differ() {
    let _watch = watch();
    let team = team(7);
    for round in 0..30 {
        let error = failure(team.run(|comm| {
            let rank = comm.rank();
            if rank == 2 {
                comm.barrier();
            }
            match rank % 2 {
                _ if rank == 6 => {}
                0 => comm.send(&[1u8], rank + 1),
                _ => comm.recv(&mut [0u8], rank - 1),
            }
            if rank != 2 {
                comm.barrier();
            }
        }));
        match &error {
            Error::Mismatch { rank, peer, .. } => {
                assert!([*rank, *peer].contains(&2), "round {round}: {error}");
            }
            other => panic!("round {round}: {other}"),
        }
    }
}
