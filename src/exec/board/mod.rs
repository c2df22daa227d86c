//! Direct access: every rank shows its buffers on its board. Then each rank reads the others'
//! memory directly, and writes to it where that spreads the work.
//!
//! | operation | rank `i` | `direct_reduce.rs` / `direct_move.rs` |
//! |---|---|---|
//! | all-reduce | combines part `i` of all vectors and stores it to all | reduce |
//! | reduce | combines part `i` of all vectors and stores it to the root | reduce |
//! | reduce-scatter | combines block `i` of all vectors | reduce |
//! | scans | turns part `i` of all vectors into their prefixes | reduce |
//! | broadcast | copies part `i` of the root's vector to all others | move |
//! | all-gather, all-to-all | copies every rank's block for `i` | move |
//! | all-to-all in place | swaps half of its block with every rank's for it | move |
//! | scatter | copies its block from the root | move |
//! | gather | copies its block to the root | move |
//! | shift | moves part `i` of all vectors on | move |
//!
//! A schedule's all-reduce moves `2 m (p-1)/p` words into every rank and then combines the copies;
//! here each input word is read once and each result word written once, by one rank. In a
//! prototype, at 4 MiB on two cores, this was 1.5 to 5 times as fast as reduce-scatter plus
//! all-gather. Where one rank would have to do all the work (a broadcast, a gather, a scan on two
//! ranks) the others do their share of it.
//!
//! Operands are combined in rank order. A rank is in such a call from its
//! `show` until everybody has finished (`close`), whatever ends the call: a
//! guard quiesces the port if the operator panics or a wait is given up, so
//! nobody's memory is reached after its call is over.

pub(super) mod direct_move;
pub(super) mod direct_reduce;
mod ordered;
pub(crate) mod started;

pub(super) use ordered::{BLOCK, blocks};

use super::call::{Call, Partition, RawBuffers};
use super::kernel::stream;
use super::{Kernel, Workspace};
use crate::dist::chunk;
use crate::schedule::Operation;
use crate::shared::{Guard, Port, StartedCall, Stop};
use std::ops::Range;

/// The part of `len` elements that rank `rank` of `p` works on, in whole lines
/// of `1 << line` elements from the beginning: two ranks write to one cache line
/// only where the buffer is not aligned.
fn share(len: usize, rank: usize, p: usize, line: u32) -> Range<usize> {
    let part = match p {
        // The most frequent case, without divisions.
        2 => {
            let half = len >> (line + 1);
            if rank == 0 { 0..half } else { half..usize::MAX >> line }
        }
        _ => chunk((len >> line) + usize::from(len & ((1 << line) - 1) != 0), rank, p),
    };
    (part.start << line).min(len)..(part.end << line).min(len)
}

/// A call by direct access: show, look at all, do this rank's share, wait for all. What moves from
/// all to all is copied from each rank as that one has shown its own.
/// `between` runs when the rank's memory is shown, before it looks at anybody.
pub(crate) fn run<R>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let (operation, kernel) = (call.operation(), &call.memory().kernel);
    let (rank, p) = (port.rank(), port.size());
    // A combination in place delivers nothing, and two ranks combine where the operands are.
    let in_place = operation.has_order() && operation.is_in_place();
    let scratch = match (in_place && p == 2, call.is_in_order()) {
        (true, _) => std::ptr::null_mut(),
        (_, true) => work.scratch.reserve(ordered::scratch(kernel, p), kernel.align()),
        _ => work.scratch.reserve(scratch_bytes(kernel), kernel.align()),
    };
    let stream = !in_place && touched(call, p) >= work.stream_from;
    let work_here = Work { kernel, rank, p, scratch, stream };
    let mut task = AccessTask { call, work: work_here, peer: None };
    // The operator is user code.
    let guard = match operation.combines() {
        true => Guard::around_user_code(port),
        false => Guard::new(port),
    };
    let result = match operation {
        Operation::Scatter | Operation::Gather => {
            let result = between();
            task.run_at_the_root(guard.port, begun)?;
            result
        }
        _ => {
            let result = task.meet(guard.port, begun, &mut work.addresses, between)?;
            if task.peer.is_none() {
                // SAFETY: the share of the call's operation; these are everybody's, and are kept
                // until all have finished.
                unsafe { (call.code().share)(&task, &work.addresses) };
            }
            guard.port.finish();
            guard.port.close()?;
            result
        }
    };
    guard.disarm();
    Ok(result)
}

