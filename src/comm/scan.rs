//! Prefix combinations.

use super::{Comm, call};
use crate::element::Element;
use crate::op::Operator;

impl Comm {
    /// Inclusive prefix: afterwards rank `k`'s `buf` holds `x0 (+) .. (+) xk`,
    /// element by element.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, the
    /// operator's type.
    ///
    /// **Order.** Rank order, always.
    ///
    /// **Cost** small: `ceil(log2 p) (t_s + (t_w + 2 t_c) m)` (`SCAN-HCUBE`,
    /// Algorithm 4.9, clipped to any p); large: every rank makes the prefixes of
    /// `m/p` elements of all buffers, each read and written once (`SCAN-FUSED`).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(5, |comm| {
    ///     let mut x = [[3, 1, 4, 0, 2][comm.rank()]];
    ///     comm.scan(&mut x, phalanx::op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [3, 4, 8, 8, 10]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        self.run(call::scan(buf, op));
    }

    /// Exclusive prefix: afterwards rank `k`'s `buf` holds `x0 (+) .. (+)
    /// x(k-1)`. Rank 0 gets the operator's identity; if it has none, its
    /// buffer stays as it is.
    ///
    /// **Must agree, order, cost:** as [`scan`](Comm::scan).
    ///
    /// # Examples
    /// Where does my part begin?
    /// ```
    /// let offsets = phalanx::run(3, |comm| {
    ///     let mut x = [[5, 0, 7][comm.rank()]];
    ///     comm.exclusive_scan(&mut x, phalanx::op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(offsets, [0, 5, 5]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan<T: Element, O: Operator<T>>(&mut self, buf: &mut [T], op: O) {
        self.run(call::exclusive_scan(buf, op));
    }
}
