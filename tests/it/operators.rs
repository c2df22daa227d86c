//! Operators on arrays and tuples: element by element, in every order that a reduction has.

use crate::common::team;
use phalanx::{Comm, Element, Order, op};
use std::fmt::Debug;

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
        let run = team(p).run(|comm| {
            for n in [1, 5, 400, 3000] {
                both(comm, n, op::Sum, |i| i as u64 * 0x9e37_79b9);
                both(comm, n, op::Prod, |i| i as u32);
                both(comm, n, op::Min, |i| (i % 101) as f64 - 50.0);
                both(comm, n, op::Max, |i| (i % 103) as f32 - 50.0);
                both(comm, n, op::BitOr, |i| i as u16);
            }
        });
        run.unwrap();
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
