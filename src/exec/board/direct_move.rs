//! Operations by direct access that only move data.

use super::super::call::{Partition, RawBuffers};
use super::{Access, Work, share};
use crate::shared::{Port, Stop};

/// Broadcast of the root's vector to everybody's.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn broadcast(call: &mut Access<'_>) -> Result<(), Stop> {
    let (len, root) = (call.len(), call.call.root_rank());
    call.meet(call.call.memory().output, len)?;
    let Access { work, all, .. } = &*call;
    // SAFETY: these are everybody's, and are kept until we finish.
    unsafe { broadcast_part(work, all, root, len) };
    call.part()
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
/// rank, the own one first, with the elements that that rank shows.
fn from_everybody(
    call: &mut Access<'_>,
    own: (*mut u8, *mut u8, usize),
    mut take: impl FnMut(&Work<'_>, &Port, usize, (*mut u8, *mut u8, usize)) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let Access { port, begun, work, .. } = call;
    port.show(own.0, own.1, own.2);
    port.log_call(*begun);
    take(work, port, work.rank, own)?;
    for peer in (work.rank + 1..work.p).chain(0..work.rank) {
        let shown = port.notice(peer, None)?;
        take(work, port, peer, (shown.a, shown.b, shown.len))?;
    }
    port.noticed_all();
    call.part()
}

/// All-gather: rank `r`'s input becomes part `r` of every output.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn all_gather(call: &mut Access<'_>) -> Result<(), Stop> {
    let RawBuffers { input, output, .. } = *call.call.memory();
    let (input, cut) = (input.cast_mut(), call.call.cut());
    let own = cut.len_of(call.work.rank);
    from_everybody(call, (input, input, own), |work, port, peer, (from, _, len)| {
        let to = cut.block(peer);
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

/// All-to-all, of blocks of one length or, where each rank knows its own counts, of its own.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn all_to_all(call: &mut Access<'_>) -> Result<(), Stop> {
    let RawBuffers { input, output, .. } = *call.call.memory();
    let (input, rank, block) = (input.cast_mut(), call.work.rank, call.len());
    if let Partition::Pairs { send, recv } = call.call.cut() {
        // SAFETY: passed on; both have a count for every rank.
        return unsafe { all_to_all_varied(call, (input, send), (output, recv)) };
    }
    let own = block.wrapping_mul(call.work.p);
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

/// All-to-all in place: each pair of ranks swaps its two blocks, the
/// lower rank the first half of them, the higher one the second.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn all_to_all_in_place(call: &mut Access<'_>) -> Result<(), Stop> {
    let block = call.len();
    let len = block.wrapping_mul(call.work.p);
    call.meet(call.call.memory().output, len)?;
    let Access { work, all, .. } = &*call;
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
    call.part()
}

/// All-to-all of blocks of different lengths: `send[j]` elements of `input` go to rank `j`,
/// `receive[j]` come from it to `output`.
///
/// # Safety
/// As [`all_to_all`]; the counts are the call's.
unsafe fn all_to_all_varied(
    call: &mut Access<'_>,
    (input, send): (*mut u8, &[usize]),
    (output, receive): (*mut u8, &[usize]),
) -> Result<(), Stop> {
    let (rank, p) = (call.work.rank, call.work.p);
    // The counts are shown, too: where a block begins only its sender knows.
    let counts = send.as_ptr().cast_mut().cast();
    from_everybody(call, (input, counts, send.iter().sum()), |work, port, peer, shown| {
        let (from, counts, _) = shown;
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
    call: &mut Access<'_>,
    buf: *mut u8,
    block: impl FnOnce(&Work<'_>, *mut u8, usize),
) -> Result<(), Stop> {
    let (cut, root) = (call.call.cut(), call.call.root_rank());
    let Access { port, begun, work, .. } = call;
    let (rank, p) = (work.rank, work.p);
    let own = cut.block(rank);
    if rank == root {
        port.show_alone(buf, cut.shown(), cut.total(p));
        port.log_call(*begun);
        block(work, work.at(buf, own.start), own.len());
        // In this order: two ranks that both take themselves for the root then
        // wait for each other, which is noticed.
        port.close_alone()?;
        port.finish();
    } else {
        port.log_call(*begun);
        let shown = port.notice_alone(root, Some(cut.total(p)))?;
        // SAFETY: the root is in the same call (fingerprint), shows its counts
        // if we have some, and keeps them until all have finished.
        let there = unsafe { cut.of_peer(shown.b, p) }.block(rank);
        if there.len() != own.len() {
            return Err(port.unequal(root, own.len(), there.len()));
        }
        block(work, work.at(shown.a, there.start), own.len());
        port.finish_for(root);
    }
    Ok(())
}

/// Scatter: this rank's part of the root's input goes to the output.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn scatter(call: &mut Access<'_>) -> Result<(), Stop> {
    let RawBuffers { input, output, .. } = *call.call.memory();
    with_root(call, input.cast_mut(), |work, from, len| {
        // SAFETY: the root's buffer is only read, and kept until all have
        // finished; the block is within it by the root's own counts.
        unsafe { work.deliver(output, from, len) };
    })
}

/// Gather: this rank's input becomes its part of the root's output.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn gather(call: &mut Access<'_>) -> Result<(), Stop> {
    let RawBuffers { input, output, .. } = *call.call.memory();
    with_root(call, output, |work, to, len| {
        if std::ptr::eq(to, input) {
            return; // The root's own part, which is there.
        }
        // SAFETY: this block of the root's buffer is written by us alone, since
        // all go by the root's counts; the root keeps it until we finish.
        unsafe { work.deliver(to, input, len) };
    })
}

/// Shift in place by a distance that is not 0.
///
/// # Safety
/// See [`OnBoards`](super::OnBoards).
pub(in crate::exec) unsafe fn shift(call: &mut Access<'_>) -> Result<(), Stop> {
    let (len, distance) = (call.len(), call.call.distance());
    call.meet(call.call.memory().output, len)?;
    let Access { work, all, .. } = &*call;
    // SAFETY: these are everybody's, and are kept until we finish.
    unsafe { shift_part(work, all, distance, len) };
    call.part()
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
