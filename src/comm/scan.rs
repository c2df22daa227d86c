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
    /// **Must agree on all ranks:** the element type, `buf.len()`, the operator's type.
    ///
    /// **Order.** Rank order, always. **Cost** that of [`scan`](Comm::scan).
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

    /// Segmented scan of a sequence, of which each rank has a block, `values`: rank 0's comes
    /// first, then rank 1's, and so on. A flag starts a segment; afterwards each value is the
    /// combination of those from the start of its segment to itself. `MPI_Scan` has none; in the
    /// textbook (Blelloch 1990, section 1.5) it is a scan of pairs of a flag and a value.
    ///
    /// There is a flag for each value. The first value starts a segment, flagged or not. A block
    /// may have any length, also 0.
    ///
    /// **Must agree on all ranks:** the element type, the operator's type. The lengths need not.
    ///
    /// **Order.** That of the sequence, always. A block's last segment is combined by itself, so
    /// floats are rounded as the blocks are cut.
    ///
    /// **Cost** an [`exclusive_scan`](Comm::exclusive_scan) of one element, the value with its
    /// flag, however long the blocks are: `ceil(log2 p) (t_s + t_w + 2 t_c)` by `SCAN-HCUBE`. It
    /// takes any algorithm of that. Before, the rank combines its last segment, and after it, it
    /// goes through its block once.
    ///
    /// # Examples
    /// Sums of the rows of a sparse matrix; the ranks have its entries in blocks:
    /// ```
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [[1, 2, 3], [4, 5, 6], [7, 8, 9]][comm.rank()];
    ///     let flags = [[1, 0, 1], [0, 0, 0], [0, 1, 0]][comm.rank()].map(|flag| flag == 1);
    ///     comm.segmented_scan(&mut x, &flags, phalanx::op::Sum);
    ///     x
    /// })?;
    /// assert_eq!(out, [[1, 3, 3], [7, 12, 18], [25, 8, 17]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn segmented_scan<T: Element, O: Operator<T>>(
        &mut self,
        values: &mut [T],
        flags: &[bool],
        op: O,
    ) {
        self.run(call::segmented_scan(values, flags, op));
    }

    /// Segmented scan without the value itself: afterwards each value is the combination of those
    /// from the start of its segment to the one before it. The first of a segment gets the
    /// operator's identity; if it has none, it stays as it is.
    ///
    /// **Must agree on all ranks:** the element type, the operator's type. The lengths need not.
    ///
    /// **Order, cost:** those of [`segmented_scan`](Comm::segmented_scan).
    ///
    /// # Examples
    /// The place of each value in its segment:
    /// ```
    /// let out = phalanx::run(2, |comm| {
    ///     let mut place = [1; 4];
    ///     let flags = [false, comm.rank() == 0, false, false];
    ///     comm.exclusive_segmented_scan(&mut place, &flags, phalanx::op::Sum);
    ///     place
    /// })?;
    /// assert_eq!(out, [[0, 0, 1, 2], [3, 4, 5, 6]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive_segmented_scan<T: Element, O: Operator<T>>(
        &mut self,
        values: &mut [T],
        flags: &[bool],
        op: O,
    ) {
        self.run(call::exclusive_segmented_scan(values, flags, op));
    }
}
