//! Segmented scans: every way against the sequence on one thread.

// A request is forgotten on purpose.
#![allow(clippy::forget_non_drop)]

use crate::common::{bomb, failure, sizes, team};
use phalanx::op::{self, Operator};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Element, Team, call};
use std::fmt::Debug;

type Way = fn(&mut Comm);

/// An affine map; they do not commute, and have no identity here.
type Map = (i64, i64);

fn after(f: Map, g: Map) -> Map {
    (f.0 * g.0 % 1009, (f.1 * g.0 + g.1) % 1009)
}

fn mix(a: usize, b: usize, c: usize) -> usize {
    (a * 7919 + b * 104_729 + c * 31 + 17) % 1013
}

/// The block of a rank: some are empty.
fn len(rank: usize, case: usize) -> usize {
    match case {
        0 => 1,
        1 => 3,
        2 => rank % 3 * 2,
        3 => usize::from(rank == 2) * 5,
        4 => 0,
        _ => 40 + rank,
    }
}

/// Flags: none, all, few, and many.
fn flag(rank: usize, i: usize, case: usize) -> bool {
    match case % 4 {
        0 => false,
        1 => true,
        2 => mix(rank, i, case).is_multiple_of(11),
        _ => mix(rank, i, case).is_multiple_of(3),
    }
}

/// A rank's block of the scan, made on one thread.
fn wanted<T: Element, O: Operator<T>>(
    all: &[Vec<(T, bool)>],
    (rank, op): (usize, &O),
    exclusive: bool,
) -> Vec<T> {
    let mut sum: Option<T> = None;
    let mut blocks = all.iter().map(|block| {
        let mut place = |&(own, flag): &(T, bool)| {
            let before = if flag { None } else { sum };
            let with_own = before.map_or(own, |sum| op.combine(sum, own));
            sum = Some(with_own);
            if exclusive { before.or(op.identity()).unwrap_or(own) } else { with_own }
        };
        block.iter().map(&mut place).collect::<Vec<T>>()
    });
    blocks.nth(rank).unwrap()
}

/// All ways of both calls.
fn every_way<T: Element + PartialEq + Debug, O: Operator<T> + Copy + 'static>(
    comm: &mut Comm,
    cases: (usize, usize),
    op: O,
    make: fn(usize) -> T,
) {
    let (rank, p) = (comm.rank(), comm.size());
    let block = |rank| {
        let n = len(rank, cases.0);
        let at = |i| (make(mix(rank, i, cases.1)), flag(rank, i, cases.1));
        (0..n).map(at).collect::<Vec<(T, bool)>>()
    };
    let all: Vec<Vec<(T, bool)>> = (0..p).map(block).collect();
    let (own, flags): (Vec<T>, Vec<bool>) = all[rank].iter().copied().unzip();
    let of = |exclusive| wanted(&all, (rank, &op), exclusive);
    macro_rules! ways {
        ($call:ident, $exclusive:expr) => {{
            let want = of($exclusive);
            let mut x = own.clone();
            comm.$call(&mut x, &flags, op);
            assert_eq!(x, want, "at once");
            for algorithm in Algorithm::for_operation(Operation::ExclusiveScan) {
                if algorithm.schedule(&Request::new(Operation::ExclusiveScan, p)).is_ok() {
                    x.copy_from_slice(&own);
                    comm.with(algorithm).$call(&mut x, &flags, op);
                    assert_eq!(x, want, "{algorithm}");
                }
            }
            x.copy_from_slice(&own);
            let (gives, work) = comm.overlap(call::$call(&mut x, &flags, op), || 7);
            assert_eq!((&*gives, work), (&want[..], 7), "overlapped");
            // Of two that are under way, the second is forgotten.
            let (mut y, mut z) = (own.clone(), own.clone());
            comm.requests(|scope| {
                let first = scope.start(call::$call(&mut y, &flags, op));
                std::mem::forget(scope.start(call::$call(&mut z, flags.clone(), op)));
                assert_eq!(scope.wait(first), want, "started");
            });
            assert_eq!((&y, &z), (&want, &want), "when the scope has ended");
            let mut y = own.clone();
            comm.requests(|scope| {
                let mut idle = scope.set_up(call::$call(&mut y, &flags, op));
                for turn in 0..3 {
                    idle.buf_mut().copy_from_slice(&own);
                    let open = scope.start(idle);
                    if turn == 1 {
                        scope.comm().barrier();
                    }
                    idle = scope.wait(open);
                    assert_eq!(idle.buf(), want, "set up");
                }
            });
        }};
    }
    ways!(segmented_scan, false);
    ways!(exclusive_segmented_scan, true);
}

