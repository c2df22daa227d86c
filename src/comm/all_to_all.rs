//! Total exchange.

use super::arguments::{CallAt, Checks};
use super::{Comm, call};
use crate::element::Element;
use crate::exec::uneven::{AllToAll, Collection, OwnedExchange};
use crate::exec::{Buffers, Call, Kernel, Partition};
use crate::schedule::Operation;
use crate::shared::Signature;
use std::panic::Location;

/// The collected elements: every rank's elements, one after the other, and how many each gave.
pub(super) type Collected<T> = (Vec<T>, Vec<usize>);

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
    #[inline]
    pub fn all_to_all_into<T: Element>(&mut self, send: &[T], recv: &mut [T]) {
        self.run(call::all_to_all_into(send, recv));
    }

    /// Exchanges blocks with all ranks in one buffer: block `j` of `data` goes to rank `j`, and
    /// rank `j`'s block for this rank takes its place. `MPI_Alltoall` with `MPI_IN_PLACE`.
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
    #[inline]
    pub fn all_to_all_in_place<T: Element>(&mut self, data: &mut [T]) {
        let sig = const { &Signature::of::<T>("all_to_all_in_place", "") };
        let (kernel, len, data) = (Kernel::mover::<T>(), data.len(), data.as_mut_ptr().cast());
        // SAFETY: a slice of the signature's type.
        unsafe { self.exchange_bytes_in_place((sig, Location::caller()), kernel, (data, len)) }
    }

    /// # Safety
    /// The pointer and the length are those of a `&mut` slice of the signature's type, which is the
    /// kernel's.
    #[inline(never)]
    unsafe fn exchange_bytes_in_place(
        &mut self,
        (sig, at): CallAt,
        kernel: Kernel<'_>,
        (data, all): (*mut u8, usize),
    ) {
        let len = all / self.size();
        if self.check_blocks("the data have", all, (sig, at)) {
            let call = Call::new(Operation::AllToAllInPlace, sig, at, Partition::Equal(len));
            // SAFETY: a block for every rank.
            self.moving_by_route(unsafe { call.on_memory(kernel, data, data) });
        }
    }

    /// An all-to-all of which each rank knows its own part, `send` and `recv` with their counts.
    #[inline(always)]
    pub(super) fn exchange_varied<T: Element>(
        &mut self,
        call: CallAt,
        (send, send_counts): (&[T], &[usize]),
        (recv, recv_counts): (&mut [T], &[usize]),
    ) {
        let (kernel, sent, received) = (const { &Kernel::mover::<T>() }, send.len(), recv.len());
        let (send, recv) = ((send.as_ptr().cast(), sent), (recv.as_mut_ptr().cast(), received));
        // SAFETY: slices of the signature's type.
        unsafe { self.exchange_varied_bytes(call, send, send_counts, recv, recv_counts, kernel) }
    }

    /// # Safety
    /// Pointers and lengths are those of a `&` and a `&mut` slice of the signature's type, which is
    /// the kernel's.
    #[inline(never)]
    unsafe fn exchange_varied_bytes(
        &mut self,
        (sig, at): CallAt,
        (send, sent): (*const u8, usize),
        send_counts: &[usize],
        (recv, received): (*mut u8, usize),
        recv_counts: &[usize],
        kernel: &Kernel<'_>,
    ) {
        if !self.check_pairs((sig, at), (sent, send_counts), (received, recv_counts)) {
            return;
        }
        if self.port.size() == 1 || !self.goes_by_rules() {
            let cut = Partition::Pairs { send: send_counts, recv: recv_counts };
            let call = Call::new(Operation::AllToAll, sig, at, cut);
            // SAFETY: the counts sum to the lengths.
            return self.moving_by_route(unsafe { call.on_memory(*kernel, send, recv) });
        }
        let call = Call::new(Operation::AllToAll, sig, at, Partition::Equal(0));
        let (send, recv) = ((send, sent, send_counts), (recv, received, recv_counts));
        // SAFETY: the counts sum to the lengths.
        let blocks = unsafe { AllToAll::new(send, recv, sig.element_size) };
        self.by_uneven_exchange(&call, sent, blocks);
    }

    /// Exchanges blocks of different lengths with all ranks: `send_counts[j]` elements of `send` go
    /// to rank `j`, and `recv_counts[j]` come from it to `recv`; in both, blocks lie one after the
    /// other, in rank order.
    ///
    /// **Must agree on all ranks:** the element type; the count that rank `i` sends to
    /// `j` is the one that `j` expects from `i`.
    ///
    /// **Cost** up to 1024 bytes of `send` and counts: one step, everybody to everybody (gates);
    /// more stays where it is, and every rank copies its blocks from there, `t_s + t_w m (p-1)`.
    /// The counts need not be those of the call before. On a forced topology the plan is made anew
    /// in each call.
    ///
    /// # Errors
    /// Counts that do not fit end the run; of two ranks that disagree about a block, the receiver
    /// says so, with both lengths in elements.
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
    #[inline]
    pub fn all_to_all_varied_into<T: Element>(
        &mut self,
        send: &[T],
        send_counts: &[usize],
        recv: &mut [T],
        recv_counts: &[usize],
    ) {
        self.run(call::all_to_all_varied_into(send, send_counts, recv, recv_counts));
    }

    /// Exchanges blocks of different lengths with all ranks, none of which knows how much it will
    /// receive: `counts[j]` elements of `send` go to rank `j`. Returns the elements that have come,
    /// in rank order, and how many elements from each rank. (MPI: `MPI_Alltoall` of the counts, and
    /// then `MPI_Alltoallv`.)
    ///
    /// **Must agree on all ranks:** the element type.
    ///
    /// **Cost** that of [`all_to_all_varied_into`](Comm::all_to_all_varied_into), in one step, for
    /// the counts travel with the data; and the memory of the result. On a forced topology: an
    /// all-to-all of the counts before.
    ///
    /// # Errors
    /// Counts that do not sum to `send.len()`, or are not one per rank, end the run.
    ///
    /// # Examples
    /// Each rank deals its numbers by their remainder:
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let mut mine = if comm.rank() == 0 { vec![1, 2, 3] } else { vec![4, 6] };
    ///     mine.sort_by_key(|x| x % 2);
    ///     let even = mine.partition_point(|x| x % 2 == 0);
    ///     comm.all_to_all_vec(&mine, &[even, mine.len() - even])
    /// })?;
    /// assert_eq!(out[0], (vec![2, 4, 6], vec![1, 2]));
    /// assert_eq!(out[1], (vec![1, 3], vec![2, 0]));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn all_to_all_vec<T: Element>(
        &mut self,
        send: &[T],
        counts: &[usize],
    ) -> (Vec<T>, Vec<usize>) {
        let sig = const { &Signature::of::<T>("all_to_all_vec", "") };
        let at = Location::caller();
        let own = counts.get(self.rank()).copied().unwrap_or(0);
        let good = match self.check_counts(counts, own, size_of::<T>(), (sig, at)) {
            Some(total) => self.check_len("the input", send.len(), Some(total), (sig, at), total),
            None => false,
        };
        if !good {
            self.nothing_to_return();
        }
        if self.goes_by_rules() {
            let cut = Partition::Pairs { send: counts, recv: &[] };
            let call = Call::new(Operation::AllToAll, sig, at, cut);
            let part = Some(self.rank());
            return self.collect(call, send, counts, part);
        }
        let lens = const { &of_lengths("all_to_all_vec", "all_to_all_vec (the counts)") };
        let some = const { &of_some::<T>("all_to_all_vec", "") };
        let call = Call::new(Operation::AllToAll, lens, at, Partition::Equal(1));
        self.collect_in_two(call, (send, counts), true, |comm, send, all, lens| {
            comm.exchange_varied((some, at), (send, counts), (all, lens));
        })
    }

    /// The sparse exchange of owned values: each value of `outbox` goes to the rank that stands
    /// beside it, and the values for this rank are appended to `inbox`, each beside the rank that
    /// has sent it. No rank need know how many will come, or from which ranks. A value may
    /// be of any type that may go to another thread (a `String`, a `Vec`, a `Box<dyn Job +
    /// Send>`); it is moved, so memory that it owns is neither copied nor serialised.
    ///
    /// `outbox` is empty then. The values come in rank order of their senders, and those of a
    /// sender in the order of its outbox: the same in each run. A rank may send to itself, several
    /// values to one rank, or none at all. The call returns when all ranks have their values.
    /// (MPI: a non-blocking consensus, "NBX", or counts by `MPI_Reduce_scatter` and messages from
    /// any source. For a value that only its receiver waits for:
    /// [`send_owned`](Comm::send_owned).)
    ///
    /// **Must agree on all ranks:** the type.
    ///
    /// **Cost** a flag from each rank and one back, `2 (p-1)` looks, for any number of values; and
    /// two copies of each value's own bytes, beside which a `usize` travels. Nothing is allocated
    /// once `inbox` and the communicator's scratch memory are large enough: drain the same
    /// vectors again and again. No forced algorithm or topology changes the way.
    ///
    /// # Errors
    /// A destination that is no rank ends the run; `outbox` is as it was. If the call fails later,
    /// each value is still in one place: in the inbox of a rank that has taken it, or in the
    /// outbox, though perhaps in another order.
    ///
    /// # Examples
    /// Each rank tells some others of vehicles that have left its part of a simulation:
    /// ```
    /// let logs = phalanx::run(3, |comm| {
    ///     let (mut outbox, mut inbox) = (Vec::new(), Vec::new());
    ///     let mut log = Vec::new();
    ///     for step in 0..2 {
    ///         if comm.rank() != 1 {
    ///             outbox.push((1, format!("step {step}: a bus")));
    ///         }
    ///         if comm.rank() == 2 && step == 1 {
    ///             outbox.push((0, "a late tram".to_string()));
    ///         }
    ///         comm.all_to_all_owned(&mut outbox, &mut inbox);
    ///         log.extend(inbox.drain(..).map(|(from, event)| format!("{event} from {from}")));
    ///     }
    ///     log
    /// })?;
    /// assert_eq!(logs[0], ["a late tram from 2"]);
    /// assert_eq!(logs[1][..2], ["step 0: a bus from 0", "step 0: a bus from 2"]);
    /// assert_eq!((logs[1].len(), logs[2].len()), (4, 0));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[doc(alias("sparse", "nbx", "exchange_sparse"))]
    #[track_caller]
    pub fn all_to_all_owned<T: Send + 'static>(
        &mut self,
        outbox: &mut Vec<(usize, T)>,
        inbox: &mut Vec<(usize, T)>,
    ) {
        let sig = const { &Signature::of::<T>("all_to_all_owned", "") };
        let (at, len, p) = (Location::caller(), outbox.len(), self.size());
        if let Some(&(to, _)) = outbox.iter().find(|it| it.0 >= p) {
            self.check_rank("destination", to, (sig, at), len);
            return;
        }
        let call = Call::new(Operation::AllToAll, sig, at, Partition::Equal(0));
        self.by_uneven_exchange(&call, len, OwnedExchange { outbox, inbox });
    }

    /// Every rank gives `send`, in blocks of `counts` elements, as many as every other; this one
    /// takes block `part` of every rank's, if any. On one node, by the library's choice.
    pub(super) fn collect<T: Element>(
        &mut self,
        call: Call<'_>,
        send: &[T],
        counts: &[usize],
        part: Option<usize>,
    ) -> Collected<T> {
        let (sig, at) = (call.sig(), call.at());
        if self.port.size() == 1 {
            if !self.check_usable((sig, at)) {
                self.nothing_to_return();
            }
            // On record, as any call.
            self.carry_out(call.moving(Buffers::Apart::<T>(&[], &mut [])));
            return (send.to_vec(), vec![send.len()]);
        }
        match self.by_uneven_exchange(&call, send.len(), Collection { send, counts, part }) {
            Some(collected) => collected,
            None => self.nothing_to_return(),
        }
    }

    /// The collection by a forced topology: the lengths travel first. `way` sends the elements, as
    /// `Some`, once it is known how many each rank has for this one; none, if it takes nothing.
    #[cold]
    pub(super) fn collect_in_two<T: Element>(
        &mut self,
        call: Call<'_>,
        (send, counts): (&[T], &[usize]),
        takes: bool,
        way: impl FnOnce(&mut Self, &[Option<T>], &mut [Option<T>], &[usize]),
    ) -> Collected<T> {
        let mut lens = vec![0; self.size()];
        self.slices_by_long_route(call, counts, &mut lens);
        let total = lens.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
        let total = total.expect("the blocks sum to more than memory can hold");
        // There is no other `T` to begin with.
        let send: Vec<Option<T>> = send.iter().copied().map(Some).collect();
        let mut all = vec![None; if takes { total } else { 0 }];
        way(self, &send, &mut all, &lens);
        let all: Option<Vec<T>> = all.into_iter().collect();
        match all {
            Some(all) => (all, lens),
            None => self.nothing_to_return(),
        }
    }

    /// Carries out a call of two buffers by none of the short routes.
    pub(super) fn slices_by_long_route<T: Element>(
        &mut self,
        call: Call<'_>,
        from: &[T],
        to: &mut [T],
    ) {
        let (rank, p) = (self.rank(), self.size());
        self.by_long_route(&call.moving(Buffers::Apart(from, to)).on_bytes(rank, p));
    }
}

/// The fingerprint of `call` on `Some` of elements `T`, in words as if these were themselves sent.
pub(super) const fn of_some<T: Element>(call: &'static str, parameter: &'static str) -> Signature {
    let element_name = std::any::type_name::<T>;
    Signature { element_name, ..Signature::of::<Option<T>>(call, parameter) }
}

/// The fingerprint of the lengths that ranks exchange as the first part of `call`; for people it is
/// the call.
pub(super) const fn of_lengths(call: &'static str, part: &'static str) -> Signature {
    let element_name = std::any::type_name::<()>;
    Signature { element_name, ..Signature::of::<usize>(call, "").meets(part) }
}
