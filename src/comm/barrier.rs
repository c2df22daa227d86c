//! Barrier.

use super::{Comm, call};
use crate::exec::{Buffers, Call, Partition};
use crate::op::BitOr;
use crate::schedule::Operation;
use crate::shared::Signature;
use std::panic::Location;

/// # Collectives
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
        self.run(call::barrier());
    }

    /// A barrier as a call of the method of `sig`.
    #[inline(always)]
    pub(super) fn barrier_as(&mut self, sig: &'static Signature, at: &'static Location<'static>) {
        // By an algorithm: an all-reduce of one word. Peers compare the fingerprint of a
        // barrier, whose only payload anywhere is one u8.
        let mut word = [0u8];
        let call = Call::new(Operation::Barrier, sig, at, Partition::Vector(1)).of_length(0);
        self.carry_out(call.combining(Buffers::InPlace(&mut word), &BitOr));
    }
}

#[cfg(test)]
mod tests {
    use crate::op::Or;
    use std::time::{Duration, Instant};

    #[test]
    fn a_port_counts_its_waits_from_a_sleep_until_its_mark_is_clear() {
        let run = crate::run(2, |comm| {
            comm.barrier();
            std::thread::sleep(Duration::from_millis(20 * comm.rank() as u64));
            comm.barrier();
            let (counts, since, mut any) = (comm.port.counts_waits(), Instant::now(), [true]);
            while any[0] && since.elapsed() < Duration::from_secs(60) {
                (0..100).for_each(|_| comm.barrier());
                any = [comm.port.counts_waits()];
                comm.all_reduce(&mut any, Or);
            }
            (counts || comm.port.shared().world().is_crowded(), any[0])
        });
        assert_eq!(run.unwrap()[0], (true, false));
    }
}
