//! Circular shift.

use super::{Comm, call};
use crate::element::Element;

impl Comm {
    /// Sends `buf` to the rank `distance` places further, and receives the
    /// buffer of the one `distance` places back, around the end (a circular
    /// `q`-shift). The distance may be negative, and is taken modulo p.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, `distance`.
    ///
    /// **Cost** small: `t_s + t_w m` (`CS-ANY`), plus a copy out of a second
    /// buffer that an exchange in place needs; large: every rank moves `m/p`
    /// elements of all buffers on, each read and written once (`CS-FUSED`).
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(4, |comm| {
    ///     let mut x = [comm.rank()];
    ///     comm.shift(&mut x, 1);
    ///     x[0]
    /// })?;
    /// assert_eq!(out, [3, 0, 1, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn shift<T: Element>(&mut self, buf: &mut [T], distance: isize) {
        self.run(call::shift(buf, distance));
    }
}
