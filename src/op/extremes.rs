//! The smaller and the larger of two floats, and of two pairs `(value, index)`: one result, bit by
//! bit, in whatever order and by whatever tree the operands of a reduction are combined.
//!
//! The rule is `minimum` and `maximum` of IEEE 754-2019: -0 is smaller than 0, and a NaN makes the
//! result NaN. Its bits are then all ones: a sign and a payload that were one operand's would
//! depend on the tree.
//!
//! Why a NaN is not ignored (`minimumNumber`): it is the trace of a fault, and a maximum that
//! ignores it calls a diverged residual small. Infinity is the identity of this rule; the other has
//! none among the numbers. And this rule costs less: for each vector two minima, an `or`, a
//! comparison and an `or`, where the other needs two comparisons and two blends more.

use crate::element::Element;
use std::any::Any;

/// Floats of any width.
pub(super) trait Extremes: Element {
    /// The smaller one.
    fn lower(self, other: Self) -> Self;
    /// The larger one.
    fn upper(self, other: Self) -> Self;
}

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Extremes for $float {
            // `if a < b { a } else { b }` is one instruction. It takes the right one of two equal
            // operands: where the two orders differ the operands are 0 and -0, and their bits in
            // common, or all their bits, are the larger or the smaller one.
            #[inline(always)]
            fn lower(self, other: Self) -> Self {
                let (a, b) = (self, other);
                let (x, y) = (if a < b { a } else { b }, if b < a { b } else { a });
                let lower = Self::from_bits(x.to_bits() | y.to_bits());
                if a.is_nan() || b.is_nan() { Self::from_bits(!0) } else { lower }
            }

            #[inline(always)]
            fn upper(self, other: Self) -> Self {
                let (a, b) = (self, other);
                let (x, y) = (if a > b { a } else { b }, if b > a { b } else { a });
                let upper = Self::from_bits(x.to_bits() & y.to_bits());
                if a.is_nan() || b.is_nan() { Self::from_bits(!0) } else { upper }
            }
        }
    )*};
}

floats! { f32 f64 }

#[cfg(feature = "half")]
mod half_precision {
    use super::Extremes;
    use half::{bf16, f16};

    /// Bits as an integer in the order of the numbers, and back.
    #[inline(always)]
    fn flipped(bits: i16) -> i16 {
        bits ^ ((bits >> 15) & i16::MAX)
    }

    macro_rules! half_floats {
        ($($float:ty)*) => {$(
            impl Extremes for $float {
                #[inline(always)]
                fn lower(self, other: Self) -> Self {
                    let bits = [self.to_bits(), other.to_bits(), Self::INFINITY.to_bits()];
                    Self::from_bits(by_bits(bits, i16::min))
                }

                #[inline(always)]
                fn upper(self, other: Self) -> Self {
                    let bits = [self.to_bits(), other.to_bits(), Self::INFINITY.to_bits()];
                    Self::from_bits(by_bits(bits, i16::max))
                }
            }
        )*};
    }

    #[inline(always)]
    fn by_bits([a, b, infinite]: [u16; 3], chosen: impl Fn(i16, i16) -> i16) -> u16 {
        let is_nan = |bits: u16| bits & i16::MAX.cast_unsigned() > infinite;
        let of_numbers = flipped(chosen(flipped(a.cast_signed()), flipped(b.cast_signed())));
        if is_nan(a) || is_nan(b) { !0 } else { of_numbers.cast_unsigned() }
    }

    half_floats! { f16 bf16 }
}

/// `combine(x, y)`, if these are of type `F`; which the compiler knows.
#[inline(always)]
fn of_type<F: Element, V: Element>(x: V, y: V, combine: impl Fn(F, F) -> F) -> Option<V> {
    let float = |x: &V| (x as &dyn Any).downcast_ref::<F>().copied();
    let result = combine(float(&x)?, float(&y)?);
    (&result as &dyn Any).downcast_ref::<V>().copied()
}

/// The extreme of two values, if they are floats.
macro_rules! of_floats {
    ($x:expr, $y:expr, $extreme:ident) => {{
        let (x, y) = ($x, $y);
        let known = of_type(x, y, f64::$extreme).or_else(|| of_type(x, y, f32::$extreme));
        #[cfg(feature = "half")]
        let known = known.or_else(|| of_type(x, y, half::f16::$extreme));
        #[cfg(feature = "half")]
        let known = known.or_else(|| of_type(x, y, half::bf16::$extreme));
        known
    }};
}

/// The pair with the value that is `before` the other, or is not ordered even with itself (NaN), or
/// else the pair with the lower index. Of floats the value is the `extreme` of both.
#[inline(always)]
fn pair<V: Element + PartialOrd, I: Element + Ord>(
    left: (V, I),
    right: (V, I),
    before: impl Fn(&V, &V) -> bool,
    extreme: impl Fn(V, V) -> Option<V>,
) -> (V, I) {
    let is_nan = |x: &V| x.partial_cmp(x).is_none();
    let wins = |x: &V, y: &V| !is_nan(y) && (is_nan(x) || before(x, y));
    let is_right = wins(&right.0, &left.0) || (!wins(&left.0, &right.0) && right.1 < left.1);
    let (value, index) = if is_right { right } else { left };
    (extreme(left.0, right.0).unwrap_or(value), index)
}

/// See [`MinLoc`](super::MinLoc).
#[inline(always)]
pub(super) fn lower_pair<V, I>(left: (V, I), right: (V, I)) -> (V, I)
where
    V: Element + PartialOrd,
    I: Element + Ord,
{
    pair(left, right, |x, y| x < y, |x, y| of_floats!(x, y, lower))
}

/// See [`MaxLoc`](super::MaxLoc).
#[inline(always)]
pub(super) fn upper_pair<V, I>(left: (V, I), right: (V, I)) -> (V, I)
where
    V: Element + PartialOrd,
    I: Element + Ord,
{
    pair(left, right, |x, y| x > y, |x, y| of_floats!(x, y, upper))
}
