//! Reductions and scans by direct access.

use super::super::kernel::{Kernel, MOST_INPUTS};
use super::{Access, Work, blocks, half_of_scratch};
use crate::fabric::Stop;
use std::ops::Range;

/// All-reduce in place of `len` elements at `buf`.
///
/// # Safety
/// - `buf` is valid for reads and writes of `len` elements of the kernel's
///   type, and nobody but this call and the peers' same call accesses it.
/// - The call's scratch memory is as large as `scratch_bytes` says, unless there are two ranks.
pub(super) unsafe fn all_reduce(call: Access<'_>, buf: *mut u8, len: usize) -> Result<(), Stop> {
    call.together(buf, len, &mut |work, all| {
        let mine = work.share(len);
        let at = |buf: *mut u8| work.at(buf, mine.start);
        if let [a, b] = *all {
            // SAFETY: shares of different ranks are disjoint, the two buffers
            // are (two live `&mut`), and both owners keep them until we finish.
            return unsafe { work.kernel.both(at(a), at(b), mine.len()) };
        }
        for block in work.blocks(mine) {
            // SAFETY: as above: this range of every buffer is ours alone.
            unsafe {
                work.fold(work.scratch, all, block.start, block.len());
                for &x in all {
                    work.kernel.copy(work.at(x, block.start), work.scratch, block.len());
                }
            }
        }
    })
}

/// Reduce of `len` elements at `buf` on every rank into `root`'s.
///
/// # Safety
/// As [`all_reduce`]; on ranks other than the root `buf` need not be writable.
pub(super) unsafe fn reduce(
    call: Access<'_>,
    root: usize,
    buf: *mut u8,
    len: usize,
) -> Result<(), Stop> {
    call.together(buf, len, &mut |work, all| {
        let mine = work.share(len);
        if let [a, b] = *all {
            let at = |buf: *mut u8| work.at(buf, mine.start);
            // SAFETY: everybody only reads, except that this range of the
            // root's buffer is written by us alone.
            return unsafe { work.kernel.combine(at(all[root]), at(a), at(b), mine.len()) };
        }
        for block in work.blocks(mine) {
            // SAFETY: as above; the scratch memory is ours.
            unsafe {
                work.fold(work.scratch, all, block.start, block.len());
                work.kernel.copy(work.at(all[root], block.start), work.scratch, block.len());
            }
        }
    })
}

/// Reduce-scatter: `part` is the range of the `len` elements at `input` that
/// belongs to this rank; it goes to `output`.
///
/// # Safety
/// `input` is valid for reads of `len` elements of the kernel's type, `output`
/// for writes of the own part; they do not overlap. Scratch as [`all_reduce`].
pub(super) unsafe fn reduce_scatter(
    call: Access<'_>,
    input: *const u8,
    len: usize,
    part: Range<usize>,
    output: *mut u8,
) -> Result<(), Stop> {
    call.together(input.cast_mut(), len, &mut |work, all| {
        if work.p <= MOST_INPUTS && !work.stream {
            // SAFETY: the inputs are only read, by everybody; the output is
            // ours.
            return unsafe { work.fold(output, all, part.start, part.len()) };
        }
        for block in work.blocks(part.clone()) {
            let to = work.at(output, block.start - part.start);
            // SAFETY: as above; the scratch memory is ours.
            unsafe {
                work.fold(work.scratch, all, block.start, block.len());
                work.deliver(to, work.scratch, block.len());
            }
        }
    })
}

/// Inclusive scan in place of `len` elements at `buf`.
///
/// # Safety
/// As [`all_reduce`].
pub(super) unsafe fn scan(call: Access<'_>, buf: *mut u8, len: usize) -> Result<(), Stop> {
    // SAFETY: these are everybody's, who keep them until we finish.
    call.together(buf, len, &mut |work, all| unsafe {
        scan_part(work.kernel, work.share(len), (all, all));
    })
}

/// Makes the elements `part` of an inclusive scan of the vectors at the addresses in `from`; its
/// vectors are at those in `to`.
///
/// # Safety
/// - As many vectors, valid for reads and writes of these elements of the kernel's type, which
///   nobody else accesses.
/// - A vector of `to` is that of `from` with its number, or overlaps none.
pub(super) unsafe fn scan_part(
    kernel: &Kernel<'_>,
    part: Range<usize>,
    (from, to): (&[*mut u8], &[*mut u8]),
) {
    // Two vectors in place need no blocks: nothing passes through a cache.
    let is_once = from.len() == 2 && from == to;
    let step = if is_once { vec![part] } else { blocks(part, kernel.size()).collect() };
    for block in step {
        let (start, n) = (block.start.wrapping_mul(kernel.size()), block.len());
        let at = |all: &[*mut u8], r: usize| all[r].wrapping_add(start);
        // SAFETY: by the contract.
        unsafe {
            if from[0] != to[0] {
                kernel.copy(at(to, 0), at(from, 0), n);
            }
            for r in 1..from.len() {
                kernel.combine(at(to, r), at(to, r - 1), at(from, r), n);
            }
        }
    }
}