/// An operation between the waits of a call.
pub(super) struct AccessTask<'a> {
    call: &'a Call<'a, RawBuffers<'a>>,
    work: Work<'a>,
    /// The rank whose block comes now, of what moves from all to all.
    peer: Option<usize>,
}

/// A rank's share of an operation: gets the addresses that all ranks show, the first ones in rank
/// order, then the second ones; of what moves from all to all, one rank's part, when the addresses
/// of that one have come; of an operation in which the root alone shows its memory, the address of
/// this rank's block there.
///
/// # Safety
/// The call is one of that operation, and its memory as [`RawBuffers`] promises. The addresses are
/// those of such memory of all ranks, which keep it until this rank has finished, and access
/// nothing but their shares. The scratch memory has [`scratch_bytes`], or in fixed order
/// [`ordered::scratch`], unless two ranks combine in place.
pub(super) type ShareOf = unsafe fn(&AccessTask<'_>, &[*mut u8]);

impl AccessTask<'_> {
    /// The two addresses that this rank shows, and a number of elements.
    fn shows(&self) -> (*mut u8, *mut u8, usize) {
        let &RawBuffers { input, output, .. } = self.call.memory();
        let (input, cut) = (input.cast_mut(), self.call.cut());
        let (rank, p) = (self.work.rank, self.work.p);
        match self.call.operation() {
            Operation::AllGather => (input, input, cut.len_of(rank)),
            // Where a block of a length of its own begins only its sender knows.
            Operation::AllToAll => (input, cut.shown(), cut.total(p)),
            Operation::ReduceScatter => (input, input, cut.total(p)),
            Operation::ExclusiveScan => (output, input, self.call.unit()),
            Operation::AllToAllInPlace => (output, output, cut.total(p)),
            _ => (output, output, self.call.unit()),
        }
    }

    /// How many elements `peer` must show; none if only it knows.
    fn expects(&self, peer: usize) -> Option<usize> {
        match (self.call.operation(), self.call.cut()) {
            (Operation::AllGather, cut) => Some(cut.len_of(peer)),
            (_, Partition::Pairs { .. }) => None,
            _ => Some(self.shows().2),
        }
    }

    /// Shows this rank's memory, and collects everybody's addresses in `all`. Of what moves from
    /// all to all, copies each rank's block when its addresses have come.
    fn meet<R>(
        &mut self,
        port: &mut Port,
        begun: StartedCall,
        all: &mut Vec<*mut u8>,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop> {
        let (rank, p, (a, b, len)) = (self.work.rank, self.work.p, self.shows());
        port.show(a, b, len);
        port.log_call(begun);
        let result = between();
        all.resize(2 * p, a);
        (all[rank], all[p + rank]) = (a, b);
        // Each begins with its own, and its successor's, so that not all look at one board.
        for peer in (rank..p).chain(0..rank) {
            if peer != rank {
                let shown = port.notice(peer, self.expects(peer))?;
                (all[peer], all[p + peer]) = (shown.a, shown.b);
            }
            if let Operation::AllGather | Operation::AllToAll = self.call.operation() {
                self.peer = Some(peer);
                self.compare(port, peer, all[p + peer])?;
                // SAFETY: the share of the call's operation; the peer's addresses are here, and its
                // memory is kept until all have finished.
                unsafe { (self.call.code().share)(self, all) };
            }
        }
        port.noticed_all();
        Ok(result)
    }

    /// Looks whether `peer`, which shows its counts at `at`, sends what this rank expects.
    fn compare(&self, port: &Port, peer: usize, at: *mut u8) -> Result<(), Stop> {
        let Partition::Pairs { recv, .. } = self.call.cut() else { return Ok(()) };
        // SAFETY: the peer is in the same call (fingerprint), shows its counts, and keeps them
        // until all have finished.
        let sent = unsafe { self.call.cut().of_peer(at, self.work.p) }.len_of(self.work.rank);
        match sent == recv[peer] {
            true => Ok(()),
            false => Err(port.unequal(peer, recv[peer], sent)),
        }
    }

    /// An operation in which the root alone shows a buffer: it has a block for every rank, and each
    /// moves its own.
    fn run_at_the_root(&self, port: &mut Port, begun: StartedCall) -> Result<(), Stop> {
        let (cut, root) = (self.call.cut(), self.call.root_rank());
        let (rank, p) = (self.work.rank, self.work.p);
        let &RawBuffers { input, output, .. } = self.call.memory();
        // SAFETY: the root is in the same call and keeps its buffer until all have finished; the
        // block is within it by the root's own counts, and moved by this rank alone.
        let share = |at: *mut u8| unsafe { (self.call.code().share)(self, &[at]) };
        if rank == root {
            let buf = match self.call.operation() {
                Operation::Gather => output,
                _ => input.cast_mut(),
            };
            port.show_alone(buf, cut.shown(), cut.total(p));
            port.log_call(begun);
            share(self.work.at(buf, cut.block(rank).start));
            // In this order: two ranks that both take themselves for the root then
            // wait for each other, which is noticed.
            port.close_alone()?;
            port.finish();
        } else {
            port.log_call(begun);
            let shown = port.notice_alone(root, Some(cut.total(p)))?;
            // SAFETY: the root is in the same call (fingerprint), shows its counts
            // if we have some, and keeps them until all have finished.
            let there = unsafe { cut.of_peer(shown.b, p) }.block(rank);
            if there.len() != cut.len_of(rank) {
                return Err(port.unequal(root, cut.len_of(rank), there.len()));
            }
            share(self.work.at(shown.a, there.start));
            port.finish_for(root);
        }
        Ok(())
    }
}

/// Bytes that a call reads and writes on all `p` ranks together.
fn touched(call: &Call<'_, RawBuffers<'_>>, p: usize) -> usize {
    // Of a rank; for blocks, of all blocks together.
    let larger = match call.cut() {
        Partition::Vector(n) => n,
        Partition::Equal(m) => m.saturating_mul(p),
        Partition::Varied(_) => call.len(),
        Partition::Pairs { send, recv } => send.iter().sum::<usize>().max(recv.iter().sum()),
    };
    let bytes = larger.saturating_mul(call.memory().kernel.size());
    bytes.saturating_mul(call.operation().touched(p))
}

/// Bytes of scratch memory for a call: two blocks, or elements.
fn scratch_bytes(kernel: &Kernel<'_>) -> usize {
    2 * half_of_scratch(kernel)
}

/// Where the second half of the scratch memory begins, aligned like the first.
fn half_of_scratch(kernel: &Kernel<'_>) -> usize {
    BLOCK.max(kernel.size()).next_multiple_of(kernel.align())
}

/// An operation without memory.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn barrier(_: &AccessTask<'_>, _: &[*mut u8]) {
    unreachable!("a barrier has no memory to access")
}

