//! Gathering blocks, at one rank or at all.

use super::perform::Task;
use super::{Comm, gated};
use crate::element::Element;
use crate::engine::{Cut, Kernel};
use crate::fabric::{Check, Params, Sig, Transport};
use crate::mailbox::EAGER;
use crate::schedule::{Algorithm, Operation};
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
        let sig = const { &Sig::of::<T>("all_gather_into", "") };
        let at = Location::caller();
        let len = mine.len();
        let wanted = len.checked_mul(self.size());
        if !self.check_len("the output", all.len(), wanted, sig, at, len) {
            return;
        }
        if self.is_alone() {
            return self.keep_block(sig, at, Check::NO_PARAMETER, mine, all);
        }
        let bytes = size_of_val(mine);
        let is_small = bytes <= EAGER && bytes < self.tuning.all_gather_fused;
        if is_small && self.is_auto() && self.port.is_gated() {
            let (algorithm, transport) = (Algorithm::AG_ANY.index(), Transport::Gates);
            let params = Params { algorithm, transport, ..Params::of(len) };
            if let Some(begun) = self.begin(sig, at, params)
                && let Err(stop) = gated::all_gather(&mut self.port, begun, mine, all)
            {
                self.stop(stop);
            }
            return;
        }
        let operation = Operation::AllGather;
        self.collect(operation, sig, at, 0, Cut::Equal(len), len, mine, all);
    }

    /// [`all_gather_into`](Comm::all_gather_into) with blocks of different
    /// lengths: rank `r` contributes `counts[r]` elements.
    ///
    /// **Must agree on all ranks:** the element type, `counts` (one per rank,
    /// summing to `all.len()`, `counts[rank] == mine.len()`).
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
        let sig = const { &Sig::of::<T>("all_gather_varied_into", "") };
        let at = Location::caller();
        let Some(total) = self.check_counts::<T>(counts, mine.len(), sig, at) else { return };
        if !self.check_len("the output", all.len(), Some(total), sig, at, total) {
            return;
        }
        let operation = Operation::AllGather;
        self.collect(operation, sig, at, 0, Cut::Varied(counts), total, mine, all);
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
        let sig = const { &Sig::of::<T>("gather_into", "to root") };
        let at = Location::caller();
        let len = mine.len();
        if !self.check_rank("root", root, sig, at, len) {
            return;
        }
        let wanted = len.checked_mul(self.size());
        if self.rank() == root && !self.check_len("the output", all.len(), wanted, sig, at, len) {
            return;
        }
        if self.is_alone() {
            return self.keep_block(sig, at, root, mine, all);
        }
        self.collect(Operation::Gather, sig, at, root, Cut::Equal(len), len, mine, all);
    }

    /// [`gather_into`](Comm::gather_into) with blocks of different lengths:
    /// rank `r` contributes `counts[r]` elements.
    ///
    /// **Must agree on all ranks:** the element type, `root`, `counts` (one
    /// per rank, `counts[rank] == mine.len()`, on the root summing to
    /// `all.len()`).
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
        let sig = const { &Sig::of::<T>("gather_varied_into", "to root") };
        let at = Location::caller();
        let Some(total) = self.check_counts::<T>(counts, mine.len(), sig, at) else { return };
        let good = self.check_rank("root", root, sig, at, total)
            && (self.rank() != root
                || self.check_len("the output", all.len(), Some(total), sig, at, total));
        if good {
            self.collect(Operation::Gather, sig, at, root, Cut::Varied(counts), total, mine, all);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn collect<T: Element>(
        &mut self,
        operation: Operation,
        sig: &'static Sig,
        at: &'static Location<'static>,
        root: usize,
        cut: Cut<'_>,
        len: usize,
        mine: &[T],
        all: &mut [T],
    ) {
        let task = Task {
            operation,
            sig,
            at,
            root,
            shift: 0,
            cut,
            len,
            commutative: true,
            built_in: None,
        };
        // SAFETY: the callers have checked the lengths; the borrows last for
        // the call.
        unsafe {
            let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
            self.perform(&task, &Kernel::mover::<T>(), from, to);
        }
    }

    /// Checks one count per rank of elements `T`, the own one being `own`;
    /// returns their sum, which is that of a slice that there can be: what
    /// the engine multiplies then never overflows.
    pub(super) fn check_counts<T: Element>(
        &mut self,
        counts: &[usize],
        own: usize,
        sig: &'static Sig,
        at: &'static Location<'static>,
    ) -> Option<usize> {
        let (rank, p) = (self.rank(), self.size());
        let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let most = isize::MAX as usize / size_of::<T>().max(1);
        let what = if counts.len() != p {
            format!("{} counts for {p} ranks", counts.len())
        } else if counts[rank] != own {
            format!("the own buffer has {own} elements, counts[{rank}] says {}", counts[rank])
        } else if total.is_none_or(|total| total > most && size_of::<T>() > 0) {
            "the counts sum to more than memory can hold".to_string()
        } else {
            return total;
        };
        self.wrong(sig, at, own, what);
        None
    }
}
