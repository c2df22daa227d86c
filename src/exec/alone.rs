//! A call of one rank: the output is the input.

use super::all_at_once::copy;
use super::{Buffers, Call, Moved, Partition, RawBuffers, Slices, Workspace};
use crate::element::Element;
use crate::schedule::Operation;
use crate::shared::{Port, StartedCall, Stop, copy_few};

/// [`run`] before the call is one on bytes.
#[inline(always)]
pub(crate) fn run_on_slices<'a, T: Element, O>(
    port: &mut Port,
    _: &mut Workspace,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
) -> Result<(), Stop> {
    port.log_call(begun);
    let operation = call.operation();
    let Slices { buffers, identity, .. } = call.into_slices();
    match (buffers, identity) {
        (Buffers::Apart(from, to), _) => copy(from, to),
        (Buffers::InPlace(buf), Some(x)) if operation == Operation::ExclusiveScan => buf.fill(*x),
        (Buffers::InPlace(_) | Buffers::Within(..), _) => {}
    }
    Ok(())
}

/// Runs a call that only moves elements, on one rank.
#[inline(always)]
pub(crate) fn run_moving(
    port: &mut Port,
    begun: StartedCall,
    call: &Call<'_, Moved<'_>>,
) -> Result<(), Stop> {
    port.log_call(begun);
    let (memory, bytes) = (call.moved(), call.unit() * call.element_bytes());
    if !std::ptr::eq(memory.input, memory.output) {
        // SAFETY: both hold the only block, and do not overlap (`Moved`).
        unsafe { copy_few(memory.output, memory.input, bytes) };
    }
    Ok(())
}

pub(crate) fn run(
    port: &mut Port,
    _: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
) -> Result<(), Stop> {
    port.log_call(begun);
    let (memory, kernel) = (call.memory(), &call.memory().kernel);
    if call.operation().is_in_place() {
        if call.operation() == Operation::ExclusiveScan && !memory.input.is_null() {
            // SAFETY: the identity, and the vector (`RawBuffers`).
            unsafe { kernel.fill(memory.output, memory.input, call.len()) };
        }
    } else if !std::ptr::eq(memory.input, memory.output) {
        let len = match call.cut() {
            Partition::Vector(len) | Partition::Equal(len) => len,
            Partition::Varied(counts) => counts[0],
            Partition::Pairs { send, .. } => send[0],
        };
        // SAFETY: both hold the only block, and do not overlap (`RawBuffers`).
        unsafe { kernel.copy(memory.output, memory.input, len) };
    }
    Ok(())
}
