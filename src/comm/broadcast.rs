//! One-to-all broadcast.

use super::{Comm, call};
use crate::element::Element;

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
        self.run(call::broadcast(buf, root));
    }
}
