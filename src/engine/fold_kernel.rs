//! Parts of reductions, of ranks that an interface brings together itself.

use super::Operation;
use crate::Element;
use crate::exec::board::started::{fold_part, fold_scratch};
use crate::exec::{ForeignOperator, Kernel, Scratch};
use crate::op::Operator;
use std::fmt;
use std::ops::Range;

/// How the elements of vectors combine, for an interface of ranks that have shown where theirs lie.
///
/// # Examples
/// A sum of three vectors, and the value before each of them. (One thread does all parts.)
/// ```
/// use phalanx::engine::{FoldKernel, Operation};
/// let mut all = [[1_u64, 10], [2, 20], [3, 30]];
/// let from = all.each_mut().map(|it| it.as_mut_ptr().cast::<u8>());
/// let mut sum = [0_u64; 2];
/// let to = [sum.as_mut_ptr().cast::<u8>()];
/// let kernel = FoldKernel::of::<u64, _>(&phalanx::op::Sum);
/// for (rank, part) in [0..1, 1..1, 1..2].into_iter().enumerate() {
///     // SAFETY: two numbers at each address, which nobody else uses.
///     unsafe { kernel.fold_part(Operation::Reduce, part, (&from, &to), rank) };
/// }
/// assert_eq!(sum, [6, 60]);
///
/// let largest = |out: *mut u8, left: *const u8, right: *const u8, n| {
///     let (out, left, right) = (out.cast::<u64>(), left.cast::<u64>(), right.cast::<u64>());
///     for i in 0..n {
///         // SAFETY: there are so many.
///         unsafe { *out.add(i) = (*left.add(i)).max(*right.add(i)) }
///     }
/// };
/// let kernel = FoldKernel::foreign(&largest, (8, 8));
/// // SAFETY: as above.
/// unsafe { kernel.fold_part(Operation::ExclusiveScan, 0..2, (&from, &from), 0) };
/// assert_eq!(all[1..], [[1, 10], [2, 20]]);
/// ```
pub struct FoldKernel<'a>(Combines<'a>);

enum Combines<'a> {
    /// By a loop for the type and the operator.
    Typed(Kernel<'a>),
    /// By a function on slices.
    Foreign(ForeignOperator<'a>),
}

impl fmt::Debug for FoldKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoldKernel").finish_non_exhaustive()
    }
}

impl<'a> FoldKernel<'a> {
    /// Elements `T`, by `op`.
    pub fn of<T: Element, O: Operator<T>>(op: &'a O) -> Self {
        FoldKernel(Combines::Typed(Kernel::combiner::<T, O>(op)))
    }

    /// Elements of a size and an alignment, by a function of the interface: `combine(out, left,
    /// right, n)` stores `left[i] (+) right[i]` in `out[i]`, for `n` elements; `out` is `left`, or
    /// `right`, or overlaps neither.
    pub fn foreign(
        combine: &'a dyn Fn(*mut u8, *const u8, *const u8, usize),
        (size, align): (usize, usize),
    ) -> Self {
        FoldKernel(Combines::Foreign(ForeignOperator::new(combine, (size, align))))
    }

    /// Combines the elements `part` of the vectors at the addresses `from`, in their order. Of
    /// [`Operation::Scan`] and [`Operation::ExclusiveScan`], `to` has as many vectors, of which the
    /// first stays as it is in an exclusive scan; of the other operations the result goes to its
    /// place in each vector of `to`, in the order of the tree ([`Order::Fixed`](crate::Order)).
    /// Ranks that do different parts may do so at the same time; `rank` is the one of which this
    /// part is.
    ///
    /// **Cost** each element is read once; of a result, each is written once. Among three ranks
    /// and more: scratch memory.
    ///
    /// # Safety
    /// - Each vector has these elements as the kernel takes them, initialised in `from`, writable
    ///   in `to`, aligned in both; nobody else writes them, or reads those of `to`.
    /// - A vector of `to` is that of `from` with its number (of a reduction, one of `from`), or
    ///   overlaps no other vector. There is at least one on each side.
    pub unsafe fn fold_part(
        &self,
        operation: Operation,
        part: Range<usize>,
        (from, to): (&[*mut u8], &[*mut u8]),
        rank: usize,
    ) {
        let kernel = match &self.0 {
            Combines::Typed(kernel) => *kernel,
            Combines::Foreign(op) => Kernel::foreign(op),
        };
        let mut scratch = Scratch::new();
        // Two vectors need none.
        let bytes = if from.len() > 2 { fold_scratch(&kernel, from.len()) } else { 0 };
        let scratch = scratch.reserve(bytes, kernel.align());
        // SAFETY: passed on.
        unsafe { fold_part(&kernel, operation, part, (from, to), rank, scratch) }
    }
}
