//! Calls on memory, for interfaces that know the type of the elements, and the operator, only when
//! the program runs.

use super::MemoryCall;
use crate::comm::call::kinds::{self, CallWay};
use crate::comm::call::memory_call::ElementUse;
use crate::exec::Kernel;
use crate::op::Operator;
use crate::shared::Signature;
use crate::{Comm, Element};

/// A reduction on memory: as the method of its operation. `U` is `T`, or has elements of the same
/// size and alignment on whose bits `O` does the same (`u32` for sums of `i32`): then the loops of
/// one type serve both.
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
///     unsafe { engine::reduce::<f64, f64, _>(comm, &call, &phalanx::op::Sum) };
///     x
/// })?;
/// assert_eq!(sums, [[3.0, 5.0]; 2]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub unsafe fn reduce<T: Element, U: Element, O: Operator<T> + Operator<U>>(
    comm: &mut Comm,
    call: &MemoryCall<'_>,
    op: &O,
) {
    let sig = kinds::combining_as::<T, O, { CallWay::WAITS }>(call.operation, call.cut);
    let identity = Operator::<U>::identity(op);
    let by = ElementUse::by::<U, O>(Kernel::combiner::<U, O>(op), identity.as_ref());
    // SAFETY: passed on.
    unsafe { comm.carry_out_on_memory(call, sig, by) }
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
/// See [`PreparedCall`](super::PreparedCall): the same calls, started.
pub unsafe fn movement<T: Element>(comm: &mut Comm, call: &MemoryCall<'_>, within: bool) {
    let sig = match within {
        true => const { &Signature::of::<T>("gather_in_place", "to root") },
        false => kinds::moving_as::<T, { CallWay::WAITS }>(call.operation, call.cut),
    };
    // SAFETY: passed on.
    unsafe { comm.carry_out_on_memory(call, sig, ElementUse::moves::<T>()) }
}