/// Exclusive scan in place of `len` elements at `buf`. Rank 0's buffer is filled
/// with its `identity`, unless that is null.
///
/// # Safety
/// As [`all_reduce`]; `identity` is null or valid for reads of an element.
pub(super) unsafe fn exclusive_scan(
    call: Access<'_>,
    identity: *const u8,
    buf: *mut u8,
    len: usize,
) -> Result<(), Stop> {
    // SAFETY: these are everybody's, who keep them, and rank 0 its identity, until all have
    // finished.
    call.together_with((buf, identity.cast_mut()), len, &mut |work, all, identity| unsafe {
        exclusive_scan_part(work.kernel, work.share(len), (all, all), identity, work.scratch);
    })
}

/// Makes the elements `part` of an exclusive scan, as [`scan_part`]; the first of its vectors is
/// filled with `identity`, unless that is null.
///
/// # Safety
/// - As [`scan_part`]; but without an identity the first vector of `to` need be no memory, and with
///   one it is that of `from`. The last of `from` need be none.
/// - `identity` is null or valid for reads of an element. The scratch memory is as large as
///   `scratch_bytes` says, unless there are two vectors at most.
pub(super) unsafe fn exclusive_scan_part(
    kernel: &Kernel<'_>,
    part: Range<usize>,
    (from, to): (&[*mut u8], &[*mut u8]),
    identity: *const u8,
    scratch: *mut u8,
) {
    let last = from.len() - 1;
    if last == 0 && identity.is_null() {
        return;
    }
    for block in blocks(part, kernel.size()) {
        let (start, n) = (block.start.wrapping_mul(kernel.size()), block.len());
        let at = |all: &[*mut u8], r: usize| all[r].wrapping_add(start);
        let total = if last == 1 { at(to, 1) } else { scratch };
        // SAFETY: by the contract.
        unsafe {
            // Rank 0's is read and written once.
            match identity.is_null() {
                true => kernel.copy(total, at(from, 0), n),
                false => kernel.replace(total, at(from, 0), identity, n),
            }
            if last > 1 {
                for r in 1..last {
                    if from[r] != to[r] {
                        kernel.copy(at(to, r), at(from, r), n);
                    }
                    kernel.carry(total, at(to, r), n);
                }
                kernel.copy(at(to, last), total, n);
            }
        }
    }
}

impl Work<'_> {
    /// `dst[i] = all[0][from + i] (+) .. (+) all[p-1][from + i]` for `n` elements,
    /// at most a block unless there are few ranks.
    ///
    /// # Safety
    /// - There are at least two inputs, valid for reads from `from` on, `dst`
    ///   for writes, and it overlaps none of them.
    /// - `dst` is not the second half of the scratch memory; if there are more
    ///   than [`MOST_INPUTS`] inputs, `n` elements fit a block.
    unsafe fn fold(&self, dst: *mut u8, all: &[*mut u8], from: usize, n: usize) {
        let kernel: &Kernel<'_> = self.kernel;
        let at = from.wrapping_mul(kernel.size());
        let (first, mut rest) = all.split_at(all.len().min(MOST_INPUTS));
        let rounds = rest.len().div_ceil(MOST_INPUTS - 1);
        let spare = self.scratch.wrapping_add(half_of_scratch(kernel));
        // So that the last round ends in `dst`.
        let (mut to, mut next) = if rounds % 2 == 0 { (dst, spare) } else { (spare, dst) };
        // SAFETY: passed on.
        unsafe { kernel.fold(to, first, at, n) };
        while !rest.is_empty() {
            let (some, others) = rest.split_at(rest.len().min(MOST_INPUTS - 1));
            let mut inputs = [to.wrapping_sub(at); MOST_INPUTS];
            inputs[1..=some.len()].copy_from_slice(some);
            // SAFETY: passed on; `next` is neither `to` nor an input.
            unsafe { kernel.fold(next, &inputs[..=some.len()], at, n) };
            (to, next) = (next, to);
            rest = others;
        }
    }
}
