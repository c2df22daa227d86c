//! Operators: functions that combine two elements into one.
//!
//! All operators must be associative. Whether one is commutative is part of
//! its type; one that is not is always applied in rank order, `x0 (+) x1 (+)
//! .. (+) x(p-1)`, whatever the algorithm.
//!
//! Integers wrap on overflow, as in MPI.
//!
//! But for sums and products of floats, which round, each of the library's operators has one
//! result, bit by bit, whatever the algorithm, the number of ranks and the form of the call.
//! [`Min`] and [`Max`] of floats are `minimum` and `maximum` of IEEE 754-2019: -0 is smaller than
//! 0, and a NaN makes the result NaN, with all bits set. (A NaN is the trace of a fault: a maximum
//! that ignores it calls a diverged residual small. Where it stands for a missing value, put the
//! operator's [identity](Operator::identity) in its place before the call.) [`MinLoc`] and
//! [`MaxLoc`] find the same value, and the lowest index that has it. A value that is combined with
//! nothing is not changed: one rank's result is its own value, and so is rank 0's of a scan.
//!
//! Calls combine, by a program's operators as well, in round-to-nearest and with subnormal numbers,
//! whatever the control of a rank's thread holds (`-ffast-math`, `fesetround`); it is the thread's
//! own again in all other code.
//!
//! With the feature `half`, sums and products of `f16` and `bf16` are made in `f32`, and rounded
//! once, to the nearest (ties to even), when the last operand is in them: in every call, algorithm
//! and order, on every number of ranks and nodes, also of halves within arrays and tuples. So the
//! error of a sum of halves does not grow with the number of ranks, as long as `f32` has room for
//! it; where the order of `f32`'s operations matters, it is that of the algorithm, as for `f32`
//! itself. A partial result may be beyond the range of `f16` (65504 + 65504 - 65504 is 65504), not
//! beyond that of `f32`, which is `bf16`'s. A NaN that comes of two operands has all bits set. A
//! program's own [`combine`](Operator::combine) of two halves rounds each result.
//!
//! ```
//! # #[cfg(feature = "half")] {
//! use half::bf16;
//! let sums = phalanx::run(5, |comm| {
//!     let x = if comm.rank() == 0 { 256.0 } else { 1.0 }; // a bf16 after 256 is 258
//!     comm.sum([bf16::from_f32(x)])
//! })?;
//! assert_eq!(sums[0], [bf16::from_f32(260.0)]);
//! # }
//! # Ok::<(), phalanx::Error>(())
//! ```
//!
//! Of an array `[T; N]` every operator of `T` but `MinLoc` and `MaxLoc` combines each element by
//! itself, as in the slice that [`as_flattened`](slice::as_flattened) makes of the arrays; that
//! holds for `Min` and `Max`, too, although Rust compares arrays as words in a dictionary. `Sum`
//! and `Prod` combine tuples of up to four values field by field; the others do not, since the
//! smaller of two tuples can be meant in several ways (say which one by [`commutative`]).
//!
//! ```
//! use phalanx::op;
//! let boxes = phalanx::run(3, |comm| {
//!     let r = comm.rank() as f64;
//!     let [low] = comm.all_reduce_values([[r, -r, 1.0]], op::Min); // the corner of all boxes
//!     let [(energy, cells)] = comm.sum([(0.5 * r, 10u64)]);
//!     (low, energy, cells)
//! })?;
//! assert_eq!(boxes[0], ([0.0, -2.0, 1.0], 1.5, 30));
//! # Ok::<(), phalanx::Error>(())
//! ```

pub(crate) mod accumulation;
mod extremes;
pub(crate) mod float_control;
pub(crate) mod origin;

pub use origin::OperatorOrigin;
pub(crate) use origin::is_disturbed;

pub(crate) use accumulation::{Accumulating, Accumulation, AsElements, OfInner};
pub(crate) use accumulation::{Avx2, Avx512, Baseline, Vectors, with_vectors};

use crate::element::Element;
use accumulation::{OfEach, OfFields};
use extremes::Extremes;

