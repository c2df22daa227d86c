//! The work of a started call, once the ranks that give input have shown it: the parts of the
//! blocking calls' direct access, and copies where a call is brief.
//!
//! A *brief* call's inputs fit the cards, where each rank has copied its own. So a rank needs
//! nothing but that its sources have started: nobody waits for anybody's work.

use super::{Work, direct_move, direct_reduce, ordered, scratch_bytes, touched};
use crate::dist::chunk;
use crate::exec::call::{Call, Partition, RawBuffers};
use crate::exec::{Kernel, Scratch, Workspace};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM, COPY_ROOM};
use crate::schedule::Operation;
use crate::shared::{ALL_MEET, EarlyReceive, EarlyReceives, RankPlace};
use std::ops::Range;

/// Ranks up to which the addresses of their copies are on the stack.
pub(crate) const FEW: usize = 8;

/// The memory in which the started calls of a rank work, one at a time.
pub(crate) struct WorkDesk {
    pub(crate) place: RankPlace,
    pub(crate) scratch: Scratch,
    /// The data that all ranks have shown.
    pub(crate) all: Vec<*mut u8>,
    /// Receives that only this rank knows of, in the order of their calls.
    pub(crate) early: EarlyReceives<EarlyReceive>,
}

impl WorkDesk {
    pub(crate) fn new(place: RankPlace) -> Self {
        let early = EarlyReceives::default();
        WorkDesk { place, scratch: Scratch::new(), all: Vec::new(), early }
    }
}

/// What a rank does in a started call: no more than that, as many are made at once.
pub(crate) struct Job<'a> {
    memory: RawBuffers<'a>,
    cut: Partition<'a>,
    /// Elements of the vector or of a block; of varied blocks, of the longest.
    unit: usize,
    /// The root or the distance.
    parameter: usize,
    operation: Operation,
    rank: usize,
    p: usize,
    /// Whether the inputs are copied, so that no rank reaches another's memory.
    pub(crate) is_brief: bool,
    /// Bytes of a brief call's input, at most.
    bytes: usize,
    /// Whether that is all, with no code of the user's, among a [`FEW`] ranks: it is
    /// [taken](Job::take) with nothing around.
    pub(crate) is_direct: bool,
    stream: bool,
}

impl<'a> Job<'a> {
    /// Of rank `rank` of `p`. A long one may go round the caches as the communicator of `work`
    /// does.
    #[inline(always)]
    pub(crate) fn new(
        call: &Call<'a, RawBuffers<'a>>,
        (rank, p): (usize, usize),
        work: &Workspace,
    ) -> Self {
        // The most that a rank gives, if all ranks know it.
        let most = match (call.operation(), call.cut()) {
            (_, Partition::Pairs { .. }) => None,
            (Operation::Scatter | Operation::ReduceScatter, Partition::Varied(_)) => {
                Some(call.len())
            }
            (Operation::AllToAll | Operation::Scatter | Operation::ReduceScatter, _) => {
                Some(call.unit().saturating_mul(p))
            }
            _ => Some(call.unit()),
        };
        let size = call.element_size();
        let bytes = most.map_or(usize::MAX, |n| n.saturating_mul(size));
        let is_aligned = call.memory().kernel.align() <= BRIEF_ALIGN;
        // Many ranks share the work of a longer one, those of a pair do not. An element that is
        // combined has to fit a slot of `ordered::reduce_brief`.
        let room = || match call.operation() {
            _ if p > FEW || call.operation().combines() && size > BRIEF_ROOM => BRIEF_ROOM,
            Operation::AllReduce
            | Operation::AllGather
            | Operation::ReduceScatter
            | Operation::AllToAll
                if p > 2 =>
            {
                COPY_ROOM / 4
            }
            _ => COPY_ROOM,
        };
        let is_brief = is_aligned && (bytes <= BRIEF_ROOM || bytes <= room());
        let is_direct =
            is_brief && p <= FEW && (!call.operation().combines() || call.is_built_in());
        let stream = !is_brief && touched(call, p) >= work.stream_from;
        let (operation, unit) = (call.operation(), call.unit());
        let cut = match call.cut() {
            Partition::Vector(_) => Partition::Vector(unit), // Without a wide load, as below.
            cut => cut,
        };
        let parameter = match operation {
            Operation::Shift => call.distance(),
            _ => call.root_rank(),
        };
        let &RawBuffers { kernel, ref input, ref output, _buffers } = call.memory();
        let (input, output) = (apart(input), apart(output));
        Job {
            memory: RawBuffers { kernel, input, output, _buffers },
            cut,
            unit,
            parameter,
            operation,
            rank,
            p,
            is_brief,
            bytes: if is_brief { bytes } else { 0 },
            is_direct,
            stream,
        }
    }

