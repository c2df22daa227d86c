//! Gathering blocks, at one rank or at all.

use super::all_to_all::{of_lengths, of_some};
use super::arguments::{CallAt, Checks};
use super::{Comm, call};
use crate::element::Element;
use crate::exec::{Buffers, Call, Kernel, Partition};
use crate::schedule::Operation;
use crate::shared::Signature;
use std::ops::Range;
use std::panic::Location;

impl Comm {
    /// Collects every rank's `mine`, in rank order, in everybody's `all`.
    ///
    /// **Must agree on all ranks:** the element type, the lengths
    /// (`all.len() == p * mine.len()`).
    ///
    /// **Cost** small blocks: `ceil(log2 p) t_s + t_w m (p-1)` for blocks of `m`
    /// elements (`AG-ANY`, Bruck et al. 1997; as Equation 4.4); others: every
    /// rank copies every other's block, `t_s + t_w m (p-1)` (`AG-FUSED`). To look
    /// at the other ranks' data without any copy:
    /// [`with_peers`](Comm::with_peers).
    ///
    /// # Errors
    /// Lengths that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut all = [0; 6];
    ///     comm.all_gather_into(&[comm.rank(), 7], &mut all);
    ///     all
    /// })?;
    /// assert_eq!(out, [[0, 7, 1, 7, 2, 7]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    /// The two cannot be parts of one buffer:
    /// ```compile_fail,E0502
    /// phalanx::run(2, |comm| {
    ///     let mut all = [0; 2];
    ///     comm.all_gather_into(&all[..1], &mut all);
    /// });
    /// ```
    #[track_caller]
    pub fn all_gather_into<T: Element>(&mut self, mine: &[T], all: &mut [T]) {
        self.run(call::all_gather_into(mine, all));
    }

