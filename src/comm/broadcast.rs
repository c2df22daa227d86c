//! One-to-all broadcast.

use super::Comm;
use crate::element::Element;
use crate::exec::{Buffers, Call, Partition};
use crate::fabric::Signature;
use crate::schedule::Operation;
use std::panic::Location;

impl Comm {
    /// Copies `root`'s `buf` to every other rank's.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, `root`.
    ///
    /// **Cost** small: `ceil(log2 p) (t_s + t_w m)` for `m` elements (recursive
    /// doubling, Equation 4.1; algorithm `BC-ANY`, interval halving); each
    /// receiver copies once, straight from another rank's buffer. Large: every
    /// rank, the root too, copies `m/p` elements to all others (`BC-FUSED`).
    ///
    /// # Errors
    /// A `root` that is no rank ends the run.
    ///
    /// # Examples
    /// ```
    /// let got = phalanx::run(4, |comm| {
    ///     let mut x = if comm.rank() == 2 { vec![1.5, 2.5] } else { vec![0.0; 2] };
    ///     comm.broadcast(&mut x, 2);
    ///     x
    /// })?;
    /// assert!(got.iter().all(|x| *x == [1.5, 2.5]));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast<T: Element>(&mut self, buf: &mut [T], root: usize) {
        self.broadcast_at(buf, root, Location::caller());
    }

    /// The same, called at `at`, inlined: for interfaces of other languages.
    #[inline(always)]
    pub(crate) fn broadcast_at<T: Element>(
        &mut self,
        buf: &mut [T],
        root: usize,
        at: &'static Location<'static>,
    ) {
        let sig = const { &Signature::of::<T>("broadcast", "from root") };
        if !self.check_rank("root", root, sig, at, buf.len()) {
            return;
        }
        let call =
            Call::new(Operation::Broadcast, sig, at, Partition::Vector(buf.len())).root(root);
        self.carry_out(call.moving(Buffers::InPlace(buf)));
    }
}
