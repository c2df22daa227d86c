//! Property tests: every id, p = 1..=19, every mesh, every root.

use crate::schedule::{
    Algorithm, Exchange, Hierarchy, Mode, Operation, Request, Schedule, Step, StepTraffic,
    Topology, cases, check,
};
use crate::topology::{Extents, meshes};

#[test]
fn every_algorithm_is_right_on_paper() {
    let mut count = 0;
    let mut refused = Vec::new();
    for &algorithm in Algorithm::ALL {
        let before = count;
        for p in 1..=19 {
            for call in cases(algorithm, p) {
                let schedule = algorithm.schedule(&call).unwrap();
                if let Err(v) = check(&schedule) {
                    refused.push(format!("{algorithm} {call:?}: {v}"));
                }
                count += 1;
            }
        }
        assert!(count > before, "{algorithm} serves nothing");
    }
    assert!(refused.is_empty(), "{} of {count}:\n{}", refused.len(), refused.join("\n"));
}

/// What a schedule says about rank order is exact: those that promise it keep
/// it (the checker's part), those that don't do mix it. (Below four ranks a
/// heap-shaped tree may keep it by accident.)
#[test]
fn order_is_promised_where_it_is_kept() {
    for &algorithm in Algorithm::ALL {
        for p in 4..=16 {
            for call in cases(algorithm, p) {
                let schedule = algorithm.schedule(&call).unwrap();
                let report = check(&schedule).unwrap();
                assert_eq!(report.ordered, schedule.is_ordered(), "{algorithm} {call:?}");
            }
        }
    }
}