    /// Collects a block of every rank, in rank order, in everybody's `all`, where each rank's own
    /// block is in its place already: block `rank` of `all`. `MPI_Allgather` with `MPI_IN_PLACE`.
    ///
    /// **Must agree on all ranks:** the element type, `all.len()` (a multiple of p); and all gather
    /// in place, or none.
    ///
    /// **Cost** that of [`all_gather_into`](Comm::all_gather_into), but for the copy of the own
    /// block; every algorithm serves it.
    ///
    /// # Errors
    /// A length that is no multiple of p ends the run.
    ///
    /// # Examples
    /// Each rank computes its part of a table where it belongs:
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut squares = [0; 6];
    ///     for i in 2 * comm.rank()..2 * comm.rank() + 2 {
    ///         squares[i] = i * i;
    ///     }
    ///     comm.all_gather_in_place(&mut squares);
    ///     squares
    /// })?;
    /// assert_eq!(out, [[0, 1, 4, 9, 16, 25]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn all_gather_in_place<T: Element>(&mut self, all: &mut [T]) {
        let sig = const { &Signature::of::<T>("all_gather_in_place", "") };
        let (kernel, len, all) = (Kernel::mover::<T>(), all.len(), all.as_mut_ptr().cast());
        // SAFETY: a slice of the signature's type.
        unsafe { self.gather_bytes_in_place((sig, Location::caller()), kernel, (all, len)) }
    }

    /// # Safety
    /// The pointer and the length are those of a `&mut` slice of the signature's type, which is the
    /// kernel's.
    #[inline(never)]
    unsafe fn gather_bytes_in_place(
        &mut self,
        (sig, at): CallAt,
        kernel: Kernel<'_>,
        (all, len): (*mut u8, usize),
    ) {
        let Some(own) = self.own_block(len, (sig, at)) else { return };
        let mine = all.wrapping_add(own.start * kernel.size());
        let call = Call::new(Operation::AllGather, sig, at, Partition::Equal(own.len()));
        // SAFETY: a block for every rank, the own one in its place.
        self.moving_by_route(unsafe { call.on_memory(kernel, mine, all) });
    }

    /// Where the own block is among equal ones; none, and the run ends, if they are not equal.
    #[inline(always)]
    pub(super) fn own_block(&mut self, all: usize, (sig, at): CallAt) -> Option<Range<usize>> {
        let (rank, len) = (self.rank(), all / self.size());
        self.check_blocks("the buffer has", all, (sig, at)).then(|| rank * len..(rank + 1) * len)
    }

    /// Collects every rank's `mine`, in rank order, in everybody's `all`: rank `r` contributes
    /// `counts[r]` elements.
    ///
    /// **Must agree on all ranks:** the element type, `counts` (one per rank,
    /// summing to `all.len()`, `counts[rank] == mine.len()`).
    ///
    /// **Cost** that of blocks that are all as long as the longest; the counts are compared with
    /// those that this rank has given before (`p` words; eight lists are remembered), new ones with
    /// the other ranks', in full, once.
    ///
    /// # Errors
    /// Counts that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mine = vec![comm.rank(); comm.rank()];
    ///     let mut all = [9; 3];
    ///     comm.all_gather_varied_into(&mine, &mut all, &[0, 1, 2]);
    ///     all
    /// })?;
    /// assert_eq!(out, [[1, 2, 2]; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather_varied_into<T: Element>(
        &mut self,
        mine: &[T],
        all: &mut [T],
        counts: &[usize],
    ) {
        self.run(call::all_gather_varied_into(mine, all, counts));
    }

    /// Collects every rank's `mine`, in rank order, in `root`'s `all`. On the
    /// other ranks `all` is not looked at and may be empty.
    ///
    /// **Must agree on all ranks:** the element type, `mine.len()`, `root`;
    /// there `all.len() == p * mine.len()`.
    ///
    /// **Cost** small blocks: `ceil(log2 p) t_s + t_w m (p-1)` (`GA-ANY`,
    /// Equation 4.6); others: every rank copies its own block into the root's
    /// buffer, `t_s + t_w m` (`GA-FUSED`).
    ///
    /// # Errors
    /// A `root` that is no rank, or a wrong length, ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut all = vec![0; if comm.rank() == 0 { 3 } else { 0 }];
    ///     comm.gather_into(&[comm.rank() * 2], &mut all, 0);
    ///     all
    /// })?;
    /// assert_eq!(out[0], [0, 2, 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_into<T: Element>(&mut self, mine: &[T], all: &mut [T], root: usize) {
        self.run(call::gather_into(mine, all, root));
    }

    /// Collects a block of every rank, in rank order, on `root`, with one buffer a rank: on the
    /// root `data` has a block for every rank, the root's own in its place already; elsewhere
    /// `data` is the block, and stays as it is. `MPI_Gather` with `MPI_IN_PLACE` at the root.
    ///
    /// **Must agree on all ranks:** the element type, the length of a block, `root`; and all gather
    /// in place, or none.
    ///
    /// **Cost** that of [`gather_into`](Comm::gather_into), but for the copy of the root's own
    /// block; every algorithm serves it.
    ///
    /// # Errors
    /// A `root` that is no rank, or on the root a length that is no multiple of p, ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut data = if comm.rank() == 1 { vec![0, 10, 0] } else { vec![comm.rank()] };
    ///     comm.gather_in_place(&mut data, 1);
    ///     data
    /// })?;
    /// assert_eq!(out, [vec![0], vec![0, 10, 2], vec![2]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_in_place<T: Element>(&mut self, data: &mut [T], root: usize) {
        let sig = const { &Signature::of::<T>("gather_in_place", "to root") };
        let at = Location::caller();
        if !self.check_rank("root", root, (sig, at), data.len()) {
            return;
        }
        let own = match self.rank() == root {
            true => self.own_block(data.len(), (sig, at)),
            false => Some(0..data.len()),
        };
        let Some(own) = own else { return };
        let call = Call::new(Operation::Gather, sig, at, Partition::Equal(own.len())).root(root);
        self.carry_out(call.moving(Buffers::Within(data, own)));
    }

    /// Collects every rank's `mine`, in rank order, in `root`'s `all`: rank `r` contributes
    /// `counts[r]` elements. The other ranks' `all` is not looked at.
    ///
    /// **Must agree on all ranks:** the element type, `root`, `counts` (one
    /// per rank, `counts[rank] == mine.len()`, on the root summing to
    /// `all.len()`).
    ///
    /// **Cost** that of blocks that are all as long as the longest; the counts are compared with
    /// those that this rank has given before (`p` words; eight lists are remembered), new ones with
    /// the other ranks', in full, once.
    ///
    /// # Errors
    /// Counts that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let mine = vec![comm.rank(); comm.rank() + 1];
    ///     let mut all = vec![9; if comm.rank() == 1 { 3 } else { 0 }];
    ///     comm.gather_varied_into(&mine, &mut all, &[1, 2], 1);
    ///     all
    /// })?;
    /// assert_eq!(out[1], [0, 1, 1]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_varied_into<T: Element>(
        &mut self,
        mine: &[T],
        all: &mut [T],
        counts: &[usize],
        root: usize,
    ) {
        self.run(call::gather_varied_into(mine, all, counts, root));
    }

    /// Collects every rank's `mine`, in rank order, in a new `Vec` on all ranks, none of which
    /// knows how many elements the others have; returns it, and how many each rank had.
    ///
    /// **Must agree on all ranks:** the element type.
    ///
    /// **Cost** up to 1000 bytes of a rank one step, everybody to everybody (gates); more stays
    /// where it is, and every rank copies it from there. The lengths travel with the data; and
    /// there is the memory of the result. On a forced topology: an all-gather of the lengths
    /// before. To look at the other ranks' data without any copy: [`with_peers`](Comm::with_peers).
    ///
    /// # Errors
    /// None but those of any call.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let found: Vec<usize> = (0..comm.rank()).collect();
    ///     comm.all_gather_vec(&found)
    /// })?;
    /// assert_eq!(out[0], (vec![0, 0, 1], vec![0, 1, 2]));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather_vec<T: Element>(&mut self, mine: &[T]) -> (Vec<T>, Vec<usize>) {
        let sig = const { &Signature::of::<T>("all_gather_vec", "") };
        let at = Location::caller();
        let count = &[mine.len()];
        if self.goes_by_rules() {
            let cut = Partition::Pairs { send: count, recv: &[] };
            let call = Call::new(Operation::AllGather, sig, at, cut);
            return self.collect(call, mine, count, Some(0));
        }
        let lens = const { &of_lengths("all_gather_vec", "all_gather_vec (the lengths)") };
        let some = const { &of_some::<T>("all_gather_vec", "") };
        let call = Call::new(Operation::AllGather, lens, at, Partition::Equal(1));
        self.collect_in_two(call, (mine, count), true, |comm, mine, all, lens| {
            let call = Call::new(Operation::AllGather, some, at, Partition::Varied(lens));
            comm.slices_by_long_route(call, mine, all);
        })
    }

    /// Collects every rank's `mine`, in rank order, in a new `Vec` on `root`, which does not know
    /// how many elements the others have: it gets that, and how many each rank had; the other ranks
    /// get `None`.
    ///
    /// **Must agree on all ranks:** the element type, `root`.
    ///
    /// **Cost** as [`all_gather_vec`](Comm::all_gather_vec), but that only the root copies: all
    /// wait for all.
    ///
    /// # Errors
    /// A `root` that is no rank ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let found = vec![comm.rank(); 2 - comm.rank()];
    ///     comm.gather_vec(&found, 1)
    /// })?;
    /// assert_eq!(out, [None, Some((vec![0, 0, 1], vec![2, 1, 0])), None]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_vec<T: Element>(
        &mut self,
        mine: &[T],
        root: usize,
    ) -> Option<(Vec<T>, Vec<usize>)> {
        let sig = const { &Signature::of::<T>("gather_vec", "to root") };
        let at = Location::caller();
        if !self.check_rank("root", root, (sig, at), mine.len()) {
            self.nothing_to_return();
        }
        let (count, is_root) = (&[mine.len()], self.rank() == root);
        let collected = if self.goes_by_rules() {
            let cut = Partition::Pairs { send: count, recv: &[] };
            let call = Call::new(Operation::Gather, sig, at, cut).root(root);
            self.collect(call, mine, count, is_root.then_some(0))
        } else {
            let lens = const { &of_lengths("gather_vec", "gather_vec (the lengths)") };
            let some = const { &of_some::<T>("gather_vec", "to root") };
            let call = Call::new(Operation::AllGather, lens, at, Partition::Equal(1));
            self.collect_in_two(call, (mine, count), is_root, |comm, mine, all, lens| {
                let call = Call::new(Operation::Gather, some, at, Partition::Varied(lens));
                comm.slices_by_long_route(call.root(root), mine, all);
            })
        };
        is_root.then_some(collected)
    }
}
