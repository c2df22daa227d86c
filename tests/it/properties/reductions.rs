//! Calls that combine data: operators, types, order, bits.

use crate::common::{OneCall, noise, runs, sizes, team, watch};
use phalanx::op::{self, Operator};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Element};
use std::fmt::Debug;

/// All reductions of `n` elements `make(rank, i)` against a fold in rank order.
fn all_reductions<T: Element + PartialEq + Debug, O: Operator<T> + Copy>(
    comm: &mut Comm,
    n: usize,
    op: O,
    make: &dyn Fn(usize, usize) -> T,
) {
    let roots: Vec<usize> = (0..comm.size()).collect();
    for it in OneCall::all(comm, n, &roots, &[]).iter().filter(|it| it.operation.combines()) {
        it.check(comm, op, make);
    }
}

/// All-reduce, in the mailbox's line and beyond it, and reduce: the operator's
/// own code is in these.
fn two_reductions<T: Element + PartialEq + Debug, O: Operator<T> + Copy>(
    comm: &mut Comm,
    n: usize,
    op: O,
    make: fn(usize, usize) -> T,
) {
    for operation in [Operation::AllReduce, Operation::Reduce] {
        OneCall::new(comm, operation, (n % comm.size()) as isize, n).check(comm, op, &make);
    }
}

macro_rules! on_types {
    ($comm:ident, $n:ident, [$($op:ident)*], $types:tt) => {
        $(on_types!(@one $comm, $n, $op, $types);)*
    };
    (@one $comm:ident, $n:ident, $op:ident, [$($t:ty: $make:expr),*]) => {
        $(two_reductions::<$t, _>($comm, $n, op::$op, |r, i| $make(noise(r, i)));)*
    };
}

#[test]
fn every_operator_on_every_type() {
    let watch = watch();
    for p in [1, 2, 3, 5, 8] {
        let team = team(p);
        for n in [1, 3, 50] {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                on_types!(comm, n,
                    [Sum Prod Min Max BitAnd BitOr BitXor And Or Xor],
                    [i8: |x| x as i8, i16: |x| x as i16, i32: |x| x as i32, i64: |x| x as i64,
                     i128: |x: u64| i128::from(x) << 40, isize: |x| x as isize,
                     u8: |x| x as u8, u16: |x| x as u16, u32: |x| x as u32, u64: |x| x,
                     u128: |x: u64| u128::from(x) << 64, usize: |x| x as usize]);
                // Small whole numbers: sums and products are exact.
                on_types!(comm, n, [Sum Prod Min Max],
                    [f32: |x: u64| (x % 5) as f32 - 1.0, f64: |x: u64| (x % 16) as f64 - 4.0]);
                on_types!(comm, n, [BitAnd BitOr BitXor And Or Xor],
                    [bool: |x: u64| x.is_multiple_of(3)]);
                on_types!(comm, n, [MinLoc MaxLoc],
                    [(u8, usize): |x: u64| (x as u8 % 4, (x >> 8) as usize % 50),
                     (f64, u32): |x: u64| ((x % 7) as f64, (x >> 8) as u32 % 5),
                     (i32, i64): |x: u64| (x as i32, x as i64)]);
                // Every root, in place and not.
                all_reductions(comm, n, op::Sum, &|r, i| noise(r, i) as i32);
                all_reductions(comm, n, op::MinLoc, &|r, i| (noise(r, i) as u8 % 4, r));
            });
        }
    }
}

/// Permutations compose in their order, whatever the root.
#[test]
fn permutations_in_rank_order() {
    let watch = watch();
    for p in sizes(1..=11) {
        let team = team(p);
        for n in [1, 2, 5, 6, 40, 333] {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                let compose = op::ordered(|a: [u8; 5], b: [u8; 5]| b.map(|i| a[i as usize]));
                let turn = |r: usize, i: usize| {
                    let mut x = [0, 1, 2, 3, 4];
                    x.swap((r + i) % 5, noise(r, i) as usize % 5);
                    x.rotate_left(r % 5);
                    x
                };
                all_reductions(comm, n, compose, &turn);
                all_reductions(&mut comm.ring(), n, compose, &turn);
                all_reductions(&mut comm.hypercube(), n, compose, &turn);
                all_reductions(&mut comm.tree(), n, compose, &turn);
            });
        }
    }
}

#[test]
fn declared_otherwise() {
    let _watch = watch();
    for p in [2, 3, 6, 7, 8] {
        for n in [1, 9, 200] {
            runs(&team(p), format!("p={p}, n={n}"), |comm| {
                let add = |a: u64, b: u64| a.wrapping_add(b);
                all_reductions(comm, n, op::ordered(add), &noise);
                all_reductions(comm, n, op::commutative(add), &noise);
                all_reductions(comm, n, op::with_identity(op::ordered(add), 0), &noise);
                all_reductions(comm, n, op::Sum, &noise);
            });
        }
    }
}

