//! Element types of many kinds: no bytes to 16 KiB, aligned to 1 to 16 KiB, floats, structs with
//! padding.

use crate::kit::{Reduction, Sort, Thing, Tick, thing};
use phalanx::Comm;
use phalanx::op::{self, Operator};

// Each costs half a minute of compiling.
pub(crate) const SORTS: [Sort; 6] = [
    Sort::of::<u8>(),
    Sort::of::<f64>(),
    Sort::of::<Triple>(),
    Sort::of::<Padded>(),
    Sort::of::<Huge>(),
    Sort::of::<NothingFarApart>(),
];

/// A struct with padding, in which bytes are not values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Padded {
    sum: u64,
    last: u8,
}

/// An odd size.
pub(crate) type Triple = [u16; 3];

/// Larger, and aligned to more, than a block of a fixed-order reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16384))]
pub(crate) struct Huge([u64; 2048]);

impl Huge {
    fn each(of: impl FnMut(usize) -> u64) -> Self {
        Huge(std::array::from_fn(of))
    }
}

/// No bytes, aligned to more than a block of a fixed-order reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(16384))]
pub(crate) struct NothingFarApart;

thing!(u8, |h| h as u8, {
    0 library op::Sum;
    1 library op::BitOr;
    2 commutative |l, r| l.max(r);
});

thing!(f64, |h| ((h & 1023) as i16 - 512) as f64, {
    0 library op::Sum; // Whole numbers: exact in any order.
    1 library op::Min;
    2 commutative |l, r| l + r;
});

thing!(Triple, |h| [h as u16, (h >> 16) as u16, (h >> 32) as u16], {
    0 commutative |l, r| std::array::from_fn(|i| l[i].wrapping_add(r[i]));
    1 ordered |l, r| [l[0], r[1], l[2].wrapping_add(r[2])];
});

thing!(Padded, |h| Padded { sum: h, last: (h >> 7) as u8 }, {
    0 ordered |l, r| Padded { sum: l.sum.wrapping_add(r.sum), last: r.last };
});

thing!(Huge, |h| Huge::each(|i| h.wrapping_add(i as u64)), {
    0 commutative |l, r| Huge::each(|i| l.0[i].wrapping_add(r.0[i]));
    1 ordered |l, r| Huge::each(|i| if i % 2 == 0 { l.0[i] } else { r.0[i] });
});

thing!(NothingFarApart, |_| NothingFarApart, {
    0 commutative |_, r| r;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::{folded, input};

    fn is_associative<T: Thing>() {
        for which in 0..T::OPERATORS {
            let fold = |l, r| T::fold(which, l, r);
            let mut commutes = true;
            for salt in 0..50 {
                let [a, b, c] = [0, 1, 2].map(|rank| input::<T>(salt, rank, 7, 1)[0]);
                assert_eq!(fold(fold(a, b), c), fold(a, fold(b, c)), "operator {which}");
                commutes &= fold(a, b) == fold(b, a);
            }
            assert_eq!(commutes, T::is_commutative(which), "operator {which}");
        }
    }

    #[test]
    fn operators_are_what_they_are_said_to_be() {
        is_associative::<u8>();
        is_associative::<u64>();
        is_associative::<f64>();
        is_associative::<Triple>();
        is_associative::<Padded>();
        is_associative::<Huge>();
        is_associative::<NothingFarApart>();
    }

    #[test]
    fn long_vectors_are_pieces_of_one() {
        let whole: Vec<u64> = input(3, 1, 0, 10_000);
        for (from, n) in [(0, 1), (5, 0), (4000, 200), (4093, 5000), (9000, 1000)] {
            assert_eq!(input::<u64>(3, 1, from, n), whole[from..from + n]);
            let both: Vec<u64> = folded(3, 0..2, 0, from, n);
            let other: Vec<u64> = input(3, 0, from, n);
            let sums = other.iter().zip(&whole[from..]).map(|(a, b)| a.wrapping_add(*b));
            assert_eq!(both, sums.collect::<Vec<_>>());
        }
    }
}
