//! Calls on memory, for interfaces that know the type of the elements, and the operator, only when
//! the program runs.

use super::{Operation, ReductionCut, ReductionMemory};
use crate::op::Operator;
use crate::{Comm, Element};

/// A reduction on memory: as the method `operation`. `root` is looked at by [`Operation::Reduce`]
/// only.
///
/// **Cost** the executors are compiled once, and the operator's loop for each type: a small call
/// takes a few more instructions than [`Comm::all_reduce`].
///
/// # Errors
/// As the method, where they end the run.
///
/// # Panics
/// If `operation` combines nothing.
///
/// # Safety
/// `memory` has the elements of type `T` that the operation and `cut` say, initialised for reads
/// and exclusive for writes until this has returned; input and output are one, for what is in
/// place, or do not overlap.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, Operation, ReductionCut, ReductionMemory};
/// let sums = phalanx::run(2, |comm| {
///     let mut x = [1.5, 2.5];
///     let at = x.as_mut_ptr().cast::<u8>();
///     let (cut, memory) = (ReductionCut::Vector(2), ReductionMemory { input: at, output: at });
///     let op = &phalanx::op::Sum;
///     // SAFETY: two doubles, which nobody else uses.
///     unsafe { engine::reduce::<f64, _>(comm, Operation::AllReduce, cut, 0, memory, op) };
///     x
/// })?;
/// assert_eq!(sums, [[3.0, 5.0]; 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn reduce<T: Element, O: Operator<T>>(
    comm: &mut Comm,
    operation: Operation,
    cut: ReductionCut<'_>,
    root: usize,
    memory: ReductionMemory,
    op: &O,
) {
    // SAFETY: passed on.
    unsafe { comm.reduction(operation, cut, root, memory, op) }
}

/// A call that moves elements, on memory: as the method `operation`, without its ways of few bytes,
/// so that what is compiled for a type is small. `parameter` is the root, or the distance of a
/// shift, not negative; `within`: what is given lies in the output, where it belongs.
///
/// # Errors
/// As the method, where they end the run.
///
/// # Panics
/// If `operation` combines, or is a barrier.
///
/// # Safety
/// As [`reduce`].
///
/// # Examples
/// ```
/// use phalanx::engine::{self, Operation, ReductionCut, ReductionMemory};
/// let all = phalanx::run(2, |comm| {
///     let (mine, mut all) = ([comm.rank() as u64], [0_u64; 2]);
///     let (input, output) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
///     let (cut, memory) = (ReductionCut::Equal(1), ReductionMemory { input, output });
///     // SAFETY: a block of one number, and room for two, which nobody else uses.
///     unsafe { engine::movement::<u64>(comm, Operation::AllGather, cut, 0, memory, false) };
///     all
/// })?;
/// assert_eq!(all, [[0, 1]; 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn movement<T: Element>(
    comm: &mut Comm,
    operation: Operation,
    cut: ReductionCut<'_>,
    parameter: usize,
    memory: ReductionMemory,
    within: bool,
) {
    // SAFETY: passed on.
    unsafe { comm.movement::<T>(operation, cut, parameter, memory, within) }
}
