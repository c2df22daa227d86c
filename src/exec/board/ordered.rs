//! Combination of all ranks' vectors in the order of one tree.
//!
//! Rank `i` combines chunk `i` of all buffers, neighbours first (see
//! `order.rs`), in scratch memory, and stores the result where it belongs. The
//! order of an element's operands depends on nothing but their number: not on
//! the length, the chunks or the blocks.

use super::super::kernel::{Kernel, OperandTree};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM};
use crate::order::by_levels;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Bytes that are worked on over all ranks before the next are begun, where
/// they pass through a partial result or a bounce buffer: it and a few inputs
/// then stay in the innermost cache (32 KiB or more on every machine of the
/// last ten years).
pub(crate) const BLOCK: usize = 8 << 10;

/// The ranges of a part that fit a block.
pub(crate) fn blocks(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (BLOCK / size.max(1)).max(1);
    range.clone().step_by(step).map(move |i| i..i.saturating_add(step).min(range.end))
}

/// Bytes between one partial result and the next, which is aligned like the
/// first: an element of no size may ask for more than a block.
fn slot(kernel: &Kernel<'_>) -> usize {
    BLOCK.max(kernel.size()).next_multiple_of(kernel.align())
}

/// Bytes of scratch memory that a reduction over `p` ranks needs: a block for
/// every level of the tree.
pub(crate) fn scratch(kernel: &Kernel<'_>, p: usize) -> usize {
    slot(kernel) * (p.ilog2() as usize + 2)
}

/// Combines the elements `part` of the vectors at the addresses in `from`, and stores them at their
/// places in each of the vectors at those in `to`: first in vector `near`, which the others are
/// copied from.
///
/// # Safety
/// - The vectors are valid, those of `from` for reads and those of `to` for writes of these
///   elements of the kernel's type, which nobody else accesses. (But if `to` is none of `from`,
///   others may read these.)
/// - A vector of `to` is one of `from`, or overlaps none of them; it overlaps no other of `to`.
/// - `slots` are [`scratch`] bytes of this rank's own, or there are two vectors in `from` at most.
pub(crate) unsafe fn reduce_part(
    kernel: &Kernel<'_>,
    part: Range<usize>,
    (from, to): (&[*mut u8], &[*mut u8]),
    near: usize,
    slots: *mut u8,
) {
    let size = kernel.size();
    if let ([a, b], true) = (from, from == to) {
        let at = part.start * size;
        // SAFETY: by the contract; the two are two vectors, as `to` are.
        return unsafe { kernel.both(a.wrapping_add(at), b.wrapping_add(at), part.len()) };
    }
    for block in blocks(part, size) {
        let (at, n) = (block.start * size, block.len());
        let made = to[near].wrapping_add(at);
        // SAFETY: by the contract; the last combination is stored where one of its operands is, or
        // where nothing is that is read any more.
        unsafe {
            tree(kernel, from, at, n, made, (slots, slot(kernel)));
            for (_, to) in to.iter().enumerate().filter(|it| it.0 != near) {
                kernel.copy(to.wrapping_add(at), made, n);
            }
        }
    }
}

/// Combines the elements `part` of the vectors at the addresses in `all`, and stores them at `to`.
///
/// # Safety
/// - The vectors are valid for reads of these elements of the kernel's type, which has
///   [`BRIEF_ROOM`] bytes and the alignment [`BRIEF_ALIGN`] at most, and nobody writes them.
/// - `to` is valid for writes of these elements, and overlaps no input.
#[inline(always)]
pub(crate) unsafe fn reduce_brief(
    kernel: Kernel<'_>,
    all: &[*mut u8],
    part: Range<usize>,
    to: *mut u8,
) {
    let (at, n) = (part.start.wrapping_mul(kernel.size()), part.len());
    // SAFETY: by the contract.
    unsafe {
        match *all {
            [a, b] => kernel.combine(to, a.wrapping_add(at), b.wrapping_add(at), n),
            _ => tree_of_brief(kernel, all, at, n, to),
        }
    }
}

/// # Safety
/// As [`reduce_brief`]; the elements begin `at` bytes behind the addresses.
#[inline(never)]
unsafe fn tree_of_brief(kernel: Kernel<'_>, all: &[*mut u8], at: usize, n: usize, to: *mut u8) {
    /// As many as a tree of any number of ranks needs.
    const SLOTS: usize = usize::BITS as usize + 2;
    const _: () = assert!(BRIEF_ALIGN <= 64 && BRIEF_ROOM == 64);
    #[repr(align(64))]
    struct Slots([MaybeUninit<[u8; BRIEF_ROOM]>; SLOTS]);
    let mut slots = Slots([MaybeUninit::uninit(); SLOTS]);
    // So many elements fit a slot: most often all, which needs no division.
    let each = match n.saturating_mul(kernel.size()) <= BRIEF_ROOM {
        true => n,
        false => (BRIEF_ROOM / kernel.size()).max(1),
    };
    let mut done = 0;
    while done < n {
        let (some, behind) = (each.min(n - done), done.wrapping_mul(kernel.size()));
        // SAFETY: by the contract; the slots are aligned as the room beside a notice, and nobody
        // else's.
        unsafe {
            let slots = (slots.0.as_mut_ptr().cast(), BRIEF_ROOM);
            let to = to.wrapping_add(behind);
            tree(&kernel, all, at.wrapping_add(behind), some, to, slots);
        }
        done += some;
    }
}

/// Combines `len` elements, `at` bytes behind each of the addresses in `all`, in
/// the order of the tree, and stores the result at `to`.
///
/// # Safety
/// - The elements are of the kernel's type, nobody writes them, and `len` of
///   them fit a slot.
/// - There is a slot for every level of the tree and one more, of so many bytes each; of two
///   operands none.
/// - `to` is valid for writes of as many elements. It is the place of an operand, or overlaps none
///   of them, and no slot.
unsafe fn tree(
    kernel: &Kernel<'_>,
    all: &[*mut u8],
    at: usize,
    len: usize,
    to: *mut u8,
    (slots, pitch): (*mut u8, usize),
) {
    if kernel.is_wide() {
        // SAFETY: by the contract.
        return unsafe { kernel.by_tree(to, all, at, len, OperandTree::levels(all.len())) };
    }
    // (The last join comes after the last leaf, and is at level 0.)
    let leaves = Cell::new(0);
    let leaf = |_, rank: usize| {
        leaves.set(rank + 1);
        all[rank].wrapping_add(at).cast_const()
    };
    let join = |level: usize, left, right| {
        let is_last = level == 0 && leaves.get() == all.len();
        // The left result may be in this very slot, the right one is in a later one.
        let to = if is_last { to } else { slots.wrapping_add(level * pitch) };
        // SAFETY: by the contract.
        unsafe { kernel.combine(to, left, right, len) };
        to.cast_const()
    };
    let waiting = [const { Cell::new(std::ptr::null()) }; usize::BITS as usize];
    let result = by_levels(all.len(), &waiting, leaf, join);
    if result != to.cast_const() {
        // SAFETY: by the contract: the only operand.
        unsafe { kernel.copy(to, result, len) };
    }
}
