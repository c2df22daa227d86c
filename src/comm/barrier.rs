//! Barrier.

use super::Comm;
use crate::engine::{Cut, Guard, Kernel};
use crate::fabric::{Begun, Params, Port, Sig, Stop};
use crate::op::BitOr;
use crate::schedule::{Algorithm, Operation};
use std::panic::Location;

impl Comm {
    /// Returns when every rank has called it.
    ///
    /// Everything that any rank did before its call is visible to every rank
    /// after its own: a release and acquire point for all.
    ///
    /// **Cost** up to 4 ranks, or where ranks outnumber cores: one step, in which
    /// every rank looks at a line of every other. Else `ceil(log2 p)` steps of
    /// an empty message, t_s each (dissemination, `BAR-ANY`; Hensgen, Finkel,
    /// Manber 1988).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// let arrived = AtomicUsize::new(0);
    /// let seen = phalanx::run(4, |comm| {
    ///     arrived.fetch_add(1, Relaxed);
    ///     comm.barrier();
    ///     arrived.load(Relaxed)
    /// })?;
    /// assert_eq!(seen, [4, 4, 4, 4]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn barrier(&mut self) {
        static SIG: Sig = Sig::of::<()>("barrier", "");
        let at = Location::caller();
        if self.port.size() == 1 && self.is_auto() {
            // Nobody to meet.
            let _ = self.enter(&SIG, at, Params::of(0));
            return;
        }
        if !self.is_auto() {
            return self.barrier_by_choice(&SIG, at);
        }
        self.barrier_by_line(&SIG, at);
    }

    #[inline(always)]
    fn barrier_by_line(&mut self, sig: &'static Sig, at: &'static Location<'static>) {
        let params = Params { algorithm: Algorithm::BAR_ANY.index(), ..Params::of(0) };
        let Some(begun) = self.begin(sig, at, params) else { return };
        let result = if self.port.is_gated() {
            meet(&mut self.port, begun)
        } else {
            self.port.note(begun);
            disseminate(&mut self.port)
        };
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    /// As an all-reduce of one word, over the forced topology; unless that
    /// comes to the same algorithm (the ring's does).
    #[cold]
    fn barrier_by_choice(&mut self, sig: &'static Sig, at: &'static Location<'static>) {
        let mut word = 0u8;
        let task = super::perform::Task {
            operation: Operation::Barrier,
            sig,
            at,
            root: 0,
            shift: 0,
            cut: Cut::Vector(1),
            len: 0,
            commutative: true,
            built_in: None,
        };
        if !self.is_wide()
            && self.dims().is_none()
            && self.algorithm(&task, 1) == Algorithm::BAR_ANY
        {
            return self.barrier_by_line(sig, at);
        }
        // SAFETY: one element in place; peers compare the fingerprint of a
        // barrier, whose only payload anywhere is one u8.
        unsafe {
            self.perform(
                &task,
                &Kernel::combiner::<u8, _>(&BitOr),
                std::ptr::null(),
                (&raw mut word).cast(),
            );
        }
    }
}

/// Every rank shows that it has come, and looks for all others.
#[inline(always)]
fn meet(port: &mut Port, begun: Begun) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    port.show_all(0, 1, |_| ());
    port.note(begun);
    if p == 2 {
        return port.look(1 - rank, 0, 1, |_| ());
    }
    for distance in 1..p {
        let peer = rank + distance;
        port.look(if peer < p { peer } else { peer - p }, 0, 1, |_| ())?;
    }
    Ok(())
}

/// In round `k` every rank signals rank `r + 2^k` and waits for `r - 2^k`:
/// after it, it has heard, directly or not, of the `2^(k+1)` ranks before it.
#[inline(never)]
fn disseminate(port: &mut Port) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let guard = Guard::new(port);
    let mut distance = 1;
    while distance < p {
        let to = if rank + distance < p { rank + distance } else { rank + distance - p };
        let from = if rank >= distance { rank - distance } else { rank + p - distance };
        guard.port.post_copy(to, 0, 1, |_| ())?;
        guard.port.take_copy(from, 0, 1, |_| ())?;
        distance *= 2;
    }
    guard.disarm();
    Ok(())
}
