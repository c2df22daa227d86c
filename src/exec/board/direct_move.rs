//! Shares of operations by direct access that only move data.

use super::super::call::{Partition, RawBuffers};
use super::{AccessTask, Work, share};

/// Broadcast of the root's vector to everybody's.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn broadcast(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, root, len) = (&task.work, task.call.root_rank(), task.call.unit());
    // SAFETY: passed on.
    unsafe { broadcast_part(work, &all[..work.p], root, len) };
}

/// This rank's part of a broadcast of `len` elements at `all[root]` to the other addresses.
///
/// # Safety
/// They are valid for writes (the root's: reads) of `len` elements of the kernel's type, and
/// accessed by nobody but the ranks' parts of this very call.
pub(super) unsafe fn broadcast_part(work: &Work<'_>, all: &[*mut u8], root: usize, len: usize) {
    let mine = work.share(len);
    // Read once, written to all while it is in the cache; to one receiver
    // in one piece.
    let step = if work.p == 2 { vec![mine] } else { work.blocks(mine).collect() };
    for block in step {
        for to in (0..work.p).map(|d| (work.rank + d) % work.p).filter(|&to| to != root) {
            let at = |buf: *mut u8| work.at(buf, block.start);
            // SAFETY: this range of every receiver's buffer is written by
            // us alone, the root's is only read.
            unsafe { work.deliver(at(all[to]), at(all[root]), block.len()) };
        }
    }
}

/// All-gather: rank `r`'s input becomes block `r` of every output.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn all_gather(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, cut, output) = (&task.work, task.call.cut(), task.call.memory().output);
    if let Some(peer) = task.peer {
        let to = work.at(output, cut.block(peer).start);
        // (The own block may be there.)
        if !std::ptr::eq(all[peer], to) {
            // SAFETY: inputs are only read, by everybody; the output is ours, and its own block, if
            // that is the input, is not written.
            unsafe { work.deliver(to, all[peer], cut.len_of(peer)) };
        }
    }
}

/// All-to-all, of blocks of one length or, where each rank knows its own counts, of its own.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn all_to_all(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, cut, output) = (&task.work, task.call.cut(), task.call.memory().output);
    let (rank, p) = (work.rank, work.p);
    let to = match cut {
        Partition::Pairs { recv, .. } => Partition::Varied(recv),
        _ => cut,
    };
    if let Some(peer) = task.peer {
        // SAFETY: the peer shows its `p` counts, which sum to its input's length, and of which ours
        // has the expected length; the rest as in `all_gather`.
        unsafe {
            let from = work.at(all[peer], cut.of_peer(all[p + peer], p).block(rank).start);
            work.deliver(work.at(output, to.block(peer).start), from, to.len_of(peer));
        }
    }
}

/// All-to-all in place: each pair of ranks swaps its two blocks, the
/// lower rank the first half of them, the higher one the second.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn all_to_all_in_place(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, block) = (&task.work, task.call.unit());
    let (rank, p) = (work.rank, work.p);
    // In turn k with k - rank: the two of a pair meet in one turn.
    for peer in (0..p).map(|k| (k + p - rank) % p).filter(|&peer| peer != rank) {
        let half = share(block, usize::from(rank > peer), 2, work.kernel.line());
        let at = |of: usize, to: usize| {
            work.at(all[of], block.wrapping_mul(to).wrapping_add(half.start))
        };
        // SAFETY: these halves of the two blocks are touched by us alone.
        unsafe { work.kernel.swap(at(rank, peer), at(peer, rank), half.len()) };
    }
}

/// Scatter: this rank's block of the root's input goes to the output.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn scatter(task: &AccessTask<'_>, at: &[*mut u8]) {
    let (work, output) = (&task.work, task.call.memory().output);
    // SAFETY: the root's buffer is only read.
    unsafe { work.deliver(output, at[0], task.call.cut().len_of(work.rank)) };
}

/// Gather: this rank's input becomes its block of the root's output.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn gather(task: &AccessTask<'_>, at: &[*mut u8]) {
    let &RawBuffers { input, .. } = task.call.memory();
    // (The root's own may be there.)
    if !std::ptr::eq(at[0], input) {
        // SAFETY: this block of the root's buffer is written by us alone, since
        // all go by the root's counts.
        unsafe { task.work.deliver(at[0], input, task.call.cut().len_of(task.work.rank)) };
    }
}

/// Shift in place by a distance that is not 0.
///
/// # Safety
/// See [`ShareOf`](super::ShareOf).
pub(in crate::exec) unsafe fn shift(task: &AccessTask<'_>, all: &[*mut u8]) {
    let (work, distance, len) = (&task.work, task.call.distance(), task.call.unit());
    // SAFETY: passed on.
    unsafe { shift_part(work, &all[..work.p], distance, len) };
}

/// This rank's part of a shift of `len` elements at each of the addresses in `all`.
///
/// # Safety
/// They are valid for reads and writes of `len` elements of the kernel's type, and accessed by
/// nobody but the ranks' parts of this very call. The distance is not 0; the scratch memory is as
/// large as `scratch_bytes` says.
pub(super) unsafe fn shift_part(work: &Work<'_>, all: &[*mut u8], distance: usize, len: usize) {
    let before = |r: usize| (r + work.p - distance) % work.p;
    let mine = work.share(len);
    if 2 * distance == work.p {
        for low in 0..distance {
            let at = |r: usize| work.at(all[r], mine.start);
            // SAFETY: this range of every buffer is ours alone.
            unsafe { work.kernel.swap(at(low), at(low + distance), mine.len()) };
        }
        return;
    }
    let cycles = gcd(distance, work.p);
    for block in work.blocks(mine) {
        let (n, bounce) = (block.len(), work.scratch);
        let at = |r: usize| work.at(all[r], block.start);
        for first in 0..cycles {
            // SAFETY: as above; a block fits the scratch memory.
            unsafe {
                work.kernel.copy(bounce, at(first), n);
                let mut to = first;
                while before(to) != first {
                    work.kernel.copy(at(to), at(before(to)), n);
                    to = before(to);
                }
                work.kernel.copy(at(to), bounce, n);
            }
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
