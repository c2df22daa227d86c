//! Whether an operator is the library's.

use std::fmt;
use std::marker::PhantomData;

/// Whether the operator `O` is the library's: [`Operator::ORIGIN`](super::Operator::ORIGIN). Ranks
/// combine by such an operator with nothing around that catches, so nobody else can say so.
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
///     const ORIGIN: OperatorOrigin<Mine> = <Sum as Operator<u8>>::ORIGIN;
/// #   const NAME: &'static str = "mine";
/// #   const COMMUTATIVE: bool = true;
/// #   fn combine(&self, left: u8, right: u8) -> u8 { left.max(right) }
/// }
/// ```
pub struct OperatorOrigin<O: ?Sized> {
    is_library: bool,
    of: PhantomData<fn(&O)>,
}

impl<O: ?Sized> OperatorOrigin<O> {
    /// Of a program.
    pub const USER: Self = OperatorOrigin { is_library: false, of: PhantomData };
    /// Of this library.
    pub(crate) const LIBRARY: Self = OperatorOrigin { is_library: true, of: PhantomData };

    /// Of an operator that does nothing but call an inner one.
    pub(crate) const fn of_inner<I: ?Sized>(inner: OperatorOrigin<I>) -> Self {
        OperatorOrigin { is_library: inner.is_library, of: PhantomData }
    }

    /// Whether it is.
    ///
    /// # Examples
    /// See [`OperatorOrigin`].
    pub const fn is_library(&self) -> bool {
        self.is_library
    }
}

impl<O: ?Sized> fmt::Debug for OperatorOrigin<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorOrigin").field("is_library", &self.is_library).finish()
    }
}
