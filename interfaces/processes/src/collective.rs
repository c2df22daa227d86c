//! Collective calls: each checks its arguments, and hands a job to `transfer.rs`.

use crate::error::Result;
use crate::gate::INLINE;
use crate::plain::Plain;
use crate::site::{Names, Place};
use crate::team::{Begun, Team};
use crate::transfer::{Job, carry_out};
use phalanx::engine::{Accumulation, FloatControl, FoldKernel, Operation, is_disturbed};
use phalanx::op::Operator;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most bytes of an element that is combined.
const LARGEST: usize = 1024;

/// Elements up to which an all-reduce combines in registers.
const FEW: usize = 4;

/// Bytes from which an all-reduce asks whether all vectors are in symmetric memory.
const LONG: usize = 8 << 10;

/// As many as bytes: of elements that are only moved.
const BYTE: usize = 1;

impl Team {
    /// Waits until all ranks are here. Everything that a rank has written before, also into
    /// [symmetric](Team::symmetric) memory, is visible to all afterwards.
    ///
    /// # Errors
    /// As every call: another rank calls something else, has died, left, or not come in time.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("a barrier", 0, 1)?;
    /// team.barrier()?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn barrier(&mut self) -> Result<()> {
        let names = const { &Names::without_data("barrier") };
        let call = self.begin(names, Place::caller(), 0, Team::ROOTLESS)?;
        // SAFETY: no bytes.
        unsafe { self.meet(&call, std::ptr::null(), 0) }.map(drop)
    }

    /// Copies `data` of rank `root` into that of all others.
    ///
    /// **Cost** two copies; up to 96 bytes go with the call's head, up to 16 KiB in one step.
    ///
    /// # Errors
    /// As [`barrier`](Team::barrier); or the lengths, types or roots differ.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("a broadcast", 0, 1)?;
    /// let mut seed = [42_u64];
    /// team.broadcast(&mut seed, 0)?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast<T: Plain>(&mut self, data: &mut [T], root: usize) -> Result<()> {
        let names = const { &Names::of::<T>("broadcast", "") };
        let call = self.begin_rooted(names, Place::caller(), data.len(), root)?;
        let at = data.as_mut_ptr();
        // SAFETY: the vector, on all ranks.
        unsafe { self.move_data::<T>(&call, Operation::Broadcast, data.len(), at, at, root) }
    }

    /// Combines `data` of all ranks by `op` into `data` of rank `root`; that of the others stays.
    ///
    /// # Errors
    /// As [`all_reduce`](Team::all_reduce).
    ///
    /// # Examples
    /// ```
    /// # use phalanx_processes::op;
    /// # let mut team = phalanx_processes::Team::join("a reduce", 0, 1)?;
    /// let mut largest = [3, 1];
    /// team.reduce(&mut largest, op::Max, 0)?;
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce<T: Plain, O: Operator<T>>(
        &mut self,
        data: &mut [T],
        op: O,
        root: usize,
    ) -> Result<()> {
        let names = const { &Names::of::<T>("reduce", O::NAME) };
        let call = self.begin_rooted(names, Place::caller(), data.len(), root)?;
        let (at, n) = (data.as_mut_ptr(), data.len());
        // SAFETY: the vector, on all ranks.
        unsafe { self.combine_data(&call, Operation::Reduce, n, at, at, root, &op) }
    }

    /// Combines `data` of all ranks by `op`; each has the result then.
    ///
    /// Sums and products of `f16` and `bf16` are made in `f32`, and rounded once
    /// ([`op`](phalanx::op)).
    ///
    /// **Cost** up to 96 bytes: a line of each other rank. Up to 32 KiB of all ranks together: one
    /// step. Above, each rank reads and writes each byte about three times, in pieces that stay in
    /// the caches.
    ///
    /// # Errors
    /// As [`barrier`](Team::barrier); or lengths, types or operators differ (compared by name); an
    /// element has more than 1024 bytes.
    ///
    /// # Examples
    /// See [`Team`].
    #[track_caller]
    #[inline]
    pub fn all_reduce<T: Plain, O: Operator<T>>(&mut self, data: &mut [T], op: O) -> Result<()> {
        let names = const { &Names::of::<T>("all_reduce", O::NAME) };
        let call = self.begin(names, Place::caller(), data.len(), Team::ROOTLESS)?;
        if Team::is_few(data.len(), size_of::<T>()) {
            let mut reduce = || self.reduce_few(&call, data, &op, O::accumulation());
            let disturbed = is_disturbed::<T, O>();
            return if disturbed { FloatControl::STANDARD.lend(reduce) } else { reduce() };
        }
        let (at, n) = (data.as_mut_ptr(), data.len());
        // SAFETY: the vector, on all ranks.
        unsafe { self.combine_data(&call, Operation::AllReduce, n, at, at, 0, &op) }
    }

    /// Combines `all`, which has a block for each rank, of all ranks by `op`; rank `r` gets block
    /// `r` of the result.
    ///
    /// # Errors
    /// As [`all_reduce`](Team::all_reduce); `all` is not as long as the blocks of all ranks.
    ///
    /// # Examples
    /// ```
    /// # use phalanx_processes::op;
    /// # let mut team = phalanx_processes::Team::join("a reduce-scatter", 0, 1)?;
    /// let mut mine = [0.0; 2];
    /// team.reduce_scatter(&[1.0, 2.0], &mut mine, op::Sum)?;
    /// assert_eq!(mine, [1.0, 2.0]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter<T: Plain, O: Operator<T>>(
        &mut self,
        all: &[T],
        mine: &mut [T],
        op: O,
    ) -> Result<()> {
        let names = const { &Names::of::<T>("reduce_scatter", O::NAME) };
        let call = self.begin(names, Place::caller(), mine.len(), Team::ROOTLESS)?;
        self.check_blocks(&call, all.len(), mine.len())?;
        let (from, to, n) = (all.as_ptr(), mine.as_mut_ptr(), mine.len());
        // SAFETY: a block for each rank, and one.
        unsafe { self.combine_data(&call, Operation::ReduceScatter, n, from, to, 0, &op) }
    }

    /// Combines `data` of ranks `0..=rank` by `op`, in their order.
    ///
    /// # Errors
    /// As [`all_reduce`](Team::all_reduce).
    ///
    /// # Examples
    /// ```
    /// # use phalanx_processes::op;
    /// # let mut team = phalanx_processes::Team::join("a scan", 0, 1)?;
    /// let mut before_and_mine = [5];
    /// team.scan(&mut before_and_mine, op::Sum)?;
    /// assert_eq!(before_and_mine, [5]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn scan<T: Plain, O: Operator<T>>(&mut self, data: &mut [T], op: O) -> Result<()> {
        let names = const { &Names::of::<T>("scan", O::NAME) };
        let call = self.begin(names, Place::caller(), data.len(), Team::ROOTLESS)?;
        let (at, n) = (data.as_mut_ptr(), data.len());
        // SAFETY: the vector, on all ranks.
        unsafe { self.combine_data(&call, Operation::Scan, n, at, at, 0, &op) }
    }

    /// Combines `data` of the ranks before this one by `op`. Rank 0 gets the operator's identity;
    /// its data stays, if the operator has none.
    ///
    /// # Errors
    /// As [`all_reduce`](Team::all_reduce).
    ///
    /// # Examples
    /// ```
    /// # use phalanx_processes::op;
    /// # let mut team = phalanx_processes::Team::join("an exclusive scan", 0, 1)?;
    /// let mut before = [5];
    /// team.exclusive_scan(&mut before, op::Sum)?;
    /// assert_eq!(before, [0]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan<T: Plain, O: Operator<T>>(
        &mut self,
        data: &mut [T],
        op: O,
    ) -> Result<()> {
        let names = const { &Names::of::<T>("exclusive_scan", O::NAME) };
        let call = self.begin(names, Place::caller(), data.len(), Team::ROOTLESS)?;
        let (at, n) = (data.as_mut_ptr(), data.len());
        // SAFETY: the vector, on all ranks.
        unsafe { self.combine_data(&call, Operation::ExclusiveScan, n, at, at, 0, &op)? };
        if self.me == 0
            && let Some(identity) = op.identity()
        {
            data.fill(identity);
        }
        Ok(())
    }

    /// Collects `mine` of all ranks, in their order, in `all` of each.
    ///
    /// # Errors
    /// As [`broadcast`](Team::broadcast); `all` is not as long as the blocks of all ranks.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("an all-gather", 0, 1)?;
    /// let mut all = [0; 2];
    /// team.all_gather(&[1, 2], &mut all)?;
    /// assert_eq!(all, [1, 2]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather<T: Plain>(&mut self, mine: &[T], all: &mut [T]) -> Result<()> {
        let names = const { &Names::of::<T>("all_gather", "") };
        let call = self.begin(names, Place::caller(), mine.len(), Team::ROOTLESS)?;
        self.check_blocks(&call, all.len(), mine.len())?;
        let (from, to, n) = (mine.as_ptr(), all.as_mut_ptr(), mine.len());
        // SAFETY: one block, and a block for each rank.
        unsafe { self.move_data::<T>(&call, Operation::AllGather, n, from, to, 0) }
    }

    /// Collects `mine` of all ranks, in their order, in `all` of rank `root`; the others' is not
    /// looked at.
    ///
    /// # Errors
    /// As [`all_gather`](Team::all_gather).
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("a gather", 0, 1)?;
    /// let mut all = [0; 2];
    /// team.gather(&[1, 2], &mut all, 0)?;
    /// assert_eq!(all, [1, 2]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn gather<T: Plain>(&mut self, mine: &[T], all: &mut [T], root: usize) -> Result<()> {
        let names = const { &Names::of::<T>("gather", "") };
        let call = self.begin_rooted(names, Place::caller(), mine.len(), root)?;
        if self.me == root {
            self.check_blocks(&call, all.len(), mine.len())?;
        }
        let (from, to, n) = (mine.as_ptr(), all.as_mut_ptr(), mine.len());
        // SAFETY: one block, and at the root a block for each rank.
        unsafe { self.move_data::<T>(&call, Operation::Gather, n, from, to, root) }
    }

    /// Gives each rank its block of `all` of rank `root`; the others' is not looked at.
    ///
    /// # Errors
    /// As [`all_gather`](Team::all_gather).
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("a scatter", 0, 1)?;
    /// let mut mine = [0; 2];
    /// team.scatter(&[1, 2], &mut mine, 0)?;
    /// assert_eq!(mine, [1, 2]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn scatter<T: Plain>(&mut self, all: &[T], mine: &mut [T], root: usize) -> Result<()> {
        let names = const { &Names::of::<T>("scatter", "") };
        let call = self.begin_rooted(names, Place::caller(), mine.len(), root)?;
        if self.me == root {
            self.check_blocks(&call, all.len(), mine.len())?;
        }
        let (from, to, n) = (all.as_ptr(), mine.as_mut_ptr(), mine.len());
        // SAFETY: one block, and at the root a block for each rank.
        unsafe { self.move_data::<T>(&call, Operation::Scatter, n, from, to, root) }
    }

    /// Gives block `r` of `given` to rank `r`, and takes a block of each, in the order of ranks.
    ///
    /// # Errors
    /// As [`broadcast`](Team::broadcast); the two have not one length, or not a block for each
    /// rank.
    ///
    /// # Examples
    /// ```
    /// # let mut team = phalanx_processes::Team::join("an all-to-all", 0, 1)?;
    /// let mut taken = [0; 2];
    /// team.all_to_all(&[1, 2], &mut taken)?;
    /// assert_eq!(taken, [1, 2]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all<T: Plain>(&mut self, given: &[T], taken: &mut [T]) -> Result<()> {
        let names = const { &Names::of::<T>("all_to_all", "") };
        let n = given.len() / self.members.len();
        let call = self.begin(names, Place::caller(), n, Team::ROOTLESS)?;
        self.check_blocks(&call, given.len(), n)?;
        self.check_blocks(&call, taken.len(), n)?;
        let (from, to) = (given.as_ptr(), taken.as_mut_ptr());
        // SAFETY: a block for each rank, in both.
        unsafe { self.move_data::<T>(&call, Operation::AllToAll, n, from, to, 0) }
    }

    fn begin_rooted(
        &mut self,
        names: &'static Names,
        at: Place,
        length: usize,
        root: usize,
    ) -> Result<Begun> {
        let call = self.begin(names, at, length, root as u64 & 0xffff_ffff)?;
        self.check_rank(&call, root)?;
        Ok(call)
    }

    fn check_blocks(&mut self, call: &Begun, all: usize, each: usize) -> Result<()> {
        let p = self.members.len();
        if each.checked_mul(p) == Some(all) {
            return Ok(());
        }
        let text = format!("{all} elements are no {p} blocks of {each}, one for each rank");
        Err(self.wrong(call, &text))
    }

    /// A call that moves elements: as bytes.
    ///
    /// # Safety
    /// As [`carry_out`].
    unsafe fn move_data<T: Plain>(
        &mut self,
        call: &Begun,
        operation: Operation,
        length: usize,
        input: *const T,
        output: *mut T,
        root: usize,
    ) -> Result<()> {
        let length = length * size_of::<T>();
        let (input, output) = (input.cast(), output.cast());
        let job = Job { operation, length, size: BYTE, root, input, output, fold: None };
        // SAFETY: passed on.
        unsafe { carry_out(self, call, job) }
    }

    /// A call that combines elements.
    ///
    /// # Safety
    /// As [`carry_out`].
    #[expect(clippy::too_many_arguments, reason = "a call, its data, its operator")]
    unsafe fn combine_data<T: Plain, O: Operator<T>>(
        &mut self,
        call: &Begun,
        operation: Operation,
        length: usize,
        input: *const T,
        output: *mut T,
        root: usize,
        op: &O,
    ) -> Result<()> {
        let size = size_of::<T>();
        if size > LARGEST {
            let text = format!("elements of {size} bytes: {LARGEST} is the most for an operator");
            return Err(self.wrong(call, &text));
        }
        let (input, output) = (input.cast(), output.cast());
        // Elements of no bytes are only met.
        let (length, size) = if size == 0 { (0, 1) } else { (length, size) };
        let kernel = FoldKernel::of::<T, O>(op);
        let fold = Some((&kernel, O::ORIGIN.is_library()));
        let job = Job { operation, length, size, root, input, output, fold };
        // SAFETY: passed on.
        unsafe { self.combine(call, job) }
    }

    /// Carries a reduction out. An all-reduce of vectors that all lie at one place of symmetric
    /// memory needs no copy; whether they do, all ranks read from the words of all.
    ///
    /// # Safety
    /// As [`carry_out`].
    pub(crate) unsafe fn combine(&mut self, call: &Begun, job: Job<'_>) -> Result<()> {
        let is_long = job.operation == Operation::AllReduce && job.length * job.size >= LONG;
        if is_long
            && !self.taken.is_empty()
            && let Some((kernel, is_library)) = job.fold
            && let Some(at) = self.common_place(call, &job, is_library)?
        {
            return self.fold_in_place(call, kernel, at, (job.length, job.size));
        }
        // SAFETY: passed on.
        unsafe { carry_out(self, call, job) }
    }

    /// Whether so many elements of a size are combined in registers.
    #[inline(always)]
    pub(crate) fn is_few(length: usize, size: usize) -> bool {
        length <= FEW && length * size <= 32 && size > 0
    }

    /// An all-reduce whose operands are in the heads' lines.
    #[inline]
    pub(crate) fn reduce_few<T: Plain, O: Operator<T>, S: Accumulation<T, O>>(
        &mut self,
        call: &Begun,
        data: &mut [T],
        op: &O,
        as_what: S,
    ) -> Result<()> {
        if O::ORIGIN.is_library() {
            return self.combine_few(call, data, op, as_what);
        }
        let combine = AssertUnwindSafe(|| self.combine_few(call, data, op, as_what));
        match catch_unwind(combine) {
            Ok(outcome) => outcome,
            Err(panic) => self.end_by(call, panic),
        }
    }

    /// The operands are read once, and combined in registers.
    #[inline]
    fn combine_few<T: Plain, O: Operator<T>, S: Accumulation<T, O>>(
        &mut self,
        call: &Begun,
        data: &mut [T],
        op: &O,
        _: S,
    ) -> Result<()> {
        let bytes = size_of_val(data);
        debug_assert!(bytes <= INLINE);
        // SAFETY: the vector's bytes.
        let episode = unsafe { self.meet(call, data.as_ptr().cast(), bytes)? };
        let (p, words) = (self.members.len(), bytes.div_ceil(8));
        let operand = |member: usize| {
            let mut copied = [0_u64; 4];
            for (i, word) in copied[..words].iter_mut().enumerate() {
                *word = self.gate(member).word(episode, i);
            }
            copied
        };
        // SAFETY (of the reads below): an element among the copied words, of which every bit
        // pattern is a value.
        let at = |copied: &[u64; 4], i: usize| {
            let from = copied.as_ptr().cast::<T>();
            // SAFETY: as above.
            S::widen(unsafe { from.add(i).read_unaligned() })
        };
        if p == 2 {
            let (a, b) = (operand(0), operand(1));
            for (i, to) in data.iter_mut().enumerate() {
                *to = S::round(S::combine(op, at(&a, i), at(&b, i)));
            }
            return Ok(());
        }
        if p == 1 {
            return Ok(());
        }
        let all: [[u64; 4]; 16];
        let many: Vec<[u64; 4]>;
        let operands: &[[u64; 4]] = if p <= 16 {
            all = std::array::from_fn(|member| if member < p { operand(member) } else { [0; 4] });
            &all[..p]
        } else {
            many = (0..p).map(operand).collect();
            &many
        };
        for (i, to) in data.iter_mut().enumerate() {
            let leaf = |member: usize| at(&operands[member], i);
            *to = S::round(tree(op, 0, p, &leaf, S::combine));
        }
        Ok(())
    }
}

/// Operands `from` to `from + n`, by the tree of `Order::Fixed`.
fn tree<W, O>(
    op: &O,
    from: usize,
    n: usize,
    leaf: &dyn Fn(usize) -> W,
    join: fn(&O, W, W) -> W,
) -> W {
    if n == 1 {
        return leaf(from);
    }
    let half = phalanx::engine::left_half(n);
    let left = tree(op, from, half, leaf, join);
    join(op, left, tree(op, from + half, n - half, leaf, join))
}
