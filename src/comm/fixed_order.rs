//! Reductions in the order of one tree: `Order::Fixed`. They go by the gates or the boards, also
//! where a topology is forced: an element's bits are the same on each.

use super::{Choice, Comm, Forced, InOrder};
use crate::exec::{Call, RawBuffers};
use crate::order::Order;

/// The code of reductions in that order.
pub(super) fn in_order(order: Order) -> InOrder {
    match order {
        Order::Ranked => None,
        Order::Fixed => Some(Comm::in_fixed_order),
    }
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
    /// on two ranks, 1.01 from 16 KiB on (`benches/ratios`). On a topology, too.
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

    /// Carries out a reduction in the order of the tree, not by a short route.
    fn in_fixed_order(&mut self, call: &Call<'_, RawBuffers<'_>>) {
        if let Choice::Algorithm(a) | Choice::AlgorithmOnMesh(a, _) = &self.choice
            && !a.is_direct()
        {
            let what = format!(
                "{a} combines in an order of its own; with Order::Fixed a topology can be \
                 forced (ring(), mesh(), hypercube(), tree()), but no algorithm"
            );
            return self.wrong((call.sig(), call.at()), call.len(), what);
        }
        self.by_gates_or_boards(call, || ());
    }
}
