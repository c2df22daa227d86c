//! Shares of reductions and scans by direct access.

use super::super::kernel::{Kernel, MOST_INPUTS};
use super::{AccessTask, Work, blocks, half_of_scratch, ordered};
use std::ops::Range;

/// All-reduce in place.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn all_reduce(task: &AccessTask<'_>, all: &[*mut u8]) {
    let all = &all[..task.work.p];
    // SAFETY: shares of different ranks are disjoint, the buffers are (live `&mut`s).
    unsafe { task.combine(task.work.share(task.call.unit()), all, all) };
}

/// Reduce of vectors of which the root's is the output.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn reduce(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (all, to) = (&all[..task.work.p], all[task.call.root_rank()]);
    // SAFETY: everybody only reads, except that this range of the root's buffer is written by us
    // alone.
    unsafe { task.combine(task.work.share(task.call.unit()), all, &[to]) };
}

/// Reduce-scatter: the own block of all inputs goes to the output.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn reduce_scatter(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, output) = (&task.work, task.call.memory().output);
    let (all, part) = (&all[..work.p], task.call.cut().block(work.rank));
    // SAFETY: the inputs are only read, by everybody; the output is ours.
    unsafe {
        if work.p <= MOST_INPUTS && !work.stream && !task.call.is_in_order() {
            return work.fold(output, all, part.start, part.len());
        }
        // Where element 0 of the result would be.
        let to = output.wrapping_sub(part.start.wrapping_mul(work.kernel.size()));
        task.combine(part, all, &[to]);
    }
}

/// Inclusive scan in place.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn scan(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, all) = (&task.work, &all[..task.work.p]);
    // SAFETY: this range of every buffer is ours alone.
    unsafe { scan_part(work.kernel, work.share(task.call.unit()), (all, all)) };
}

/// Exclusive scan in place. Rank 0's vector is filled with its identity, if it has one.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn exclusive_scan(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, (all, second)) = (&task.work, all.split_at(task.work.p));
    let part = work.share(task.call.unit());
    // SAFETY: as in `scan`; rank 0 keeps its identity.
    unsafe { exclusive_scan_part(work.kernel, part, (all, all), second[0], work.scratch) };
}

impl AccessTask<'_> {
    /// Combines the elements `part` of the vectors at the addresses in `from`, and stores them at
    /// their places in each of the vectors at those in `to`: in rank order, or in fixed order.
    ///
    /// # Safety
    /// As [`ordered::reduce_part`].
    unsafe fn combine(&self, part: Range<usize>, from: &[*mut u8], to: &[*mut u8]) {
        let work = &self.work;
        if self.call.is_in_order() {
            let near = work.rank % to.len();
            // SAFETY: passed on.
            return unsafe {
                ordered::reduce_part(work.kernel, part, (from, to), near, work.scratch)
            };
        }
        // Two in place, which need no scratch memory.
        if let ([a, b], true) = (from, work.scratch.is_null()) {
            let at = |buf: *mut u8| work.at(buf, part.start);
            // SAFETY: by the contract; the two are two vectors.
            return unsafe {
                match *to {
                    [to] => work.kernel.combine(at(to), at(*a), at(*b), part.len()),
                    _ => work.kernel.both(at(*a), at(*b), part.len()),
                }
            };
        }
        for block in work.blocks(part) {
            // SAFETY: by the contract; the scratch memory is ours.
            unsafe {
                work.fold(work.scratch, from, block.start, block.len());
                for &to in to {
                    work.deliver(work.at(to, block.start), work.scratch, block.len());
                }
            }
        }
    }
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
    if kernel.is_wide() {
        let start = part.start.wrapping_mul(kernel.size());
        // SAFETY: by the contract.
        return unsafe { kernel.prefixes((from, to), start, part.len()) };
    }
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
    if kernel.is_wide() {
        let start = part.start.wrapping_mul(kernel.size());
        // SAFETY: by the contract; the identity is stored when the first vector has been read.
        unsafe {
            kernel.prefixes((&from[..last], &to[1..]), start, part.len());
            if !identity.is_null() {
                kernel.fill(from[0].wrapping_add(start), identity, part.len());
            }
        }
        return;
    }
    for block in blocks(part, kernel.size()) {
        let (start, n) = (block.start.wrapping_mul(kernel.size()), block.len());
        let at = |all: &[*mut u8], r: usize| all[r].wrapping_add(start);
        let mut total = if last == 1 { at(to, 1) } else { scratch };
        let mut next = scratch.wrapping_add(half_of_scratch(kernel));
        // SAFETY: by the contract.
        unsafe {
            // Rank 0's is read and written once.
            match identity.is_null() {
                true => kernel.copy(total, at(from, 0), n),
                false => kernel.replace(total, at(from, 0), identity, n),
            }
            for r in 1..last {
                kernel.combine(next, total, at(from, r), n);
                kernel.copy(at(to, r), total, n);
                (total, next) = (next, total);
            }
            if last > 1 {
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
        let kernel = self.kernel;
        if kernel.is_wide() && all.len() > MOST_INPUTS {
            // A rounded sum cannot go on: all in one pass.
            let at = from.wrapping_mul(kernel.size());
            // SAFETY: passed on.
            return unsafe { kernel.prefixes((all, &[dst.wrapping_sub(at)]), at, n) };
        }
        let (first, mut rest) = all.split_at(all.len().min(MOST_INPUTS));
        let rounds = rest.len().div_ceil(MOST_INPUTS - 1);
        let spare = self.scratch.wrapping_add(half_of_scratch(kernel));
        // So that the last round ends in `dst`.
        let (mut to, mut next) = if rounds % 2 == 0 { (dst, spare) } else { (spare, dst) };
        // SAFETY: passed on.
        unsafe { kernel.fold(to, &self.places(first, from)[..first.len()], n) };
        while !rest.is_empty() {
            let (some, others) = rest.split_at(rest.len().min(MOST_INPUTS - 1));
            let mut inputs = self.places(some, from);
            inputs.copy_within(..some.len(), 1);
            inputs[0] = to;
            // SAFETY: passed on; `next` is neither `to` nor an input.
            unsafe { kernel.fold(next, &inputs[..=some.len()], n) };
            (to, next) = (next, to);
            rest = others;
        }
    }

    /// Where element `from` of each of the buffers is, of which there are at most so many.
    fn places(&self, all: &[*mut u8], from: usize) -> [*mut u8; MOST_INPUTS] {
        let mut places = [std::ptr::null_mut(); MOST_INPUTS];
        for (place, &buf) in places.iter_mut().zip(all) {
            *place = self.at(buf, from);
        }
        places
    }
}
