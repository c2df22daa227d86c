//! The work of a started call, once every rank has shown what it has: the parts of the blocking
//! calls' direct access, and copies where a call is brief.
//!
//! A *brief* call's inputs fit the room beside a notice, where each rank has copied its own. So
//! each rank needs nothing but that all have started: it takes what it needs, and nobody waits for
//! anybody's work.

use super::{DirectParts, Work, direct_move, direct_reduce, ordered, scratch_bytes, touched};
use crate::exec::call::{Call, RawBuffers};
use crate::exec::{Scratch, Workspace};
use crate::mailbox::BRIEF_ROOM;
use crate::schedule::Operation;

/// A started call's operation and memory.
pub(crate) struct Job<'a> {
    call: Call<'a, RawBuffers<'a>>,
    rank: usize,
    p: usize,
    is_brief: bool,
    stream: bool,
}

impl<'a> Job<'a> {
    /// Of rank `rank` of `p`. Not for blocks of different lengths.
    pub(crate) fn new(call: Call<'a, RawBuffers<'a>>, rank: usize, p: usize) -> Self {
        debug_assert!(!call.is_varied());
        let ranks = match call.operation() {
            Operation::AllToAll | Operation::Scatter | Operation::ReduceScatter => p,
            _ => 1,
        };
        let bytes = call.unit().saturating_mul(call.element_size()).saturating_mul(ranks);
        let is_brief = bytes <= BRIEF_ROOM && call.memory().kernel.align() <= BRIEF_ROOM;
        Job { is_brief, call, rank, p, stream: false }
    }

    /// The same, which may go round the caches as the communicator of `work` does.
    pub(crate) fn streaming_as(mut self, work: &Workspace) -> Self {
        self.stream = touched(&self.call, self.p) >= work.stream_from;
        self
    }

    /// Whether the inputs are copied, so that no rank reaches another's memory.
    #[inline(always)]
    pub(crate) fn is_brief(&self) -> bool {
        self.is_brief
    }

