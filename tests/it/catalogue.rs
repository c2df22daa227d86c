//! Checks on real threads that every algorithm of the catalogue computes its operation. Every id, p
//! = 1..=11 and 16, every root and shift, two lengths.

use crate::common::one_call as call;
use crate::common::{runs, sizes};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Team, op};

#[test]
fn every_algorithm_on_threads() {
    let mut ran = std::collections::HashSet::new();
    for p in sizes((1..=11).chain([16])) {
        let team = Team::builder().ranks(p).build().unwrap();
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                let many = operation.is_rooted() || operation == Operation::Shift;
                for v in 0..if many { p } else { 1 } {
                    let request = Request::new(operation, p).root(v).shift(v as isize);
                    if algorithm.schedule(&request).is_err() {
                        continue;
                    }
                    ran.insert(algorithm);
                    runs(&team, format!("{algorithm} p={p} root/shift={v}"), |comm| {
                        for (salt, n) in [3, 50, 3].into_iter().enumerate() {
                            call(&mut comm.with(algorithm), operation, v, n, salt);
                        }
                    });
                }
            }
        }
    }
    for algorithm in Algorithm::ALL {
        assert!(ran.contains(algorithm), "{algorithm} was never run");
    }
}

/// Blocks that travel by address, above all in place: where one leaves another arrives.
#[test]
fn total_exchanges_of_long_blocks() {
    for p in sizes((1..=9).chain([16])) {
        let team = Team::builder().ranks(p).build().unwrap();
        for operation in Operation::ALL.into_iter().filter(|operation| operation.has_pairs()) {
            for algorithm in Algorithm::for_operation(operation) {
                if algorithm.schedule(&Request::new(operation, p)).is_err() {
                    continue;
                }
                runs(&team, format!("{operation} by {algorithm}, p={p}"), |comm| {
                    for n in [129, 601, 0] {
                        call(comm, operation, 0, n, 1);
                        call(&mut comm.with(algorithm), operation, 0, n, 2);
                    }
                });
            }
        }
    }
}

#[test]
fn what_cannot_run_says_why() {
    let team = Team::builder().ranks(6).build().unwrap();
    let err = team.run(|comm| comm.with(Algorithm::AG_HCUBE).all_gather_into(&[1], &mut [0; 6]));
    let text = err.unwrap_err().to_string();
    assert!(text.contains("AG-HCUBE needs a power of two"), "{text}");
    assert!(text.contains("catalogue.rs"), "{text}");

    let err = team.run(|comm| comm.with(Algorithm::AG_RING).broadcast(&mut [1], 0));
    let text = err.unwrap_err().to_string();
    assert!(text.contains("not for broadcast"), "{text}");

    let text = team.run(|comm| comm.mesh(4, 2).barrier()).unwrap_err().to_string();
    assert!(text.contains("4x2"), "{text}");

    let err = team.run(|comm| {
        let op = op::ordered(|a: u64, _| a);
        comm.with(Algorithm::RS_RING).reduce_scatter_into(&[1; 60], &mut [0; 10], op);
    });
    let text = err.unwrap_err().to_string();
    assert!(text.contains("does not combine in rank order"), "{text}");

    let text = team.run(|comm| comm.broadcast(&mut [1], 6)).unwrap_err().to_string();
    assert!(text.contains("root 6 is no rank of a communicator of 6"), "{text}");
    team.run(|comm| comm.barrier()).unwrap();
}