/// An associative combination of two elements.
///
/// All ranks of a call pass an operator of the same type; that is compared, and two types are an
/// error that names both, even if they have one [`NAME`](Operator::NAME). The values that the
/// operator has captured, or where a function pointer leads, are not compared: they, too, must be
/// the same for the result to mean anything.
///
/// # Examples
/// An operator of one's own, with a name for error messages and an identity:
/// ```
/// use phalanx::op::Operator;
///
/// #[derive(Clone, Copy)]
/// struct Gcd;
///
/// impl Operator<u64> for Gcd {
///     const NAME: &'static str = "gcd";
///     const COMMUTATIVE: bool = true;
///     fn combine(&self, mut a: u64, mut b: u64) -> u64 {
///         while b != 0 {
///             (a, b) = (b, a % b);
///         }
///         a
///     }
///     fn identity(&self) -> Option<u64> {
///         Some(0)
///     }
/// }
///
/// let gcds = phalanx::run(3, |comm| {
///     let mut x = [[12, 18, 30][comm.rank()]];
///     comm.all_reduce(&mut x, Gcd);
///     x[0]
/// })?;
/// assert_eq!(gcds, [6, 6, 6]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operator on elements of type `{T}`",
    label = "does not combine two `{T}`",
    note = "a closure combines any elements: `op::commutative(|a, b| ..)`, or `op::ordered(|a, b| \
            ..)` if the order of the operands matters",
    note = "operators on `num_complex::Complex` and on `half::f16`, `half::bf16` come with the \
            features `complex` and `half` of phalanx"
)]
pub trait Operator<T: Element> {
    /// The operator's kind, shown in errors. (Compared between ranks is its type.)
    const NAME: &'static str;
    /// Whether `combine(a, b)` always equals `combine(b, a)`.
    const COMMUTATIVE: bool;

    /// Whether `combine` is the library's, which neither fails nor makes calls. All others keep
    /// this one.
    const ORIGIN: OperatorOrigin<Self, T> = OperatorOrigin::USER;

    /// Combines `left` and `right`, in this order.
    fn combine(&self, left: T, right: T) -> T;

    /// The element that changes nothing when combined, if there is one. Used
    /// by [`exclusive_scan`](crate::Comm::exclusive_scan) on rank 0.
    fn identity(&self) -> Option<T> {
        None
    }

    /// How partial results are kept: as elements, or as something wider that is rounded once (sums
    /// and products of halves). Other operators than the library's keep this body: they are
    /// elements. Unstable, as the [engine](crate::engine) is.
    ///
    /// # Examples
    /// See [`Accumulation`].
    fn accumulation() -> impl Accumulation<T, Self>
    where
        Self: Sized,
    {
        AsElements
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element, O: Operator<T>> Operator<T> for &O {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    const ORIGIN: OperatorOrigin<Self, T> = OperatorOrigin::of_inner(O::ORIGIN);

    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        (**self).combine(left, right)
    }

    fn identity(&self) -> Option<T> {
        (**self).identity()
    }

    fn accumulation() -> impl Accumulation<T, Self> {
        OfInner(O::accumulation())
    }
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name;
    )*};
}

