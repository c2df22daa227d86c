//! The memory of a collective, once its pointers and counts are looked at.

use crate::arguments::{apart, input, output};
use crate::types::{Type, with_type};
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
    let size = ty.size / ty.parts();
    let fits = |&total: &usize| total.checked_mul(size).is_some_and(|b| b <= isize::MAX as usize);
    total.filter(fits).ok_or_else(|| "the counts sum to more than memory can hold".into())
}

/// As many elements as all ranks have together, `n` each.
#[inline(always)]
pub(crate) fn of_all(comm: &Comm, n: usize, ty: Type) -> Result<usize, String> {
    match n.checked_mul(comm.size()) {
        Some(total) => ty.count(total),
        None => Err("more elements than memory can hold".into()),
    }
}

/// Memory that is read, and memory that is written, once their pointers are looked at: so many Rust
/// elements.
///
/// # Safety
/// As [`input`] and [`output`].
pub(crate) unsafe fn two_buffers(
    ty: Type,
    (from, sent): (*const c_void, usize),
    (to, received): (*mut c_void, usize),
) -> Result<ReductionMemory, String> {
    let size = ty.size / ty.parts();
    with_type!(ty, T => {
        // SAFETY: by the contract; one is enough to look at the pointer.
        unsafe {
            input::<T>("the input", from, sent.min(1))?;
            output::<T>("the output", to, received.min(1))?;
        }
    });
    apart((from, sent * size), (to, received * size))?;
    Ok(ReductionMemory { input: solid(from.cast_mut()), output: solid(to) })
}

/// The address, or one that is not null, of no elements.
fn solid(at: *mut c_void) -> *mut u8 {
    if at.is_null() { std::ptr::without_provenance_mut(64) } else { at.cast() }
}

/// Memory that is read and written.
///
/// # Safety
/// As [`output`].
#[inline(always)]
pub(crate) unsafe fn one_buffer(
    ty: Type,
    buf: *mut c_void,
    n: usize,
) -> Result<ReductionMemory, String> {
    with_type!(ty, T => {
        // SAFETY: by the contract.
        unsafe { output::<T>("the buffer", buf, n.min(1))? };
    });
    Ok(ReductionMemory { input: solid(buf), output: solid(buf) })
}
