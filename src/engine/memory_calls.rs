//! Calls on memory, for interfaces that know the type of the elements, and the operator, only when
//! the program runs.

use super::MemoryCall;
use crate::op::Operator;
use crate::{Comm, Element};

/// A reduction on memory: as the method of its operation.
///
/// **Cost** the executors are compiled once, and the operator's loop for each type: a small call
/// takes a few more instructions than [`Comm::all_reduce`].
///
/// # Errors
/// As the method, where they end the run.
///
/// # Panics
/// If the operation combines nothing.
///
/// # Safety
/// The memory has the elements of type `T` that the operation and the cut say, initialised for
/// reads and exclusive for writes until this has returned; input and output are one, for what is
/// in place, or do not overlap.
///
/// # Examples
/// ```
/// use phalanx::engine::{self, MemoryCall, Operation, Partition, ReductionMemory};
/// let sums = phalanx::run(2, |comm| {
///     let mut x = [1.5, 2.5];
///     let at = x.as_mut_ptr().cast::<u8>();
///     let memory = ReductionMemory { input: at, output: at };
///     let (operation, cut) = (Operation::AllReduce, Partition::Vector(2));
///     let call = MemoryCall { operation, cut, parameter: 0, memory };
///     // SAFETY: two doubles, which nobody else uses.
///     unsafe { engine::reduce::<f64, _>(comm, &call, &phalanx::op::Sum) };
///     x
/// })?;
/// assert_eq!(sums, [[3.0, 5.0]; 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn reduce<T: Element, O: Operator<T>>(comm: &mut Comm, call: &MemoryCall<'_>, op: &O) {
    // SAFETY: passed on.
    unsafe { comm.reduction::<T, O>(call, op) }
}

/// A call that moves elements, on memory: as the method of its operation, without its ways of few
/// bytes, so that what is compiled for a type is small. `within`: what is given to a gather lies in
/// the output, where it belongs.
///
/// # Errors
/// As the method, where they end the run.
///
/// # Panics
/// If the operation combines, is a barrier, or an all-to-all in place.
///
/// # Safety
/// As [`reduce`].
///
/// # Examples
/// ```
/// use phalanx::engine::{self, MemoryCall, Operation, Partition, ReductionMemory};
/// let all = phalanx::run(2, |comm| {
///     let (mine, mut all) = ([comm.rank() as u64], [0_u64; 2]);
///     let (input, output) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
///     let memory = ReductionMemory { input, output };
///     let (operation, cut) = (Operation::AllGather, Partition::Equal(1));
///     let call = MemoryCall { operation, cut, parameter: 0, memory };
///     // SAFETY: a block of one number, and room for two, which nobody else uses.
///     unsafe { engine::movement::<u64>(comm, &call, false) };
///     all
/// })?;
/// assert_eq!(all, [[0, 1]; 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn movement<T: Element>(comm: &mut Comm, call: &MemoryCall<'_>, within: bool) {
    // SAFETY: passed on.
    unsafe { comm.movement::<T>(call, within) }
}