operators! {
    /// The sum. Identity 0.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::Sum.combine(2, 3), 5);
    /// ```
    Sum "sum";
    /// The product. Identity 1.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::Prod.combine(2.0, 3.5), 7.0);
    /// ```
    Prod "prod";
    /// The smaller; of floats -0 beside 0, and NaN (all bits set) beside anything. Identity: the
    /// largest value, of floats infinity.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::Min.combine(2, 3), 2);
    /// assert!(op::Min.combine(0.0f64, -0.0).is_sign_negative());
    /// assert_eq!(op::Min.combine(1.0, f64::NAN).to_bits(), u64::MAX);
    /// ```
    Min "min";
    /// The larger; of floats 0 beside -0, and NaN (all bits set) beside anything. Identity: the
    /// smallest value, of floats negative infinity.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::Max.combine(2.0, 3.5), 3.5);
    /// assert!(op::Max.combine(2.0, f64::NAN).is_nan());
    /// // Where NaN stands for "no value":
    /// let known = |x: f64| if x.is_nan() { f64::NEG_INFINITY } else { x };
    /// assert_eq!(op::Max.combine(known(2.0), known(f64::NAN)), 2.0);
    /// ```
    Max "max";
    /// Bitwise and. Identity: all ones.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::BitAnd.combine(6u8, 3), 2);
    /// ```
    BitAnd "bit-and";
    /// Bitwise or. Identity 0.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::BitOr.combine(6u8, 3), 7);
    /// ```
    BitOr "bit-or";
    /// Bitwise exclusive or. Identity 0.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::BitXor.combine(6u8, 3), 5);
    /// ```
    BitXor "bit-xor";
    /// Logical and: of truth values, or of "is not 0" (of two and more the result is then 0 or 1).
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert!(!op::And.combine(true, false));
    /// assert_eq!(op::And.combine(7, 2), 1);
    /// ```
    And "and";
    /// Logical or, as [`And`].
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::Or.combine(7, 0), 1);
    /// ```
    Or "or";
    /// Logical exclusive or, as [`And`].
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert!(op::Xor.combine(true, false));
    /// ```
    Xor "xor";
    /// Of pairs `(value, index)`: the pair with the smaller value, and of equal values the one with
    /// the lower index.
    ///
    /// The value of floats is that of [`Min`], bit by bit: a NaN is found before any number, and of
    /// several the one with the lowest index; 0 and -0 are equal, so the lower index stands beside
    /// -0, whichever of the two it had. A value of another type that is not ordered even with
    /// itself (a struct with a NaN in it) is found like a NaN. If values of such a type can be
    /// equal and yet differ, give each an index of its own: then one pair wins, whatever the tree.
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::MinLoc.combine((1.5, 7), (1.5, 3)), (1.5, 3));
    /// let (value, index) = op::MinLoc.combine((1.5, 7), (f64::NAN, 9));
    /// assert!(value.is_nan() && index == 9);
    /// ```
    MinLoc "min-loc";
    /// Of pairs `(value, index)`: the pair with the larger value, and of equal values the one with
    /// the lower index. The value of floats is that of [`Max`]; see [`MinLoc`].
    ///
    /// # Examples
    /// ```
    /// # use phalanx::op::{self, Operator};
    /// assert_eq!(op::MaxLoc.combine((1.5, 7), (2.5, 3)), (2.5, 3));
    /// ```
    MaxLoc "max-loc";
}