/// left(x, y) = x gives rank 0's, right(x, y) = y the last rank's: by every
/// algorithm that combines in rank order.
#[test]
fn projections() {
    let watch = watch();
    for p in sizes(1..=9) {
        let team = team(p);
        for operation in [Operation::AllReduce, Operation::Reduce, Operation::ReduceScatter] {
            let request = Request::new(operation, p);
            let serves = |a: &Algorithm| a.schedule(&request).is_ok_and(|s| s.is_ordered());
            for algorithm in Algorithm::for_operation(operation).filter(serves) {
                watch.case(format!("{algorithm}, p={p}"));
                runs(&team, format!("{algorithm}, p={p}"), |comm| {
                    let mut comm = comm.with(algorithm);
                    for (n, is_left) in [1, 7, 64].into_iter().flat_map(|n| [(n, true), (n, false)])
                    {
                        let op = op::ordered(move |a, b| if is_left { a } else { b });
                        OneCall::new(&*comm, operation, 0, n).check(&mut *comm, op, &noise);
                    }
                });
            }
        }
    }
}

/// BIG, -BIG and TINY on every pair of ranks: their sum depends on the association, which must be
/// one and the same on all ranks, and in every run, of this team and of another.
#[test]
fn the_same_bits() {
    const BIG: f64 = 1e300;
    const TINY: f64 = 1e-300;
    let inputs = |r: usize, p: usize| -> Vec<f64> {
        let pairs = (0..p).flat_map(|a| (0..p).map(move |b| (a, b)));
        let of = |(a, b): (usize, usize)| match r {
            _ if a == b => 0.1 * (r + 1) as f64,
            _ if r == a => BIG,
            _ if r == b => -BIG,
            _ => TINY * (r + 1) as f64,
        };
        pairs.map(of).chain((0..900).map(|i| (noise(r, i) >> 11) as f64 * 1e-7)).collect()
    };
    let watch = watch();
    for p in [2, 3, 5, 7, 8] {
        let request = Request::new(Operation::AllReduce, p);
        let serve = Algorithm::for_operation(Operation::AllReduce);
        let algorithms = serve.filter(|a| a.schedule(&request).is_ok()).map(Some);
        for algorithm in algorithms.chain([None]) {
            watch.case(format!("p={p}, {algorithm:?}"));
            let mut first: Option<Vec<u64>> = None;
            for _ in 0..2 {
                let team = team(p);
                for _ in 0..3 {
                    let all = team.run(|comm| {
                        let mut x = inputs(comm.rank(), p);
                        let mut few = x[..5].to_vec();
                        match algorithm {
                            Some(a) => comm.with(a).all_reduce(&mut x, op::Sum),
                            None => {
                                comm.all_reduce(&mut x, op::Sum);
                                comm.all_reduce(&mut few, op::Sum);
                            }
                        }
                        x.extend(few.iter().take(if algorithm.is_none() { 5 } else { 0 }));
                        x.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
                    });
                    for bits in all.unwrap() {
                        let first = first.get_or_insert_with(|| bits.clone());
                        assert!(*first == bits, "p={p}, {algorithm:?}: other bits");
                    }
                }
            }
        }
    }
}

/// Sums that are exact in any order come out exactly.
#[test]
fn predictable_sums() {
    let _watch = watch();
    for p in [2, 5, 8] {
        runs(&team(p), format!("p={p}"), |comm| {
            for n in [1, 77, 3000] {
                // Multiples of 1/16 below 2^20.
                let make = |r: usize, i: usize| (noise(r, i) % (1 << 24)) as f64 / 16.0;
                all_reductions(comm, n, op::Sum, &make);
                let make = |r: usize, i: usize| (noise(r, i) % (1 << 16)) as f32 / 16.0;
                all_reductions(comm, n, op::Sum, &make);
            }
        });
    }
}

#[test]
fn locations_of_equals() {
    let _watch = watch();
    for p in sizes(1..=11) {
        runs(&team(p), format!("p={p}"), |comm| {
            let r = comm.rank();
            for n in [1, 50] {
                // Everybody has the same value; the locations are shuffled.
                let mut x = vec![(1.5, (r + 3) % p); n];
                comm.all_reduce(&mut x, op::MinLoc);
                assert_eq!(x, vec![(1.5, 0); n]);
                let mut x: Vec<(i8, usize)> = (0..n).map(|i| (((r + i) % 2) as i8, r)).collect();
                comm.all_reduce(&mut x, op::MaxLoc);
                let lowest = |i: usize| (0..p).find(|q| (q + i) % 2 == 1);
                let wanted = |i| lowest(i).map_or((0, 0), |q| (1, q));
                assert_eq!(x, (0..n).map(wanted).collect::<Vec<_>>());
            }
        });
    }
}

/// A user's operator on a user's struct, by lengths that double.
#[test]
fn vectors_up_to_130_000() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Three {
        sum: u32,
        largest: u8,
        last: u16,
    }
    let join = |a: Three, b: Three| Three {
        sum: a.sum.wrapping_add(b.sum),
        largest: a.largest.max(b.largest),
        last: b.last,
    };
    let make = |r: usize, i: usize| {
        let x = noise(r, i);
        Three { sum: x as u32, largest: (x >> 32) as u8, last: (x >> 40) as u16 }
    };
    let watch = watch();
    for p in [2, 3, 8] {
        let team = team(p);
        let mut n = 1;
        while n <= 131_072 {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                let r = comm.rank();
                let mut x: Vec<Three> = (0..n).map(|i| make(r, i)).collect();
                comm.all_reduce(&mut x, op::ordered(join));
                // All would take longer than the reduction.
                for i in (0..n).step_by(1 + n / 1000) {
                    let wanted = (1..p).fold(make(0, i), |x, q| join(x, make(q, i)));
                    assert_eq!(x[i], wanted, "element {i} of {n}");
                }
            });
            n *= 2;
        }
    }
}
