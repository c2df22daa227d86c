//! How an operator keeps partial results: as elements, or as something wider, which is rounded to
//! an element once, when the last operand is in it.
//!
//! Kernels, plans and fixed sums know of a pair of element and operator whether it has a wider
//! accumulator, and nothing of halves: they fold all operands in it, or move it between ranks.

use super::{Operator, OperatorOrigin, WithIdentity};
use crate::element::Element;
use std::marker::PhantomData;
use std::ops::Mul;

/// Instructions that the processor at hand has: a value is the proof.
pub trait Vectors: Copy {
    /// The bits of the vectors to and from which halves are converted; 0 without such instructions.
    const HALVES: usize;

    /// Runs `work`, which is to be inlined, with them.
    fn run(self, work: impl FnOnce());
}

/// Those of every processor.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

impl Vectors for Baseline {
    const HALVES: usize = 0;

    #[inline(always)]
    fn run(self, work: impl FnOnce()) {
        work();
    }
}

macro_rules! vectors {
    ($set:ident $halves:literal: $($feature:tt)*) => {
        /// Those that the names in its row stand for.
        #[derive(Clone, Copy)]
        pub(crate) struct $set(());

        impl $set {
            /// If the processor has them.
            #[inline(always)]
            pub(crate) fn detected() -> Option<Self> {
                #[cfg(target_arch = "x86_64")]
                return ($(std::arch::is_x86_feature_detected!($feature))&&*).then_some($set(()));
                #[cfg(not(target_arch = "x86_64"))]
                None
            }
        }

        impl Vectors for $set {
            const HALVES: usize = $halves;

            #[inline(always)]
            fn run(self, work: impl FnOnce()) {
                $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])*
                fn with(work: impl FnOnce()) {
                    work();
                }
                #[allow(unused_unsafe)]
                // SAFETY: the processor has them: this value says so.
                unsafe {
                    with(work);
                }
            }
        }
    };
}

#[cfg(not(feature = "half"))]
vectors! { Avx2 0: "avx2" }
// Processors with AVX2 have F16C.
#[cfg(feature = "half")]
vectors! { Avx2 256: "avx2" "f16c" }
// Without the conversion of its last name it gains a tenth, and loses it at other sizes.
vectors! { Avx512 512: "f16c" "avx512bw" "avx512dq" "avx512bf16" }

/// Runs `work`, which is to be inlined, with the vectors of the processor.
#[inline(always)]
pub(crate) fn with_vectors(work: impl FnOnce()) {
    match Avx2::detected() {
        Some(has) => has.run(work),
        None => work(),
    }
}

/// Of accumulators: an operator on them is the library's if the operator on elements is
/// ([`Operator::ORIGIN`]), so a program has none of its own.
pub trait Sealed {}

impl Sealed for AsElements {}
impl<S> Sealed for OfInner<S> {}
impl<S> Sealed for OfEach<S> {}
impl<F> Sealed for OfFields<F> {}

/// The accumulator of operator `O` on elements `T`: [`Operator::accumulation`]. Sealed.
///
/// # Examples
/// ```
/// use phalanx::engine::{Accumulating, Accumulation};
/// use phalanx::op::{Operator, Sum};
///
/// // The sum of a slice, rounded once.
/// fn sum<T: phalanx::Element, S: Accumulation<T, Sum>>(x: &[T], accumulation: S) -> Option<T>
/// where
///     Sum: Operator<T>,
/// {
///     let op = Accumulating::new(Sum, &accumulation);
///     let all = x.iter().map(|&x| S::widen(x));
///     all.reduce(|sum, x| op.combine(sum, x)).map(S::round)
/// }
/// assert_eq!(sum(&[1, 2, 3], <Sum as Operator<i32>>::accumulation()), Some(6));
/// ```
pub trait Accumulation<T: Element, O: ?Sized>: Sealed {
    /// A partial result.
    type Wide: Element;

    /// Whether that is wider than an element, so that [`round`](Accumulation::round) rounds.
    const IS_WIDE: bool;

    /// An operand as a partial result: exact.
    fn widen(x: T) -> Self::Wide;

    /// As [`Operator::combine`].
    fn combine(op: &O, left: Self::Wide, right: Self::Wide) -> Self::Wide;

    /// The result.
    fn round(x: Self::Wide) -> T;

    /// The product of two elements.
    #[inline(always)]
    fn product(x: T, y: T) -> Self::Wide
    where
        T: Mul<Output = T>,
    {
        Self::widen(x * y)
    }

    /// [`widen`](Accumulation::widen) of several, in any order.
    #[inline(always)]
    fn widen_all<const K: usize, V: Vectors>(x: [T; K], _: V) -> [Self::Wide; K] {
        std::array::from_fn(
            #[inline(always)]
            |i| Self::widen(x[i]),
        )
    }

    /// [`round`](Accumulation::round) of several, in the order of
    /// [`widen_all`](Accumulation::widen_all).
    #[inline(always)]
    fn round_all<const K: usize, V: Vectors>(x: [Self::Wide; K], _: V) -> [T; K] {
        std::array::from_fn(
            #[inline(always)]
            |i| Self::round(x[i]),
        )
    }
}

/// Partial results are elements.
pub(crate) struct AsElements;