macro_rules! implement {
    ($op:ident $text:literal $of:ident: $($t:ty),* => |$a:ident, $b:ident| $e:expr, $id:expr) => {$(
        impl Operator<$t> for $op {
            const NAME: &'static str = $text;
            const COMMUTATIVE: bool = true;
            const ORIGIN: OperatorOrigin<Self, $t> = OperatorOrigin::$of;

            #[inline(always)]
            fn combine(&self, $a: $t, $b: $t) -> $t {
                $e
            }

            fn identity(&self) -> Option<$t> {
                type T = $t;
                #[allow(clippy::unnecessary_cast)]
                const fn identity() -> T {
                    $id
                }
                Some(identity())
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        implement!(Sum "sum" EXACT: $t => |a, b| a.wrapping_add(b), 0 as T);
        implement!(Prod "prod" EXACT: $t => |a, b| a.wrapping_mul(b), 1 as T);
        implement!(Min "min" EXACT: $t => |a, b| if b < a { b } else { a }, T::MAX);
        implement!(Max "max" EXACT: $t => |a, b| if b > a { b } else { a }, T::MIN);
        implement!(BitAnd "bit-and" EXACT: $t => |a, b| a & b, !(0 as T));
        implement!(BitOr "bit-or" EXACT: $t => |a, b| a | b, 0 as T);
        implement!(BitXor "bit-xor" EXACT: $t => |a, b| a ^ b, 0 as T);
        implement!(And "and" EXACT: $t => |a, b| (a != 0 && b != 0) as $t, 1 as T);
        implement!(Or "or" EXACT: $t => |a, b| (a != 0 || b != 0) as $t, 0 as T);
        implement!(Xor "xor" EXACT: $t => |a, b| ((a != 0) != (b != 0)) as $t, 0 as T);
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        implement!(Sum "sum" LIBRARY: $t => |a, b| a + b, 0.0 as T);
        implement!(Prod "prod" LIBRARY: $t => |a, b| a * b, 1.0 as T);
        implement!(Min "min" LIBRARY: $t => |a, b| a.lower(b), T::INFINITY);
        implement!(Max "max" LIBRARY: $t => |a, b| a.upper(b), T::NEG_INFINITY);
    )*};
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }
floats! { f32 f64 }
implement!(And "and" EXACT: bool => |a, b| a & b, true);
implement!(Or "or" EXACT: bool => |a, b| a | b, false);
implement!(Xor "xor" EXACT: bool => |a, b| a ^ b, false);
implement!(BitAnd "bit-and" EXACT: bool => |a, b| a & b, true);
implement!(BitOr "bit-or" EXACT: bool => |a, b| a | b, false);
implement!(BitXor "bit-xor" EXACT: bool => |a, b| a ^ b, false);

macro_rules! on_arrays {
    ($($op:ident)*) => {$(
        impl<T: Element, const N: usize> Operator<[T; N]> for $op
        where
            $op: Operator<T>,
        {
            const NAME: &'static str = <$op as Operator<T>>::NAME;
            const COMMUTATIVE: bool = <$op as Operator<T>>::COMMUTATIVE;
            const ORIGIN: OperatorOrigin<Self, [T; N]> =
                OperatorOrigin::of_parts(<$op as Operator<T>>::ORIGIN.is_exact());

            #[inline(always)]
            fn combine(&self, left: [T; N], right: [T; N]) -> [T; N] {
                std::array::from_fn(
                    #[inline(always)]
                    |i| self.combine(left[i], right[i]),
                )
            }

            fn identity(&self) -> Option<[T; N]> {
                Operator::<T>::identity(self).map(|of_one| [of_one; N])
            }

            fn accumulation() -> impl Accumulation<[T; N], Self> {
                OfEach(<$op as Operator<T>>::accumulation())
            }
        }
    )*};
}

on_arrays! { Sum Prod Min Max BitAnd BitOr BitXor And Or Xor }

macro_rules! on_tuples {
    ($op:ident $text:literal: $($t:ident $i:tt)*) => {
        impl<$($t: Element),*> Operator<($($t,)*)> for $op
        where
            $($op: Operator<$t>),*
        {
            const NAME: &'static str = $text;
            const COMMUTATIVE: bool = $(<$op as Operator<$t>>::COMMUTATIVE)&&*;
            const ORIGIN: OperatorOrigin<Self, ($($t,)*)> =
                OperatorOrigin::of_parts($(<$op as Operator<$t>>::ORIGIN.is_exact())&&*);

            #[inline(always)]
            fn combine(&self, left: ($($t,)*), right: ($($t,)*)) -> ($($t,)*) {
                ($(self.combine(left.$i, right.$i),)*)
            }

            fn identity(&self) -> Option<($($t,)*)> {
                Some(($(Operator::<$t>::identity(self)?,)*))
            }

            fn accumulation() -> impl Accumulation<($($t,)*), Self> {
                OfFields(($(<$op as Operator<$t>>::accumulation(),)*))
            }
        }
    };
}

on_tuples!(Sum "sum": A 0 B 1);
on_tuples!(Sum "sum": A 0 B 1 C 2);
on_tuples!(Sum "sum": A 0 B 1 C 2 D 3);
on_tuples!(Prod "prod": A 0 B 1);
on_tuples!(Prod "prod": A 0 B 1 C 2);
on_tuples!(Prod "prod": A 0 B 1 C 2 D 3);

impl<V: Element + PartialOrd, I: Element + Ord> Operator<(V, I)> for MinLoc {
    const NAME: &'static str = "min-loc";
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn combine(&self, left: (V, I), right: (V, I)) -> (V, I) {
        extremes::lower_pair(left, right)
    }
}

impl<V: Element + PartialOrd, I: Element + Ord> Operator<(V, I)> for MaxLoc {
    const NAME: &'static str = "max-loc";
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn combine(&self, left: (V, I), right: (V, I)) -> (V, I) {
        extremes::upper_pair(left, right)
    }
}

/// A closure as an operator; made by [`commutative`].
#[derive(Clone, Copy, Debug)]
pub struct Commutative<F>(F);

/// A closure as an operator; made by [`ordered`].
#[derive(Clone, Copy, Debug)]
pub struct Ordered<F>(F);

/// The operator that calls `f`, which must be associative and commutative. Every closure
/// expression is a type of its own, and all ranks of a call pass operators of one type: so the
/// closure stands in one place of the program, and not in a branch for each rank. It
/// may read its captures; every rank calls its own closure.
///
/// # Examples
/// ```
/// use phalanx::op;
/// let modulus = 10;
/// let digits = phalanx::run(3, |comm| {
///     let mut x = [comm.rank() as u32 + 7];
///     comm.all_reduce(&mut x, op::commutative(|a, b| (a + b) % modulus));
///     x[0]
/// })?;
/// assert_eq!(digits, [4, 4, 4]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub const fn commutative<F>(f: F) -> Commutative<F> {
    Commutative(f)
}

/// The operator that calls `f(left, right)`, which must be associative but
/// need not be commutative: operands are combined in rank order.
///
/// # Examples
/// ```
/// use phalanx::op;
/// // Affine maps x -> a x + b compose, but not commutatively.
/// let maps = phalanx::run(3, |comm| {
///     let mut map = [(2.0, comm.rank() as f64)];
///     let compose = |f: (f64, f64), g: (f64, f64)| (f.0 * g.0, f.1 * g.0 + g.1);
///     comm.all_reduce(&mut map, op::ordered(compose));
///     map[0]
/// })?;
/// assert_eq!(maps[0], (8.0, 4.0)); // first rank 0's, then rank 1's, then rank 2's
/// # Ok::<(), phalanx::Error>(())
/// ```
pub const fn ordered<F>(f: F) -> Ordered<F> {
    Ordered(f)
}

impl<T: Element, F: Fn(T, T) -> T> Operator<T> for Commutative<F> {
    const NAME: &'static str = "a commutative closure";
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        (self.0)(left, right)
    }
}

