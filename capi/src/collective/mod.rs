//! The collectives. All ranks of a communicator call them, in the same order, with arguments that
//! agree; lengths count elements.
//!
//! - [`whole`]: the barrier, and vectors that travel whole.
//! - [`reductions`]: what combines the ranks' elements.
//! - [`blocks`]: a block for each rank, or of each.
//! - `buffers`: the memory of a call, once its pointers and counts are looked at.

pub mod blocks;
mod buffers;
pub mod reductions;
pub mod whole;

pub(crate) use buffers::{counts_of, of_all, one_buffer, sum, two_buffers};

use crate::types::{Type, with_type};
use phalanx::engine::{Operation, ReductionCut, ReductionMemory};
use phalanx::{Comm, engine};

/// A call that has no way of few bytes: one body for all types.
///
/// # Safety
/// As [`engine::movement`].
unsafe fn moved(
    comm: &mut Comm,
    ty: Type,
    operation: Operation,
    (cut, parameter): (ReductionCut<'_>, usize),
    (memory, within): (ReductionMemory, bool),
) {
    with_type!(ty, T => {
        // SAFETY: passed on.
        unsafe { engine::movement::<T>(comm, operation, cut, parameter, memory, within) }
    });
}
