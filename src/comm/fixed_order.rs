//! Reductions in the order of one tree, on every route: `Order::Fixed`.
//!
//! With a forced topology, only the transport changes: contributions travel by its all-to-all and
//! all-gather, and the owner combines them.

use super::{Choice, Comm, Forced, InOrder};
use crate::exec::board::ordered;
use crate::exec::{Call, Kernel, Partition, RawBuffers, Scratch};
use crate::order::Order;
use crate::schedule::Operation;
use crate::shared::Digest;

/// Bytes up to which every rank gets every contribution whole, rather than its
/// part of each and then the parts' results: one step less.
const WHOLE: usize = 2 << 10;

/// The code of reductions in that order.
pub(super) fn in_order(order: Order) -> InOrder {
    match order {
        Order::Ranked => None,
        Order::Fixed => Some(Comm::carry_out_in_order),
    }
}

/// What carries a reduction in fixed order.
enum Way {
    /// The gates, or the boards.
    Direct,
    /// The topology's data movement.
    Moved,
}

impl Comm {
    /// This communicator with the order in which `all_reduce`, `reduce` and
    /// `reduce_scatter` (and their varied and batched forms) combine. With
    /// [`Order::Fixed`] an element's result has the same bits for every
    /// topology, length and chunk size: it depends on nothing but the
    /// contributions and their number. Prefixes (`scan`) stay as they are.
    ///
    /// For results that do not depend on the number of ranks either:
    /// [`fixed_sum`](Comm::fixed_sum), [`fixed_dot`](Comm::fixed_dot).
    ///
    /// **Must agree on all ranks:** the order.
    ///
    /// **Cost** few bytes all-reduced: one step at the gates, as [`overlap`](Comm::overlap) says;
    /// else that of the fused paths: 1.05 to 1.16 times that of a plain all-reduce of 8 bytes
    /// on two ranks, 1.01 from 16 KiB on (`benches/ratios`). On a topology: its all-to-all and
    /// all-gather, instead of a reduction. `reduce` costs as much as `all_reduce` where a topology
    /// is forced.
    ///
    /// # Errors
    /// A reduction with an algorithm forced by name (other than
    /// the fused ones) ends the run: the name says in which order it combines.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Order, op};
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [0.1 * comm.rank() as f64; 100];
    ///     comm.with_order(Order::Fixed).all_reduce(&mut x, op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [(0.0 + 0.1) + 0.2; 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn with_order(&mut self, order: Order) -> Forced<'_> {
        let choice = self.choice.clone();
        let forced = self.choosing(choice);
        forced.comm.in_order = in_order(order);
        forced
    }

    fn way(&mut self, call: &Call<'_>) -> Option<Way> {
        match &self.choice {
            Choice::Auto => Some(Way::Direct),
            Choice::Algorithm(a) | Choice::AlgorithmOnMesh(a, _) if a.is_direct() => {
                Some(Way::Direct)
            }
            Choice::Algorithm(a) | Choice::AlgorithmOnMesh(a, _) => {
                let what = format!(
                    "{a} combines in an order of its own; with Order::Fixed a topology can be \
                     forced (ring(), mesh(), hypercube(), tree()), but no algorithm"
                );
                self.wrong((call.sig(), call.at()), call.len(), what);
                None
            }
            _ => Some(Way::Moved),
        }
    }

    /// Carries out a reduction in the order of the tree, not by the gates.
    fn carry_out_in_order(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        match self.way(&call.bare()) {
            Some(Way::Direct) => _ = self.carry_out_around(call, || ()),
            Some(Way::Moved) => {
                self.step_fingerprint = self.digest_of_counts(call.cut());
                self.carry_out_moved(call);
                self.step_fingerprint = None;
            }
            None => (),
        }
    }

    /// Carried or not, what is cut by counts is compared.
    fn digest_of_counts(&mut self, cut: Partition<'_>) -> Option<Digest> {
        match cut {
            Partition::Varied(counts) => Some(self.digest_of(counts)),
            _ => None,
        }
    }

    /// By the data movement of the forced topology.
    fn carry_out_moved(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        let &RawBuffers { ref kernel, input, output, .. } = call.memory();
        match call.operation() {
            Operation::AllReduce => self.all_reduce_moved(call, output),
            Operation::Reduce => {
                let (mut copied, n) = (Scratch::new(), call.unit());
                let copied = copied.reserve(n * kernel.size(), kernel.align());
                // SAFETY: the call's vector (`RawBuffers`), and room for it; the root writes to its
                // own.
                unsafe { kernel.copy(copied, output, n) };
                self.all_reduce_moved(call, copied);
                if self.rank() == call.root_rank() {
                    // SAFETY: as above.
                    unsafe { kernel.copy(output, copied, n) };
                }
            }
            _ => self.reduce_scatter_moved(call, input, output),
        }
    }

    /// Reduce-scatter of all ranks' blocks at `all`, of which this rank's goes to `mine`: the
    /// call's.
    fn reduce_scatter_moved(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        all: *const u8,
        mine: *mut u8,
    ) {
        let (p, rank, kernel) = (self.size(), self.rank(), call.memory().kernel);
        let count = |r: usize| match call.cut() {
            Partition::Varied(counts) => counts[r],
            _ => call.unit(),
        };
        let m = (0..p).map(count).max().unwrap_or(0);
        let (mut send, mut recv) = (Scratch::new(), Scratch::new());
        let (bytes, block) = (m * kernel.size() * p, m * kernel.size());
        let send = send.reserve(bytes, kernel.align());
        let recv = recv.reserve(bytes, kernel.align());
        let mut from = all;
        for r in 0..p {
            let to = send.wrapping_add(r * block);
            // SAFETY: there are the elements of all blocks at `all` (`RawBuffers`), so one at
            // least where a block is not filled; and room for as many blocks of `m`.
            unsafe {
                kernel.copy(to, from, count(r));
                kernel.fill(to.wrapping_add(count(r) * kernel.size()), all, m - count(r));
            }
            from = from.wrapping_add(count(r) * kernel.size());
        }
        // SAFETY: `p` blocks of `m` elements each.
        unsafe {
            self.carry(call, Operation::AllToAll, m, send, recv);
            combine(p, &kernel, recv, m, mine, count(rank));
        }
    }

    /// All-reduce by the data movement of the forced topology of the call's elements at `buf`.
    fn all_reduce_moved(&mut self, call: &Call<'_, RawBuffers<'_>>, buf: *mut u8) {
        let (p, n, kernel) = (self.size(), call.unit(), call.memory().kernel);
        let (size, align) = (kernel.size(), kernel.align());
        let (mut all, mut mine, mut sum) = (Scratch::new(), Scratch::new(), Scratch::new());
        if n * size <= WHOLE {
            let all = all.reserve(n * size * p, align);
            // SAFETY: `n` elements of each rank.
            unsafe {
                self.carry(call, Operation::AllGather, n, buf, all);
                combine(p, &kernel, all, n, buf, n);
            }
            return;
        }
        let m = n.div_ceil(p);
        let parts = all.reserve(m * size * p, align);
        let mine = mine.reserve(m * size * p, align);
        let sum = sum.reserve(m * size, align);
        // SAFETY: `n` elements at `buf`, at least one; `p` parts of `m`, which are not less.
        unsafe {
            kernel.copy(parts, buf, n);
            kernel.fill(parts.wrapping_add(n * size), buf, m * p - n);
            self.carry(call, Operation::AllToAll, m, parts, mine);
            combine(p, &kernel, mine, m, sum, m);
            self.carry(call, Operation::AllGather, m, sum, parts);
            kernel.copy(buf, parts, n);
        }
    }

    /// An all-gather or all-to-all of blocks of `m` elements, by the topology.
    ///
    /// # Safety
    /// What such a call promises of its memory ([`RawBuffers`]).
    unsafe fn carry(
        &mut self,
        call: &Call<'_, RawBuffers<'_>>,
        operation: Operation,
        m: usize,
        from: *const u8,
        to: *mut u8,
    ) {
        let kernel = call.memory().kernel;
        let call = Call::new(operation, call.sig(), call.at(), Partition::Equal(m));
        // A topology is forced, so no call of a few bytes has a route of its own.
        //
        // SAFETY: passed on.
        self.carry_on(&unsafe { call.on_memory(kernel, from, to) });
    }
}

/// Element by element, combines the first `n` elements of `p` blocks of `m` each.
///
/// # Safety
/// - `all` is valid for reads of the blocks, of elements of the kernel's type and aligned for it.
/// - `out` is valid for writes of `n` elements, aligned for them, and overlaps no block.
unsafe fn combine(p: usize, kernel: &Kernel<'_>, all: *mut u8, m: usize, out: *mut u8, n: usize) {
    let blocks: Vec<*mut u8> = (0..p).map(|r| all.wrapping_add(r * m * kernel.size())).collect();
    let mut slots = Scratch::new();
    let slots = slots.reserve(ordered::scratch(kernel, p), kernel.align());
    // SAFETY: by the contract; the slots are this call's own.
    unsafe { ordered::reduce_part(kernel, 0..n, (&blocks, &[out]), 0, slots) };
}