    /// The ranks that give it input in call `number`, or that it has to meet: the first, and how
    /// many.
    #[inline(always)]
    pub(crate) fn sources(&self, number: u64) -> (usize, usize) {
        let &Job { rank, p, parameter, .. } = self;
        match self.operation {
            _ if !self.is_brief || number.is_multiple_of(ALL_MEET) => (rank + 1, p - 1),
            Operation::Broadcast | Operation::Scatter if rank == parameter => (rank, 0),
            Operation::Broadcast | Operation::Scatter => (parameter, 1),
            Operation::Reduce | Operation::Gather if rank != parameter => (rank, 0),
            Operation::Scan | Operation::ExclusiveScan => (0, rank),
            Operation::Shift => ((rank + p - parameter) % p, 1),
            _ => (rank + 1, p - 1),
        }
    }

    /// The rank that gives it input, if that one needs nothing of this one, and so may be ahead.
    #[inline(always)]
    pub(crate) fn leader(&self) -> Option<usize> {
        let is_one_way = matches!(self.operation, Operation::Broadcast | Operation::Scatter);
        (is_one_way && self.rank != self.parameter).then_some(self.parameter)
    }

    /// Bytes of the column's room that it uses.
    #[inline(always)]
    pub(crate) fn bytes_of_room(&self) -> usize {
        if self.is_beside() { 0 } else { self.bytes }
    }

    /// Whether the copies are on the cards, not where these say.
    #[inline(always)]
    pub(crate) fn is_beside(&self) -> bool {
        self.is_brief && self.bytes <= BRIEF_ROOM
    }

    /// Works in place at `at` from now on.
    ///
    /// # Safety
    /// It has what the call's memory promised to have ([`RawBuffers`]).
    #[inline(always)]
    pub(crate) unsafe fn place(&mut self, at: *mut u8) {
        // SAFETY: passed on.
        unsafe { self.memory.place(None, at) };
    }

    /// The numbers of elements that go to each rank, if no other rank knows: their address is
    /// shown, too.
    #[inline(always)]
    pub(crate) fn counts_shown(&self) -> Option<*const usize> {
        match self.cut {
            Partition::Pairs { send, .. } => Some(send.as_ptr()),
            _ => None,
        }
    }

