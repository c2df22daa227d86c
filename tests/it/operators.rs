//! Operators: one result on every way, whatever the tree; on arrays and tuples element by element.

use crate::common::{
    Bits, double, one_result, one_result_of_floats, single, sizes, succeeds, team, watch,
};
use phalanx::op::Operator;
use phalanx::{Comm, Element, Order, op};
use std::fmt::Debug;

/// The bits of every operator's result are those of the fold in rank order: all ways of a call, all
/// forced algorithms, one rank to nine, on two cores or fewer for each.
#[test]
fn every_way_gives_one_result() {
    let watch = watch();
    for p in sizes(1..=9) {
        // Lines, gates, eager copies, and the boards of longer vectors.
        for n in [1, 10, 330] {
            watch.case(format!("p = {p}, n = {n}"));
            let run = team(p).run(|comm| one_result(comm, n));
            run.unwrap_or_else(|e| panic!("p = {p}, n = {n}: {e}"));
        }
    }
    for (p, n) in [(2, 40_000), (3, 9000)] {
        watch.case(format!("p = {p}, n = {n}"));
        team(p).run(|comm| one_result_of_floats(comm, n)).unwrap();
    }
}

/// No order and no tree of three operands shows in the bits, and `wanted` says which bits.
fn has_one_result<T: Bits + Debug, O: Operator<T>>(
    op: O,
    make: impl Fn(usize) -> T,
    wanted: impl Fn([T; 3]) -> T,
) {
    let all: Vec<T> = (0..32).map(make).collect();
    for &a in &all {
        for &b in &all {
            for &c in &all {
                let one = wanted([a, b, c]).bits();
                let of = |x, y| op.combine(x, y);
                for (x, y, z) in [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]
                {
                    assert_eq!(of(of(x, y), z).bits(), one, "{} of {x:?} {y:?} {z:?}", O::NAME);
                    assert_eq!(of(x, of(y, z)).bits(), one, "{} of {x:?} {y:?} {z:?}", O::NAME);
                }
            }
        }
    }
    if let Some(identity) = op.identity() {
        assert!(all.iter().all(|&x| op.combine(identity, x).bits() == wanted([x; 3]).bits()));
    }
}

/// The results of calls are compared with folds by these.
#[test]
fn sums_and_products_are_those_of_integers() {
    for (a, b) in [(0, 0), (1, 2), (u64::MAX, 5), (3, 1 << 63)] {
        let (sum, product) = (a.wrapping_add(b), a.wrapping_mul(b));
        assert_eq!((op::Sum.combine(a, b), op::Prod.combine(a, b)), (sum, product));
    }
    assert_eq!((op::Sum.identity(), op::Prod.identity()), (Some(0u64), Some(1u64)));
}

#[test]
fn minima_and_maxima_have_one_result() {
    // Each sort of float: the sixteen bit patterns.
    let (wide, narrow) = (|x: usize| double(x, 4), |x: usize| single(x, 4));
    macro_rules! floats {
        ($float:ident, $make:expr) => {
            let by = |sign: i8| {
                move |xs: [$float; 3]| {
                    if xs.iter().any(|x| x.is_nan()) {
                        return $float::from_bits(!0);
                    }
                    let order = |x: &$float, y: &$float| {
                        if sign < 0 { x.total_cmp(y) } else { y.total_cmp(x) }
                    };
                    xs.into_iter().min_by(order).unwrap()
                }
            };
            has_one_result(op::Min, $make, by(-1));
            has_one_result(op::Max, $make, by(1));
            // Of pairs the value is that; the place is the lowest of those that compare equal.
            let placed = |sign: i8| {
                move |xs: [($float, u8); 3]| {
                    let value = by(sign)(xs.map(|x| x.0));
                    let is_it = |x: &$float| *x == value || (x.is_nan() && value.is_nan());
                    let places = xs.iter().filter(|x| is_it(&x.0)).map(|x| x.1);
                    (value, places.min().unwrap())
                }
            };
            has_one_result(op::MinLoc, |x| ($make(x), x as u8 / 16), placed(-1));
            has_one_result(op::MaxLoc, |x| ($make(x), x as u8 / 16), placed(1));
        };
    }
    floats!(f64, wide);
    floats!(f32, narrow);
    #[cfg(feature = "half")]
    {
        use half::{bf16, f16};
        floats!(f16, |x: usize| crate::common::short(x, 4));
        floats!(bf16, |x: usize| crate::common::brain(x, 4));
    }
}

