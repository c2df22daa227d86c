//! Parts that a layer has by itself: views of slices that ranks of other processes have sent, and
//! contributions to sums in fixed order.

use super::Partial;
use crate::comm::Vectorised;
use crate::element::Element;
use crate::op::Operator;
use crate::op::float_control::FloatControl;
use crate::{Global, Peers};

/// Calls `f` with these slices as those of the ranks: what
/// [`with_peers`](crate::Comm::with_peers) gives.
///
/// # Examples
/// ```
/// let parts = [&[1, 2][..], &[3]];
/// let lens = phalanx::engine::with_parts(&parts, |all| [all[0].len(), all[1].len()]);
/// assert_eq!(lens, [2, 1]);
/// ```
pub fn with_parts<T, R>(parts: &[&[T]], f: impl for<'a> FnOnce(Peers<'a, T>) -> R) -> R {
    Peers::of_parts(parts, f)
}

/// Calls `f` with the vector that these slices are, one after the other: what
/// [`with_global`](crate::Comm::with_global) gives.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let x = engine::with_parts(&[&[1, 2][..], &[3]], |all| engine::global_of(all, |x| x[2]));
/// assert_eq!(x, 3);
/// ```
pub fn global_of<T, R>(parts: Peers<'_, T>, f: impl for<'g> FnOnce(Global<'g, T>) -> R) -> R {
    Global::of(parts, f)
}

/// The contribution of elements from global index `start` on to a reduction in fixed order.
///
/// **Cost** one pass over `x`; what is kept are at most 2 elements for each power of two below its
/// length, and 510.
///
/// # Examples
/// See [`Partial`].
pub fn partial<T: Element>(x: &[T], start: usize, op: &impl Operator<T>) -> Partial<T> {
    FloatControl::STANDARD.during(|| Partial::new(&Vectorised(x), start, op))
}