/// The memory that a rank works with, between the waits of a call.
struct Work<'a> {
    kernel: &'a Kernel<'a>,
    rank: usize,
    p: usize,
    scratch: *mut u8,
    stream: bool,
}

impl Work<'_> {
    /// The address of element `i` of a buffer.
    #[inline(always)]
    fn at(&self, buf: *mut u8, i: usize) -> *mut u8 {
        buf.wrapping_add(i.wrapping_mul(self.kernel.size()))
    }

    /// The part of `len` elements that this rank works on.
    fn share(&self, len: usize) -> Range<usize> {
        share(len, self.rank, self.p, self.kernel.line())
    }

    fn blocks(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        blocks(range, self.kernel.size())
    }

    /// Copies `n` elements to where they will not be needed at once.
    ///
    /// # Safety
    /// As [`Kernel::copy`].
    unsafe fn deliver(&self, dst: *mut u8, src: *const u8, n: usize) {
        let bytes = n.wrapping_mul(self.kernel.size());
        // SAFETY: passed on.
        unsafe {
            if self.stream && bytes >= BLOCK {
                stream::copy(dst, src, bytes);
            } else {
                self.kernel.copy(dst, src, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for len in [0, 1, 2, 7, 8, 9, 100, 1021, 4096] {
            for p in 1..=9 {
                for (size, line) in [(0, 0), (1, 6), (3, 0), (8, 3), (32, 1), (64, 0), (65, 0)] {
                    let mut end = 0;
                    for rank in 0..p {
                        let part = share(len, rank, p, line);
                        assert_eq!(part.start, end);
                        end = part.end;
                        let covered: usize = blocks(part.clone(), size).map(|b| b.len()).sum();
                        assert_eq!(covered, part.len());
                    }
                    assert_eq!(end, len, "{len} {p} {line}");
                }
            }
        }
        for p in [2, 3] {
            assert_eq!(share(usize::MAX, p - 1, p, 0).end, usize::MAX);
        }
    }
}
