//! Element types of many kinds (no bytes to 16 KiB, aligned to 1 to 16 KiB, floats, structs with
//! padding), and their operators.
//!
//! Data repeat after [`PERIOD`] elements, so that the oracle of a long vector is
//! cheap, and every element of it can still be compared.

use crate::one_call::{Buffers, OneCall};
use crate::random::mix;
use crate::started_calls::StartedCalls;
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element, call};
use std::fmt;
use std::ops::Range;

/// A prime, so that no block of a usual length lies at a multiple of it.
const PERIOD: usize = 4093;

/// The work of a rank's operators and views beside their work: some panic.
pub(crate) type Tick<'a> = &'a dyn Fn();

/// A reduction, with the buffers that it needs.
pub(crate) enum Reduction<'a, T> {
    /// Any collective, which may combine.
    Of(&'a OneCall, (&'a [T], &'a mut [T])),
    AllReduceWhile(&'a mut [T]),
    Whole(&'a [T], usize, &'a mut Option<T>),
    /// One to four calls in a scope.
    Started(&'a mut StartedCalls<T>),
}

impl<T: Element> Reduction<'_, T> {
    fn call(self, comm: &mut Comm, op: impl Operator<T>) {
        match self {
            Reduction::Of(it, buffers) => it.make(comm, op, buffers),
            Reduction::AllReduceWhile(x) => comm.overlap(call::all_reduce(x, op), || ()).1,
            Reduction::Whole(mine, offset, result) => *result = comm.fixed_reduce(mine, op, offset),
            Reduction::Started(calls) => calls.run(comm, &op),
        }
    }
}

/// An element that a soak test can use.
pub(crate) trait Thing: Element + PartialEq + fmt::Debug {
    /// Its operators are numbered from 0.
    const OPERATORS: usize;

    /// The value that stands for `hash`.
    fn make(hash: u64) -> Self;

    /// The result of operator `which` for two.
    fn fold(which: usize, left: Self, right: Self) -> Self;

    /// Whether operator `which` is commutative.
    fn is_commutative(which: usize) -> bool;

    /// Calls the library with operator `which`.
    fn reduce(comm: &mut Comm, which: usize, call: Reduction<'_, Self>, tick: Tick<'_>);
}

/// A type's operators: the library's, and closures over `fold`.
macro_rules! thing {
    ($t:ty, $make:expr, { $($which:literal $kind:ident $op:expr;)* }) => {
        impl Thing for $t {
            const OPERATORS: usize = [$($which),*].len();

            fn make(hash: u64) -> Self {
                let make: fn(u64) -> Self = $make;
                make(hash)
            }

            fn fold(which: usize, left: Self, right: Self) -> Self {
                match which {
                    $($which => thing!(@fold $kind $op, left, right),)*
                    _ => unreachable!("no operator {which}"),
                }
            }

            fn is_commutative(which: usize) -> bool {
                match which {
                    $($which => thing!(@commutes $kind),)*
                    _ => unreachable!("no operator {which}"),
                }
            }

            fn reduce(comm: &mut Comm, which: usize, call: Reduction<'_, Self>, tick: Tick<'_>) {
                match which {
                    $($which => thing!(@call $kind $op, comm, call, tick),)*
                    _ => unreachable!("no operator {which}"),
                }
            }
        }
    };
    (@fold library $op:expr, $l:ident, $r:ident) => { Operator::<Self>::combine(&$op, $l, $r) };
    (@fold $closure:ident $f:expr, $l:ident, $r:ident) => {{
        let f: fn(Self, Self) -> Self = $f;
        f($l, $r)
    }};
    (@commutes ordered) => { false };
    (@commutes $other:ident) => { true };
    (@call library $op:expr, $comm:ident, $call:ident, $tick:ident) => {{
        let _ = $tick;
        $call.call($comm, $op)
    }};
    (@call $closure:ident $f:expr, $comm:ident, $call:ident, $tick:ident) => {{
        let f: fn(Self, Self) -> Self = $f;
        $call.call($comm, op::$closure(|l, r| {
            $tick();
            f(l, r)
        }))
    }};
}

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

thing!(u64, |h| h, {
    0 library op::Sum;
    1 library op::Max;
    2 library op::BitXor;
    3 commutative |l, r| l.wrapping_mul(r);
    // Affine maps, packed: first the left one, then the right one.
    4 ordered |l, r| {
        let ((a, b), (c, d)) = ((l as u32, (l >> 32) as u32), (r as u32, (r >> 32) as u32));
        let (e, f) = (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d));
        u64::from(e) | u64::from(f) << 32
    };
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

fn repeated<T: Thing>(from: usize, n: usize, value: impl Fn(usize) -> T) -> Vec<T> {
    let mut all = Vec::with_capacity(n);
    all.extend((from..from + n.min(PERIOD)).map(value));
    while all.len() < n {
        let more = (n - all.len()).min(PERIOD);
        all.extend_from_within(..more);
    }
    all
}

fn value<T: Thing>(salt: u64, rank: usize, i: usize) -> T {
    T::make(mix(salt ^ mix((rank as u64) << 32 | (i % PERIOD) as u64)))
}

/// Elements `from..from + n` of the contribution of rank `rank`.
pub(crate) fn input<T: Thing>(salt: u64, rank: usize, from: usize, n: usize) -> Vec<T> {
    repeated(from, n, |i| value(salt, rank, i))
}

/// The same, combined over `ranks` (not none) by operator `which`, in rank
/// order.
pub(crate) fn folded<T: Thing>(
    salt: u64,
    mut ranks: Range<usize>,
    which: usize,
    from: usize,
    n: usize,
) -> Vec<T> {
    let first = ranks.next().expect("somebody contributes");
    repeated(from, n, |i| {
        let fold = |sum, rank| T::fold(which, sum, value(salt, rank, i));
        ranks.clone().fold(value(salt, first, i), fold)
    })
}

/// A call's arguments, and its result by operator `which`; an exclusive scan's first rank may have
/// another.
pub(crate) fn buffers<T: Thing>(it: &OneCall, salt: u64, which: usize) -> Buffers<T> {
    let vector = |rank, of: Range<usize>| input(salt, rank, of.start, of.len());
    let sum = |upto: usize, of: Range<usize>| match upto {
        0 => vector(0, of),
        _ => folded(salt, 0..upto, which, of.start, of.len()),
    };
    it.buffers_of(T::make(0), &vector, &sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_associative<T: Thing>() {
        for which in 0..T::OPERATORS {
            let fold = |l, r| T::fold(which, l, r);
            let mut commutes = true;
            for salt in 0..50 {
                let [a, b, c] = [0, 1, 2].map(|rank| value::<T>(salt, rank, 7));
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