    /// Elements of the vector or of a block, which must be the same on all ranks.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.call.unit()
    }

    /// What this rank shows if the call is not brief.
    pub(crate) fn shown(&self) -> *mut u8 {
        let RawBuffers { input, output, .. } = *self.call.memory();
        match self.call.operation() {
            Operation::Gather if self.rank == self.call.root_rank() => output,
            Operation::Scatter | Operation::Gather => input.cast_mut(),
            operation if operation.is_in_place() => output,
            _ => input.cast_mut(),
        }
    }

    /// Copies the input of a brief call.
    ///
    /// # Safety
    /// There is [`BRIEF_ROOM`] at `room`, aligned to as much.
    pub(crate) unsafe fn copy_input(&self, room: *mut u8) {
        let (n, is_root) = (self.call.unit(), self.rank == self.call.root_rank());
        let RawBuffers { ref kernel, input, output, .. } = *self.call.memory();
        let (from, n) = match self.call.operation() {
            Operation::Barrier => return,
            Operation::Broadcast | Operation::Scatter if !is_root => return,
            Operation::Scatter | Operation::AllToAll | Operation::ReduceScatter => {
                (input, n.wrapping_mul(self.p))
            }
            operation if operation.is_in_place() => (output.cast_const(), n),
            _ => (input, n),
        };
        // SAFETY: the call's input (`RawBuffers`), which fits (`new`).
        unsafe { kernel.copy(room, from, n) };
    }

    /// This rank's work. `all` is what everybody has shown: copies of the inputs if the call is
    /// brief, else the memory itself.
    ///
    /// # Safety
    /// - The ranks are in one call, of one operation, root or distance, type and length.
    /// - Their memory stays theirs, and untouched but by this, until this rank has finished.
    pub(crate) unsafe fn work(&self, all: &[*mut u8], scratch: &mut Scratch) {
        if self.call.operation() == Operation::Barrier {
            return;
        }
        let kernel = &self.call.memory().kernel;
        let bytes = scratch_bytes(kernel).max(ordered::scratch(kernel, self.p));
        let scratch = scratch.reserve(bytes, kernel.align());
        let Job { rank, p, stream, .. } = *self;
        let work = Work { kernel, rank, p, scratch, stream };
        // SAFETY: passed on; the scratch memory is large enough for either.
        unsafe {
            match self.is_brief {
                true => self.take(&work, all),
                false => self.share(&work, all),
            }
        }
    }

    /// The work of a brief call.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    unsafe fn take(&self, work: &Work<'_>, all: &[*mut u8]) {
        let (n, root, kernel) = (self.call.unit(), self.call.root_rank(), work.kernel);
        let Job { rank, p, .. } = *self;
        let RawBuffers { input, output, .. } = *self.call.memory();
        let block = |at: *mut u8, r: usize| work.at(at, r.wrapping_mul(n));
        // SAFETY: the inputs are copies that nobody writes before all ranks have finished; the
        // output is this rank's, has the elements that the operation says (`RawBuffers`), and
        // is no copy.
        unsafe {
            match self.call.operation() {
                Operation::Barrier => {}
                Operation::Broadcast if rank == root => {}
                Operation::Broadcast => kernel.copy(output, all[root], n),
                Operation::Reduce if rank != root => {}
                Operation::Reduce | Operation::AllReduce => {
                    ordered::reduce_part(kernel, all, 0..n, output, work.scratch);
                }
                Operation::ReduceScatter => {
                    let part = DirectParts::Equal(n).range(rank);
                    let base = output.wrapping_sub(part.start.wrapping_mul(kernel.size()));
                    ordered::reduce_part(kernel, all, part, base, work.scratch);
                }
                Operation::Scan => self.prefix(kernel, &all[..=rank]),
                Operation::ExclusiveScan if rank > 0 => self.prefix(kernel, &all[..rank]),
                Operation::ExclusiveScan if input.is_null() => {}
                Operation::ExclusiveScan => kernel.fill(output, input, n),
                Operation::AllGather => {
                    (0..p).for_each(|r| kernel.copy(block(output, r), all[r], n))
                }
                Operation::AllToAll => {
                    (0..p).for_each(|r| kernel.copy(block(output, r), block(all[r], rank), n));
                }
                Operation::Gather if rank != root => {}
                Operation::Gather => (0..p).for_each(|r| kernel.copy(block(output, r), all[r], n)),
                Operation::Scatter => kernel.copy(output, block(all[root], rank), n),
                Operation::Shift => {
                    kernel.copy(output, all[(rank + p - self.call.distance()) % p], n);
                }
                Operation::AllToAllInPlace => unreachable!("not among the started calls"),
            }
        }
    }

    /// The combination of `all`, in their order, to the output.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    unsafe fn prefix(&self, kernel: &super::Kernel<'_>, all: &[*mut u8]) {
        let (n, output) = (self.call.unit(), self.call.memory().output);
        // SAFETY: as in `take`.
        unsafe {
            kernel.copy(output, all[0], n);
            all[1..].iter().for_each(|x| kernel.combine(output, output, *x, n));
        }
    }

    /// The work of a call that is not brief.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    unsafe fn share(&self, work: &Work<'_>, all: &[*mut u8]) {
        let (n, root, kernel) = (self.call.unit(), self.call.root_rank(), work.kernel);
        let Job { rank, p, .. } = *self;
        let RawBuffers { input, output, .. } = *self.call.memory();
        let parts = DirectParts::Equal(n);
        let block = |at: *mut u8, r: usize| work.at(at, parts.range(r).start);
        // SAFETY: as each part says; what a rank shows is its input, or what it has in place, of
        // as many elements as the operation says.
        unsafe {
            match self.call.operation() {
                Operation::Broadcast => direct_move::broadcast_part(work, all, root, n),
                Operation::Reduce => {
                    let part = crate::dist::chunk(n, rank, p);
                    ordered::reduce_part(kernel, all, part, all[root], work.scratch);
                }
                Operation::AllReduce => {
                    ordered::all_reduce_part(kernel, all, rank, n, work.scratch);
                }
                Operation::ReduceScatter => {
                    let part = parts.range(rank);
                    let base = output.wrapping_sub(part.start.wrapping_mul(kernel.size()));
                    ordered::reduce_part(kernel, all, part, base, work.scratch);
                }
                Operation::Scan => direct_reduce::scan_part(work, all, n),
                // Rank 0's identity follows when all have finished.
                Operation::ExclusiveScan => {
                    direct_reduce::exclusive_scan_part(work, all, n, std::ptr::null());
                }
                Operation::AllGather => {
                    for r in (0..p).map(|d| (rank + d) % p) {
                        work.deliver(block(output, r), all[r], n);
                    }
                }
                Operation::AllToAll => {
                    for r in (0..p).map(|d| (rank + d) % p) {
                        work.deliver(block(output, r), block(all[r], rank), n);
                    }
                }
                Operation::Scatter => work.deliver(output, block(all[root], rank), n),
                Operation::Gather => work.deliver(block(all[root], rank), input, n),
                Operation::Shift if self.call.distance() == 0 => {}
                Operation::Shift => direct_move::shift_part(work, all, self.call.distance(), n),
                Operation::Barrier | Operation::AllToAllInPlace => {
                    unreachable!("brief, or not among the started calls")
                }
            }
        }
    }

    /// What is left to do when all have finished.
    ///
    /// # Safety
    /// They have, so the memory is this rank's again.
    pub(crate) unsafe fn end(&self) {
        let RawBuffers { ref kernel, input, output, .. } = *self.call.memory();
        let is_first = self.call.operation() == Operation::ExclusiveScan && self.rank == 0;
        if is_first && !self.is_brief && !input.is_null() {
            // SAFETY: the identity, and the vector (`RawBuffers`).
            unsafe { kernel.fill(output, input, self.call.unit()) };
        }
    }
}