    /// The first rank that gives this one another number of elements than it expects, with both
    /// numbers.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    pub(crate) unsafe fn unequal(&self, all: &[*mut u8]) -> Option<(usize, usize, usize)> {
        let Partition::Pairs { recv, .. } = self.cut else { return None };
        let wrong = |peer: usize| {
            // SAFETY: passed on.
            let sent = unsafe { self.counts_of(all, peer) }[self.rank];
            (sent != recv[peer]).then_some((peer, recv[peer], sent))
        };
        (0..self.p).find_map(wrong)
    }

    /// How many elements `peer` gives each rank.
    ///
    /// # Safety
    /// As [`work`](Job::work); the operation is an all-to-all of blocks of different lengths.
    unsafe fn counts_of<'b>(&self, all: &[*mut u8], peer: usize) -> &'b [usize] {
        // SAFETY: behind the addresses there are those of the rooms beside the notices, where each
        // rank has written where its counts are, one for each rank.
        unsafe {
            let counts: *const usize = all[self.p + peer].cast::<*const usize>().read();
            std::slice::from_raw_parts(counts, self.p)
        }
    }

    /// Writes to the room on the card, of [`BRIEF_ROOM`] bytes, or to the column's, of
    /// [`COPY_ROOM`]; returns the memory that the card shows.
    ///
    /// # Safety
    /// They are there, aligned to [`BRIEF_ALIGN`]; so is the call's input ([`RawBuffers`]).
    #[inline(never)] // Lest the facts of a card go by memory: see `apart`.
    pub(crate) unsafe fn fill(&self, beside: *mut u8, room: *mut u8) -> *mut u8 {
        let at = if self.is_beside() { beside } else { room };
        // SAFETY: passed on; it fits, as does an address.
        unsafe {
            match self.counts_shown() {
                _ if self.is_brief => self.copy_input(at),
                Some(counts) => beside.cast::<*const usize>().write(counts),
                None => {}
            }
        }
        if self.is_brief { at } else { self.shown() }
    }

    /// The data that this rank shows if the call is not brief.
    fn shown(&self) -> *mut u8 {
        let RawBuffers { input, output, .. } = self.memory;
        match self.operation {
            Operation::Gather if self.rank == self.parameter => output,
            Operation::Scatter | Operation::Gather => input.cast_mut(),
            operation if operation.is_in_place() => output,
            _ => input.cast_mut(),
        }
    }

    /// Copies the input of a brief call.
    ///
    /// # Safety
    /// There is as much room, aligned to [`BRIEF_ALIGN`].
    #[inline(always)]
    unsafe fn copy_input(&self, room: *mut u8) {
        let (cut, is_root) = (self.cut, self.rank == self.parameter);
        let RawBuffers { kernel, input, output, .. } = self.memory;
        let (from, n) = match self.operation {
            Operation::Barrier => return,
            Operation::Broadcast | Operation::Scatter if !is_root => return,
            Operation::Scatter | Operation::AllToAll | Operation::ReduceScatter => {
                (input, cut.total(self.p))
            }
            operation if operation.is_in_place() => (output.cast_const(), self.unit),
            _ => (input, cut.len_of(self.rank)),
        };
        // SAFETY: the call's input (`RawBuffers`), which fits (`new`).
        unsafe { kernel.copy(room, from, n) };
    }

    /// This rank's work. `all` is shown by its [sources](Job::sources) and this rank: copies
    /// of the inputs if the call is brief, else the memory itself; if [counts](Job::counts_shown)
    /// are shown, the places of their addresses follow.
    ///
    /// # Safety
    /// - They are in one call, of one operation, root or distance, type and length.
    /// - Their memory stays theirs, and untouched but by this, until this rank has finished.
    pub(crate) unsafe fn work(&self, all: &[*mut u8], scratch: &mut Scratch) {
        if self.operation == Operation::Barrier {
            return;
        }
        let kernel = &self.memory.kernel;
        let Job { rank, p, stream, .. } = *self;
        if self.is_brief {
            // SAFETY: passed on.
            return unsafe { self.take(all) };
        }
        let scratch = scratch.reserve(fold_scratch(kernel, p), kernel.align());
        // SAFETY: passed on; the scratch memory is large enough.
        unsafe { self.share(&Work { kernel, rank, p, scratch, stream }, all) }
    }

    /// The work of a brief call.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    #[inline(always)]
    pub(crate) unsafe fn take(&self, all: &[*mut u8]) {
        let (n, root, all) = (self.unit, self.parameter, &all[..self.p]);
        let Job { rank, p, .. } = *self;
        let RawBuffers { kernel, input, output, .. } = self.memory;
        let cut = self.cut;
        let block = |at: *mut u8, r: usize| at.wrapping_add(cut.block(r).start * kernel.size());
        // SAFETY: the inputs are copies that nobody writes before all ranks have finished; the
        // output is this rank's, has the elements that the operation says (`RawBuffers`), and
        // is no copy.
        unsafe {
            match self.operation {
                Operation::Barrier => {}
                Operation::Broadcast if rank == root => {}
                Operation::Broadcast => kernel.copy(output, all[root], n),
                Operation::Reduce if rank != root => {}
                Operation::Reduce | Operation::AllReduce => {
                    ordered::reduce_brief(kernel, all, 0..n, output);
                }
                Operation::ReduceScatter => {
                    ordered::reduce_brief(kernel, all, cut.block(rank), output);
                }
                Operation::Scan => self.prefix(&all[..=rank]),
                Operation::ExclusiveScan if rank > 0 => self.prefix(&all[..rank]),
                Operation::ExclusiveScan if input.is_null() => {}
                Operation::ExclusiveScan => kernel.fill(output, input, n),
                Operation::Gather if rank != root => {}
                Operation::AllGather | Operation::Gather => (0..p).for_each(|r| {
                    kernel.copy(block(output, r), all[r], cut.len_of(r));
                }),
                Operation::AllToAll => {
                    (0..p).for_each(|r| kernel.copy(block(output, r), block(all[r], rank), n));
                }
                Operation::Scatter => {
                    kernel.copy(output, block(all[root], rank), cut.len_of(rank));
                }
                Operation::Shift => {
                    kernel.copy(output, all[(rank + p - self.parameter) % p], n);
                }
                Operation::AllToAllInPlace => unreachable!("not among the started calls"),
            }
        }
    }

    /// The combination of `all`, in their order, to the output.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    #[inline(always)]
    unsafe fn prefix(&self, all: &[*mut u8]) {
        let RawBuffers { kernel, output, .. } = self.memory;
        let n = self.unit;
        // SAFETY: as in `take`.
        unsafe {
            match *all {
                [one] => kernel.copy(output, one, n),
                [a, b] => kernel.combine(output, a, b, n),
                _ => kernel.fold(output, all, n),
            }
        }
    }

    /// The work of a call that is not brief.
    ///
    /// # Safety
    /// As [`work`](Job::work).
    unsafe fn share(&self, work: &Work<'_>, all: &[*mut u8]) {
        let (n, root, kernel) = (self.unit, self.parameter, work.kernel);
        let Job { rank, p, .. } = *self;
        let RawBuffers { input, output, .. } = self.memory;
        let cut = self.cut;
        let block = |at: *mut u8, r: usize| work.at(at, cut.block(r).start);
        // SAFETY: as each part says; what a rank shows is its input, or what it has in place, of
        // as many elements as the operation says.
        unsafe {
            match self.operation {
                Operation::Broadcast => direct_move::broadcast_part(work, all, root, n),
                operation if operation.combines() => {
                    let part = match operation {
                        Operation::Reduce | Operation::AllReduce => chunk(n, rank, p),
                        Operation::ReduceScatter => cut.block(rank),
                        _ => work.share(n),
                    };
                    let to: &[*mut u8] = match operation {
                        Operation::Reduce => &[all[root]],
                        Operation::ReduceScatter => {
                            &[output.wrapping_sub(part.start.wrapping_mul(kernel.size()))]
                        }
                        _ => all,
                    };
                    fold_part(kernel, operation, part, (all, to), rank, work.scratch);
                }
                Operation::AllGather => {
                    for r in (0..p).map(|d| (rank + d) % p) {
                        work.deliver(block(output, r), all[r], cut.len_of(r));
                    }
                }
                Operation::AllToAll if self.counts_shown().is_some() => {
                    self.take_pairs(work, all);
                }
                Operation::AllToAll => {
                    for r in (0..p).map(|d| (rank + d) % p) {
                        work.deliver(block(output, r), block(all[r], rank), n);
                    }
                }
                Operation::Scatter => {
                    work.deliver(output, block(all[root], rank), cut.len_of(rank));
                }
                Operation::Gather => {
                    work.deliver(block(all[root], rank), input, cut.len_of(rank));
                }
                Operation::Shift if self.parameter == 0 => {}
                Operation::Shift => direct_move::shift_part(work, all, self.parameter, n),
                _ => unreachable!("brief, or not among the started calls"),
            }
        }
    }

    /// This rank's blocks of an all-to-all of which each rank knows its own part, from every rank.
    ///
    /// # Safety
    /// As [`work`](Job::work), and no block is [unequal](Job::unequal).
    unsafe fn take_pairs(&self, work: &Work<'_>, all: &[*mut u8]) {
        let Partition::Pairs { recv, .. } = self.cut else { return };
        let Job { rank, p, .. } = *self;
        for peer in (0..p).map(|d| (rank + d) % p) {
            // SAFETY: passed on. A rank's counts sum to what it shows, and this one's to its
            // output.
            unsafe {
                let counts = self.counts_of(all, peer);
                let from = work.at(all[peer], counts[..rank].iter().sum());
                let to = work.at(self.memory.output, recv[..peer].iter().sum());
                work.deliver(to, from, counts[rank]);
            }
        }
    }

    /// The work that is left when all have finished.
    ///
    /// # Safety
    /// They have, so the memory is this rank's again.
    pub(crate) unsafe fn end(&self) {
        let RawBuffers { ref kernel, input, output, .. } = self.memory;
        let is_first = self.operation == Operation::ExclusiveScan && self.rank == 0;
        if is_first && !self.is_brief && !input.is_null() {
            // SAFETY: the identity, and the vector (`RawBuffers`).
            unsafe { kernel.fill(output, input, self.unit) };
        }
    }
}

