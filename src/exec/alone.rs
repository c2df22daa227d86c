//! A call of one rank: the output is the input.

use super::all_at_once::copy;
use super::{Buffers, Call, RawBuffers, Slices};
use crate::element::Element;
use crate::schedule::Operation;
use crate::shared::{Port, StartedCall, copy_few};

/// [`run`] before the call is one on memory.
#[inline(always)]
pub(super) fn run_on_slices<'a, T: Element, O>(
    port: &mut Port,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
) {
    port.log_call(begun);
    let operation = call.operation();
    let Slices { buffers, identity, .. } = call.into_slices();
    match (buffers, identity) {
        (Buffers::Apart(from, to), _) => copy(from, to),
        (Buffers::InPlace(buf), Some(x)) if operation == Operation::ExclusiveScan => buf.fill(*x),
        (Buffers::InPlace(_) | Buffers::Within(..), _) => {}
    }
}

#[inline(always)]
pub(super) fn run(port: &mut Port, begun: StartedCall, call: &Call<'_, RawBuffers<'_>>) {
    port.log_call(begun);
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    if call.operation().is_in_place() {
        if call.operation() == Operation::ExclusiveScan && !input.is_null() {
            // SAFETY: the identity, and the vector (`RawBuffers`).
            unsafe { kernel.fill(output, input, call.len()) };
        }
    } else if !std::ptr::eq(input, output) {
        // SAFETY: both hold the only block, and do not overlap (`RawBuffers`).
        unsafe { copy_few(output, input, call.cut().len_of(0) * kernel.size()) };
    }
}
