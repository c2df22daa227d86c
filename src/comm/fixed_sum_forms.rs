//! The messages of a fixed sum: a few numbers behind the part's bounds, or words that
//! point to one of four things, which stay until the words are consumed.
//!
//! Two ranks choose by where they believe the vector to be cut. If their parts do not follow one
//! another they may choose differently; so each reads the bounds of any.

use crate::dist::{FirstPart, HalfVector, Partial};
use crate::element::Element;
use crate::schedule::Algorithm;
use crate::shared::{CallParams, Fingerprint, WordBytes};

/// Bytes of where a part begins and ends.
pub(super) const BOUNDS: usize = 2 * size_of::<usize>();

/// The memory that posted words point to, as their count: `[Partial<T>; N]` (`fixed_sum.rs`).
pub(super) const PARTIALS: usize = 1;
/// `[FirstPart<T>; N]` (`fixed_sum_of_two.rs`).
pub(super) const FIRST_PARTS: usize = 2;
/// `[Option<T>; N]` (the same).
pub(super) const RESULTS: usize = 3;
/// `[HalfVector<T>; N]` (`fixed_sum_of_halves.rs`).
pub(super) const HALVES: usize = 4;

/// The parameters that ranks compare of a sum of `n` vectors at once, of which each has `len`
/// elements here.
pub(super) fn params_of(n: usize, len: usize) -> CallParams {
    CallParams {
        algorithm: Algorithm::AR_ANY.index(),
        own_len: Some(len),
        parameter: n.min(Fingerprint::NO_PARAMETER - 1),
        ..CallParams::of(n)
    }
}

/// Writes bounds and numbers.
///
/// # Safety
/// `body` is valid for writes of [`BOUNDS`] bytes and of the numbers.
#[inline(always)]
pub(super) unsafe fn write<T: Element>(
    bounds: (usize, usize),
    numbers: impl Iterator<Item = T>,
    body: *mut u8,
) {
    // SAFETY: by the contract, as below.
    unsafe { body.cast::<[usize; 2]>().write_unaligned([bounds.0, bounds.1]) };
    let to = body.wrapping_add(BOUNDS).cast::<T>();
    for (i, value) in numbers.enumerate() {
        // SAFETY: by the contract.
        unsafe { to.wrapping_add(i).write_unaligned(value) };
    }
}

/// The bounds that a message of so many bytes begins with.
///
/// # Safety
/// The copied bytes were written by [`write()`], or are shorter than bounds.
#[inline(always)]
pub(super) unsafe fn bounds_in(body: *const u8, bytes: usize) -> Option<(usize, usize)> {
    // SAFETY: by the contract.
    let bounds = (bytes >= BOUNDS).then(|| unsafe { body.cast::<[usize; 2]>().read_unaligned() });
    bounds.map(|[start, end]| (start, end))
}

/// The bounds of the part that these words point to, if it is a part.
///
/// # Safety
/// The peer posted them in a fixed sum of elements of type T, at least one, and keeps the memory
/// that they point to.
pub(super) unsafe fn bounds_of<T: Element>(words: WordBytes) -> Option<(usize, usize)> {
    // SAFETY: by the contract: the count says of which type the first is.
    unsafe {
        match words.count {
            PARTIALS => Some((*words.at.cast::<Partial<T>>()).bounds()),
            FIRST_PARTS => Some((0, (*words.at.cast::<FirstPart<T>>()).end())),
            HALVES => Some((*words.at.cast::<HalfVector<T>>()).bounds()),
            _ => None,
        }
    }
}