/// The sum that each rank of an all-reduce ends with, part by part, of numbers whose sum depends on
/// the order in which they are added.
fn sums(schedule: &Schedule) -> Vec<Vec<u64>> {
    let (p, blocks) = (schedule.contract().ranks, schedule.contract().blocks());
    let value = |rank: usize, block: usize| {
        let h = (rank as u64 * 1_000_003 + block as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [1e16, -1e16, 1.0, 1e-8, 3e8][(h >> 33) as usize % 5] * ((h >> 40) as f64 / 1e7 + 0.5)
    };
    let mut held: Vec<Vec<f64>> =
        (0..p).map(|rank| (0..blocks).map(|block| value(rank, block)).collect()).collect();
    for step in 0..schedule.steps() {
        let before = held.clone();
        for (rank, own) in held.iter_mut().enumerate() {
            let Step { recvs, .. } = schedule.step(step, rank);
            for recv in recvs {
                for block in recv.blocks.iter().flat_map(|run| run.range()) {
                    let got = before[recv.from][block];
                    match recv.mode {
                        Mode::Store => own[block] = got,
                        Mode::Left => own[block] += got,
                        Mode::Right => own[block] += got,
                    }
                }
            }
        }
    }
    held.iter().map(|own| own.iter().map(|x| x.to_bits()).collect()).collect()
}

/// In whatever order an all-reduce adds: all its ranks end with the same bits.
#[test]
fn all_reduces_end_with_the_same_bits_on_every_rank() {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for algorithm in Algorithm::for_operation(Operation::AllReduce) {
        for p in 2..=19 {
            let mut calls = cases(algorithm, p);
            if algorithm.uses_levels() {
                for exchange in [Exchange::Direct, Exchange::Tree] {
                    let levels =
                        Hierarchy::even(p, &[2]).exchanges(&[Exchange::Doubling, exchange]);
                    calls.push(Request::new(Operation::AllReduce, p).levels(levels));
                }
            }
            for call in calls {
                let Ok(schedule) = algorithm.schedule(&call) else { continue };
                let sums = sums(&schedule);
                if sums.iter().any(|own| *own != sums[0]) {
                    wrong.push(format!("{algorithm} {call:?}"));
                }
                looked += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {looked}:\n{}", wrong.len(), wrong.join("\n"));
}

fn shapes(p: usize) -> Vec<Topology> {
    let mut shapes = vec![Topology::Ring, Topology::Linear, Topology::Hypercube, Topology::Tree];
    shapes.extend(meshes(p).into_iter().map(Topology::Mesh));
    shapes
}

#[test]
fn every_shape_serves_every_operation() {
    for p in 1..=17 {
        for shape in shapes(p) {
            for operation in Operation::ALL {
                for commutative in [true, false] {
                    let a = Algorithm::for_topology(operation, &shape, p, commutative);
                    let mut call = Request::new(operation, p).root(p / 2).shift(p as isize / 3);
                    if let Topology::Mesh(dims) = &shape {
                        call = call.dims(dims.clone());
                    }
                    let schedule = a.schedule(&call).unwrap();
                    let report = check(&schedule).unwrap();
                    assert!(commutative || report.ordered, "{a} {call:?}");
                    assert!(commutative || schedule.is_ordered(), "{a} {call:?}");
                }
            }
        }
    }
}

#[test]
fn the_table_is_sound() {
    for (i, a) in Algorithm::ALL.iter().enumerate() {
        assert_eq!(usize::from(a.index()), i);
        assert_eq!(Algorithm::from_index(a.index()), Some(*a));
        assert_eq!(a.id().parse(), Ok(*a));
        assert_eq!(a.id().to_lowercase().parse(), Ok(*a));
        assert_eq!(Algorithm::ALL.iter().filter(|b| b.id() == a.id()).count(), 1);
        let constant = a.id().replace('-', "_");
        assert_eq!(constant.parse(), Ok(*a));
        // A single rank does nothing, whatever the algorithm.
        let alone = Request::new(a.operations()[0], 1);
        assert_eq!(a.schedule(&alone).unwrap().steps(), 0, "{a}");
    }
}

#[test]
fn requests_that_do_not_fit_are_refused_by_name() {
    let refused = |a: Algorithm, r: Request| a.schedule(&r).unwrap_err().to_string();
    let gather = Request::new(Operation::AllGather, 6);
    let bcast = Request::new(Operation::Broadcast, 6);
    assert_eq!(
        refused(Algorithm::BC_RING, gather.clone()),
        "BC-RING is an algorithm for broadcast, not for all-gather"
    );
    assert_eq!(
        refused(Algorithm::SCAN_MESH, gather.clone()),
        "SCAN-MESH is an algorithm for scan and exclusive-scan, not for all-gather"
    );
    assert_eq!(
        refused(Algorithm::BC_RING, bcast.clone().root(6)),
        "root 6 is out of range for 6 ranks"
    );
    assert_eq!(
        refused(Algorithm::AG_MESH, gather.clone().dims(Extents::mesh(2, 4))),
        "a 2x4 mesh has 8 ranks, not 6"
    );
    assert_eq!(
        refused(
            Algorithm::AG_MESH,
            Request::new(Operation::AllGather, 8).dims(Extents::hypercube(3))
        ),
        "AG-MESH is for meshes of rows x columns, and 2x2x2 has 3 dimensions; AG-MESHD takes any"
    );
    assert_eq!(
        refused(Algorithm::BC_HCUBE, Request::new(Operation::Broadcast, 8).root(1)),
        "BC-HCUBE is for root 0 only; BC-HCUBE-SRC takes any root"
    );
    assert_eq!(
        refused(Algorithm::BC_RING, Request::new(Operation::Broadcast, 0)),
        "a schedule needs at least one rank"
    );
    for p in [usize::MAX, (1 << 16) + 1] {
        assert!(Algorithm::TX_ANY.schedule(&Request::new(Operation::AllToAll, p)).is_err());
    }
    assert!(Algorithm::BC_CHAIN.schedule(&bcast.segments(0)).is_err());
    // A shift is taken mod p, backwards too.
    for q in [-1, 5, 11, isize::MAX, isize::MIN] {
        let s = Algorithm::CS_ANY.schedule(&Request::new(Operation::Shift, 6).shift(q)).unwrap();
        assert_eq!(s.contract().shift, q.rem_euclid(6) as usize);
    }
}

/// What `phalanx check` runs: p up to 64. Under a minute in release, so only on
/// demand: `cargo test --release --lib up_to_64 -- --ignored`.
#[test]
#[ignore = "long in a debug build"]
fn every_algorithm_up_to_64_ranks() {
    for &algorithm in Algorithm::ALL {
        for call in (1..=64).flat_map(|p| cases(algorithm, p)) {
            let schedule = algorithm.schedule(&call).unwrap();
            check(&schedule).unwrap_or_else(|v| panic!("{algorithm} {call:?}: {v}"));
        }
    }
}

/// What is said of a step without its blocks is what the step says, and one that repeats another is
/// like it.
#[test]
fn peers_are_those_of_the_steps() {
    let (mut peers, mut again) = (StepTraffic::default(), 0);
    for &algorithm in Algorithm::ALL {
        for p in 1..=19 {
            for call in cases(algorithm, p) {
                let schedule = algorithm.schedule(&call).unwrap();
                let mut before = Vec::new();
                for step in 0..schedule.steps() {
                    let mut all = Vec::new();
                    for rank in 0..p {
                        let mut listed = StepTraffic::default();
                        listed.add(schedule.step(step, rank), rank);
                        schedule.peers(step, rank, &mut peers);
                        assert_eq!(peers, listed, "{algorithm} {call:?}, step {step}, rank {rank}");
                        all.push(listed);
                    }
                    if schedule.repeats(step) {
                        assert_eq!(all, before, "{algorithm} {call:?}, step {step}");
                        again += 1;
                    }
                    before = all;
                }
            }
        }
    }
    assert!(again > 1000, "{again}");
}
