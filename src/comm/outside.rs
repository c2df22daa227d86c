//! What a layer needs that joins teams of several processes: calls that are steps of one call of
//! its own, waits for something outside of the process, and the end of a run for its own reasons.

use super::{Choice, Comm};
use crate::error::Error;
use crate::shared::{LongWait, Signature, Stop, Thread};
use crate::wait::{Backoff, Pause, Question};
use std::panic::Location;
use std::time::Duration;

/// Nothing outside wakes a rank that waits for it: it has to look itself, at least so often.
const LONGEST_NAP: Duration = Duration::from_micros(200);

impl Comm {
    /// See [`engine::begin_steps`](crate::engine::begin_steps).
    #[track_caller]
    pub(crate) fn begin_steps(&mut self, words: &[usize]) {
        static SIG: Signature = Signature::of::<()>("a call", "");
        if !self.check_usable(&SIG, Location::caller()) {
            self.nothing_to_return();
        }
        self.step_fingerprint = Some(self.port.varied(words, &[]));
        self.slow_path = true;
    }

    /// See [`engine::end_steps`](crate::engine::end_steps).
    pub(crate) fn end_steps(&mut self) {
        self.step_fingerprint = None;
        self.slow_path = self.choice != Choice::Auto;
    }

    /// See [`engine::wait_outside`](crate::engine::wait_outside).
    pub(crate) fn wait_outside(
        &mut self,
        what: &str,
        ready: &mut dyn Question,
    ) -> Result<(), Duration> {
        let port = &self.port;
        let (shared, run, wait) = (port.shared().clone(), port.run(), port.wait_policy());
        let (world, me) = (shared.world(), shared.member(port.rank()));
        let mut patience = Backoff::new(wait, None);
        loop {
            let looks = if world.is_crowded() { 1 } else { patience.looks() };
            if (0..looks).any(|_| ready.ask()) {
                return Ok(());
            }
            // Another rank of the team may wait for what this one has started on a part of it.
            Thread::here().go_on();
            if world.is_poisoned(run) || world.hear_cancel(me, run) {
                self.stop_for_good(Stop::Poisoned);
            }
            if let Some(outer) = Thread::here().outer_over(world) {
                self.stop_for_good(Stop::Outer(outer));
            }
            if patience.is_over(world.deadline()) {
                return Err(world.deadline().unwrap_or_default());
            }
            if patience.stalls(world.stall_warning()) {
                world.warn_of_stall(LongWait::Outside { rank: me, what }, run);
            }
            if let Pause::Nap(nap) = patience.pause() {
                crate::sync::sleep(nap.min(LONGEST_NAP));
            }
        }
    }

    /// See [`engine::end_run`](crate::engine::end_run).
    pub(crate) fn end_run_outside(&mut self, error: Error) -> ! {
        self.end_run(error, None);
        self.nothing_to_return()
    }

    /// Why the run has ended, if it has and that is known.
    pub(crate) fn cause(&self) -> Option<String> {
        self.port.shared().world().cause(self.port.run())
    }

    /// The longest that a rank of the team waits in a call.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.port.shared().world().deadline()
    }
}