/// The value there, loaded alone. One load of two values that were stored one by one waits until
/// both are in the cache, and all that was stored before: also to lines that other cores have.
#[inline(always)]
fn apart<T: Copy>(at: &T) -> T {
    // SAFETY: a reference.
    unsafe { std::ptr::from_ref(at).read_volatile() }
}

/// Bytes of scratch memory for [`fold_part`], among so many ranks.
pub(crate) fn fold_scratch(kernel: &Kernel<'_>, p: usize) -> usize {
    scratch_bytes(kernel).max(ordered::scratch(kernel, p))
}

/// Does the elements `part` of a call that combines the vectors at the addresses in `from`; the
/// results go to vectors at those in `to`: of scans as many, else to each the same, first to that
/// of the working rank, if it has one.
///
/// # Safety
/// As the parts of the blocking calls say; `scratch` is [`fold_scratch`] bytes, aligned for the
/// kernel's elements.
pub(crate) unsafe fn fold_part(
    kernel: &Kernel<'_>,
    operation: Operation,
    part: Range<usize>,
    (from, to): (&[*mut u8], &[*mut u8]),
    rank: usize,
    scratch: *mut u8,
) {
    // SAFETY: passed on.
    unsafe {
        match operation {
            Operation::Scan => direct_reduce::scan_part(kernel, part, (from, to)),
            // An identity is not stored before all have finished.
            Operation::ExclusiveScan => {
                let identity = std::ptr::null();
                direct_reduce::exclusive_scan_part(kernel, part, (from, to), identity, scratch);
            }
            _ => ordered::reduce_part(kernel, part, (from, to), rank % to.len(), scratch),
        }
    }
}
