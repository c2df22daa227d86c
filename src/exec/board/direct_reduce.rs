//! Reductions and scans by direct access.

use super::super::kernel::{Kernel, MOST_INPUTS};
use super::{Access, Work, half_of_scratch};
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
    call.together(buf, len, &mut |work, all| unsafe { scan_part(work, all, len) })
}

/// This rank's part of an inclusive scan of `len` elements at each of the addresses in `all`.
///
/// # Safety
/// They are valid for reads and writes of `len` elements of the kernel's type, and accessed by
/// nobody but the ranks' parts of this very call.
pub(super) unsafe fn scan_part(work: &Work<'_>, all: &[*mut u8], len: usize) {
    let mine = work.share(len);
    // Two ranks need no blocks: nothing passes through a cache.
    let step = if work.p == 2 { vec![mine] } else { work.blocks(mine).collect() };
    for block in step {
        let at = |r: usize| work.at(all[r], block.start);
        if work.kernel.is_wide() {
            let behind = block.start.wrapping_mul(work.kernel.size());
            // SAFETY: as in `all_reduce`.
            unsafe { work.kernel.prefixes(all, behind, block.len(), false) };
            continue;
        }
        for r in 1..work.p {
            // SAFETY: as in `all_reduce`.
            unsafe { work.kernel.combine(at(r), at(r - 1), at(r), block.len()) };
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
        exclusive_scan_part(work, all, len, identity);
    })
}

/// This rank's part of an exclusive scan of `len` elements at each of the addresses in `all`.
///
/// # Safety
/// As [`scan_part`]; `identity` is null or valid for reads of an element. The scratch memory is as
/// large as `scratch_bytes` says.
pub(super) unsafe fn exclusive_scan_part(
    work: &Work<'_>,
    all: &[*mut u8],
    len: usize,
    identity: *const u8,
) {
    let (kernel, last) = (work.kernel, work.p - 1);
    for block in work.blocks(work.share(len)) {
        let (at, n) = (|r: usize| work.at(all[r], block.start), block.len());
        if kernel.is_wide() {
            // SAFETY: as in `all_reduce`; the identity is there.
            unsafe {
                kernel.prefixes(all, block.start.wrapping_mul(kernel.size()), n, true);
                if !identity.is_null() {
                    kernel.fill(at(0), identity, n);
                }
            }
            continue;
        }
        let total = if last == 1 { at(1) } else { work.scratch };
        // SAFETY: as in `all_reduce`; the scratch memory is ours.
        unsafe {
            // Rank 0's is read and written once.
            match identity.is_null() {
                true => kernel.copy(total, at(0), n),
                false => kernel.replace(total, at(0), identity, n),
            }
            if last > 1 {
                (1..last).for_each(|r| kernel.carry(total, at(r), n));
                kernel.copy(at(last), total, n);
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
        // What has been rounded cannot go on.
        let most = if kernel.is_wide() { all.len() } else { MOST_INPUTS };
        let (first, mut rest) = all.split_at(all.len().min(most));
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
