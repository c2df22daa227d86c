//! Total exchange.

use super::Comm;
use super::perform::Task;
use crate::element::Element;
use crate::engine::{Cut, Kernel};
use crate::fabric::{Check, Sig};
use crate::schedule::Operation;
use std::panic::Location;

impl Comm {
    /// Sends block `j` of `send` to rank `j`, where it becomes block `rank` of
    /// `recv`: a transposition of the p x p matrix of blocks.
    ///
    /// **Must agree on all ranks:** the element type, the lengths
    /// (`send.len() == recv.len()`, a multiple of p).
    ///
    /// **Cost** small blocks: `(p-1)(t_s + t_w m)` for blocks of `m` elements
    /// (`TX-ANY`, rule G5, as Equation 4.10), for tiny ones and many ranks
    /// `ceil(log2 p)` steps (`TX-BRUCK`); others: every rank copies its blocks out
    /// of all others' `send`, `t_s + t_w m (p-1)` (`TX-FUSED`).
    ///
    /// # Errors
    /// Lengths that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let send = [0, 1, 2].map(|j| comm.rank() * 10 + j);
    ///     let mut recv = [0; 3];
    ///     comm.all_to_all_into(&send, &mut recv);
    ///     recv
    /// })?;
    /// assert_eq!(out[1], [1, 11, 21]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_into<T: Element>(&mut self, send: &[T], recv: &mut [T]) {
        let sig = const { &Sig::of::<T>("all_to_all_into", "") };
        let at = Location::caller();
        let p = self.size();
        let len = send.len() / p;
        if !send.len().is_multiple_of(p) {
            let what = format!("the input has {} elements, no multiple of {p} ranks", send.len());
            return self.wrong(sig, at, len, what);
        }
        if !self.check_len("the output", recv.len(), Some(send.len()), sig, at, len) {
            return;
        }
        if self.is_alone() {
            return self.keep_block(sig, at, Check::NO_PARAMETER, send, recv);
        }
        let task = Task {
            operation: Operation::AllToAll,
            sig,
            at,
            root: 0,
            shift: 0,
            cut: Cut::Equal(len),
            len,
            commutative: true,
            built_in: None,
        };
        // SAFETY: the lengths are checked; the borrows last for the call.
        unsafe {
            let (from, to) = (send.as_ptr().cast(), recv.as_mut_ptr().cast());
            self.perform(&task, &Kernel::mover::<T>(), from, to);
        }
    }

    /// [`all_to_all_into`](Comm::all_to_all_into) with blocks of different
    /// lengths: `send_counts[j]` elements go to rank `j`, `recv_counts[j]`
    /// come from it; blocks lie one after the other.
    ///
    /// **Must agree on all ranks:** the element type; what rank `i` sends to
    /// `j` is what `j` expects from `i`.
    ///
    /// **Cost** as `TX-ANY` there.
    ///
    /// # Errors
    /// Counts that do not fit end the run.
    ///
    /// # Examples
    /// ```
    /// // Rank r sends r + 1 elements to everybody.
    /// let out = phalanx::run(2, |comm| {
    ///     let n = comm.rank() + 1;
    ///     let mut recv = [0; 3];
    ///     comm.all_to_all_varied_into(&vec![n; 2 * n], &[n, n], &mut recv, &[1, 2]);
    ///     recv
    /// })?;
    /// assert_eq!(out, [[1, 2, 2]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_varied_into<T: Element>(
        &mut self,
        send: &[T],
        send_counts: &[usize],
        recv: &mut [T],
        recv_counts: &[usize],
    ) {
        let sig = const { &Sig::of::<T>("all_to_all_varied_into", "") };
        let at = Location::caller();
        let rank = self.rank();
        let own = |counts: &[usize]| counts.get(rank).copied().unwrap_or(0);
        let Some(total) = self.check_counts::<T>(send_counts, own(send_counts), sig, at) else {
            return;
        };
        if !self.check_len("the input", send.len(), Some(total), sig, at, total) {
            return;
        }
        // The own block: what is sent is what is received.
        let Some(total) = self.check_counts::<T>(recv_counts, own(send_counts), sig, at) else {
            return;
        };
        if !self.check_len("the output", recv.len(), Some(total), sig, at, total) {
            return;
        }
        let task = Task {
            operation: Operation::AllToAll,
            sig,
            at,
            root: 0,
            shift: 0,
            cut: Cut::Pairs { send: send_counts, recv: recv_counts },
            // Lengths differ from rank to rank; each message is checked.
            len: 0,
            commutative: true,
            built_in: None,
        };
        // SAFETY: the lengths are checked; the borrows last for the call.
        unsafe {
            let (from, to) = (send.as_ptr().cast(), recv.as_mut_ptr().cast());
            self.perform(&task, &Kernel::mover::<T>(), from, to);
        }
    }
}