impl<T: Element, F: Fn(T, T) -> T> Operator<T> for Ordered<F> {
    const NAME: &'static str = "an ordered closure";
    const COMMUTATIVE: bool = false;

    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        (self.0)(left, right)
    }
}

/// An operator with an identity; made by [`with_identity`].
#[derive(Clone, Copy, Debug)]
pub struct WithIdentity<O, T>(O, T);

/// `op`, with `identity` as its identity: rank 0's result of an exclusive scan.
///
/// # Examples
/// ```
/// use phalanx::op;
/// let offsets = phalanx::run(3, |comm| {
///     let mut x = [10];
///     comm.exclusive_scan(&mut x, op::with_identity(op::commutative(|a, b| a + b), 0));
///     x[0]
/// })?;
/// assert_eq!(offsets, [0, 10, 20]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub const fn with_identity<O, T>(op: O, identity: T) -> WithIdentity<O, T> {
    WithIdentity(op, identity)
}

impl<T: Element, O: Operator<T>> Operator<T> for WithIdentity<O, T> {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    const ORIGIN: OperatorOrigin<Self, T> = OperatorOrigin::of_inner(O::ORIGIN);

    #[inline(always)]
    fn combine(&self, left: T, right: T) -> T {
        self.0.combine(left, right)
    }

    fn identity(&self) -> Option<T> {
        Some(self.1)
    }

    fn accumulation() -> impl Accumulation<T, Self> {
        OfInner(O::accumulation())
    }
}

#[cfg(feature = "complex")]
mod complex_numbers {
    use super::*;
    use num_complex::Complex;
    implement!(Sum "sum" USER: Complex<f32>, Complex<f64> => |a, b| a + b, T::new(0.0, 0.0));
    implement!(Prod "prod" USER: Complex<f32>, Complex<f64> => |a, b| a * b, T::new(1.0, 0.0));
}

// Behind the macro that it uses.
#[cfg(feature = "half")]
mod half_precision;
