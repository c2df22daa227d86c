//! Total exchange.

use super::Comm;
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition};
use crate::fabric::Signature;
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
        let sig = const { &Signature::of::<T>("all_to_all_into", "") };
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
        let call = Call::new(Operation::AllToAll, sig, at, Partition::Equal(len));
        self.carry_out(call.moving(Buffers::Apart(send, recv)));
    }

    /// [`all_to_all_into`](Comm::all_to_all_into) in one buffer: block `j` of `data` goes to rank
    /// `j`, and rank `j`'s block for this rank takes its place. `MPI_Alltoall` with
    /// `MPI_IN_PLACE`.
    ///
    /// **Must agree on all ranks:** the element type, `data.len()` (a multiple of p).
    ///
    /// **Cost** small blocks: one step among a few ranks (gates), else `(p-1)(t_s + t_w m)` for
    /// blocks of `m` elements, p steps if p is odd (`TX-PAIRS`); others: each pair of ranks swaps
    /// its two blocks, half of them each (`TX-FUSED`). No second buffer.
    ///
    /// # Errors
    /// A length that is no multiple of p ends the run.
    ///
    /// # Examples
    /// ```
    /// // The rows of a matrix, a rank each, become its columns.
    /// let out = phalanx::run(3, |comm| {
    ///     let mut row = [0, 1, 2].map(|j| comm.rank() * 10 + j);
    ///     comm.all_to_all_in_place(&mut row);
    ///     row
    /// })?;
    /// assert_eq!(out, [[0, 10, 20], [1, 11, 21], [2, 12, 22]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_in_place<T: Element>(&mut self, data: &mut [T]) {
        let sig = const { &Signature::of::<T>("all_to_all_in_place", "") };
        let at = Location::caller();
        let p = self.size();
        let len = data.len() / p;
        if !data.len().is_multiple_of(p) {
            let what = format!("the data have {} elements, no multiple of {p} ranks", data.len());
            return self.wrong(sig, at, len, what);
        }
        let call = Call::new(Operation::AllToAllInPlace, sig, at, Partition::Equal(len));
        self.carry_out(call.moving(Buffers::InPlace(data)));
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
        let sig = const { &Signature::of::<T>("all_to_all_varied_into", "") };
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
        let cut = Partition::Pairs { send: send_counts, recv: recv_counts };
        let call = Call::new(Operation::AllToAll, sig, at, cut);
        self.carry_out(call.moving(Buffers::Apart(send, recv)));
    }
}
