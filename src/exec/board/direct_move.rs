//! Operations by direct access that only move data.

use super::{Access, DirectParts, Work, share};
use crate::fabric::{Guard, Port, Stop};

/// Broadcast of `len` elements at `root`'s `buf` to everybody's.
///
/// # Safety
/// - `buf` is valid for writes (on the root: reads) of `len` elements of the
///   kernel's type, and nobody but this call and the peers' same call accesses
///   it.
pub(super) unsafe fn broadcast(
    call: Access<'_>,
    root: usize,
    buf: *mut u8,
    len: usize,
) -> Result<(), Stop> {
    // SAFETY: these are everybody's, who keep them until we finish.
    call.together(buf, len, &mut |work, all| unsafe { broadcast_part(work, all, root, len) })
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

/// Everybody shows `own`, `len` elements; then `take` is called once for every
/// rank, the own one first, with what that rank shows.
fn from_everybody(
    call: Access<'_>,
    own: (*mut u8, *mut u8, usize),
    mut take: impl FnMut(&Work<'_>, &Port, usize, (*mut u8, *mut u8, usize)) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let Access { port, begun, kernel, scratch, stream, .. } = call;
    let guard = Guard::new(port);
    let port = &mut *guard.port;
    let (rank, p) = (port.rank(), port.size());
    let work = Work { kernel, rank, p, scratch, stream };
    port.show(own.0, own.1, own.2);
    port.log_call(begun);
    take(&work, port, rank, own)?;
    for peer in (rank + 1..p).chain(0..rank) {
        let shown = port.notice(peer, None)?;
        take(&work, port, peer, (shown.a, shown.b, shown.len))?;
    }
    port.noticed_all();
    port.finish();
    port.close()?;
    guard.disarm();
    Ok(())
}

/// All-gather: rank `r`'s input becomes part `r` of every output.
///
/// # Safety
/// - `input` is valid for reads of the own part's elements of the kernel's
///   type, `output` for writes of all parts.
/// - They do not overlap, or `input` is the own part of `output`.
pub(super) unsafe fn all_gather(
    call: Access<'_>,
    input: *const u8,
    output: *mut u8,
    parts: DirectParts<'_>,
) -> Result<(), Stop> {
    let input = input.cast_mut();
    let own = parts.range(call.port.rank()).len();
    from_everybody(call, (input, input, own), |work, port, peer, (from, _, len)| {
        let to = parts.range(peer);
        if len != to.len() {
            return Err(port.unequal(peer, to.len(), len));
        }
        let to = work.at(output, to.start);
        if std::ptr::eq(from, to) {
            return Ok(()); // The own part, which is there.
        }
        // SAFETY: inputs are only read, by everybody, and kept until all have
        // finished; the output is ours, and its own part, if that is the input, is not written.
        unsafe { work.deliver(to, from, len) };
        Ok(())
    })
}

/// All-to-all of blocks of `block` elements.
///
/// # Safety
/// `input` is valid for reads, `output` for writes, of a block per rank of the
/// kernel's type; they do not overlap.
pub(super) unsafe fn all_to_all(
    call: Access<'_>,
    input: *const u8,
    output: *mut u8,
    block: usize,
) -> Result<(), Stop> {
    let (input, rank) = (input.cast_mut(), call.port.rank());
    let own = block.wrapping_mul(call.port.size());
    from_everybody(call, (input, input, own), |work, port, peer, (from, _, len)| {
        if len != own {
            return Err(port.unequal(peer, own, len));
        }
        let (from, to) = (work.at(from, rank.wrapping_mul(block)), peer.wrapping_mul(block));
        // SAFETY: as in `all_gather`.
        unsafe { work.deliver(work.at(output, to), from, block) };
        Ok(())
    })
}

/// All-to-all in place of blocks of `block` elements: each pair of ranks swaps its two blocks, the
/// lower rank the first half of them, the higher one the second.
///
/// # Safety
/// `buf` is valid for reads and writes of a block per rank of the kernel's type, and nobody but
/// this call and the peers' same call accesses it.
pub(super) unsafe fn swap_pairs(call: Access<'_>, buf: *mut u8, block: usize) -> Result<(), Stop> {
    let len = block.wrapping_mul(call.port.size());
    call.together(buf, len, &mut |work, all| {
        let (rank, p) = (work.rank, work.p);
        // In turn k with k - rank: the two of a pair meet in one turn.
        for peer in (0..p).map(|k| (k + p - rank) % p).filter(|&peer| peer != rank) {
            let half = share(block, usize::from(rank > peer), 2, work.kernel.line());
            let at = |of: usize, to: usize| {
                work.at(all[of], block.wrapping_mul(to).wrapping_add(half.start))
            };
            // SAFETY: these halves of the two blocks are touched by us alone; the blocks are in
            // the buffers of two ranks, which keep them until we finish.
            unsafe { work.kernel.swap(at(rank, peer), at(peer, rank), half.len()) };
        }
    })
}

/// All-to-all of blocks of different lengths: `send[j]` elements go to rank `j`,
/// `receive[j]` come from it.
///
/// # Safety
/// - `input` is valid for reads of the sum of `send`, `output` for writes of the
///   sum of `receive` elements of the kernel's type; they do not overlap.
/// - `send` has an entry for every rank, on all ranks.
pub(super) unsafe fn all_to_all_varied(
    call: Access<'_>,
    input: *const u8,
    output: *mut u8,
    send: &[usize],
    receive: &[usize],
) -> Result<(), Stop> {
    let (rank, p) = (call.port.rank(), call.port.size());
    // The counts are shown, too: where a block begins only its sender knows.
    let counts = send.as_ptr().cast_mut().cast();
    let own = (input.cast_mut(), counts, send.iter().sum());
    from_everybody(call, own, |work, port, peer, (from, counts, _)| {
        // SAFETY: the peer is in the same call (fingerprint) and shows its `p`
        // counts, which it keeps until all have finished.
        let counts = unsafe { std::slice::from_raw_parts(counts.cast::<usize>(), p) };
        if counts[rank] != receive[peer] {
            return Err(port.unequal(peer, receive[peer], counts[rank]));
        }
        let from = work.at(from, counts[..rank].iter().sum());
        let to = work.at(output, receive[..peer].iter().sum());
        // SAFETY: as in `all_gather`; the counts sum to the input's length.
        unsafe { work.deliver(to, from, counts[rank]) };
        Ok(())
    })
}

/// The root shows a buffer that has a block for every rank; each moves its own
/// block: `block(work, address, length)`.
fn with_root(
    call: Access<'_>,
    root: usize,
    buf: *mut u8,
    parts: DirectParts<'_>,
    block: impl FnOnce(&Work<'_>, *mut u8, usize),
) -> Result<(), Stop> {
    let Access { port, begun, kernel, scratch, stream, .. } = call;
    let guard = Guard::new(port);
    let port = &mut *guard.port;
    let (rank, p) = (port.rank(), port.size());
    let work = Work { kernel, rank, p, scratch, stream };
    let own = parts.range(rank);
    if rank == root {
        port.show_alone(buf, parts.shown(), parts.total(p));
        port.log_call(begun);
        block(&work, work.at(buf, own.start), own.len());
        // In this order: two ranks that both take themselves for the root then
        // wait for each other, which is noticed.
        port.close_alone()?;
        port.finish();
    } else {
        port.log_call(begun);
        let shown = port.notice_alone(root, Some(parts.total(p)))?;
        // SAFETY: the root is in the same call (fingerprint), shows its counts
        // if we have some, and keeps them until all have finished.
        let there = unsafe { parts.of_peer(shown.b) }.range(rank);
        if there.len() != own.len() {
            return Err(port.unequal(root, own.len(), there.len()));
        }
        block(&work, work.at(shown.a, there.start), own.len());
        port.finish_for(root);
    }
    guard.disarm();
    Ok(())
}

/// Scatter: this rank's part of the root's `input` goes to `output`.
///
/// # Safety
/// - On the root `input` is valid for reads of all parts, elements of the
///   kernel's type; `output` is valid for writes of the own part; they do not
///   overlap.
pub(super) unsafe fn scatter(
    call: Access<'_>,
    root: usize,
    input: *const u8,
    parts: DirectParts<'_>,
    output: *mut u8,
) -> Result<(), Stop> {
    with_root(call, root, input.cast_mut(), parts, |work, from, len| {
        // SAFETY: the root's buffer is only read, and kept until all have
        // finished; the block is within it by the root's own counts.
        unsafe { work.deliver(output, from, len) };
    })
}

/// Gather: this rank's `input` becomes its part of the root's `output`.
///
/// # Safety
/// - `input` is valid for reads of the own part, elements of the kernel's type;
///   on the root `output` is valid for writes of all parts, and nobody but this
///   call and the peers' same call accesses it.
/// - They do not overlap, or on the root `input` is the own part of `output`.
pub(super) unsafe fn gather(
    call: Access<'_>,
    root: usize,
    input: *const u8,
    output: *mut u8,
    parts: DirectParts<'_>,
) -> Result<(), Stop> {
    with_root(call, root, output, parts, |work, to, len| {
        if std::ptr::eq(to, input) {
            return; // The root's own part, which is there.
        }
        // SAFETY: this block of the root's buffer is written by us alone, since
        // all go by the root's counts; the root keeps it until we finish.
        unsafe { work.deliver(to, input, len) };
    })
}

/// Shift in place of `len` elements at `buf` by `distance < p` ranks, which is
/// not 0.
///
/// # Safety
/// - `buf` is valid for reads and writes of `len` elements of the kernel's
///   type, and nobody but this call and the peers' same call accesses it.
/// - The call's scratch memory is as large as `scratch_bytes` says.
pub(super) unsafe fn shift(
    call: Access<'_>,
    distance: usize,
    buf: *mut u8,
    len: usize,
) -> Result<(), Stop> {
    // SAFETY: these are everybody's, who keep them until we finish.
    call.together(buf, len, &mut |work, all| unsafe { shift_part(work, all, distance, len) })
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