#[test]
fn every_way_gives_the_scan_of_the_sequence() {
    for p in sizes([1, 2, 3, 4, 5, 9]) {
        let run = team(p).run(|comm| {
            for cases in (0..6).flat_map(|lens| (0..4).map(move |flags| (lens, flags))) {
                every_way(comm, cases, op::Sum, |x| x as u64);
                every_way(comm, cases, op::Max, |x| (x as f64).sin());
                every_way(comm, cases, op::ordered(after), |x| (x as i64, 3));
                // More than a started call copies.
                every_way(comm, cases, op::Sum, |x| [x; 100]);
            }
        });
        run.unwrap_or_else(|error| panic!("{p} ranks: {error}"));
    }
}

/// Of a sequence over the ranks in each place of a vector: a scan by a closure on pairs.
#[test]
fn places_of_vectors_are_segmented_by_a_closure() {
    let out = team(4).run(|comm| {
        let mut x = [(1, false), (10, comm.rank() == 2)];
        let anew = |a: (i32, bool), b: (i32, bool)| if b.1 { b } else { (a.0 + b.0, a.1) };
        comm.scan(&mut x, op::ordered(anew));
        x.map(|(sum, _)| sum)
    });
    assert_eq!(out.unwrap(), [[1, 10], [2, 20], [3, 10], [4, 20]]);
}

#[test]
fn too_few_flags_end_the_run() {
    let ways: [(&str, Way); 3] = [
        ("segmented_scan", |comm| comm.segmented_scan(&mut [1, 2, 3], &[true, false], op::Sum)),
        ("started exclusive_segmented_scan", |comm| {
            let mut x = [1, 2, 3];
            comm.requests(|scope| {
                let flags = vec![true; 2];
                let open = scope.start(call::exclusive_segmented_scan(&mut x, flags, op::Sum));
                let _ = scope.wait(open);
            });
        }),
        ("persistent segmented_scan", |comm| {
            let mut x = [1, 2, 3];
            comm.requests(|scope| {
                drop(scope.set_up(call::segmented_scan(&mut x, vec![true; 2], op::Sum)));
            });
        }),
    ];
    for (name, way) in ways {
        let text = failure(team(2).run(way)).to_string();
        assert!(text.contains(name), "{text}");
        assert!(text.contains("the list of flags has 2 elements, must have 3"), "{text}");
    }
}

/// Ranks that call different ones, or by different operators, hear of it.
#[test]
fn ranks_that_disagree_end_the_run() {
    let ways: [Way; 3] = [
        |comm| match comm.rank() {
            0 => comm.segmented_scan(&mut [1], &[true], op::Sum),
            _ => comm.exclusive_segmented_scan(&mut [1], &[true], op::Sum),
        },
        |comm| match comm.rank() {
            0 => comm.segmented_scan(&mut [1], &[true], op::Sum),
            _ => comm.segmented_scan(&mut [1], &[true], op::Max),
        },
        |comm| match comm.rank() {
            0 => comm.segmented_scan(&mut [1], &[true], op::Sum),
            _ => comm.exclusive_scan(&mut [1], op::Sum),
        },
    ];
    for way in ways {
        let error = failure(team(2).run(way));
        assert!(matches!(error, phalanx::Error::Mismatch { .. }), "{error}");
    }
}

/// An operator that fails in a rank's own work, before the call, within it and after it.
#[test]
fn a_panic_of_the_operator_ends_the_run() {
    for poison in 0..4 {
        for way in 0..3 {
            let team = Team::builder().ranks(3).build().unwrap();
            let error = failure(team.run(|comm| {
                let op = op::ordered(
                    move |a: u64, b: u64| {
                        if b == 9 || a == 9 { bomb() } else { a + b }
                    },
                );
                let rank = comm.rank();
                let mut x: [u64; 3] = std::array::from_fn(|i| 10 + i as u64);
                match (poison, rank) {
                    (0, 1) => x[2] = 9,
                    (1, 1) => x = [9, 9, 9],
                    (2, 2) => x[0] = 9,
                    (3, 0) => x[1] = 9,
                    _ => {}
                }
                // Alone in its segment: only the work after the call combines it.
                let flags = [poison == 2 && rank == 1, false, poison == 0];
                match way {
                    0 => comm.segmented_scan(&mut x, &flags, op),
                    1 => comm.requests(|scope| {
                        let flags = flags.to_vec();
                        let open = scope.start(call::segmented_scan(&mut x, flags, op));
                        let _ = scope.wait(open);
                    }),
                    _ => comm.requests(|scope| {
                        let idle = scope.set_up(call::segmented_scan(&mut x, flags.to_vec(), op));
                        let open = scope.start(idle);
                        let _ = scope.wait(open);
                    }),
                }
                comm.barrier();
            }));
            let text = error.to_string();
            assert!(text.contains("bomb"), "{poison} {way}: {text}");
            team.run(|comm| comm.barrier()).unwrap();
        }
    }
}
