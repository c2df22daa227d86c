//! The memory of a collective, once its pointers and counts are looked at.

use crate::arguments::{apart, input, look_at};
use crate::types::Type;
use phalanx::Comm;
use phalanx::engine::ReductionMemory;
use std::ffi::c_void;

/// One count for each rank, in Rust elements.
///
/// # Safety
/// `counts` is null, or has one for each rank.
pub(crate) unsafe fn counts_of(
    comm: &Comm,
    counts: *const usize,
    ty: Type,
) -> Result<Vec<usize>, String> {
    // SAFETY: by the contract.
    let counts = unsafe { input::<usize>("the list of counts", counts.cast(), comm.size())? };
    counts.iter().map(|&n| ty.count(n)).collect()
}

/// The sum of counts, if memory can hold so many elements.
pub(crate) fn sum(counts: &[usize], ty: Type) -> Result<usize, String> {
    let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
    let fits = |&total: &usize| {
        total.checked_mul(ty.size_of_part()).is_some_and(|b| b <= isize::MAX as usize)
    };
    total.filter(fits).ok_or_else(|| "the counts sum to more than memory can hold".into())
}

/// Memory that is read, and memory that is written, once their pointers are looked at: so many Rust
/// elements. Without memory that is read, the memory that is written is read before.
#[inline(always)]
pub(crate) fn buffers(
    ty: Type,
    read: Option<(*const c_void, usize)>,
    (to, received): (*mut c_void, usize),
) -> Result<ReductionMemory, String> {
    let what = if read.is_some() { "the output" } else { "the buffer" };
    let (size, align) = (ty.size_of_part(), ty.align());
    if let Some((from, sent)) = read {
        look_at("the input", from, sent, align)?;
        apart((from, sent * size), (to, received * size))?;
    }
    look_at(what, to, received, align)?;
    // An address that is not null, of no elements.
    let solid = |at: *mut c_void| match at.is_null() {
        true => std::ptr::without_provenance_mut(64),
        false => at.cast::<u8>(),
    };
    let from = read.map_or(to, |(from, _)| from.cast_mut());
    Ok(ReductionMemory { input: solid(from), output: solid(to) })
}
