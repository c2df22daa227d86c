//! A call of one rank: what is given is what is got.

use super::gate::copy;
use super::{Buffers, Call, Cut, Memory, Slices, Workspace};
use crate::element::Element;
use crate::fabric::{Begun, Port, Stop};
use crate::schedule::Operation;

/// [`run`] before the call is one on bytes.
#[inline(always)]
pub(crate) fn run_on_slices<'a, T: Element, O>(
    port: &mut Port,
    _: &mut Workspace,
    begun: Begun,
    call: Call<'a, Slices<'a, T, O>>,
) -> Result<(), Stop> {
    port.note(begun);
    let operation = call.operation();
    let Slices { buffers, identity, .. } = call.into_slices();
    match (buffers, identity) {
        (Buffers::Apart(from, to), _) => copy(from, to),
        (Buffers::InPlace(buf), Some(x)) if operation == Operation::ExclusiveScan => buf.fill(*x),
        (Buffers::InPlace(_), _) => {}
    }
    Ok(())
}

pub(crate) fn run(
    port: &mut Port,
    _: &mut Workspace,
    begun: Begun,
    call: &Call<'_, Memory<'_>>,
) -> Result<(), Stop> {
    port.note(begun);
    let (memory, kernel) = (call.memory(), &call.memory().kernel);
    if !call.operation().is_in_place() {
        let len = match call.cut() {
            Cut::Vector(len) | Cut::Equal(len) => len,
            Cut::Varied(counts) => counts[0],
            Cut::Pairs { send, .. } => send[0],
        };
        // SAFETY: both hold the only block, and do not overlap (`Memory`).
        unsafe { kernel.copy(memory.output, memory.input, len) };
    } else if call.operation() == Operation::ExclusiveScan && !memory.input.is_null() {
        // SAFETY: the identity, and the vector (`Memory`).
        unsafe { kernel.fill(memory.output, memory.input, call.len()) };
    }
    Ok(())
}