#[test]
fn logical_operators_give_0_or_1() {
    let truth = |xs: [i8; 3]| xs.map(|x| x != 0);
    let make = |x: usize| [0, 1, -1, 7, i8::MIN, 64][x % 6];
    has_one_result(op::And, make, |xs| truth(xs).iter().all(|&x| x).into());
    has_one_result(op::Or, make, |xs| truth(xs).iter().any(|&x| x).into());
    has_one_result(op::Xor, make, |xs| truth(xs).iter().fold(false, |x, y| x ^ y).into());
}

/// Operators on arrays: as on the slice without the arrays, on every way that a call can take.
#[test]
fn arrays_are_combined_element_by_element() {
    fn both<T, O>(comm: &mut Comm, n: usize, op: O, make: impl Fn(usize) -> T)
    where
        T: Element + PartialEq + Debug,
        O: op::Operator<T> + op::Operator<[T; 3]> + Copy,
    {
        let r = comm.rank();
        let flat: Vec<T> = (0..3 * n).map(|i| make(i * 31 + r * 17)).collect();
        let arrays: Vec<[T; 3]> = flat.chunks(3).map(|c| [c[0], c[1], c[2]]).collect();
        let same = |comm: &mut Comm| {
            let (mut a, mut f) = (arrays.clone(), flat.clone());
            comm.all_reduce(&mut a, op);
            comm.all_reduce(&mut f, op);
            assert_eq!(a.as_flattened(), f, "{n} arrays");
            let (mut a, mut f) = (arrays.clone(), flat.clone());
            comm.exclusive_scan(&mut a, op);
            comm.exclusive_scan(&mut f, op);
            assert_eq!(a.as_flattened(), f, "{n} arrays");
        };
        same(comm);
        same(&mut comm.ring());
        same(&mut comm.with_order(Order::Fixed));
    }
    for p in 1..=5 {
        succeeds(&team(p), |comm| {
            for n in [1, 5, 400, 3000] {
                both(comm, n, op::Sum, |i| i as u64 * 0x9e37_79b9);
                both(comm, n, op::Prod, |i| i as u32);
                both(comm, n, op::Min, |i| (i % 101) as f64 - 50.0);
                both(comm, n, op::Max, |i| (i % 103) as f32 - 50.0);
                both(comm, n, op::BitOr, |i| i as u16);
            }
        });
    }
}

/// The same bits of arrays as of their elements, in fixed order and by `fixed_sum`.
#[test]
fn arrays_and_tuples_are_summed_in_fixed_order() {
    let make = |i: usize| (i as f64 * 0.7).sin() * 10f64.powi((i % 20) as i32);
    let mut seen = std::collections::BTreeSet::new();
    for p in 1..=5 {
        let sums = team(p).run(|comm| {
            let (from, to) = (1000 * comm.rank() / p, 1000 * (comm.rank() + 1) / p);
            let pairs: Vec<(f64, [f64; 2])> =
                (from..to).map(|i| (make(i), [1.0, make(i)])).collect();
            let alone: Vec<f64> = (from..to).map(make).collect();
            let (sum, [count, other]) = comm.fixed_sum(&pairs, from);
            assert_eq!(sum.to_bits(), comm.fixed_sum(&alone, from).to_bits());
            assert_eq!((count, other.to_bits()), (1000.0, sum.to_bits()));
            let [(a, b, [c, d], e)] = comm.sum([(1u8, 2.0, [3i64, 4], 5u16)]);
            let p8 = p as u8;
            assert_eq!(
                (a, b, c, d, e),
                (p8, 2.0 * p as f64, 3 * p as i64, 4 * p as i64, 5 * p as u16)
            );
            let [(a, b)] = comm.all_reduce_values([(2u64, 3u64)], op::Prod);
            assert_eq!((a, b), (1 << p, 3u64.pow(p as u32)));
            sum.to_bits()
        });
        seen.extend(sums.unwrap());
    }
    assert_eq!(seen.len(), 1, "one sum for every number of ranks");
}
