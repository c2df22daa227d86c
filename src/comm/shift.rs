//! Circular shift.

use super::Comm;
use super::perform::Task;
use crate::element::Element;
use crate::engine::{Cut, Kernel};
use crate::fabric::{Params, Sig};
use crate::schedule::Operation;
use std::panic::Location;

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
        let sig = const { &Sig::of::<T>("shift", "by") };
        let p = self.size() as isize;
        let at = Location::caller();
        if self.is_alone() {
            let _ = self.enter(sig, at, Params { parameter: 0, ..Params::of(buf.len()) });
            return;
        }
        let task = Task {
            operation: Operation::Shift,
            sig,
            at,
            root: 0,
            shift: distance.rem_euclid(p) as usize,
            cut: Cut::Vector(buf.len()),
            len: buf.len(),
            commutative: true,
            built_in: None,
        };
        // SAFETY: in place on a slice that is exclusively ours for the call.
        unsafe {
            self.perform(&task, &Kernel::mover::<T>(), std::ptr::null(), buf.as_mut_ptr().cast());
        }
        if task.shift == 0 && p > 1 {
            self.port.keep_in_mind();
        }
    }
}
