//! Whether an operator is the library's, and whether it computes with floats.

use super::Operator;
use super::float_control::FloatControl;
use crate::element::Element;
use std::fmt;
use std::marker::PhantomData;

/// Whether the operator `O` on elements `T` is the library's: its
/// [`ORIGIN`](super::Operator::ORIGIN). Ranks combine by such an operator with nothing around that
/// catches, so nobody else can say so: also not of one of the library's on elements of its own.
///
/// # Examples
/// ```
/// use phalanx::op::{Operator, Sum};
/// #[derive(Clone, Copy)]
/// struct Mine;
/// impl Operator<u8> for Mine {
///     const NAME: &'static str = "mine";
///     const COMMUTATIVE: bool = true;
///     fn combine(&self, left: u8, right: u8) -> u8 {
///         left.max(right)
///     }
/// }
/// assert!(!<Mine as Operator<u8>>::ORIGIN.is_library());
/// assert!(<Sum as Operator<u8>>::ORIGIN.is_library());
/// ```
/// Another operator's is of another type:
/// ```compile_fail,E0308
/// # use phalanx::op::{Operator, OperatorOrigin, Sum};
/// # #[derive(Clone, Copy)]
/// # struct Mine;
/// impl Operator<u8> for Mine {
///     const ORIGIN: OperatorOrigin<Mine, u8> = <Sum as Operator<u8>>::ORIGIN;
/// #   const NAME: &'static str = "mine";
/// #   const COMMUTATIVE: bool = true;
/// #   fn combine(&self, left: u8, right: u8) -> u8 { left.max(right) }
/// }
/// ```
pub struct OperatorOrigin<O: ?Sized, T> {
    is_library: bool,
    /// Whether no floating-point control changes its results.
    is_exact: bool,
    /// Of these two types, and none that are parts of them: there is one implementation for both.
    of: PhantomData<fn(*mut O, T) -> T>,
}

impl<O: ?Sized, T> OperatorOrigin<O, T> {
    /// Of a program.
    pub const USER: Self = Self::of_parts(false);
    /// Of this library.
    pub(crate) const LIBRARY: Self = OperatorOrigin { is_library: true, ..Self::USER };
    /// Of this library, on integers.
    pub(crate) const EXACT: Self = OperatorOrigin { is_exact: true, ..Self::LIBRARY };

    /// Of one that combines elements part by part.
    pub(crate) const fn of_parts(is_exact: bool) -> Self {
        OperatorOrigin { is_library: false, is_exact, of: PhantomData }
    }

    /// Of an operator that does nothing but call an inner one.
    pub(crate) const fn of_inner<I: ?Sized, U>(inner: OperatorOrigin<I, U>) -> Self {
        let OperatorOrigin { is_library, is_exact, .. } = inner;
        OperatorOrigin { is_library, is_exact, of: PhantomData }
    }

    /// Whether it is.
    ///
    /// # Examples
    /// See [`OperatorOrigin`].
    pub const fn is_library(&self) -> bool {
        self.is_library
    }

    pub(crate) const fn is_exact(&self) -> bool {
        self.is_exact
    }
}

/// Whether `O` may give other bits on this thread than on others: its floating-point control is
/// not the standard, and `O` is not one of the library's on integers.
///
/// # Examples
/// ```
/// # use phalanx::op::Sum;
/// assert!(!phalanx::engine::is_disturbed::<i32, Sum>());
/// ```
#[inline(always)]
pub fn is_disturbed<T: Element, O: Operator<T>>() -> bool {
    !const { O::ORIGIN.is_exact() } && !FloatControl::STANDARD.is_here()
}

impl<O: ?Sized, T> fmt::Debug for OperatorOrigin<O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorOrigin").field("is_library", &self.is_library).finish()
    }
}
