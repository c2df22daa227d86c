//! One-to-all broadcast.

use super::Comm;
use super::perform::Task;
use super::small;
use crate::element::Element;
use crate::engine::{Cut, Kernel};
use crate::fabric::{Params, Sig};
use crate::mailbox::EAGER;
use crate::schedule::{Algorithm, Operation};
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
        let sig = const { &Sig::of::<T>("broadcast", "from root") };
        let at = Location::caller();
        if !self.check_rank("root", root, sig, at, buf.len()) {
            return;
        }
        if self.is_auto() {
            let bytes = size_of_val(buf);
            let algorithm = Algorithm::BC_ANY.index();
            let params = Params { parameter: root, algorithm, ..Params::of(buf.len()) };
            if self.size() == 1 {
                let _ = self.enter(sig, at, params);
                return;
            }
            if bytes <= EAGER && bytes < self.tuning.broadcast_fused {
                if let Some(begun) = self.begin(sig, at, params)
                    && let Err(stop) = small::spread(&mut self.port, begun, buf, root)
                {
                    self.stop(stop);
                }
                return;
            }
        }
        let task = Task {
            operation: Operation::Broadcast,
            sig,
            at,
            root,
            shift: 0,
            cut: Cut::Vector(buf.len()),
            len: buf.len(),
            commutative: true,
            built_in: None,
        };
        // SAFETY: in place on a slice that is exclusively ours for the call.
        unsafe {
            self.perform(&task, &Kernel::mover::<T>(), std::ptr::null(), buf.as_mut_ptr().cast());
        }
    }
}
