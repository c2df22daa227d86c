//! Ranks, pointers and lengths as C hands them over: their faults are told before Rust
//! has a slice of them.

use crate::names::{PHX_ANY_SOURCE, PHX_ANY_TAG};
use phalanx::{Source, Tag};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;

/// A pointer that says "in place" as a collective's first buffer.
pub(crate) const IN_PLACE: *const c_void = std::ptr::without_provenance(usize::MAX);

/// A rank's number, of a C integer.
pub(crate) fn rank_number(what: &str, rank: c_int) -> Result<usize, String> {
    usize::try_from(rank).map_err(|_| format!("{what} {rank} is no rank"))
}

/// The sender of a tagged message, or any.
pub(crate) fn sender(source: c_int) -> Result<Source, String> {
    match source {
        PHX_ANY_SOURCE => Ok(Source::Any),
        source => Ok(Source::Rank(rank_number("source", source)?)),
    }
}

/// The tag of a message that is received, or any.
pub(crate) fn tag_of(tag: c_int) -> Result<Tag, String> {
    match tag {
        PHX_ANY_TAG => Ok(Tag::Any),
        tag => Ok(Tag::Is(given_tag(tag)?)),
    }
}

/// The tag of a message that is sent.
pub(crate) fn given_tag(tag: c_int) -> Result<u32, String> {
    u32::try_from(tag).map_err(|_| format!("{tag} is no tag: those are 0 or more"))
}

/// The distance of a shift, of a C integer, around a circle of so many ranks.
pub(crate) fn distance(by: c_int, ranks: usize) -> usize {
    (by as isize).rem_euclid(ranks as isize) as usize
}

/// The text at `text`, or nothing for null.
///
/// # Safety
/// `text` is null, or a string that ends with a zero.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// `n` elements at `at`, to be read.
///
/// # Safety
/// `at` is null, or has `n` elements for as long as the caller uses them.
#[inline(always)]
pub(crate) unsafe fn input<'a, T>(
    what: &str,
    at: *const c_void,
    n: usize,
) -> Result<&'a [T], String> {
    if n == 0 {
        return Ok(&[]);
    }
    look_at(what, at, n, align_of::<T>())?;
    // SAFETY: by the contract; the caller has looked that memory can hold so many.
    Ok(unsafe { std::slice::from_raw_parts(at.cast(), n) })
}

/// `n` elements at `at`, to be written.
///
/// # Safety
/// As [`input`], and nobody else uses them meanwhile.
#[inline(always)]
pub(crate) unsafe fn output<'a, T>(
    what: &str,
    at: *mut c_void,
    n: usize,
) -> Result<&'a mut [T], String> {
    if n == 0 {
        return Ok(&mut []);
    }
    look_at(what, at, n, align_of::<T>())?;
    // SAFETY: by the contract.
    Ok(unsafe { std::slice::from_raw_parts_mut(at.cast(), n) })
}

/// A list of `n` numbers, or pointers.
///
/// # Safety
/// As [`input`].
pub(crate) unsafe fn list<'a, T>(
    what: &str,
    at: *const T,
    n: impl TryInto<usize> + Display + Copy,
) -> Result<&'a [T], String> {
    let length = n.try_into().ok().filter(|&n| n <= isize::MAX as usize / size_of::<T>());
    let length = length.ok_or_else(|| format!("{what} has {n} elements"))?;
    // SAFETY: passed on.
    unsafe { input(what, at.cast(), length) }
}

/// Looks at the place of a result, which a program needs.
pub(crate) fn place<T>(at: *mut T) -> Result<(), String> {
    look_at("the place of the result", at.cast(), 1, align_of::<T>())
}

/// Stores a result at `at`, unless that is null: the program does not ask for it.
///
/// # Safety
/// `at` is null or valid.
pub(crate) unsafe fn put<T>(at: *mut T, result: T) {
    if !at.is_null() {
        // SAFETY: by the contract.
        unsafe { *at = result };
    }
}

/// The extents of a grid.
pub(crate) fn extents_of(extents: &[c_int]) -> Result<Vec<usize>, String> {
    let extent = |&n: &c_int| usize::try_from(n).map_err(|_| format!("an extent of {n}"));
    extents.iter().map(extent).collect()
}

/// Whether `at` is not null and aligned for `T`, and `n` at least 1 and not more than memory can
/// hold, and both as small as programs have them. If not, perhaps, [`output`] says the fault.
#[inline(always)]
pub(crate) fn is_usual<T>(at: *const c_void, n: usize) -> bool {
    odd_bits::<T>(at, n) >> 48 == 0
}

/// The same of `n` elements at `from`, to be read, and `n` times `ranks` at `to`, to be written;
/// and that they do not overlap. If not, perhaps, [`input`], [`apart`] and [`output`] say it.
#[inline(always)]
pub(crate) fn are_usual<T>(from: *const c_void, to: *const c_void, n: usize, ranks: usize) -> bool {
    if (odd_bits::<T>(from, n) | odd_bits::<T>(to, n)) >> 48 != 0 {
        return false;
    }
    // (Small numbers: no overflow.)
    let (from, to, bytes) = (from.addr(), to.addr(), n * size_of::<T>());
    from + bytes <= to || to + bytes * ranks <= from
}

/// Below 2^48 only if `at` is not null and aligned for `T`, and `n` is from 1 to 2^48: a fault
/// shows in the high bits of the one or the other, which are looked at at once.
#[inline(always)]
fn odd_bits<T>(at: *const c_void, n: usize) -> usize {
    const { assert!(align_of::<T>() > 1 && size_of::<T>() <= 16 && phalanx::MAX_RANKS <= 1 << 10) };
    // An address from 1 to the alignment less 1 has its own bits on top then, and 1 less is still
    // more than any address has.
    let aligned = at.addr().rotate_right(align_of::<T>().trailing_zeros()).wrapping_sub(1);
    aligned | n.wrapping_sub(1)
}

/// Looks at the pointer to `n` elements of this alignment.
#[inline(always)]
pub(crate) fn look_at(what: &str, at: *const c_void, n: usize, align: usize) -> Result<(), String> {
    // The address that says "in place" is aligned for elements of one byte only.
    let is_bad = at.is_null() || at.addr() & (align - 1) != 0 || align == 1 && at == IN_PLACE;
    if n > 0 && is_bad { Err(bad_pointer(what, at, align)) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn bad_pointer(what: &str, at: *const c_void, align: usize) -> String {
    if at.is_null() {
        format!("{what} is null")
    } else if at == IN_PLACE {
        format!("{what} is PHX_IN_PLACE, which this function does not take there")
    } else {
        format!("{what} at {at:p} is not aligned to {align} bytes, as its elements are")
    }
}

/// Looks that the memory that is read is not written, too.
#[inline(always)]
pub(crate) fn apart(
    (from, bytes): (*const c_void, usize),
    (to, room): (*mut c_void, usize),
) -> Result<(), String> {
    let (from, to) = (from.addr(), to.addr());
    if bytes == 0 || room == 0 || from + bytes <= to || to + room <= from {
        return Ok(());
    }
    Err("the input and the output overlap (PHX_IN_PLACE, where it is allowed, says that)".into())
}
