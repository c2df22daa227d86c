//! Prefix combinations.

use super::perform::Task;
use super::{Comm, gated};
use crate::element::Element;
use crate::engine::{Cut, Kernel};
use crate::fabric::{Params, Sig, Transport};
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::schedule::{Algorithm, Operation};
use std::panic::Location;

impl Comm {
    /// Inclusive prefix: afterwards rank `k`'s `buf` holds `x0 (+) .. (+) xk`,
    /// element by element.
    ///
    /// **Must agree on all ranks:** the element type, `buf.len()`, the
    /// operator's kind.
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
        let sig = const { &Sig::combining::<T, O>("scan", O::NAME, "") };
        self.any_scan(Operation::Scan, sig, Location::caller(), None, buf, op);
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
        let sig = const { &Sig::combining::<T, O>("exclusive_scan", O::NAME, "") };
        let identity = op.identity();
        let at = Location::caller();
        self.any_scan(Operation::ExclusiveScan, sig, at, identity.as_ref(), buf, op);
    }

    fn any_scan<T: Element, O: Operator<T>>(
        &mut self,
        operation: Operation,
        sig: &'static Sig,
        at: &'static Location<'static>,
        identity: Option<&T>,
        buf: &mut [T],
        op: O,
    ) {
        if self.is_alone() {
            let exclusive = operation == Operation::ExclusiveScan;
            if self.enter(sig, at, Params::of(buf.len()))
                && let (true, Some(x)) = (exclusive, identity)
            {
                buf.fill(*x);
            }
            return;
        }
        let bytes = size_of_val(buf);
        let is_small = bytes <= EAGER && bytes < self.tuning.scan_fused;
        if self.is_auto() && self.port.is_gated() && is_small {
            let (algorithm, transport) = (Algorithm::SCAN_HCUBE.index(), Transport::Gates);
            let params = Params { algorithm, transport, ..Params::of(buf.len()) };
            let inclusive = operation == Operation::Scan;
            if let Some(begun) = self.begin(sig, at, params) {
                let (port, all) = (&mut self.port, &mut self.addresses);
                let result = gated::scan(port, begun, all, buf, &op, inclusive, identity);
                if let Err(stop) = result {
                    self.stop(stop);
                }
            }
            return;
        }
        let task = Task {
            operation,
            sig,
            at,
            root: 0,
            shift: 0,
            cut: Cut::Vector(buf.len()),
            len: buf.len(),
            commutative: O::COMMUTATIVE,
            built_in: O::BUILT_IN,
        };
        // SAFETY: in place on a slice that is exclusively ours for the call.
        unsafe {
            let at = buf.as_mut_ptr().cast();
            let identity = identity.map_or(std::ptr::null(), |x| std::ptr::from_ref(x).cast());
            self.perform(&task, &Kernel::combiner(&op), identity, at);
        }
    }
}
