//! Reductions in the order of one tree, on every route: `Order::Fixed`.
//!
//! With a forced topology, only the transport changes: contributions travel by its all-to-all and
//! all-gather, and the owner combines them.

use super::route::Short;
use super::{Choice, Comm, Forced};
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition, RawBuffers, Slices};
use crate::fabric::Digest;
use crate::op::Operator;
use crate::order::{Order, by_tree};
use crate::schedule::Operation;

/// Bytes up to which every rank gets every contribution whole, rather than its
/// part of each and then the parts' results: one step less.
const WHOLE: usize = 2 << 10;

/// What carries a reduction in fixed order.
enum Way {
    /// Messages in the mailbox's line, or the boards.
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
    /// **Cost** up to 40 bytes on up to 64 ranks: `p - 1` messages in the mailboxes' lines, all at
    /// once; else that of the fused paths: 1.05 to 1.16 times that of a plain all-reduce of 8 bytes
    /// on two ranks, 1.01 from 16 KiB on (`benches/solver.rs`). On a topology: its all-to-all and
    /// all-gather, instead of a reduction. `reduce` costs as much as `all_reduce` where a topology
    /// is forced.
    ///
    /// # Errors
    /// A reduction through a view that forces an algorithm by name (other than
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
        let view = self.choosing(choice);
        view.comm.order = order;
        view
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
                self.wrong(call.sig(), call.at(), call.len(), what);
                None
            }
            _ => Some(Way::Moved),
        }
    }

    /// Whether a reduction goes by the gates, where contributions of a power of two of ranks are
    /// combined by the same tree.
    pub(super) fn is_in_order_at_the_gates<'a, T: Element, O: Operator<T>>(
        &mut self,
        call: &Call<'a, Slices<'a, T, O>>,
    ) -> bool {
        let is_same_tree =
            call.operation() == Operation::AllReduce && self.port.size().is_power_of_two();
        is_same_tree && matches!(self.short_route(call), Some(Short::Gate))
    }

    /// Carries out a reduction in the order of the tree, not by the gates.
    pub(super) fn carry_out_in_order<'a, T: Element, O: Operator<T>>(
        &mut self,
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let call = call.in_order();
        match self.way(&call.bare()) {
            Some(Way::Direct) => {
                self.carry_out_directly(&call.on_bytes(self.port.rank(), self.port.size()));
            }
            Some(Way::Moved) => {
                self.step_fingerprint = self.digest_of_counts(call.cut());
                self.carry_out_moved(call);
                self.step_fingerprint = None;
            }
            None => (),
        }
    }

    /// By messages in the mailbox's line, or the boards.
    fn carry_out_directly(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        self.step_fingerprint = self.digest_of_counts(call.cut());
        let _: Option<()> = self.carry_out_around(call, || ());
        self.step_fingerprint = None;
    }

    /// Carried or not, what is cut by counts is compared.
    fn digest_of_counts(&mut self, cut: Partition<'_>) -> Option<Digest> {
        match cut {
            Partition::Varied(counts) => Some(self.digest_of(counts)),
            _ => None,
        }
    }

    /// By the data movement of the forced topology.
    fn carry_out_moved<'a, T: Element, O: Operator<T>>(
        &mut self,
        call: Call<'a, Slices<'a, T, O>>,
    ) {
        let bare = call.bare();
        match call.into_buffers() {
            (Buffers::InPlace(buf), op) if bare.operation() == Operation::Reduce => {
                let mut all = buf.to_vec();
                self.all_reduce_moved(&bare, &mut all, op);
                if self.rank() == bare.root_rank() {
                    buf.copy_from_slice(&all);
                }
            }
            (Buffers::InPlace(buf), op) => self.all_reduce_moved(&bare, buf, op),
            (Buffers::Apart(all, mine), op) => self.reduce_scatter_moved(&bare, all, mine, op),
            (Buffers::Within(..), _) => unreachable!("no reduction has its input in its output"),
        }
    }

    fn reduce_scatter_moved<T: Element, O: Operator<T>>(
        &mut self,
        call: &Call<'_>,
        all: &[T],
        mine: &mut [T],
        op: &O,
    ) {
        let p = self.size();
        let count = |r: usize| match call.cut() {
            Partition::Varied(counts) => counts[r],
            _ => mine.len(),
        };
        let m = (0..p).map(count).max().unwrap_or(0);
        let Some(&filler) = all.first() else {
            // Nothing to carry; but a call, of which the counts are compared.
            return self.carry::<T>(call, Operation::AllToAll, 0, &[], &mut []);
        };
        let mut send = vec![filler; m * p];
        let mut from = 0;
        for (r, block) in send.chunks_exact_mut(m).enumerate() {
            block[..count(r)].copy_from_slice(&all[from..from + count(r)]);
            from += count(r);
        }
        let mut recv = send.clone();
        self.carry(call, Operation::AllToAll, m, &send, &mut recv);
        combine(p, &recv, m, mine, op);
    }

    /// All-reduce by the data movement of the forced topology.
    fn all_reduce_moved<T: Element, O: Operator<T>>(
        &mut self,
        call: &Call<'_>,
        buf: &mut [T],
        op: &O,
    ) {
        let p = self.size();
        let Some(&filler) = buf.first() else {
            return self.carry::<T>(call, Operation::AllGather, 0, &[], &mut []);
        };
        if size_of_val(buf) <= WHOLE {
            let n = buf.len();
            let mut all = vec![filler; n * p];
            self.carry(call, Operation::AllGather, n, buf, &mut all);
            return combine(p, &all, n, buf, op);
        }
        let m = buf.len().div_ceil(p);
        let mut parts = vec![filler; m * p];
        parts[..buf.len()].copy_from_slice(buf);
        let mut mine = parts.clone();
        self.carry(call, Operation::AllToAll, m, &parts, &mut mine);
        let mut sum = vec![filler; m];
        combine(p, &mine, m, &mut sum, op);
        self.carry(call, Operation::AllGather, m, &sum, &mut parts);
        buf.copy_from_slice(&parts[..buf.len()]);
    }

    /// An all-gather or all-to-all of blocks of `m` elements, by the topology.
    fn carry<T: Element>(
        &mut self,
        call: &Call<'_>,
        operation: Operation,
        m: usize,
        from: &[T],
        to: &mut [T],
    ) {
        let call = Call::new(operation, call.sig(), call.at(), Partition::Equal(m));
        let call = call.moving(Buffers::Apart(from, to));
        // A topology is forced, so no call of a few bytes has a route of its own.
        self.carry_on(&call.on_bytes(self.port.rank(), self.port.size()));
    }
}

/// Element by element, combines the first elements of `p` blocks of `m` each.
fn combine<T: Element, O: Operator<T>>(p: usize, all: &[T], m: usize, out: &mut [T], op: &O) {
    for (i, x) in out.iter_mut().enumerate() {
        *x = by_tree(0, p, &mut |r| all[r * m + i], &mut |a, b| op.combine(a, b));
    }
}
