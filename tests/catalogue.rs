//! Checks on real threads that every algorithm of the catalogue computes its operation. Every id, p
//! = 1..=11 and 16, every root and shift, two lengths.

use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Team, op};

fn value(rank: usize, i: usize, salt: usize) -> u64 {
    ((rank as u64) << 32 | (i as u64) << 8 | salt as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn vector(rank: usize, n: usize, salt: usize) -> Vec<u64> {
    (0..n).map(|i| value(rank, i, salt)).collect()
}

fn sum(ranks: std::ops::Range<usize>, n: usize, salt: usize) -> Vec<u64> {
    let add = |i| ranks.clone().fold(0u64, |s, r| s.wrapping_add(value(r, i, salt)));
    (0..n).map(add).collect()
}

/// One call of `operation` on blocks (or vectors) of `n` elements; `v` is the
/// root or the distance.
fn call(comm: &mut Comm, operation: Operation, v: usize, n: usize, salt: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let own = vector(r, n, salt);
    let all: Vec<u64> = (0..p).flat_map(|q| vector(q, n, salt)).collect();
    let wide = vector(r, n * p, salt);
    let mut x = own.clone();
    let mut mine = vec![9; n];
    let mut out = vec![9; n * p];
    let block = r * n..(r + 1) * n;
    let only = |rank: usize, data: &[u64]| if r == rank { data.to_vec() } else { vec![] };
    match operation {
        Operation::Broadcast => {
            comm.broadcast(&mut x, v);
            assert_eq!(x, vector(v, n, salt));
        }
        Operation::Reduce => {
            comm.reduce(&mut x, op::Sum, v);
            assert_eq!(x, if r == v { sum(0..p, n, salt) } else { own });
        }
        Operation::AllGather => {
            comm.all_gather_into(&own, &mut out);
            assert_eq!(out, all);
        }
        Operation::ReduceScatter => {
            comm.reduce_scatter_into(&wide, &mut mine, op::Sum);
            assert_eq!(mine, sum(0..p, n * p, salt)[block]);
        }
        Operation::AllReduce => {
            comm.all_reduce(&mut x, op::Sum);
            assert_eq!(x, sum(0..p, n, salt));
        }
        Operation::Barrier => comm.barrier(),
        Operation::Scan => {
            comm.scan(&mut x, op::Sum);
            assert_eq!(x, sum(0..r + 1, n, salt));
        }
        Operation::ExclusiveScan => {
            comm.exclusive_scan(&mut x, op::Sum);
            assert_eq!(x, sum(0..r, n, salt));
        }
        Operation::Scatter => {
            comm.scatter_into(&only(v, &wide), &mut mine, v);
            assert_eq!(mine, vector(v, n * p, salt)[block]);
        }
        Operation::Gather => {
            let mut out = only(v, &out);
            comm.gather_into(&own, &mut out, v);
            assert_eq!(out, only(v, &all));
        }
        Operation::AllToAll => {
            comm.all_to_all_into(&wide, &mut out);
            let wanted = (0..p).flat_map(|q| vector(q, n * p, salt)[block.clone()].to_vec());
            assert_eq!(out, wanted.collect::<Vec<_>>());
        }
        Operation::Shift => {
            comm.shift(&mut x, v as isize);
            assert_eq!(x, vector((r + p - v) % p, n, salt));
        }
        other => panic!("no test for {other}"),
    }
}

#[test]
fn every_algorithm_on_threads() {
    let mut ran = std::collections::HashSet::new();
    for p in (1..=11).chain([16]) {
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
                    let run = team.run(|comm| {
                        for (salt, n) in [3, 50, 3].into_iter().enumerate() {
                            call(&mut comm.with(algorithm), operation, v, n, salt);
                        }
                    });
                    run.unwrap_or_else(|e| panic!("{algorithm} p={p} root/shift={v}: {e}"));
                }
            }
        }
    }
    for algorithm in Algorithm::ALL {
        assert!(ran.contains(algorithm), "{algorithm} was never run");
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

/// The cost model's choice runs, whatever the rates make it prefer.
#[test]
fn what_the_model_prefers() {
    let rates = |t_s, t_w, ports| phalanx::tuning::Rates { t_s, t_w, ports };
    for p in [1, 2, 3, 4, 6, 8, 9] {
        let team = Team::builder().ranks(p).build().unwrap();
        for rates in [rates(1000.0, 1.0, 1), rates(1.0, 1.0, 1), rates(10.0, 1.0, 4)] {
            for operation in Operation::ALL {
                let run = team.run(|comm| {
                    for (salt, n) in [3, 50, 300].into_iter().enumerate() {
                        call(&mut comm.cheapest(rates), operation, p - 1, n, salt);
                    }
                });
                run.unwrap_or_else(|e| panic!("{operation} p={p} {rates:?}: {e}"));
            }
        }
    }
}