impl<T: Element, O: Operator<T>> Accumulation<T, O> for AsElements {
    type Wide = T;
    const IS_WIDE: bool = false;

    #[inline(always)]
    fn widen(x: T) -> T {
        x
    }

    #[inline(always)]
    fn combine(op: &O, left: T, right: T) -> T {
        op.combine(left, right)
    }

    #[inline(always)]
    fn round(x: T) -> T {
        x
    }

    #[inline(always)]
    fn widen_all<const K: usize, V: Vectors>(x: [T; K], _: V) -> [T; K] {
        x
    }

    #[inline(always)]
    fn round_all<const K: usize, V: Vectors>(x: [T; K], _: V) -> [T; K] {
        x
    }
}

/// Those of the operator within this one.
pub(crate) struct OfInner<S>(pub(crate) S);

macro_rules! of_inner {
    ($outer:ty, |$op:ident| $inner:expr, $($more:ident)?) => {
        impl<T: Element, O: Operator<T>, S: Accumulation<T, O> $(, $more)?> Accumulation<T, $outer>
            for OfInner<S>
        {
            type Wide = S::Wide;
            const IS_WIDE: bool = S::IS_WIDE;

            #[inline(always)]
            fn widen(x: T) -> S::Wide {
                S::widen(x)
            }

            #[inline(always)]
            fn combine($op: &$outer, left: S::Wide, right: S::Wide) -> S::Wide {
                S::combine($inner, left, right)
            }

            #[inline(always)]
            fn round(x: S::Wide) -> T {
                S::round(x)
            }

            #[inline(always)]
            fn product(x: T, y: T) -> S::Wide
            where
                T: Mul<Output = T>,
            {
                S::product(x, y)
            }

            #[inline(always)]
            fn widen_all<const K: usize, V: Vectors>(x: [T; K], has: V) -> [S::Wide; K] {
                S::widen_all(x, has)
            }

            #[inline(always)]
            fn round_all<const K: usize, V: Vectors>(x: [S::Wide; K], has: V) -> [T; K] {
                S::round_all(x, has)
            }
        }
    };
}

of_inner!(&O, |op| *op,);
of_inner!(WithIdentity<O, U>, |op| &op.0, U);

/// Those of each element of an array.
pub(super) struct OfEach<S>(pub(super) S);

impl<T, O, S, const N: usize> Accumulation<[T; N], O> for OfEach<S>
where
    T: Element,
    S: Accumulation<T, O>,
{
    type Wide = [S::Wide; N];
    const IS_WIDE: bool = S::IS_WIDE;

    #[inline(always)]
    fn widen(x: [T; N]) -> [S::Wide; N] {
        std::array::from_fn(
            #[inline(always)]
            |i| S::widen(x[i]),
        )
    }

    #[inline(always)]
    fn combine(op: &O, left: [S::Wide; N], right: [S::Wide; N]) -> [S::Wide; N] {
        std::array::from_fn(
            #[inline(always)]
            |i| S::combine(op, left[i], right[i]),
        )
    }

    #[inline(always)]
    fn round(x: [S::Wide; N]) -> [T; N] {
        std::array::from_fn(
            #[inline(always)]
            |i| S::round(x[i]),
        )
    }
}

/// Those of the fields of a tuple.
pub(super) struct OfFields<F>(pub(super) F);

macro_rules! of_fields {
    ($($t:ident $s:ident $i:tt)*) => {
        impl<O, $($t: Element, $s: Accumulation<$t, O>),*> Accumulation<($($t,)*), O>
            for OfFields<($($s,)*)>
        {
            type Wide = ($($s::Wide,)*);
            const IS_WIDE: bool = $($s::IS_WIDE)||*;

            #[inline(always)]
            fn widen(x: ($($t,)*)) -> Self::Wide {
                ($($s::widen(x.$i),)*)
            }

            #[inline(always)]
            fn combine(op: &O, left: Self::Wide, right: Self::Wide) -> Self::Wide {
                ($($s::combine(op, left.$i, right.$i),)*)
            }

            #[inline(always)]
            fn round(x: Self::Wide) -> ($($t,)*) {
                ($($s::round(x.$i),)*)
            }
        }
    };
}

of_fields!(A P 0 B Q 1);
of_fields!(A P 0 B Q 1 C R 2);
of_fields!(A P 0 B Q 1 C R 2 D S 3);

/// An operator on its own partial results.
///
/// # Examples
/// See [`Accumulation`].
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Accumulating<T, O, S>(O, PhantomData<fn() -> (T, S)>);

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Accumulating<T, O, S> {
    /// Of `op`, with the accumulator `S`.
    ///
    /// # Examples
    /// See [`Accumulation`].
    pub fn new(op: O, _: &S) -> Self {
        Accumulating(op, PhantomData)
    }
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> Operator<S::Wide>
    for Accumulating<T, O, S>
{
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = O::COMMUTATIVE;
    const ORIGIN: OperatorOrigin<Self, S::Wide> = OperatorOrigin::of_inner(O::ORIGIN);

    #[inline(always)]
    fn combine(&self, left: S::Wide, right: S::Wide) -> S::Wide {
        S::combine(&self.0, left, right)
    }

    fn identity(&self) -> Option<S::Wide> {
        self.0.identity().map(S::widen)
    }
}
